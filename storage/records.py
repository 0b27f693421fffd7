"""Artifacts and their signed records.

The records are a chain: each names the digest of the one before. Number and previous digest of a new record are read inside
the transaction that writes it, under the write lock, and the signing function is called there; so the chain has no gaps and no
forks, whoever writes at the same time.

It deliberately neither makes nor checks signatures: `app.provenance` does.
"""

import contextlib
import hashlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select, update

from storage.core import checked_id, sequence_of
from storage.errors import CHECK_DISK, NotFound, StoreError, Unavailable
from storage.rows import fetch, load_artifacts, load_records
from storage.schema import artifacts, records, runs
from storage.sweeping import Sweeping
from storage.values import ArtifactRow, RecordRow

FIRST_PREVIOUS = "0" * 64
PAGE = 500
_SEQUENCES_END = 2**63

SignArtifact = Callable[[ArtifactRow, str, int], bytes]
"""(artifact, digest of the previous record, sequence of this one) -> envelope."""
SignRecord = Callable[[str, int], bytes]
"""(digest of the previous record, sequence of this one) -> envelope."""


class Records(Sweeping):
    """The store's part for artifacts and records."""

    def add_artifact(self, run_id: str, artifact: Mapping[str, Any], sign: SignArtifact | None) -> ArtifactRow:
        """Keep an artifact (kind, name, media_type, data, facts, partial) and its record.

        The file is on the device before its row is written; row and record are one transaction.
        """
        data = bytes(artifact["data"])
        run = checked_id("run", run_id)
        row = ArtifactRow(
            id=secrets.token_hex(16),
            run=run,
            digest=self._files.add(data),
            kind=artifact["kind"],
            name=artifact["name"],
            media_type=artifact["media_type"],
            bytes=len(data),
            facts=dict(artifact.get("facts", {})),
            partial=bool(artifact.get("partial", False)),
        )
        try:
            return self._write(lambda connection: self._insert_artifact(connection, row, data, sign))
        except BaseException:
            with contextlib.suppress(StoreError):
                self._remove_unreferenced((row.digest,))
            raise

    def _insert_artifact(self, connection: Connection, row: ArtifactRow, data: bytes, sign: SignArtifact | None) -> ArtifactRow:
        sequence = sequence_of(connection, row.run)
        # Files are removed only under the write lock. If a sweep or a deletion took this one a moment ago, write it again.
        if not self._files.holds(row.digest, len(data)):
            self._files.add(data)
            if not self._files.holds(row.digest, len(data)):
                raise Unavailable("An artifact's file vanished while it was written.", CHECK_DISK)
        if sign is not None:
            row = row.model_copy(update={"record": _head(connection)[0] + 1})
        connection.execute(insert(artifacts).values(**row.model_dump()))
        if sign is not None:
            _append(connection, self._clock(), partial(sign, row), row.run, row)
        if row.partial:
            connection.execute(update(runs).where(runs.c.sequence == sequence).values(partial=True))
        return row

    def add_record(self, run: str | None, sign: SignRecord) -> RecordRow:
        """Keep a record that belongs to no artifact."""
        if run is not None:
            checked_id("run", run)
        return self._write(lambda connection: _append(connection, self._clock(), sign, run, None))

    def artifact(self, id: str) -> ArtifactRow:
        """The artifact of this id."""
        with self._read() as connection:
            found = load_artifacts(connection, select(artifacts).where(artifacts.c.id == checked_id("artifact", id)))
        if not found:
            raise NotFound("artifact", id)
        return found[0]

    def read_artifact(self, id: str) -> bytes:
        """The bytes of the artifact of this id."""
        return self._files.read(self.artifact(id).digest)

    def artifact_path(self, digest: str) -> Path:
        """Where the file of this digest is."""
        return self._files.path(digest)

    def find_digest(self, digest: str) -> tuple[ArtifactRow, ...]:
        """Every artifact with these bytes, oldest first."""
        with self._read() as connection:
            statement = select(artifacts).where(artifacts.c.digest == _safe(digest)).order_by(artifacts.c.sequence)
            return load_artifacts(connection, statement)

    def record(self, sequence: int) -> RecordRow:
        """The record of this number."""
        if not 0 < sequence < _SEQUENCES_END:
            raise NotFound("record", sequence)
        with self._read() as connection:
            found = load_records(connection, select(records).where(records.c.sequence == sequence))
        if not found:
            raise NotFound("record", sequence)
        return found[0]

    def record_for_artifact(self, artifact_id: str) -> RecordRow:
        """The record that names this artifact; it is still here after the artifact is deleted."""
        key = checked_id("artifact", artifact_id)
        with self._read() as connection:
            statement = select(records).where(records.c.artifact == key).order_by(records.c.sequence).limit(1)
            found = load_records(connection, statement)
        if not found:
            raise NotFound("record of artifact", key)
        return found[0]

    def records_by_digest(self, artifact_digest: str) -> tuple[RecordRow, ...]:
        """Every record that names a file of this digest, oldest first."""
        with self._read() as connection:
            statement = select(records).where(records.c.artifact_digest == _safe(artifact_digest)).order_by(records.c.sequence)
            return load_records(connection, statement)

    def records(self, start: int = 1, stop: int | None = None) -> Iterator[RecordRow]:
        """Records from number `start` up to, not including, `stop`, in order. No transaction stays open between pages."""
        while True:
            statement = select(records).where(records.c.sequence >= start).order_by(records.c.sequence).limit(PAGE)
            if stop is not None:
                statement = statement.where(records.c.sequence < stop)
            with self._read() as connection:
                page = load_records(connection, statement)
            yield from page
            if len(page) < PAGE:
                return
            start = page[-1].sequence + 1


def _head(connection: Connection) -> tuple[int, str]:
    last = fetch(connection, select(records.c.sequence, records.c.digest).order_by(records.c.sequence.desc()).limit(1))
    return (last[0].sequence, last[0].digest) if last else (0, FIRST_PREVIOUS)


def _append(connection: Connection, now: datetime, sign: SignRecord, run: str | None, artifact: ArtifactRow | None) -> RecordRow:
    last, previous = _head(connection)
    envelope = sign(previous, last + 1)
    row = RecordRow(
        sequence=last + 1, run=run, digest=hashlib.sha256(envelope).hexdigest(), previous=previous, envelope=envelope, created=now
    )
    subject = {"artifact": artifact.id, "artifact_digest": artifact.digest} if artifact else {}
    connection.execute(insert(records).values(**row.model_dump(), **subject))
    return row


def _safe(digest: str) -> str:
    """A digest, or text that equals none: what a search for foreign text finds is nothing."""
    return digest if digest.isascii() and digest.isalnum() else ""
