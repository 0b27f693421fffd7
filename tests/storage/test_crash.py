"""Processes killed at the worst moment (anchors A1, A5, A6), several at once (A8), a long reader (A9).

The trials are `app.bench.reliability_store`'s; `bench reliability` runs them in larger numbers.
"""

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from app.bench.reliability_store import (
    concurrent_inserts,
    kill_while_committing,
    kill_while_writing_artifacts,
    kill_with_a_queue,
    write_beside_a_long_reader,
)
from storage.artifacts import FileOperations
from storage.store import Store
from tests.storage.conftest import Server, artifact, make_run, sign_plainly


def test_fifty_kills_lose_no_acknowledged_commit(tmp_path: Path) -> None:
    report = kill_while_committing(tmp_path, kills=50)
    assert report.lost == []
    assert report.faults == []
    assert report.acknowledged >= 1250


def test_kills_beside_a_database_server_lose_nothing(server: Server, tmp_path: Path) -> None:
    report = kill_while_committing(tmp_path, kills=6, url=server.create())
    assert report.lost == []
    assert report.faults == []


def test_kills_during_artifact_writes_leave_no_orphan(tmp_path: Path) -> None:
    report = kill_while_writing_artifacts(tmp_path, kills=15)
    assert report.lost == []
    assert report.faults == []


def test_a_restart_keeps_the_queue_and_the_preview_of_the_running_run(tmp_path: Path) -> None:
    for number in range(3):
        assert kill_with_a_queue(tmp_path / str(number)) == []


def test_eight_processes_insert_without_loss_or_lock_error(tmp_path: Path) -> None:
    assert concurrent_inserts(tmp_path, processes=8, inserts=60) == []


def test_eight_processes_insert_beside_a_database_server(server: Server, tmp_path: Path) -> None:
    assert concurrent_inserts(tmp_path, processes=8, inserts=20, url=server.create()) == []


def test_a_long_reader_neither_stops_writes_nor_keeps_the_log(tmp_path: Path) -> None:
    log_bytes, slowest = write_beside_a_long_reader(tmp_path, seconds=0.5)
    assert log_bytes < 64 * 1024 * 1024
    assert slowest < 2.5


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", ["write", "sync", "rename", "sync_folder", "sign"])
def test_a_kill_at_each_step_of_an_artifact_leaves_it_absent(folder: Path, step: str, moment: str) -> None:
    """The row comes last, so until its commit the artifact is not there, and afterwards no file is left over."""
    child = multiprocessing.get_context("forkserver").Process(target=die_at, args=(folder, step, moment))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    with Store.open(None, folder) as store:
        store.recover()
        (run,) = store.queue()
        assert run.artifacts == ()
        assert [path for path in (folder / "artifacts").rglob("*") if path.is_file()] == []
        assert store.integrity() == []
        assert store.read_artifact(store.add_artifact(run.id, artifact(b"again"), sign_plainly).id) == b"again"


def die(*_: object) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


class Deadly(FileOperations):
    """Kills the process before or after the first step of one kind."""

    def __init__(self, step: str, moment: str) -> None:
        if step != "sign":
            done = getattr(self, step)
            setattr(self, step, die if moment == "before" else lambda *arguments: (done(*arguments), die()))


def die_at(folder: Path, step: str, moment: str) -> None:
    """In the child: one artifact, killed at the step."""
    store = Store.open(None, folder, operations=Deadly(step, moment))
    (run,) = store.add_runs([make_run()])
    store.add_artifact(run.id, artifact(b"the bytes"), die)
