"""Every step of one full job fails in turn (reliability anchors A2, A3): the store stays whole and says what happened."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.artifacts import ArtifactFiles
from storage.errors import Full, StoreError, Unavailable
from storage.store import Store
from storage.values import RunState
from tests.storage.conftest import artifact, make_run, sign_plainly
from tests.storage.failing_disk import BROKEN, FULL, FailingOperations, FailurePlan, failing_sqlite

ANSWER = b"The whole answer. " * 500
TRACE = b"[1, 2, 3]" * 300


def full_job(store: Store, said: dict[str, str]) -> None:
    """One run from request to record; `said` holds what the store has acknowledged."""
    (run,) = store.add_runs([make_run()])
    said["run"] = run.id
    assert store.claim(["cpu"]) is not None
    store.set_environment(run.id, {"device": "cpu"}, {"model": "0" * 64})
    store.set_preview(run.id, {"data": "aGFsZg=="})
    said["answer"] = store.add_artifact(run.id, artifact(ANSWER), sign_plainly).id
    said["trace"] = store.add_artifact(run.id, artifact(TRACE, name="trace"), sign_plainly).id
    store.finish(run.id, RunState.DONE)
    said["done"] = run.id


def check_acknowledged(store: Store, said: dict[str, str]) -> None:
    if "run" in said:
        assert store.run(said["run"]).id == said["run"]
    for name, data in (("answer", ANSWER), ("trace", TRACE)):
        if name in said:
            assert store.read_artifact(said[name]) == data
            assert store.record_for_artifact(said[name]).run == said["run"]
    if "done" in said:
        assert store.run(said["done"]).state is RunState.DONE


def check_files(folder: Path) -> None:
    """Whatever stands at a final name is complete."""
    files = ArtifactFiles(folder / "artifacts")
    assert all(files.is_whole(digest) for digest in files.digests())


def job_on_failing_disk(folder: Path, plan: FailurePlan) -> tuple[StoreError | None, dict[str, str]]:
    """Run the job while the plan fails; then heal the disk and go on in the same open store."""
    said: dict[str, str] = {}
    failure: StoreError | None = None
    with Store.open(None, folder, operations=FailingOperations(plan)) as store, failing_sqlite(plan):
        plan.steps = 0
        try:
            full_job(store, said)
        except StoreError as error:
            failure = error
        plan.heal()
        check_files(folder)
        (next_run,) = store.add_runs([make_run()])
        kept = store.add_artifact(next_run.id, artifact(ANSWER), sign_plainly)
        assert store.read_artifact(kept.id) == ANSWER
    return failure, said


@pytest.mark.parametrize(("code", "lasting"), [(BROKEN, False), (FULL, True)], ids=["one error", "a full disk"])
def test_any_failing_step_leaves_the_store_whole(empty_folder: Path, tmp_path: Path, code: int, lasting: bool) -> None:
    failures = 0
    for step in range(1, 1000):
        folder = Path(shutil.copytree(empty_folder, tmp_path / str(step)))
        plan = FailurePlan(step, code, lasting)
        failure, said = job_on_failing_disk(folder, plan)
        with Store.open(None, folder) as store:
            store.recover()
            check_acknowledged(store, said)
            assert store.integrity() == []
            assert not list((folder / "artifacts" / "incoming").iterdir())
        shutil.rmtree(folder)
        if not plan.failed:
            break
        failures += failure is not None
        assert failure is None or isinstance(failure, Full if code == FULL else (Unavailable, Full)), repr(failure)
    assert failure is None and said.keys() == {"run", "answer", "trace", "done"}
    assert failures >= 30


@pytest.mark.parametrize("step", range(1, 8))
def test_an_artifact_that_cannot_be_written_leaves_no_row_and_no_file(folder: Path, step: int) -> None:
    plan = FailurePlan(step, FULL, lasting=True)
    with Store.open(None, folder, operations=FailingOperations(plan)) as store:
        (run,) = store.add_runs([make_run()])
        with pytest.raises(Full, match="No space is left"):
            store.add_artifact(run.id, artifact(ANSWER), sign_plainly)
        plan.heal()
        assert store.run(run.id).artifacts == ()
        assert list(store.records()) == []
        kept = store.add_artifact(run.id, artifact(ANSWER), sign_plainly)
        assert store.read_artifact(kept.id) == ANSWER


def test_a_database_that_may_not_grow_is_full(folder: Path) -> None:
    with Store.open(None, folder) as store:
        (run,) = store.add_runs([make_run()])
        limit_pages(store, 1)
        with pytest.raises(Full, match="No space is left for the database"):
            store.set_preview(run.id, {"data": "x" * 1_000_000})
        limit_pages(store, 1_000_000)
        store.set_preview(run.id, {"data": "x" * 1_000_000})
        assert store.integrity() == []


def limit_pages(store: Store, pages: int) -> None:
    """SQLite never takes a limit below what is already used."""
    store._write(lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}"))


@pytest.mark.parametrize("refuse", [lambda *_: 1 / 0, lambda *_: [][1]], ids=["arithmetic", "lookup"])
def test_a_signature_that_fails_leaves_nothing_and_is_the_callers_error(store: Store, folder: Path, refuse: Callable[..., bytes]) -> None:
    (run,) = store.add_runs([make_run()])
    with pytest.raises((ZeroDivisionError, IndexError)):
        store.add_artifact(run.id, artifact(ANSWER), refuse)
    assert store.run(run.id).artifacts == ()
    assert list(store.records()) == []
    assert [path for path in (folder / "artifacts").rglob("*") if path.is_file()] == []
