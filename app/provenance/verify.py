"""Verifies a file: its bytes against its record, the record against its key, and, where there is one, the log.

Works without a database from the file and its record (beside it or inside it). With a store it also finds a file by digest
when the record was stripped, and checks that the record stands in its place in the log.

It deliberately answers with a report for anything it is given; only an unreadable path or store raises.
"""

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from app.provenance.credentials import read_credentials
from app.provenance.embed import carries, extract
from app.provenance.envelope import Opened, Refusal, Verdict, open_envelope
from app.provenance.keys import Keys
from app.provenance.report import VerifyReport, facts
from storage.errors import NotFound
from storage.values import ArtifactRow, RecordRow

SIDECAR = ".intoto.json"


class Archive(Protocol):
    """The part of the store this needs."""

    def record(self, sequence: int) -> RecordRow:
        """Record number `sequence`; NotFound if there is none."""

    def records(self, start: int = 1, stop: int | None = None) -> Iterator[RecordRow]:
        """Records in order of their number."""

    def records_by_digest(self, artifact_digest: str) -> tuple[RecordRow, ...]:
        """Records that cover a file of this digest."""

    def find_digest(self, digest: str) -> tuple[ArtifactRow, ...]:
        """Kept artifacts of this digest."""


def verify_file(source: Path | bytes, sidecar: bytes | None, keys: Keys, store: Archive | None = None) -> VerifyReport:
    """Verify a file by path (its record is looked for beside it) or by its bytes."""
    if isinstance(source, bytes):
        return verify_bytes(source, "", sidecar, keys, store)
    beside = source.with_name(source.name + SIDECAR)
    if sidecar is None and beside.is_file():
        sidecar = beside.read_bytes()
    return verify_bytes(source.read_bytes(), source.name, sidecar, keys, store)


def verify_bytes(data: bytes, name: str, sidecar: bytes | None, keys: Keys, store: Archive | None = None) -> VerifyReport:
    """Verify `data`, with the record given or else the one inside it or, by digest, in the store."""
    report = _against_a_record(data, sidecar, keys, store)
    digest = hashlib.sha256(data).hexdigest()
    kept = store.find_digest(digest) if store is not None else ()
    return report.model_copy(
        update={
            "name": name, "bytes": len(data), "digest_now": digest, "artifact": kept[0].id if kept else report.artifact,
            "credentials": read_credentials(data, keys),
        }
    )  # fmt: skip


def _against_a_record(data: bytes, sidecar: bytes | None, keys: Keys, store: Archive | None) -> VerifyReport:
    if sidecar is not None:
        return _judge(data, sidecar, "sidecar", keys, store)
    inside = extract(data)
    if inside is not None:
        return _judge(inside.covered, inside.record, "inside the file", keys, store)
    alone = open_envelope(data, keys) if data[:1] == b"{" and b"payloadType" in data else None
    if alone is not None:
        return _record_only(alone, store)
    found = find_record(store, hashlib.sha256(data).hexdigest()) if store is not None else None
    if found is not None:
        return _judge(data, found.envelope, "history", keys, store)
    if carries(data):
        return VerifyReport(verdict="file changed", sentence="The file holds a record that does not fit it: file or record was changed.")
    searched = ", and none of its digest in this studio." if store is not None else "."
    return VerifyReport(verdict="no record", sentence=f"There is no record beside this file or inside it{searched}")


def find_record(store: Archive, digest: str) -> RecordRow | None:
    """The newest record that covers a file of `digest`: an artifact's by the store's index, an export's by reading the log."""
    listed = store.records_by_digest(digest)
    if listed:
        return listed[-1]
    found = None
    for row in store.records():
        if digest.encode() in _payload(row) and digest in _subjects(row):
            found = row
    return found


def _payload(row: RecordRow) -> bytes:
    try:
        return base64.b64decode(json.loads(row.envelope)["payload"])
    except (ValueError, KeyError, TypeError):  # an altered row; the chain check names it
        return b""


def _subjects(row: RecordRow) -> tuple[str, ...]:
    """Digests that the record in `row` covers, not those it only refers to."""
    try:
        return tuple(subject["digest"]["sha256"] for subject in json.loads(_payload(row))["subject"])
    except (ValueError, KeyError, TypeError):
        return ()


def _judge(data: bytes, record: bytes, found: str, keys: Keys, store: Archive | None) -> VerifyReport:
    opened = open_envelope(record, keys)
    if isinstance(opened, Refusal):
        return VerifyReport(verdict=opened.verdict, sentence=opened.sentence, found=found)
    common = facts(opened) | {"found": found, "digest_signed": opened.subjects[0]}
    digest = hashlib.sha256(data).hexdigest()
    if digest not in opened.subjects:
        return VerifyReport(
            verdict="file changed", sentence="This is not the file that was signed: their digests differ.", **(common | {"covers": ()})
        )
    verdict, sentence, chain = _standing(opened, store)
    valid = verdict in ("signed here", "signed by another key")
    return VerifyReport(verdict=verdict, sentence=sentence, valid=valid, chain=chain, **(common | {"digest_signed": digest}))


def _standing(opened: Opened, store: Archive | None) -> tuple[Verdict, str, str]:
    """What a sound record of the right file amounts to: verdict, sentence, and its place in the log in words."""
    if opened.key.revoked is not None:
        when = opened.key.revoked.date().isoformat()
        return "key revoked", f"File and record agree, but the key that signed them was revoked on {when}.", ""
    if opened.key.origin == "elsewhere":
        who = "another installation, met before" if opened.met else "an installation this one has never met"
        return "signed by another key", f"Signed by {who}, and unchanged since.", ""
    if store is None:
        return "signed here", "Signed here, and unchanged since.", ""
    place = _place(opened, store)
    if place is None:
        return "chain broken", f"This installation signed it, but its log has another record, or none, at {opened.sequence}.", ""
    return "signed here", "Signed here, and unchanged since.", place


def _place(opened: Opened, store: Archive) -> str | None:
    """The record's place in the log in words, None if it is not there or its neighbour does not fit."""
    try:
        if store.record(opened.sequence).digest != opened.digest:
            return None
        if opened.sequence > 1 and store.record(opened.sequence - 1).digest != opened.previous:
            return None
    except NotFound:
        return None
    return f"record {opened.sequence:,} of the log, in its place after the one before it"


def _record_only(opened: Opened | Refusal, store: Archive | None) -> VerifyReport:
    if isinstance(opened, Refusal):
        return VerifyReport(verdict=opened.verdict, sentence=opened.sentence)
    kept = store.find_digest(opened.subjects[0]) if store is not None else ()
    where = " The file is in this studio's history." if kept else ""
    standing, sentence, chain = _standing(opened, store)
    said = f"This is a record without its file. {sentence.replace('File and record agree', 'The signature holds')}{where}"
    verdict: Verdict = "record only" if standing in ("signed here", "signed by another key") else standing
    found = {"digest_signed": opened.subjects[0], "chain": chain, "artifact": kept[0].id if kept else ""}
    return VerifyReport(verdict=verdict, sentence=said, found="the record itself", **(facts(opened) | found))
