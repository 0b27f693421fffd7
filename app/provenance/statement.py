"""Builds and signs what a record says: in-toto Statement v1, one predicate for runs and one for derived exports.

Subjects are files by SHA-256. The predicate of a run holds everything a replay needs, and its place in the chain; the one
of an export names the format and describes every run it was drawn from. Payload type and envelope are those of DSSE v1.

It deliberately leaves out who: no owner, title, user, host or path enters a record, and free text is scrubbed first.
"""

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import rfc8785
from pydantic import BaseModel, ConfigDict
from securesystemslib.dsse import Envelope

from app.provenance.canonical import canonical, jsonable, moment
from app.provenance.environment import STUDIO_VERSION, code_version
from app.provenance.keys import Keys
from app.provenance.scrub import Scrubber
from backends.contract import Card
from storage.values import ArtifactRow, RunRow

STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
RUN = "urn:diptych:run:v1"
EXPORT = "urn:diptych:export:v1"
LARGE = 20_000
"""Characters up to which an input is recorded by value; a longer one by its digest."""
_ENVIRONMENT = ("device", "device_name", "dtype", "threads", "packages", "system", "machine", "code", "engine")
"""The parts of a run's environment that enter a record; anything else stays in the database."""

Sign = Callable[[ArtifactRow, str, int], bytes]
"""What `Store.add_artifact` calls inside its transaction: artifact, digest of the previous record, number of this one."""
SignRecord = Callable[[str, int], bytes]
"""The same for a record without an artifact row."""


class Promise(BaseModel):
    """What the method's card says about repeating a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    determinism: str = "none"
    tolerance: float = 0.0

    @classmethod
    def of(cls, card: Card) -> "Promise":
        return cls(determinism=card.determinism.value, tolerance=card.tolerance)


class Material(BaseModel):
    """A file an export was made from, and the record that covers it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    digest: str
    record: str = ""


def build_statement(
    run: RunRow, artifact: ArtifactRow, previous: str, sequence: int, *, public: str, promise: Promise | None = None,
    parents: tuple[str, ...] = (), scrub: Scrubber | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The statement of one artifact. `public` is the signer's key (hex), `parents` digests of the records this builds on."""
    cleaner = scrub or Scrubber.of_this_machine()
    described = describe_run(run, promise or Promise(), cleaner)
    described["partial"] = artifact.partial or run.partial
    described["artifact"] = {
        "kind": artifact.kind, "name": artifact.name, "media_type": artifact.media_type, "bytes": artifact.bytes,
        "facts": cleaner.value(jsonable(artifact.facts)),
    }  # fmt: skip
    subjects = [{"name": artifact.name, "digest": {"sha256": artifact.digest}}]
    return _statement(RUN, subjects, described, previous, sequence, public, parents)


def build_export_statement(
    name: str, digest: str, form: str, runs: tuple[tuple[RunRow, Promise], ...], materials: tuple[Material, ...], previous: str,
    sequence: int, *, public: str, scrub: Scrubber | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The statement of a file that was derived: `form` is its format, `materials` what it was made from."""
    cleaner = scrub or Scrubber.of_this_machine()
    predicate = {
        "export": {"format": form},
        "materials": [{"name": found.name, "digest": {"sha256": found.digest}, "record": found.record} for found in materials],
        "runs": [describe_run(run, promise, cleaner) for run, promise in runs],
        "partial": any(run.partial for run, _ in runs),
    }
    parents = tuple(dict.fromkeys(found.record for found in materials if found.record))
    return _statement(EXPORT, [{"name": name, "digest": {"sha256": digest}}], predicate, previous, sequence, public, parents)


def _statement(
    kind: str, subjects: list[dict[str, Any]], predicate: dict[str, Any], previous: str, sequence: int, public: str,
    parents: tuple[str, ...],
) -> dict[str, Any]:  # fmt: skip
    common = {
        "studio": {"name": "Diptych", "version": STUDIO_VERSION, "code": code_version().model_dump()},
        "signer": {"keytype": "ed25519", "public": public},
        "signed": moment(datetime.now(UTC)),
        "chain": {"sequence": sequence, "previous": previous},
        "parents": list(parents),
    }
    return {"_type": STATEMENT, "subject": subjects, "predicateType": kind, "predicate": {**predicate, **common}}


def describe_run(run: RunRow, promise: Promise, scrub: Scrubber) -> dict[str, Any]:
    """A run in the form records take it: everything a replay needs, nothing about who asked for it."""
    environment = {name: run.environment[name] for name in _ENVIRONMENT if name in run.environment}
    if "engine" in environment:
        environment["engine"] = str(environment["engine"]).partition(":")[0]  # a cluster's address names its host
    seconds = (datetime.now(UTC) - _aware(run.started)).total_seconds() if run.started and not run.finished else None
    return {
        "run": run.id,
        "purpose": run.purpose,
        "method": {"key": run.method, "title": run.method_title, "tab": run.tab},
        "checkpoint": {"key": scrub.text(run.checkpoint), "digests": scrub.value(jsonable(run.checkpoint_digests))},
        "inputs": _by_value(run.inputs, scrub),
        "settings": _by_value(run.settings, scrub),
        "seed": jsonable(run.seed),
        "device": run.device,
        "dtype": run.dtype,
        "environment": scrub.value(jsonable(environment)),
        "determinism": {"class": promise.determinism, "tolerance": promise.tolerance},
        "comparison": {"id": run.comparison, "pane": run.pane, "repeat": run.repeat},
        "timings": {
            "created": moment(run.created),
            "started": moment(run.started) if run.started else None,
            "finished": moment(run.finished) if run.finished else None,
            "seconds_until_signed": None if seconds is None else round(max(0.0, seconds), 3),
        },
        "metrics": [{"name": found.name, "value": jsonable(found.value), "unit": found.unit} for found in run.metrics],
        "notes": scrub.value(jsonable(run.notes)),
        "fault": scrub.value(jsonable(run.fault)) if run.fault else None,
    }


def _aware(when: datetime) -> datetime:
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _by_value(fields: Mapping[str, Any], scrub: Scrubber) -> dict[str, Any]:
    """Fields by value; those that are long or hold something private by digest and length. `sha256` covers them all."""
    whole = jsonable(fields)
    values: dict[str, Any] = {}
    digests: dict[str, Any] = {}
    for name, value in whole.items():
        raw = canonical(value)
        if len(raw) > LARGE or scrub.withhold(value):
            digests[name] = {"sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)}
        else:
            values[name] = value
    return {"values": values, "digests": digests, "sha256": hashlib.sha256(canonical(whole)).hexdigest()}


def sign(statement: dict[str, Any], keys: Keys) -> bytes:
    """The DSSE envelope of `statement` as canonical JSON; these bytes are what the log keeps and the chain hashes."""
    envelope = Envelope(rfc8785.dumps(statement), PAYLOAD_TYPE, {})
    envelope.sign(keys.signer)
    return rfc8785.dumps(envelope.to_dict())


def sign_artifacts(run: RunRow, keys: Keys, promise: Promise | None = None, parents: tuple[str, ...] = ()) -> Sign:
    """What the engine hands to `Store.add_artifact` for the artifacts of `run`."""
    scrub = Scrubber.of_this_machine()

    def signed(artifact: ArtifactRow, previous: str, sequence: int) -> bytes:
        keys.advance_head(sequence - 1, previous)  # the store calls this only when that link is committed
        statement = build_statement(run, artifact, previous, sequence, public=keys.public, promise=promise, parents=parents, scrub=scrub)
        return sign(statement, keys)

    return signed


def sign_export(
    name: str, data: bytes, form: str, runs: tuple[tuple[RunRow, Promise], ...], materials: tuple[Material, ...], keys: Keys
) -> SignRecord:
    """What `Store.add_record` takes for the exported file `data`."""
    digest = hashlib.sha256(data).hexdigest()

    def signed(previous: str, sequence: int) -> bytes:
        keys.advance_head(sequence - 1, previous)
        return sign(build_export_statement(name, digest, form, runs, materials, previous, sequence, public=keys.public), keys)

    return signed
