"""What a verification says, in words: the verdict, what the signature covers, and what it does not prove.

Facts are read from the statement of `app.provenance.statement` (in-toto Statement v1); a foreign record may lack any of them.

It deliberately never says "genuine" or "trusted": a local key proves that one installation made file and record, no more.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.provenance.credentials import Credentials
from app.provenance.envelope import Opened, Verdict
from app.provenance.keys import SHORT

DOES_NOT_PROVE = (
    "that the content is true, or that the input was fair",
    "who sat at the machine: the key names an installation",
    "the time: it is the clock of the machine that signed",
    "that copies without a record are not from here",
)
_NEXT_SEQUENCE = "what came before: the digest of the previous record, so that none can be taken out unseen"


class RunFacts(BaseModel):
    """One run as a record describes it. Fields that were long or private are listed in `withheld`, by digest only."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str = ""
    method: str = ""
    method_title: str = ""
    tab: str = ""
    checkpoint: str = ""
    checkpoint_digests: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    inputs: dict[str, Any] = Field(default_factory=dict)
    withheld: tuple[str, ...] = ()
    seed: int | None = None
    device: str = ""
    dtype: str = ""
    determinism: str = "none"
    tolerance: float = 0.0


class VerifyReport(BaseModel):
    """`verdict` drives the mark, `sentence` says it. The facts are those of the first run a record describes; `runs` has all.

    `found` is where the record was: "sidecar", "inside the file", "history" (by digest), or "" if there is none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    verdict: Verdict
    sentence: str
    valid: bool = False
    """The signature holds and file and record agree, under a key that is not revoked."""
    name: str = ""
    bytes: int = 0
    digest_now: str = ""
    digest_signed: str = ""
    found: str = ""
    covers: tuple[str, ...] = ()
    does_not_prove: tuple[str, ...] = DOES_NOT_PROVE
    run: str = ""
    method: str = ""
    method_title: str = ""
    tab: str = ""
    checkpoint: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    inputs: dict[str, Any] = Field(default_factory=dict)
    withheld: tuple[str, ...] = ()
    seed: int | None = None
    determinism: str = "none"
    tolerance: float = 0.0
    runs: tuple[RunFacts, ...] = ()
    partial: bool = False
    signed: str = ""
    key: str = ""
    key_here: bool = False
    key_met: bool = False
    record: str = ""
    """Digest of the record itself."""
    sequence: int | None = None
    previous: str = ""
    parents: tuple[str, ...] = ()
    chain: str = ""
    """Its place in this studio's log, in words; empty without a log."""
    statement: dict[str, Any] | None = None
    credentials: Credentials | None = None
    """Content credentials (C2PA) inside the file; a second opinion, not part of the verdict."""
    artifact: str = ""
    """Id of the stored artifact this file is, if the studio has it."""


def facts(opened: Opened) -> dict[str, Any]:
    """Everything a report takes from a record."""
    predicate = opened.predicate
    described = tuple(run_facts(found) for found in (predicate.get("runs") or [predicate]))
    first = described[0]
    shared = ("run", "method", "method_title", "tab", "checkpoint", "settings", "inputs", "withheld", "seed", "determinism", "tolerance")
    return {
        **{name: getattr(first, name) for name in shared},
        "runs": described,
        "partial": bool(predicate.get("partial")),
        "signed": str(predicate.get("signed", "")),
        "key": opened.key.id[:SHORT],
        "key_here": opened.key.origin == "here",
        "key_met": opened.met,
        "record": opened.digest,
        "sequence": opened.sequence,
        "previous": opened.previous,
        "parents": tuple(map(str, predicate.get("parents", ()))),
        "covers": covers(first, predicate, len(described)),
        "statement": opened.statement,
    }


def run_facts(described: dict[str, Any]) -> RunFacts:
    """One described run. Unknown or malformed parts of a foreign record are left empty."""
    method, checkpoint = _object(described, "method"), _object(described, "checkpoint")
    settings, inputs, promise = _object(described, "settings"), _object(described, "inputs"), _object(described, "determinism")
    digests = {str(name): str(value) for name, value in _object(checkpoint, "digests").items()}
    tolerance = promise.get("tolerance", 0.0)
    return RunFacts(
        run=str(described.get("run", "")),
        method=str(method.get("key", "")),
        method_title=str(method.get("title", "")),
        tab=str(method.get("tab", "")),
        checkpoint=str(checkpoint.get("key", "")),
        checkpoint_digests=digests,
        settings=_object(settings, "values"),
        inputs=_object(inputs, "values"),
        withheld=tuple(sorted({*_object(settings, "digests"), *_object(inputs, "digests")})),
        seed=_integer(described.get("seed")),
        device=str(described.get("device", "")),
        dtype=str(described.get("dtype", "")),
        determinism=str(promise.get("class", "none")),
        tolerance=float(tolerance) if isinstance(tolerance, int | float) else 0.0,
    )


def covers(first: RunFacts, predicate: dict[str, Any], runs: int) -> tuple[str, ...]:
    """What breaks the record if it is changed, in words."""
    environment = _object(predicate, "environment")
    packages = len(_object(environment, "packages"))
    how = f"how it was made: method, {_count(len(first.settings), 'setting')}, seed, checkpoint by digest"
    where = f"where: device, number format, {_count(packages, 'package version')}, times"
    if runs > 1:
        how = f"how it was made: the methods, settings, seeds and checkpoints of {runs} runs"
    return ("the file, every byte", how, *(() if "export" in predicate else (where,)), _NEXT_SEQUENCE)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _object(whole: dict[str, Any], name: str) -> dict[str, Any]:
    found = whole.get(name) if isinstance(whole, dict) else None
    return found if isinstance(found, dict) else {}


def _integer(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
