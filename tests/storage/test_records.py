"""Artifacts, their files, and the chain of records, on both databases."""

import hashlib
import threading
from pathlib import Path

import pytest

from storage.errors import Conflict, NotFound
from storage.records import FIRST_PREVIOUS
from storage.schema import records
from storage.store import Store
from storage.values import RecordRow, RunRow, RunState
from tests.storage.conftest import artifact, make_run, sign_plainly


@pytest.fixture
def run(store: Store) -> RunRow:
    return store.add_runs([make_run()])[0]


def files(folder: Path) -> set[str]:
    return {path.name for path in (folder / "artifacts").rglob("*") if path.is_file()}


def check_chain(store: Store) -> list[RecordRow]:
    chain = list(store.records())
    previous = FIRST_PREVIOUS
    for number, record in enumerate(chain, start=1):
        assert (record.sequence, record.previous) == (number, previous)
        assert hashlib.sha256(record.envelope).hexdigest() == record.digest
        previous = record.digest
    return chain


def test_an_artifact_is_named_by_its_digest_and_read_back(store: Store, run: RunRow) -> None:
    kept = store.add_artifact(run.id, artifact(b"bytes\x00\xff", facts={"length": 7}), sign_plainly)
    assert kept.digest == hashlib.sha256(b"bytes\x00\xff").hexdigest()
    assert store.artifact_path(kept.digest).read_bytes() == store.read_artifact(kept.id) == b"bytes\x00\xff"
    assert store.artifact(kept.id) == kept
    assert store.run(run.id).artifacts == (kept,)
    assert store.find_digest(kept.digest) == (kept,)


def test_equal_bytes_share_one_file(store: Store, run: RunRow, folder: Path) -> None:
    first = store.add_artifact(run.id, artifact(name="one"), sign_plainly)
    second = store.add_artifact(run.id, artifact(name="two"), sign_plainly)
    assert files(folder) == {first.digest}
    assert store.find_digest(first.digest) == (first, second)
    assert [record.sequence for record in store.records_by_digest(first.digest)] == [first.record, second.record]


def test_an_empty_artifact_is_kept(store: Store, run: RunRow) -> None:
    assert store.read_artifact(store.add_artifact(run.id, artifact(b""), None).id) == b""


def test_a_file_that_lost_its_end_is_written_again(store: Store, run: RunRow) -> None:
    kept = store.add_artifact(run.id, artifact(b"whole"), sign_plainly)
    store.artifact_path(kept.digest).write_bytes(b"who")
    store.add_artifact(run.id, artifact(b"whole", name="again"), sign_plainly)
    assert store.read_artifact(kept.id) == b"whole"


def test_a_missing_file_is_not_found_and_reported(store: Store, run: RunRow) -> None:
    kept = store.add_artifact(run.id, artifact(), sign_plainly)
    store.artifact_path(kept.digest).unlink()
    with pytest.raises(NotFound):
        store.read_artifact(kept.id)
    assert store.integrity() == [f"The file of artifact {kept.digest} is missing."]


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n", "/" + "0" * 63])
def test_no_path_is_made_from_what_is_no_digest(store: Store, digest: str) -> None:
    with pytest.raises(NotFound):
        store.artifact_path(digest)


def test_a_partial_artifact_makes_its_run_partial(store: Store, run: RunRow) -> None:
    store.add_artifact(run.id, artifact(partial=True), sign_plainly)
    assert store.run(run.id).partial
    assert store.finish(run.id, RunState.CANCELLED).partial


def test_an_artifact_of_an_unknown_run_leaves_nothing(store: Store, folder: Path) -> None:
    with pytest.raises(NotFound):
        store.add_artifact("0" * 32, artifact(), sign_plainly)
    assert files(folder) == set()


def test_the_signature_sees_the_row_that_is_stored(store: Store, run: RunRow) -> None:
    seen = []
    kept = store.add_artifact(run.id, artifact(), lambda *given: seen.append(given) or b"envelope")
    record = store.record_for_artifact(kept.id)
    assert seen == [(kept, FIRST_PREVIOUS, 1)]
    assert (record.sequence, record.envelope, record.run) == (kept.record, b"envelope", run.id)


def test_an_unsigned_artifact_has_no_record(store: Store, run: RunRow) -> None:
    kept = store.add_artifact(run.id, artifact(), None)
    assert kept.record is None
    with pytest.raises(NotFound):
        store.record_for_artifact(kept.id)


def test_records_without_an_artifact_are_links_of_the_same_chain(store: Store, run: RunRow) -> None:
    store.add_artifact(run.id, artifact(), sign_plainly)
    of_run = store.add_record(run.id, lambda previous, sequence: f"{previous} {sequence}".encode())
    of_none = store.add_record(None, lambda previous, sequence: f"{previous} {sequence}".encode())
    assert check_chain(store) == [store.record(1), of_run, of_none]
    assert store.record(2) == of_run


def test_records_are_given_in_ranges(store: Store) -> None:
    for _ in range(7):
        store.add_record(None, lambda previous, sequence: f"{previous} {sequence}".encode())
    assert [record.sequence for record in store.records(3, 6)] == [3, 4, 5]
    assert [record.sequence for record in store.records(6)] == [6, 7]
    assert list(store.records(8)) == []


@pytest.mark.parametrize("sequence", [0, -1, 2**63, 10**30])
def test_a_number_that_is_no_record_is_not_found(store: Store, sequence: int) -> None:
    with pytest.raises(NotFound):
        store.record(sequence)


def test_many_writers_make_one_chain(store: Store) -> None:
    runs = store.add_runs([make_run() for _ in range(8)])

    def work(run: RunRow) -> None:
        for number in range(12):
            store.add_artifact(run.id, artifact(f"{run.id} {number}".encode(), name=str(number)), sign_plainly)

    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(check_chain(store)) == 96
    assert store.integrity() == []


def test_two_stores_on_one_database_make_one_chain(address: str | None, folder: Path) -> None:
    with Store.open(address, folder) as first, Store.open(address, folder) as second:
        run = first.add_runs([make_run()])[0]
        for number in range(6):
            (first, second)[number % 2].add_artifact(run.id, artifact(str(number).encode(), name=str(number)), sign_plainly)
        assert len(check_chain(second)) == 6


def test_a_chain_cannot_fork(store: Store) -> None:
    record = store.add_record(None, lambda *_: b"first")
    forged = {**record.model_dump(), "sequence": 2, "digest": "f" * 64}
    with pytest.raises(Conflict):
        store._write(lambda connection: connection.execute(records.insert().values(**forged)))


def test_deleted_and_changed_records_are_named(store: Store) -> None:
    for _ in range(4):
        store.add_record(None, lambda previous, sequence: f"{previous} {sequence}".encode())
    store._write(lambda connection: connection.execute(records.update().where(records.c.sequence == 2).values(envelope=b"other")))
    assert store.integrity() == ["Record 2 has been changed."]
    store._write(lambda connection: connection.execute(records.delete().where(records.c.sequence == 3)))
    assert store.integrity() == ["Record 2 has been changed.", "Record 3 is missing."]


def test_deleting_runs_removes_rows_and_files_but_no_record(store: Store, folder: Path) -> None:
    first, second = store.add_runs([make_run(), make_run()])
    shared = store.add_artifact(first.id, artifact(b"shared"), sign_plainly)
    own = store.add_artifact(first.id, artifact(b"own", name="own"), sign_plainly)
    store.add_artifact(second.id, artifact(b"shared"), sign_plainly)
    assert store.delete_runs([first.id, "0" * 32, "no id"]) == 1
    with pytest.raises(NotFound):
        store.run(first.id)
    assert files(folder) == {shared.digest}
    assert len(check_chain(store)) == 3
    assert store.record_for_artifact(own.id).run == first.id
    assert store.integrity() == []


def test_a_running_run_is_not_deleted(store: Store, run: RunRow) -> None:
    store.claim(["cpu"])
    assert store.delete_runs([run.id]) == 0
    assert store.run(run.id).state is RunState.RUNNING


def test_recovery_sweeps_what_no_row_names_and_nothing_else(store: Store, run: RunRow, folder: Path) -> None:
    kept = store.add_artifact(run.id, artifact(b"kept"), sign_plainly)
    orphan = hashlib.sha256(b"orphan").hexdigest()
    (folder / "artifacts" / orphan[:2]).mkdir(exist_ok=True)
    (folder / "artifacts" / orphan[:2] / orphan).write_bytes(b"orphan")
    (folder / "artifacts" / "incoming" / "half").write_bytes(b"ha")
    store.recover()
    assert files(folder) == {kept.digest}


def test_sweeping_while_artifacts_are_added_loses_none(store: Store, run: RunRow) -> None:
    stop = threading.Event()

    def sweep() -> None:
        while not stop.is_set():
            store.sweep()

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    for number in range(20):
        store.add_artifact(run.id, artifact(f"artifact {number}".encode(), name=str(number)), sign_plainly)
    stop.set()
    sweeper.join()
    assert store.integrity() == []
    assert len(store.run(run.id).artifacts) == 20
