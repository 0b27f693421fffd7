"""Trials of the store's durability: what it acknowledged is still there after the worst moment to stop.

Child processes use the store through its public functions and write every acknowledgement to a file of their own, synced; they
are killed at random moments, and what they acknowledged is compared with what the store holds. The same trials run in the test
suite with small numbers and in `bench reliability` with large ones (reliability figures A1, A5, A6, A8, A9).

It deliberately cannot pull the power plug: that the log is synced at each commit is set by `storage.database` and tested there.
"""

import hashlib
import multiprocessing
import os
import secrets
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from random import Random

from app.bench.reliability_damage import change_bytes
from backends.contract import BenchContext, Claim
from storage.database import FILE_NAME
from storage.errors import StoreError
from storage.store import Store
from storage.values import ArtifactRow, NewRun, RunState

PATIENCE_SECONDS = 60.0
LAST_SECONDS = 0.03
"""A child is killed at a random moment of this span after a random number of acknowledgements."""
LOG_TO_REACH, PREVIEW_BYTES = 80 * 1024 * 1024, 40_000
COMMITS, FILES = (15, 45), (1, 4)
"""The range of that number, for small commits and for files of a megabyte."""

STORE_CLAIMS = (
    Claim(name="acknowledged_commits", op=">=", floor=5000),
    Claim(name="acknowledged_lost", op="==", floor=0, quick=True),
    Claim(name="kill_faults", op="==", floor=0, quick=True),
    Claim(name="artifact_kill_faults", op="==", floor=0, quick=True),
    Claim(name="restart_faults", op="==", floor=0, quick=True),
    Claim(name="concurrent_insert_faults", op="==", floor=0, quick=True),
    Claim(name="damage_faults", op="==", floor=0, quick=True),
    Claim(name="log_bytes_after_long_reader", op="<", floor=64 * 1024 * 1024),
    Claim(name="write_ms_p99_beside_long_reader", op="<", floor=250),
)


def measure_store(context: BenchContext) -> dict[str, float]:
    """All trials on fresh SQLite stores below the scratch folder."""
    size = (10, 10, 3, 50, 10, 2.0) if context.quick else (200, 100, 20, 1000, 200, 120.0)
    kills, artifact_kills, restarts, inserts, changes, seconds = size
    context.say(f"killing a committing process {kills} times")
    committing = kill_while_committing(context.scratch / "commits", kills)
    context.say(f"killing a process that writes artifacts {artifact_kills} times")
    writing = kill_while_writing_artifacts(context.scratch / "artifacts", artifact_kills)
    context.say(f"killing a studio with a queue {restarts} times")
    restarted = [fault for number in range(restarts) for fault in kill_with_a_queue(context.scratch / f"queue-{number}")]
    context.say(f"8 processes insert {inserts} runs each")
    inserted = concurrent_inserts(context.scratch / "inserts", 8, inserts)
    context.say(f"changing one byte of a database {changes} times")
    damaged = change_bytes(context.scratch / "damage", changes)
    context.say(f"writing for {seconds:g} s beside a long reader")
    log_bytes, slowest = write_beside_a_long_reader(context.scratch / "reader", seconds)
    return {
        "acknowledged_commits": committing.acknowledged,
        "acknowledged_lost": len(committing.lost) + len(writing.lost),
        "kill_faults": len(committing.faults),
        "artifact_kill_faults": len(writing.faults),
        "restart_faults": len(restarted),
        "concurrent_insert_faults": len(inserted),
        "damage_faults": len(damaged.faults),
        "log_bytes_after_long_reader": log_bytes,
        "write_ms_p99_beside_long_reader": slowest * 1000,
    }


@dataclass
class KillReport:
    """What a series of kills left: acknowledgements, those the store does not know, and everything else that is wrong."""

    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


Child = Callable[[str | None, Path, "Acknowledgements"], None]


def kill_while_committing(folder: Path, kills: int, url: str | None = None, seed: int = 0) -> KillReport:
    """Figure A1: runs, artifacts and records are committed until the process is killed."""
    return _kill_again_and_again(_commit_forever, COMMITS, folder, kills, url, seed)


def kill_while_writing_artifacts(folder: Path, kills: int, url: str | None = None, seed: int = 0) -> KillReport:
    """Figure A5: most of the process's time goes into writing files of megabytes."""
    return _kill_again_and_again(_write_artifacts_forever, FILES, folder, kills, url, seed)


def _kill_again_and_again(child: Child, span: tuple[int, int], folder: Path, kills: int, url: str | None, seed: int) -> KillReport:
    folder.mkdir(parents=True, exist_ok=True)
    random = Random(seed)
    report = KillReport()
    Store.open(url, folder).close()
    for number in range(kills):
        acknowledgements = folder / f"acknowledged-{number}"
        _run_and_kill(child, url, folder, acknowledgements, random.randint(*span), random.random() * LAST_SECONDS)
        lines = acknowledgements.read_text(encoding="ascii").split("\n")[:-1]
        report.acknowledged += len(lines)
        given_up = {line.removeprefix("deleting ") for line in lines if line.startswith("deleting ")}
        try:
            with Store.open(url, folder) as store:
                store.recover()
                report.lost += [line for line in lines if not given_up & set(line.split(" ")) and not _is_kept(store, line)]
                report.faults += store.integrity() + _leftovers(store, folder)
        except StoreError as error:
            report.faults.append(f"After kill {number} the store does not open: {error}")
    return report


def _run_and_kill(child: Child, url: str | None, folder: Path, acknowledgements: Path, enough: int, more_seconds: float) -> None:
    context = _processes()
    ready, ready_in_child = context.Pipe(duplex=False)
    said = Acknowledgements(acknowledgements, enough, ready_in_child)
    process = context.Process(target=child, args=(url, folder, said), daemon=True)
    process.start()
    ready_in_child.close()
    if not ready.poll(PATIENCE_SECONDS):
        process.kill()
        raise TimeoutError("the child did not start to work")
    ready.recv()
    process.join(more_seconds)
    if not process.is_alive():
        raise RuntimeError(f"the child ended by itself with code {process.exitcode}")
    process.kill()
    process.join()


def _processes() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _is_kept(store: Store, line: str) -> bool:
    what, key, *rest = line.split(" ")
    try:
        if what == "artifact":
            record = store.record_for_artifact(key)
            return hashlib.sha256(store.read_artifact(key)).hexdigest() == rest[0] and key.encode() in record.envelope
        run = store.run(key)
    except StoreError:
        return False
    return what == "run" or run.state is RunState.DONE


def _leftovers(store: Store, folder: Path) -> list[str]:
    files = [path for path in (folder / "artifacts").rglob("*") if path.is_file()]
    return [f"The file {path.name} belongs to no artifact." for path in files if not store.find_digest(path.name)]


class Acknowledgements:
    """A file that holds a line before the child's next step; after `enough` lines the parent is told."""

    def __init__(self, path: Path, enough: int, ready: Connection) -> None:
        self._path = path
        self._left = enough
        self._ready = ready

    def add(self, line: str) -> None:
        """Return when the line is on the device."""
        with self._path.open("a", encoding="ascii") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())
        self._left -= 1
        if self._left == 0:
            self._ready.send(True)


def _commit_forever(url: str | None, folder: Path, said: Acknowledgements) -> None:
    store = Store.open(url, folder)
    while True:
        (added,) = store.add_runs([_request()])
        said.add(f"run {added.id}")
        claimed = store.claim(["cpu"])
        if claimed is None:
            continue
        kept = store.add_artifact(claimed.id, _artifact(secrets.token_bytes(200)), _sign)
        said.add(f"artifact {kept.id} {kept.digest}")
        store.finish(claimed.id, RunState.DONE)
        said.add(f"done {claimed.id}")


def _write_artifacts_forever(url: str | None, folder: Path, said: Acknowledgements) -> None:
    store = Store.open(url, folder)
    (run,) = store.add_runs([_request()])
    while True:
        kept = store.add_artifact(run.id, _artifact(os.urandom(4096) * 256), _sign)
        said.add(f"artifact {kept.id} {kept.digest}")
        old = run
        (run,) = store.add_runs([_request()])
        said.add(f"deleting {kept.id}")
        store.delete_runs([old.id])


def kill_with_a_queue(folder: Path, url: str | None = None) -> list[str]:
    """Figure A6: ten queued runs and a running one with a preview; what is wrong after the kill and the restart."""
    folder.mkdir(parents=True, exist_ok=True)
    order_file = folder / "order"
    _run_and_kill(_fill_a_queue, url, folder, order_file, 1, 0.0)
    running, *queued = order_file.read_text(encoding="ascii").split()
    with Store.open(url, folder) as store:
        interrupted = store.recover()
        found = []
        if [run.id for run in interrupted] != [running]:
            found.append("The running run is not the one that was interrupted.")
        if interrupted and (interrupted[0].state is not RunState.INTERRUPTED or interrupted[0].preview != _PREVIEW):
            found.append("The interrupted run has lost its preview.")
        if [run.id for run in store.queue()] != queued:
            found.append("The queue is not what it was.")
        return found + store.integrity()


_PREVIEW = {"kind": "text", "data": "aGFsZiBhIHNlbnRlbmNl"}


def _fill_a_queue(url: str | None, folder: Path, said: Acknowledgements) -> None:
    store = Store.open(url, folder)
    store.add_runs([_request() for _ in range(11)])
    store.move(store.queue()[-1].id, 3)
    running = store.claim(["cpu"])
    if running is None:
        raise RuntimeError("the queue gave no run")
    store.set_preview(running.id, _PREVIEW)
    said.add(" ".join(run.id for run in store.queue()))
    while True:
        store.set_environment(running.id, {"token": secrets.token_hex(100)}, {})


def concurrent_inserts(folder: Path, processes: int, inserts: int, url: str | None = None) -> list[str]:
    """Figure A8: several processes insert runs one by one into one store; everything that went wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    Store.open(url, folder).close()
    context = _processes()
    start = context.Barrier(processes)
    workers = [context.Process(target=_insert, args=(url, folder, inserts, start), daemon=True) for _ in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = [f"A process ended with code {worker.exitcode}." for worker in workers if worker.exitcode != 0]
    with Store.open(url, folder) as store:
        queue = store.queue()
        if len({run.sequence for run in queue}) != processes * inserts:
            found.append(f"{processes * inserts} runs were inserted and {len(queue)} are here.")
        if [run.position for run in queue] != list(range(1, len(queue) + 1)):
            found.append("The positions in the queue have gaps.")
        return found + store.integrity()


def _insert(url: str | None, folder: Path, inserts: int, start: Barrier) -> None:
    with Store.open(url, folder) as store:
        start.wait(PATIENCE_SECONDS)
        for _ in range(inserts):
            store.add_runs([_request()])


def write_beside_a_long_reader(folder: Path, seconds: float) -> tuple[int, float]:
    """Figure A9: bytes of the log once the reader has gone, and the 99th percentile of a write's seconds while it read.

    The reader stays at least so long, and until the log has grown well beyond what may be left of it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with Store.open(None, folder) as store:
        (run,) = store.add_runs([_request()])
        reader = sqlite3.connect(folder / FILE_NAME, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM runs").fetchall()
        durations = []
        end = time.monotonic() + seconds
        log = folder / f"{FILE_NAME}-wal"
        while time.monotonic() < end or log.stat().st_size < LOG_TO_REACH:
            preview = {"data": secrets.token_hex(PREVIEW_BYTES)}  # equal bytes would not be written again
            begun = time.perf_counter()
            store.set_preview(run.id, preview)
            durations.append(time.perf_counter() - begun)
        reader.close()
        # The first commit after the reader has gone copies the log into the database, the second starts the log again.
        for number in range(2):
            store.set_preview(run.id, {"number": number})
        log_bytes = log.stat().st_size
    return log_bytes, sorted(durations)[int(len(durations) * 0.99)]


def _request() -> NewRun:
    return NewRun(
        id=secrets.token_hex(16),
        method="trial",
        method_title="Trial",
        tab="text",
        checkpoint="none",
        inputs={"prompt": "a few words"},
        settings={"steps": 1},
        seed=1,
    )


def _artifact(data: bytes) -> dict[str, object]:
    return {"kind": "bytes", "name": "output", "media_type": "application/octet-stream", "data": data}


def _sign(row: ArtifactRow, previous: str, sequence: int) -> bytes:
    return f"{sequence} {previous} {row.id} {row.digest}".encode("ascii")
