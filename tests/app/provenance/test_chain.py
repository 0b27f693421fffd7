"""The log of records: whatever is deleted, inserted, moved or altered, the first broken link is named."""

import hashlib
import random
import sqlite3

import pytest

from app.provenance.chain import check_chain
from app.provenance.keys import Keys
from app.provenance.statement import build_statement, sign
from storage.values import ArtifactRow, RunState

LENGTH = 12
ATTACKS = 200


@pytest.fixture
def log(store, keys, add_run, add_artifact):
    run = add_run()
    for number in range(LENGTH):
        add_artifact(run, f"answer {number}".encode(), name=f"answer-{number}")
    assert check_chain(store, keys).holds
    return store


@pytest.fixture
def table(log, tmp_path):
    """The records table below the store, and a way to put it back as it was."""
    database = sqlite3.connect(tmp_path / "data" / "diptych.sqlite3", isolation_level=None)
    database.execute("PRAGMA synchronous = OFF")
    before = database.execute("SELECT * FROM records ORDER BY sequence").fetchall()

    def put_back():
        database.execute("BEGIN IMMEDIATE")
        database.execute("DELETE FROM records")
        database.executemany(f"INSERT INTO records VALUES ({','.join('?' * len(before[0]))})", before)
        database.execute("COMMIT")

    yield database, put_back
    database.close()


def test_an_empty_log_holds(store, keys):
    report = check_chain(store, keys)
    assert (report.holds, report.length, report.sentence) == (True, 0, "The log is empty.")


def test_a_log_nobody_touched_holds_and_becomes_the_head(log, keys):
    report = check_chain(log, keys)
    assert (report.holds, report.length, report.elsewhere) == (True, LENGTH, 0)
    assert keys.head is not None and (keys.head.sequence, keys.head.digest) == (LENGTH, log.record(LENGTH).digest)


def test_a_deleted_record_is_named_even_if_it_was_the_last(log, keys, table):
    database, put_back = table
    for victim in range(1, LENGTH + 1):
        database.execute("DELETE FROM records WHERE sequence = ?", (victim,))
        report = check_chain(log, keys)
        assert report.broken is not None and report.broken.sequence == victim
        assert "missing" in report.sentence
        put_back()


def test_two_hundred_random_attacks_are_each_named_at_their_first_broken_link(log, keys, table):
    database, put_back = table
    chance = random.Random(7)
    for number in range(ATTACKS):
        attack = (_delete, _insert, _swap, _alter_envelope, _renumber)[number % 5]
        first = attack(database, chance)
        report = check_chain(log, keys)
        assert report.broken is not None, attack.__name__
        assert report.broken.sequence == first, (attack.__name__, report.broken)
        put_back()
    assert check_chain(log, keys).holds


def _delete(database, chance):
    victim = chance.randint(1, LENGTH)
    database.execute("DELETE FROM records WHERE sequence = ?", (victim,))
    return victim


def _insert(database, chance):
    """Make room and put a copy of another record there."""
    place, copied = chance.sample(range(1, LENGTH + 1), 2)
    envelope, digest, created = database.execute("SELECT envelope, digest, created FROM records WHERE sequence = ?", (copied,)).fetchone()
    for sequence in range(LENGTH, place - 1, -1):
        database.execute("UPDATE records SET sequence = sequence + 1 WHERE sequence = ?", (sequence,))
    columns = "sequence, digest, previous, envelope, created"
    values = (place, hashlib.sha256(digest.encode()).hexdigest(), "f" * 64, envelope, created)
    database.execute(f"INSERT INTO records ({columns}) VALUES (?, ?, ?, ?, ?)", values)
    return place


def _swap(database, chance):
    one, two = sorted(chance.sample(range(1, LENGTH + 1), 2))
    for before, after in ((one, 1000), (two, one), (1000, two)):
        database.execute("UPDATE records SET sequence = ? WHERE sequence = ?", (after, before))
    return one


def _alter_envelope(database, chance):
    victim = chance.randint(1, LENGTH)
    (envelope,) = database.execute("SELECT envelope FROM records WHERE sequence = ?", (victim,)).fetchone()
    altered = bytearray(envelope)
    altered[chance.randrange(len(altered))] ^= 1 << chance.randrange(8)
    database.execute("UPDATE records SET envelope = ?, digest = ? WHERE sequence = ?",
                     (bytes(altered), hashlib.sha256(altered).hexdigest(), victim))  # fmt: skip
    return victim


def _renumber(database, chance):
    """Close the gap that a deletion left, so that numbers look whole."""
    victim = chance.randint(1, LENGTH - 1)
    database.execute("DELETE FROM records WHERE sequence = ?", (victim,))
    for sequence in range(victim + 1, LENGTH + 1):
        database.execute("UPDATE records SET sequence = sequence - 1 WHERE sequence = ?", (sequence,))
    return victim


def test_a_record_written_by_a_stranger_at_the_end_is_named(log, keys, elsewhere):
    stranger = _foreign_record(log, elsewhere)
    log.add_record(None, stranger)
    report = check_chain(log, keys)
    assert report.broken is not None and report.broken.sequence == LENGTH + 1
    assert "has not met" in report.sentence


def test_records_of_a_known_installation_hold_and_are_counted(log, keys, elsewhere):
    log.add_record(None, _foreign_record(log, elsewhere))
    keys.meet(elsewhere.public)
    report = check_chain(log, keys)
    assert (report.holds, report.elsewhere) == (True, 1)


def _foreign_record(log, foreign: Keys):
    run = log.run(log.record(1).run)
    artifact = ArtifactRow(id="0" * 32, run=run.id, digest="a" * 64, kind="text", name="x", media_type="text/plain", bytes=1)
    return lambda previous, number: sign(build_statement(run, artifact, previous, number, public=foreign.public), foreign)


def test_a_log_cut_and_continued_is_named_where_it_was_replaced(log, keys, table, add_artifact):
    run = log.run(log.record(1).run)
    database, _ = table
    database.execute("DELETE FROM records WHERE sequence > ?", (LENGTH - 3,))
    for number in range(5):
        add_artifact(run, f"rewritten {number}".encode(), name=f"new-{number}")
    report = check_chain(log, keys)
    assert report.broken is not None and report.broken.sequence == LENGTH
    assert "replaced" in report.sentence


def test_a_database_restored_on_purpose_holds_after_the_head_is_forgotten(log, keys, table):
    table[0].execute("DELETE FROM records WHERE sequence > 6")
    assert not check_chain(log, keys).holds
    keys.forget_head()
    report = check_chain(log, keys)
    assert (report.holds, report.length) == (True, 6)


def test_records_of_a_key_revoked_since_still_hold_and_are_counted(log, keys, add_artifact):
    run = log.run(log.record(1).run)
    keys.revoke(keys.public_id, "the laptop was lost")
    add_artifact(run, b"with the new key", name="later")
    report = check_chain(log, keys)
    assert (report.holds, report.length, report.revoked) == (True, LENGTH + 1, LENGTH)


def test_records_of_deleted_runs_stay_and_hold(log, keys):
    run = log.record(1).run
    log.finish(run, RunState.DONE)
    log.delete_runs([run])
    report = check_chain(log, keys)
    assert (report.holds, report.length) == (True, LENGTH)
