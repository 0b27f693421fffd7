"""The studio's own end, planned or not: what is queued stays, what ran is interrupted with its output so far, no worker survives."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from app.errors import ProvenanceError
from app.provenance.chain import check_chain
from app.provenance.keys import Keys
from storage import errors
from storage.values import RunState

from .conftest import TOYS, Bench, until

ROOT = Path(__file__).resolve().parents[3]
SERVER = """
import sys, pathlib, threading
from app.engine import open_engine
from app.engine.protocol import EngineOptions
from app.provenance.keys import Keys
from app.registry import Registry
from storage.store import Store
data, assets, toys = map(pathlib.Path, sys.argv[1:4])
store, registry, keys = Store.open(None, data), Registry.discover((toys,)), Keys.open(data)
engine = open_engine("local", store, registry, keys, data, assets, options=EngineOptions(warm_modules=(), warm_methods=False))
engine.start()
threading.Event().wait()
"""


def test_an_orderly_end_interrupts_the_run_and_ends_the_workers(bench: Bench) -> None:
    engine = bench.engine()
    run = bench.submit("preview:draft touch:here wait:never")
    queued = bench.submit("step")
    bench.reached("here")
    worker = engine.status().workers[0].pid
    engine.shutdown()
    ended = bench.store.run(run)
    assert ended.state is RunState.INTERRUPTED and bench.text(ended, "answer") == "draft"
    assert bench.store.run(queued).state is RunState.QUEUED
    until(lambda: not psutil.pid_exists(worker))


@pytest.mark.parametrize("attempt", range(3))
def test_a_killed_studio_leaves_no_worker_and_its_next_start_keeps_the_output(bench: Bench, attempt: int) -> None:
    bench.store.add_runs(
        [bench.new("preview:draft touch:here wait:never"), *(bench.new(f"produce:number{number}") for number in range(10))]
    )
    queued = [run.id for run in bench.store.queue()]
    arguments = [sys.executable, "-c", SERVER, str(bench.data), str(bench.assets), str(TOYS)]
    server = subprocess.Popen(arguments, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    bench.reached("here")
    until(lambda: bench.store.run(queued[0]).preview is not None)
    workers = psutil.Process(server.pid).children(recursive=True)
    assert workers
    server.send_signal(signal.SIGKILL)
    server.wait()
    until(lambda: not any(worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE for worker in workers))
    engine = bench.engine()
    interrupted = bench.store.run(queued[0])
    assert interrupted.state is RunState.INTERRUPTED and interrupted.partial and interrupted.preview is None
    assert bench.text(interrupted, "answer") == "draft" and interrupted.artifacts[0].record == 1
    for run in queued[1:]:
        assert engine.wait(run, 60).state is RunState.DONE
    assert [row.id for row in bench.finished] == queued[1:]
    assert check_chain(bench.store, bench.keys).holds


def test_a_preview_left_by_an_earlier_crash_is_kept_at_the_next_start_and_once_only(bench: Bench) -> None:
    run = bench.store.add_runs([bench.new("step")])[0]
    bench.store.claim(("cpu",))
    preview = {"kind": "text", "name": "answer", "media_type": "text/plain", "data": "ZHJhZnQ=", "facts": {}, "partial": False, "bytes": 5}
    bench.store.set_preview(run.id, preview)
    bench.store.recover()
    for _ in range(2):
        bench.engine()
        bench.running.shutdown()
        assert [artifact.partial for artifact in bench.store.run(run.id).artifacts] == [True]


def test_a_disk_that_fills_up_fails_the_run_by_name_and_the_next_works(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = bench.engine()
    real = bench.store.add_artifact

    def full(*_: object) -> None:
        raise errors.Full("No space is left.")

    monkeypatch.setattr(bench.store, "add_artifact", full)
    run = bench.run("produce:answer touch:here wait:never")
    assert run.state is RunState.FAILED and run.fault is not None and run.fault["kind"] == "StorageFull"
    monkeypatch.setattr(bench.store, "add_artifact", real)
    assert bench.run("produce:answer").state is RunState.DONE
    assert engine.status().workers[0].state == "idle"


def test_a_key_that_fails_while_signing_fails_the_run_and_not_the_engine(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.engine()
    monkeypatch.setattr(Keys, "signer", property(lambda _: (_ for _ in ()).throw(ProvenanceError("The key cannot be read."))))
    run = bench.run("produce:answer")
    assert run.state is RunState.FAILED and run.fault is not None and run.fault["kind"] == "ProvenanceError"
    monkeypatch.undo()
    assert bench.run("produce:answer").state is RunState.DONE


def test_an_end_that_cannot_be_written_is_written_later(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = bench.engine()
    real, refused = bench.store.finish, threading.Event()

    def full(*_: object, **__: object) -> None:
        refused.set()
        raise errors.Full("No space is left.")

    monkeypatch.setattr(bench.store, "finish", full)
    run = bench.submit("produce:answer")
    assert refused.wait(60)
    assert bench.store.run(run).state is RunState.RUNNING
    monkeypatch.setattr(bench.store, "finish", real)
    ended = engine.wait(run, 60)
    assert ended.state is RunState.FAILED and ended.fault is not None and ended.fault["kind"] == "StorageFull"
    assert bench.run("step").state is RunState.DONE


def test_many_runs_in_a_row_leak_nothing(bench: Bench) -> None:
    engine = bench.engine()
    studio = psutil.Process()

    def batch(count: int) -> None:
        last = [bench.submit("step preview:draft metric:right produce:answer") for _ in range(count)][-1]
        assert engine.wait(last, 60).state is RunState.DONE

    batch(50)
    worker = psutil.Process(engine.status().workers[0].pid)
    before = (
        studio.memory_info().rss,
        worker.memory_info().rss,
        studio.num_fds(),
        worker.num_fds(),
        studio.num_threads(),
        worker.num_threads(),
    )
    batch(100)
    after = (
        studio.memory_info().rss,
        worker.memory_info().rss,
        studio.num_fds(),
        worker.num_fds(),
        studio.num_threads(),
        worker.num_threads(),
    )
    assert (after[0] - before[0]) / 100 < 100_000 and (after[1] - before[1]) / 100 < 100_000
    assert after[2] <= before[2] + 2 and after[3] <= before[3] and after[4] <= before[4] + 1 and after[5] <= before[5]
