"""Pulling a checkpoint: fetched with resume from a hub on this machine, never before its licence is accepted."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.app.test_checkpoints import safetensors, tensor

ROOT = Path(__file__).resolve().parents[2]


class Hub(BaseHTTPRequestHandler):
    """The part of the hub that a pull needs, on loopback. The first transfer of the weights breaks off half-way."""

    protocol_version = "HTTP/1.1"
    sha = "a" * 40
    files: ClassVar[dict[str, bytes]] = {}
    log: ClassVar[list[tuple[str, str, str]]] = []
    broken = 0

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        path = self.path.split("?")[0]
        Hub.log.append((self.command, path, self.headers.get("Range", "")))
        if path.startswith("/api/models/lab/model/revision/"):
            self._send(
                200,
                json.dumps({"id": "lab/model", "sha": Hub.sha, "siblings": [{"rfilename": name} for name in Hub.files]}).encode(),
                with_body,
            )
        elif path.startswith("/api/models/lab/model/tree/"):
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": f"{number:040d}"}
                for number, (name, data) in enumerate(Hub.files.items())
            ]
            self._send(200, json.dumps(tree).encode(), with_body)
        elif path.startswith("/lab/model/resolve/"):
            self._file(path.split("/", 5)[5], with_body)
        else:
            self._send(404, b"{}", with_body, {"X-Error-Code": "RepoNotFound"})

    def _file(self, name: str, with_body: bool) -> None:
        data = Hub.files[name]
        headers = {"ETag": f'"{name}"', "X-Repo-Commit": Hub.sha, "Accept-Ranges": "bytes"}
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0])
        status = 206 if start else 200
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        if with_body and name.endswith(".safetensors") and Hub.broken > 0:
            Hub.broken -= 1
            self._send(status, data[start:], True, headers, cut=(len(data) - start) // 2)
            self.close_connection = True
            return
        self._send(status, data[start:], with_body, headers)

    def _send(self, status: int, body: bytes, with_body: bool, headers: dict[str, str] | None = None, cut: int | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body[:cut])

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


PULL = """
import json, sys, pathlib
from app.checkpoints import pull, pull_size, available, resolve
from backends.contract import Checkpoint, CheckpointError, Source
cache = pathlib.Path(sys.argv[1])
source = Source(kind="hub", location=sys.argv[2], licence="Apache-2.0", allow_patterns=("*",))
checkpoint = Checkpoint(key="m", title="Model", sources=(source,))
seen = []
try:
    before = available(checkpoint, cache=cache).here
    size = pull_size(checkpoint, cache)
    pulled = pull(checkpoint, lambda done, total: seen.append([done, total]), sys.argv[3] == "accept", cache=cache)
    folder = pulled.paths["base"]
    answer = {"before": before, "size": size, "seen": seen, "files": sorted(path.name for path in folder.rglob("*") if path.is_file())}
    answer["here"] = available(checkpoint, cache=cache).model_dump()
except CheckpointError as error:
    answer = {"fault": error.fault.model_dump(), "seen": seen}
print(json.dumps(answer))
"""


@pytest.fixture
def hub() -> Iterator[str]:
    weights = safetensors({"a": tensor(0, 30_000_000, (30_000_000,), "U8")}, bytes(30_000_000))
    Hub.files = {
        "config.json": b'{"model_type": "llama"}', "model.safetensors": weights, "tokenizer.json": b"{}",
        "modeling_evil.py": b"raise SystemExit", "pytorch_model.bin": b"\x80\x04evil", "README.md": b"words",
    }  # fmt: skip
    Hub.log, Hub.broken = [], 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def pull_from(hub: str, cache: Path, repository: str = "lab/model", licence: str = "accept") -> dict[str, Any]:
    environment = {**os.environ, "HF_ENDPOINT": hub, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-c", PULL, str(cache), repository, licence]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=120)
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


def test_a_pull_fetches_weights_and_words_but_neither_code_nor_pickles(hub: str, tmp_path: Path) -> None:
    answer = pull_from(hub, tmp_path)
    assert answer["files"] == ["README.md", "config.json", "model.safetensors", "tokenizer.json"]
    assert not answer["before"] and answer["here"]["here"] and answer["here"]["licence"] == "Apache-2.0"
    total = sum(len(Hub.files[name]) for name in answer["files"])
    assert answer["size"] == total and answer["seen"][0] == [0, total] and answer["seen"][-1] == [total, total]
    assert [done for done, _ in answer["seen"]] == sorted(done for done, _ in answer["seen"])
    assert not any("evil" in path or path.endswith(".bin") for _, path, _ in Hub.log)
    assert pull_from(hub, tmp_path)["size"] == 0


def test_a_pull_that_breaks_off_goes_on_where_it_ended(hub: str, tmp_path: Path) -> None:
    Hub.broken = 1
    answer = pull_from(hub, tmp_path)
    if "fault" in answer:
        assert "goes on where it ended" in answer["fault"]["next_step"]
        answer = pull_from(hub, tmp_path)
    assert "model.safetensors" in answer["files"]
    assert any(wanted.startswith("bytes=10") for method, path, wanted in Hub.log if method == "GET" and path.endswith("model.safetensors"))


def test_a_pull_needs_the_licence_to_be_accepted_and_fetches_nothing_before(hub: str, tmp_path: Path) -> None:
    answer = pull_from(hub, tmp_path, licence="refuse")
    assert "Apache-2.0" in answer["fault"]["why"]
    assert not any(path.startswith("/lab/model/resolve") and method == "GET" for method, path, _ in Hub.log)


def test_an_unknown_repository_and_a_dead_hub_are_said_in_words(hub: str, tmp_path: Path) -> None:
    assert "not on the hub" in pull_from(hub, tmp_path, "lab/nothing")["fault"]["why"]
    assert "did not answer" in pull_from("http://127.0.0.1:9", tmp_path)["fault"]["why"]
