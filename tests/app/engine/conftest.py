"""A real store, real keys, real worker processes, and toy methods found as plug-ins."""

import json
import os
import secrets
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.engine import signing
from app.engine.local import LocalEngine
from app.engine.protocol import EngineOptions
from app.provenance.keys import Keys
from app.registry import Registry
from storage.store import Store
from storage.values import NewRun, RunRow

TOYS = Path(__file__).parent / "toys"


def write_weights(path: Path, values: bytes = bytes(16)) -> None:
    """A safetensors file with one tensor, written by the format's own rules."""
    header = json.dumps({"weight": {"dtype": "U8", "shape": [len(values)], "data_offsets": [0, len(values)]}}).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(header)) + header + values)


class Bench:
    """An engine with everything around it, and the few things tests do with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scripts = folder / "scripts"
        self.data = folder / "data"
        self.assets = folder / "assets"
        self.scripts.mkdir(parents=True)
        write_weights(self.assets / "pocket" / "toy" / "model.safetensors")
        self.registry = Registry.discover((TOYS,))
        self.finished: list[RunRow] = []
        self.open()

    def open(self) -> None:
        self.store = Store.open(None, self.data)
        self.keys = Keys.open(self.data)

    def engine(self, **options: Any) -> LocalEngine:
        chosen = EngineOptions(**{"warm_modules": (), "warm_methods": False, **options})
        sign = signing(self.store, self.registry, self.keys)
        self.running = LocalEngine(self.store, self.registry, self.data, self.assets, self.finished.append, sign, chosen)
        self.running.start()
        return self.running

    def new(self, script: str = "", **fields: Any) -> NewRun:
        settings = {"length": 10, "ratio": 0.5, **fields.pop("settings", {})}
        request = {
            "id": secrets.token_hex(16), "method": "scripted", "method_title": "Scripted toy", "tab": "text", "checkpoint": "plain",
            "inputs": {"script": script}, "settings": settings, "seed": 7,
        }  # fmt: skip
        return NewRun(**{**request, **fields})

    def submit(self, script: str = "", **fields: Any) -> str:
        run = self.store.add_runs([self.new(script, **fields)])[0]
        self.running.notify()
        return run.id

    def run(self, script: str = "", seconds: float = 60.0, **fields: Any) -> RunRow:
        return self.running.wait(self.submit(script, **fields), seconds)

    def pipe(self, name: str = "pipe") -> None:
        os.mkfifo(self.scripts / name)

    def reached(self, name: str, seconds: float = 60.0) -> None:
        """Until a script has touched the file."""
        until(lambda: (self.scripts / name).exists(), seconds)

    def allow(self, name: str) -> None:
        (self.scripts / name).touch()

    def text(self, run: RunRow, name: str) -> str:
        found = next(artifact for artifact in run.artifacts if artifact.name == name)
        return self.store.read_artifact(found.id).decode()


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something another process does; fails if it does not happen."""
    ticks = threading.Event()
    for _ in range(int(seconds / 0.005)):
        if condition():
            return
        ticks.wait(0.005)
    raise AssertionError(f"it did not happen within {seconds} s")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench(tmp_path)
    monkeypatch.setenv("DIPTYCH_TOY_FOLDER", str(made.scripts))
    yield made
    if hasattr(made, "running"):
        made.running.shutdown()
    made.store.close()
