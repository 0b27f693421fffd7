"""A real store and real keys in a folder of their own, and runs with artifacts and signed records in them."""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.provenance.keys import Keys
from app.provenance.statement import Promise, sign_artifacts
from storage.store import Store
from storage.values import ArtifactRow, NewRun, RunRow, RunState

EXACT = Promise(determinism="bit_exact")
AddRun = Callable[..., RunRow]
AddArtifact = Callable[..., ArtifactRow]


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys.open(tmp_path / "data")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Keys:
    """The keys of another machine."""
    return Keys.open(tmp_path / "elsewhere")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(None, tmp_path / "data") as opened:
        yield opened


def new_run(**changes: Any) -> NewRun:
    fields: dict[str, Any] = {
        "id": secrets.token_hex(16), "method": "d2f", "method_title": "D2F", "tab": "text", "checkpoint": "pocket",
        "inputs": {"prompt": "Count to ten.", "held_out": 0}, "settings": {"block_size": 16, "commit": 0.9, "cache": True},
        "seed": 1729, "device": "cpu", "title": "Count to ten", "owner": "",
    }  # fmt: skip
    return NewRun(**(fields | changes))


@pytest.fixture
def add_run(store: Store) -> AddRun:
    """Adds a run and starts it, so that it may produce artifacts."""

    def add(**changes: Any) -> RunRow:
        row = store.add_runs([new_run(**changes)])[0]
        claimed = store.claim({"cpu"})
        assert claimed is not None and claimed.id == row.id
        store.set_environment(row.id, {"device": "CPU, 2 cores", "dtype": "float32", "packages": {"torch": "2.13.0"}}, {"base/m": "a" * 64})
        return store.run(row.id)

    return add


@pytest.fixture
def add_artifact(store: Store, keys: Keys) -> AddArtifact:
    """Adds an artifact with its signed record."""

    def add(run: RunRow, data: bytes, name: str = "answer", media_type: str = "text/plain", kind: str = "text", **more: Any) -> ArtifactRow:
        artifact = {"kind": kind, "name": name, "media_type": media_type, "data": data, "facts": {}, "partial": False} | more
        return store.add_artifact(run.id, artifact, sign_artifacts(run, keys, EXACT))

    return add


@pytest.fixture
def finish(store: Store) -> Callable[[RunRow], RunRow]:
    return lambda run: store.finish(run.id, RunState.DONE)


@pytest.fixture
def signed(store: Store, add_run: AddRun, add_artifact: AddArtifact) -> tuple[bytes, bytes]:
    """A file and its record."""
    data = "Ten, nine, eight: ünïcode, and a line.\n".encode()
    return data, store.record_for_artifact(add_artifact(add_run(), data).id).envelope
