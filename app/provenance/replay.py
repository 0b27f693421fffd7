"""The verdict on a replay: the same request run again, held against what its method promises about repeating.

`bit_exact`: every artifact must be equal. `tolerance`: numbers may differ by at most the card's tolerance, everything else
must be equal. `none`: nothing is promised, and the verdict only states what was found.

It deliberately does not run anything: `app.api` queues the replay, this compares its artifacts.
"""

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from app.provenance.differences import Difference, difference
from backends.contract import Card
from storage.values import ArtifactRow, RunRow, RunState

Outcome = Literal["equal", "within tolerance", "different", "not comparable"]
Read = Callable[[str], bytes]
"""Artifact id -> its bytes."""


class ArtifactVerdict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    verdict: Outcome
    largest: float = 0.0
    sentence: str = ""


class ReplayVerdict(BaseModel):
    """`kept` is None when nothing was promised or nothing can be compared. `largest` is the largest difference of numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    verdict: Outcome
    promised: str
    tolerance: float
    kept: bool | None
    largest: float
    sentence: str
    artifacts: tuple[ArtifactVerdict, ...] = ()


def compare_runs(original: RunRow, replay: RunRow, card: Card, read: Read) -> ReplayVerdict:
    """Compare the artifacts of two runs of one request, name by name, and hold them against `card`'s promise."""
    determinism, tolerance = card.determinism.value, card.tolerance
    reason = _not_comparable(original, replay)
    if reason:
        return ReplayVerdict(verdict="not comparable", promised=determinism, tolerance=tolerance, kept=None, largest=0.0, sentence=reason)
    allowed = tolerance if determinism == "tolerance" else 0.0
    again = {found.name: found for found in replay.artifacts}
    judged = tuple(_judge(found, again.get(found.name), read, allowed) for found in original.artifacts)
    known = {found.name for found in original.artifacts}
    extra = tuple(
        ArtifactVerdict(name=name, verdict="different", sentence=f"{name} was not there before.") for name in again if name not in known
    )
    return _sum_up(judged + extra, determinism, tolerance)


def _not_comparable(original: RunRow, replay: RunRow) -> str:
    for run, which in ((original, "The original run"), (replay, "The replay")):
        if run.state is not RunState.DONE:
            return f"{which} is {run.state.value}: only finished runs can be compared."
    for name in ("method", "checkpoint", "inputs", "settings", "seed", "dtype"):
        if getattr(original, name) != getattr(replay, name):
            return f"The two runs differ in their {name}: this is not a replay."
    if original.device != replay.device:
        return f"The original ran on {original.device}, the replay on {replay.device}: repeating is promised on one device only."
    if original.checkpoint_digests and replay.checkpoint_digests and original.checkpoint_digests != replay.checkpoint_digests:
        return "The checkpoint's files changed since the original run: their digests differ."
    return "" if original.artifacts else "The original run kept no artifacts: there is nothing to compare."


def _judge(one: ArtifactRow, two: ArtifactRow | None, read: Read, allowed: float) -> ArtifactVerdict:
    if two is None:
        return ArtifactVerdict(name=one.name, verdict="different", sentence=f"{one.name} is missing in the replay.")
    if one.digest == two.digest:
        return ArtifactVerdict(name=one.name, verdict="equal", sentence=f"{one.name}: equal, {one.bytes:,} bytes.")
    if one.media_type != two.media_type:
        return ArtifactVerdict(name=one.name, verdict="different", sentence=f"{one.name}: {one.media_type} then, {two.media_type} now.")
    return _verdict(one.name, difference(read(one.id), read(two.id), one.media_type), allowed)


def _verdict(name: str, found: Difference, allowed: float) -> ArtifactVerdict:
    if found.equal:
        return ArtifactVerdict(name=name, verdict="equal", sentence=f"{name}: equal but for measured times.")
    if found.first:
        said = f"{name}, first difference at {found.first}."
        return ArtifactVerdict(name=name, verdict="different", largest=found.largest, sentence=said)
    said = f"{name}: largest difference {found.largest:.3g}, at {found.where}"
    verdict: Outcome = "within tolerance" if found.largest <= allowed else "different"
    return ArtifactVerdict(name=name, verdict=verdict, largest=found.largest, sentence=f"{said}.")


def _sum_up(judged: tuple[ArtifactVerdict, ...], determinism: str, tolerance: float) -> ReplayVerdict:
    worst: Outcome = "equal"
    for outcome in ("within tolerance", "different"):
        if any(found.verdict == outcome for found in judged):
            worst = outcome
    largest = max(found.largest for found in judged)
    kept = None if determinism == "none" else worst == "equal" or (worst == "within tolerance" and determinism == "tolerance")
    return ReplayVerdict(
        verdict=worst, promised=determinism, tolerance=tolerance, kept=kept, largest=largest,
        sentence=_sentence(worst, determinism, tolerance, largest, judged), artifacts=judged,
    )  # fmt: skip


def _sentence(worst: Outcome, determinism: str, tolerance: float, largest: float, judged: tuple[ArtifactVerdict, ...]) -> str:
    if worst == "equal":
        promise = {"bit_exact": ", as promised", "none": "; nothing promised it"}.get(determinism, f", promised within {tolerance:g}")
        return f"Replayed: equal{promise}."
    if worst == "within tolerance":
        return f"Replayed: within tolerance. The largest difference is {largest:.3g}, {tolerance:g} was promised."
    first = next(found for found in judged if found.verdict == "different")
    promise = {"bit_exact": " Equality was promised.", "none": " Nothing was promised."}.get(determinism, f" {tolerance:g} was promised.")
    return f"Replayed: different. {first.sentence}{promise}"
