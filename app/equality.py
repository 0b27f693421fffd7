"""Are two outputs equal, and was that promised? The badge on the hinge is computed here, never typed.

Outputs are compared artifact by artifact under the same name. A decoding trace is compared by its tokens (not by its
timings), a text by its characters, anything else by its bytes.

It deliberately judges no quality: different outputs of methods that promise nothing are a fact, not a fault.
"""

import json
from collections.abc import Callable
from typing import Any

from app.values import FirstDifference, PairVerdict
from backends.contract import Card, Determinism, field_specs
from storage.values import RunRow, RunState

Read = Callable[[str], bytes]
"""Artifact id -> its bytes."""


def verdict(base: RunRow, other: RunRow, card: Card, read: Read) -> PairVerdict:
    """The verdict on `other` against `base`; `card` is the card of `other`'s method."""
    promise = promised(base, other, card)
    for run in (base, other):
        if not run.state.final:
            return PairVerdict(kind="pending", promised=promise, sentence="Comparing when both are done.")
    for run in (base, other):
        if run.state is not RunState.DONE:
            return PairVerdict(kind="none", promised=promise, sentence=f"Pane {run.pane} {_ended(run.state)}: nothing to compare.")
    difference, what = first_difference(base, other, read)
    return _of_equal(what, promise) if difference is None else _of_different(difference, promise)


def _of_equal(what: str, promise: bool) -> PairVerdict:
    if not what:
        return PairVerdict(kind="none", promised=promise, sentence="These outputs are of different kinds: nothing to compare.")
    if promise:
        return PairVerdict(kind="kept", promised=True, sentence=f"Equal, as promised: {what}.")
    return PairVerdict(kind="equal", promised=False, sentence=f"Equal: {what}. Nothing promised it.")


def _of_different(difference: FirstDifference, promise: bool) -> PairVerdict:
    where = f"First difference at {difference.unit} {difference.index + 1}: “{difference.baseline}” / “{difference.other}”."
    if promise:
        return PairVerdict(kind="broken", promised=True, sentence=f"{where} Equal output was promised.", difference=difference)
    return PairVerdict(kind="different", promised=False, sentence=f"{where} Nothing promised equal output.", difference=difference)


def promised(base: RunRow, other: RunRow, card: Card) -> bool:
    """Same method, checkpoint, input and seed, and only settings differ whose fields promise equal output."""
    if any(getattr(base, name) != getattr(other, name) for name in ("method", "checkpoint", "seed", "inputs", "device")):
        return False
    if card.determinism is Determinism.NONE:
        return False
    equal_fields = {spec.name for spec in field_specs(card.settings) if spec.equal_output}
    changed = {name for name in base.settings.keys() | other.settings.keys() if base.settings.get(name) != other.settings.get(name)}
    return changed <= equal_fields


def first_difference(base: RunRow, other: RunRow, read: Read) -> tuple[FirstDifference | None, str]:
    """The first difference (None: equal) and, if equal, what was compared in words (empty: nothing comparable)."""
    pairs = [(one, two) for one in base.artifacts for two in other.artifacts if one.name == two.name and one.kind == two.kind]
    said = ""
    for one, two in sorted(pairs, key=lambda pair: pair[0].kind != "decoding_trace"):
        if one.digest == two.digest:
            said = said or f"{one.bytes:,} bytes of {one.name}"
        if one.kind == "decoding_trace":
            difference, count = _tokens(json.loads(read(one.id)), json.loads(read(two.id)))
            said = f"{count} of {count} tokens"
        elif one.digest == two.digest:
            continue
        elif one.media_type.startswith("text/"):
            difference = _characters(read(one.id).decode("utf-8", "replace"), read(two.id).decode("utf-8", "replace"))
        else:
            difference = _bytes(read(one.id), read(two.id))
        if difference is not None:
            return difference, ""
        said = said or one.name
    return None, said


def _tokens(one: dict[str, Any], two: dict[str, Any]) -> tuple[FirstDifference | None, int]:
    first, second = _by_position(one), _by_position(two)
    for position in range(max(len(first), len(second))):
        left, right = first.get(position), second.get(position)
        if left is None or right is None or left["token"] != right["token"]:
            return FirstDifference(unit="token", index=position, baseline=_text(left), other=_text(right)), len(first)
    return None, len(first)


def _by_position(trace: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Position -> committed token, for the positions the trace shows."""
    committed = (token for step in trace["passes"] for token in step["committed"])
    return {token["position"]: token for token in committed if token["position"] < trace["positions"]}


def _text(token: dict[str, Any] | None) -> str:
    return "end" if token is None else str(token["text"])


def _characters(one: str, two: str) -> FirstDifference | None:
    index = _parting(one, two)
    if index is None:
        return None
    left, right = one[index : index + 1], two[index : index + 1]
    return FirstDifference(unit="character", index=index, baseline=left or "end", other=right or "end")


def _bytes(one: bytes, two: bytes) -> FirstDifference | None:
    index = _parting(one, two)
    if index is None:
        return None
    left, right = one[index : index + 1], two[index : index + 1]
    return FirstDifference(unit="byte", index=index, baseline=left.hex() or "end", other=right.hex() or "end")


def _parting(one: str | bytes, two: str | bytes) -> int | None:
    """The first index at which the two differ, None if they are equal."""
    if one == two:
        return None
    pairs = enumerate(zip(one, two, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(one), len(two)))


def _ended(state: RunState) -> str:
    return {RunState.FAILED: "failed", RunState.CANCELLED: "was stopped", RunState.INTERRUPTED: "was interrupted"}[state]
