"""The real application without a browser: an open studio, the whole ASGI app, and requests made of exactly the given headers."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from app.api import Studio
from ui.server import ServerOptions, build_app

PORT = 7860
HOST = f"127.0.0.1:{PORT}"
PLUGINS = Path(__file__).resolve().parents[1]


@dataclass
class Answer:
    """What the application answered to one request."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


def ask(
    app: Any,
    path: str,
    *,
    method: str = "GET",
    headers: Sequence[tuple[str, str]] = (("host", HOST),),
    body: bytes = b"",
    scheme: str = "http",
) -> Answer:
    """One request with exactly these headers, duplicates and all, through the whole ASGI application."""
    raw_path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": scheme,
        "path": raw_path,
        "raw_path": raw_path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", PORT),
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
    }
    answer = Answer()

    sent = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        message = next(sent, None)
        if message is None:  # the client stays connected and sends nothing more
            await asyncio.Event().wait()
        return message or {}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in message["headers"]}
        else:
            answer.body += message.get("body", b"")

    apart(app(scope, receive, send))
    return answer


def apart(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` to its end in a thread: a browser opened earlier in this process keeps an event loop in the main one."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(asyncio.run, work).result()


@pytest.fixture(scope="package")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio that reads only: no worker is started."""
    opened = Studio.open(tmp_path_factory.mktemp("studio"), engine="none", plugins=(_toy_folder(tmp_path_factory),))
    yield opened
    opened.close()


@pytest.fixture(scope="package")
def app(studio: Studio) -> FastAPI:
    """The application of `studio`, on loopback."""
    return build_app(studio, ServerOptions(port=PORT))


def _toy_folder(factory: pytest.TempPathFactory) -> Path:
    """A plug-in folder with the toy method in it."""
    folder = factory.mktemp("plugins")
    (folder / "toy_rotation").symlink_to(PLUGINS / "toy_method", target_is_directory=True)
    return folder
