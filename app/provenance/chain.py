"""Checks the log of records: every link from the first, and names the first that does not hold.

A record's signed payload holds its number and the digest of the record before it, so a record that is deleted, inserted,
moved or altered breaks the next link. The end of the log is held by the head that `keys` remembers outside the database.

It deliberately does not need the runs: records of deleted runs stay, and are checked like any other.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from app.provenance.envelope import Opened, Refusal, open_envelope
from app.provenance.keys import Keys
from storage.values import RecordRow

FIRST_PREVIOUS = "0" * 64


class Log(Protocol):
    """The part of the store this needs."""

    def records(self, start: int = 1, stop: int | None = None) -> Iterator[RecordRow]:
        """Records in order of their number, from `start` up to and without `stop`."""


class BrokenLink(BaseModel):
    """The first link that does not hold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sequence: int
    sentence: str


class ChainReport(BaseModel):
    """What the check found. `elsewhere` and `revoked` count records of other known keys and of keys revoked since."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    length: int
    holds: bool
    broken: BrokenLink | None
    elsewhere: int
    revoked: int
    sentence: str


class _Walk:
    """The state of a check: what the next record must be."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.head = keys.head
        self.sequence = 0
        self.digest = FIRST_PREVIOUS
        self.elsewhere = 0
        self.revoked = 0

    def step(self, row: RecordRow) -> str:
        """Take the next row; returns what is wrong with it, empty if nothing is."""
        expected = self.sequence + 1
        if row.sequence != expected:
            return f"Record {expected} is missing."
        opened = open_envelope(row.envelope, self.keys)
        fault = self._fault(row, opened)
        if not fault and isinstance(opened, Opened):
            self.sequence, self.digest = expected, opened.digest
            self.elsewhere += opened.key.origin == "elsewhere"
            self.revoked += opened.key.revoked is not None
        return fault

    def _fault(self, row: RecordRow, opened: Opened | Refusal) -> str:
        number = row.sequence
        if isinstance(opened, Refusal):
            return f"Record {number} was altered. {opened.sentence}"
        if hashlib.sha256(row.envelope).hexdigest() != row.digest or opened.digest != row.digest:
            return f"Record {number} was altered: its bytes do not have the digest under which it is listed."
        if opened.sequence != number:
            return f"Record {number} was signed as record {opened.sequence}: it was moved or inserted."
        if opened.previous != self.digest or row.previous != opened.previous:
            return f"Record {number} does not follow the record before it: one of them was inserted, replaced or altered."
        if not opened.met:
            return f"Record {number} is signed by a key this installation has not met."
        if self.head is not None and number == self.head.sequence and opened.digest != self.head.digest:
            return f"Record {number} is not the one this installation saw committed: it was replaced."
        return ""

    def end(self) -> str:
        """What is missing after the last row, empty if nothing is."""
        if self.head is not None and self.head.sequence > self.sequence:
            return f"The log ends at record {self.sequence}, but record {self.head.sequence} was seen committed: its end is missing."
        return ""


def check_chain(log: Log, keys: Keys) -> ChainReport:
    """Check every record's signature and place. A log that holds becomes the new head."""
    walk = _Walk(keys)
    broken = _first_break(walk, log.records())
    if broken is None and walk.sequence:
        keys.advance_head(walk.sequence, walk.digest)
    return ChainReport(
        length=walk.sequence,
        holds=broken is None,
        broken=broken,
        elsewhere=walk.elsewhere,
        revoked=walk.revoked,
        sentence=broken.sentence if broken else _sentence(walk),
    )


def _first_break(walk: _Walk, rows: Iterable[RecordRow]) -> BrokenLink | None:
    for row in rows:
        fault = walk.step(row)
        if fault:
            return BrokenLink(sequence=walk.sequence + 1, sentence=fault)
    fault = walk.end()
    return BrokenLink(sequence=walk.sequence + 1, sentence=fault) if fault else None


def _sentence(walk: _Walk) -> str:
    if walk.sequence == 0:
        return "The log is empty."
    said = f"All {walk.sequence:,} records hold, each in its place." if walk.sequence > 1 else "The one record holds."
    if walk.elsewhere:
        said += f" {walk.elsewhere:,} of them are signed by other installations."
    if walk.revoked:
        said += f" {walk.revoked:,} of them are signed by a key that was revoked since."
    return said
