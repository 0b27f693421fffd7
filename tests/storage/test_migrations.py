"""From every earlier schema version to the current one, whole, killed in the middle, on both databases (anchor A10)."""

import json
import multiprocessing
import secrets
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, create_engine, text

from storage import migrations
from storage.database import FILE_NAME, HEAD, current_version
from storage.schema import metadata
from storage.store import Store
from storage.values import HistoryQuery
from tests.storage.conftest import Server

ROWS, ROWS_TO_KILL = 10_000, 3000
EARLIER = migrations.versions()[:-1]


def engine_for(url: str | None, folder: Path) -> Engine:
    return create_engine(url or f"sqlite:///{folder / FILE_NAME}")


def fill(connection: Connection, rows: int) -> None:
    """Runs as the first version wrote them, artifacts and records too."""
    run = {
        "method": "countdown", "tab": "text", "checkpoint": "pocket", "device": "auto", "owner": "", "purpose": "run", "repeat": 0,
        "fingerprint": "", "state": "done", "partial": False, "starred": False, "listed": True, "created": 1, "wall_seconds": 0.5,
    }  # fmt: skip
    details = {
        "method_title": "Countdown", "settings": '{"steps":4}', "seed": "7", "dtype": "float32", "parents": "[]", "tags": '["kept"]',
        "note": "", "notes": "[]", "metrics": "[]", "checkpoint_digests": "{}", "environment": "{}",
    }  # fmt: skip
    ids = [secrets.token_hex(16) for _ in range(rows)]
    insert(connection, "runs", [{**run, "sequence": number, "id": id} for number, id in enumerate(ids, start=1)])
    prompts = [json.dumps({"prompt": f"number {number}"}) for number in range(1, rows + 1)]
    wide = [{**details, "sequence": n, "title": f"Run {n}", "inputs": prompt} for n, prompt in enumerate(prompts, start=1)]
    insert(connection, "run_details", wide)
    kept = {"kind": "text", "name": "answer", "media_type": "text/plain", "bytes": 1, "facts": "{}", "partial": False, "digest": "0" * 64}
    insert(connection, "artifacts", [{**kept, "id": id, "run": id} for id in ids])
    record = {"artifact_digest": "0" * 64, "envelope": b"signed", "created": 1}
    insert(
        connection,
        "records",
        [{**record, "sequence": n, "run": id, "digest": f"{n:064}", "previous": f"{n - 1:064}"} for n, id in enumerate(ids, start=1)],
    )


def insert(connection: Connection, table: str, rows: list[dict[str, Any]]) -> None:
    names = list(rows[0])
    connection.execute(text(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(':' + name for name in names)})"), rows)


def content(connection: Connection) -> dict[str, list[Any]]:
    """Every row of the tables there were from the first version on."""
    tables = ("runs", "run_details", "artifacts", "records")
    return {table: list(connection.execute(text(f"SELECT * FROM {table} ORDER BY sequence"))) for table in tables}


def make_old(url: str | None, folder: Path, version: str, rows: int) -> dict[str, list[Any]]:
    engine = engine_for(url, folder)
    with engine.begin() as connection:
        migrations.upgrade(connection, "0001")
        fill(connection, rows)
        if version != "0001":
            migrations.upgrade(connection, version)
        before = content(connection)
    engine.dispose()
    return before


def check_current(url: str | None, folder: Path, before: dict[str, list[Any]]) -> None:
    with Store.open(url, folder) as store:
        with store._read() as connection:
            assert current_version(connection) == HEAD
            assert content(connection) == before
        page = store.history(HistoryQuery(text="number 77", limit=1))
        assert page.runs[0].title.startswith("Run 77")
        assert page.runs[0].tags == ("kept",)
        assert store.history(HistoryQuery(text="number")).total == len(before["runs"])


def test_the_newest_version_is_the_one_the_code_expects() -> None:
    assert migrations.versions()[-1] == HEAD
    assert len(EARLIER) >= 1


def test_the_migrated_tables_are_the_ones_the_code_describes(address: str | None, folder: Path) -> None:
    engine = engine_for(address, folder)
    with engine.connect() as connection:
        ours = {"include_name": lambda name, kind, _parents: kind != "table" or not str(name).startswith("run_search")}
        assert compare_metadata(MigrationContext.configure(connection, opts=ours), metadata) == []
    engine.dispose()


@pytest.mark.parametrize("version", EARLIER)
def test_every_earlier_version_becomes_the_current_one_with_all_rows(tmp_path: Path, version: str) -> None:
    before = make_old(None, tmp_path, version, ROWS)
    check_current(None, tmp_path, before)


@pytest.mark.parametrize("version", EARLIER)
def test_every_earlier_version_on_a_server_becomes_the_current_one(server: Server, tmp_path: Path, version: str) -> None:
    url = server.create()
    before = make_old(url, tmp_path, version, 1000)
    check_current(url, tmp_path, before)


@pytest.mark.parametrize("version", EARLIER)
def test_a_migration_killed_in_the_middle_leaves_the_old_or_the_new_version(tmp_path: Path, version: str) -> None:
    old = tmp_path / "old"
    old.mkdir()
    before = make_old(None, old, version, ROWS_TO_KILL)
    first = Path(shutil.copytree(old, tmp_path / "timed"))
    begun = time.monotonic()
    Store.open(None, first).close()
    whole = time.monotonic() - begun
    shares = (0.1, 0.3, 0.5, 0.7, 0.9)
    found = {kill_while_opening(old, tmp_path / str(share), whole * share, before) for share in shares}
    assert version in found


def kill_while_opening(old: Path, folder: Path, seconds: float, before: dict[str, list[Any]]) -> str | None:
    """Kill a process so long after it began to open the store; the version that is there then. A second try must succeed."""
    shutil.copytree(old, folder)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["storage.store", "storage.migrations"])
    ready, ready_in_child = context.Pipe(duplex=False)
    process = context.Process(target=_open, args=(folder, ready_in_child), daemon=True)
    process.start()
    assert ready.poll(60)
    process.join(seconds)
    process.kill()
    process.join()
    engine = engine_for(None, folder)
    with engine.connect() as connection:
        version = current_version(connection)
        assert version in migrations.versions()
        assert content(connection) == before
        assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
    engine.dispose()
    check_current(None, folder, before)
    shutil.rmtree(folder)
    return version


def _open(folder: Path, ready: Any) -> None:
    ready.send(True)
    Store.open(None, folder).close()


def test_an_empty_database_killed_in_its_first_migration_opens_afterwards(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        ready, ready_in_child = context.Pipe(duplex=False)
        process = context.Process(target=_open, args=(folder, ready_in_child), daemon=True)
        process.start()
        assert ready.poll(60)
        process.join(0.02 * number)
        process.kill()
        process.join()
        with Store.open(None, folder) as store:
            assert store.integrity() == []
