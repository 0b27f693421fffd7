"""A store on SQLite and on PostgreSQL: every test that asks for `store` runs on both.

PostgreSQL is a real server: a private cluster in a temporary folder, on a free loopback port, emptied before each test.

It deliberately skips nothing: without the server's programs these tests fail and say what to install.
"""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, create_engine, text

from storage.schema import metadata
from storage.store import Store
from storage.values import NewRun

NewRuns = Callable[..., NewRun]


def make_run(**fields: Any) -> NewRun:
    request: dict[str, Any] = {
        "id": secrets.token_hex(16),
        "method": "countdown",
        "method_title": "Countdown",
        "tab": "text",
        "checkpoint": "pocket",
        "inputs": {"prompt": "Once upon a time"},
        "settings": {"block_size": 4},
        "seed": 7,
    }
    return NewRun(**{**request, **fields})


def artifact(data: bytes = b"some text", **fields: Any) -> dict[str, Any]:
    return {"kind": "text", "name": "answer", "media_type": "text/plain", "data": data, "facts": {}, "partial": False, **fields}


def sign_plainly(_row: object, previous: str, sequence: int) -> bytes:
    return f"{sequence} follows {previous}".encode()


class Server:
    """A private PostgreSQL cluster."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self._folder = folder
        self._programs = programs
        self._user = "postgres" if os.geteuid() == 0 else None  # the server refuses to be run by root
        if self._user:
            shutil.chown(folder, self._user)
        self._call("initdb", "-D", "data", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off -c shared_buffers=32MB"
        self._call("pg_ctl", "-D", "data", "-w", "-s", "-l", "log", "-o", options, "start")
        self.administrator = psycopg.connect(self.address("postgres").replace("+psycopg", ""), autocommit=True)

    def address(self, database: str) -> str:
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{database}"

    def create(self) -> str:
        """A new empty database; its address."""
        name = f"t{secrets.token_hex(8)}"
        self.administrator.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def stop(self) -> None:
        self.administrator.close()
        self._call("pg_ctl", "-D", "data", "-w", "-s", "-m", "immediate", "stop")

    def _call(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        subprocess.run(command, cwd=self._folder, user=self._user, check=True, stdout=subprocess.DEVNULL, timeout=60)


def server_programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    initdb = str(found[-1]) if found else shutil.which("initdb")
    assert initdb, "the tests of the store need PostgreSQL's server programs: install the package postgresql"
    return Path(initdb).parent


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="diptych-postgres-"))
    try:
        running = Server(folder, server_programs())
        yield running
        running.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server_store(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The one database of the server with the tables of the store."""
    address = server.create()
    Store.open(address, tmp_path_factory.mktemp("server")).close()
    engine = create_engine(address)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def empty_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with an empty SQLite store, to be copied."""
    folder = tmp_path_factory.mktemp("empty")
    Store.open(None, folder).close()
    return folder


@pytest.fixture
def folder(empty_folder: Path, tmp_path: Path) -> Path:
    """A data folder with an empty SQLite store that is closed."""
    return Path(shutil.copytree(empty_folder, tmp_path / "data"))


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest) -> str | None:
    """Where an empty store is: None for the file in the data folder."""
    if request.param == "sqlite":
        return None
    engine: Engine = request.getfixturevalue("server_store")
    with engine.begin() as connection:
        connection.execute(text(f"TRUNCATE {', '.join(metadata.tables)} RESTART IDENTITY CASCADE"))
    return engine.url.render_as_string(hide_password=False)


@pytest.fixture
def store(address: str | None, folder: Path) -> Iterator[Store]:
    with Store.open(address, folder) as opened:
        yield opened
