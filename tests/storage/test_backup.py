"""Backups made while work goes on, restored elsewhere: every record verifies, every file is there (anchor A13)."""

import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from storage.errors import Conflict, NotFound
from storage.store import Store
from storage.values import ArtifactRow, HistoryQuery, RunState
from tests.storage.conftest import artifact, make_run, sign_plainly

KEY = Ed25519PrivateKey.generate()


def sign(row: ArtifactRow, previous: str, sequence: int) -> bytes:
    message = f"{sequence} {previous} {row.id} {row.digest}".encode()
    return KEY.sign(message) + message


def check_restored(folder: Path) -> int:
    """Open a backup as a data folder; how many records it has."""
    with Store.open(None, folder) as store:
        assert store.integrity() == []
        chain = list(store.records())
        for record in chain:
            signature, message = record.envelope[:64], record.envelope[64:]
            KEY.public_key().verify(signature, message)
            sequence, previous, artifact_id, digest = message.decode().split()
            assert (int(sequence), previous) == (record.sequence, record.previous)
            try:
                assert store.artifact(artifact_id).digest == digest
            except NotFound:
                continue  # its run was deleted before the backup
            assert len(store.read_artifact(artifact_id)) > 0
        return len(chain)


def test_ten_backups_while_writing_and_deleting_are_whole(store: Store, tmp_path: Path) -> None:
    stop = threading.Event()
    written = threading.Semaphore(0)

    def work() -> None:
        while not stop.is_set():
            (run,) = store.add_runs([make_run()])
            kept = store.add_artifact(run.id, artifact(run.id.encode() * 100), sign)
            store.finish(run.id, RunState.DONE)
            if kept.record is not None and kept.record % 3 == 0:
                store.delete_runs([run.id])
            written.release()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for number in range(10):
            for _ in range(3):
                written.acquire()
            store.backup(tmp_path / f"backup-{number}")
    finally:
        stop.set()
        worker.join()
    counts = [check_restored(tmp_path / f"backup-{number}") for number in range(10)]
    assert counts == sorted(counts)
    assert counts[0] >= 3


def test_a_restored_backup_answers_like_the_original(store: Store, tmp_path: Path) -> None:
    first, second = store.add_runs([make_run(title="the first\ud800"), make_run(title="second")])
    store.add_artifact(first.id, artifact(), sign_plainly)
    store.tag(first.id, ["tag"])
    store.save_preset("m", "p", {"x": 1})
    store.set_paused(True)
    store.backup(tmp_path / "backup")
    with Store.open(None, tmp_path / "backup") as restored:
        assert restored.runs([first.id, second.id]) == store.runs([first.id, second.id])
        assert restored.queue() == store.queue()
        assert restored.presets("m") == store.presets("m")
        assert restored.paused
        assert restored.history(HistoryQuery(text="first", tag="tag")) == store.history(HistoryQuery(text="first", tag="tag"))
        assert restored.add_runs([make_run()])[0].sequence == second.sequence + 1


def test_a_backup_never_overwrites(store: Store, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    with pytest.raises(Conflict):
        store.backup(tmp_path / "here")


def test_a_backup_that_was_cut_off_is_made_anew(store: Store, tmp_path: Path) -> None:
    (tmp_path / "backup.unfinished").mkdir()
    (tmp_path / "backup.unfinished" / "half").write_bytes(b"ha")
    store.backup(tmp_path / "backup")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("backup")) == ["backup"]
    assert not (tmp_path / "backup" / "half").exists()
