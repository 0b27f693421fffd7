"""The badge on the hinge: computed from two outputs, and honest about what was promised."""

import json
from datetime import UTC, datetime

import pytest

from app.equality import verdict
from backends.contract import Card, Determinism, Group, Inputs, Paper, Settings, Tab, setting
from storage.values import ArtifactRow, RunRow, RunState


class ToySettings(Settings):
    kv_cache: bool = setting(True, label="Cache", effect="faster", group=Group.CACHING, equal_output=True)
    block: int = setting(8, label="Block", effect="larger", group=Group.PARALLEL_DECODING, ge=1, le=64)


CARD = Card(
    key="toy", title="Toy", tab=Tab.TEXT, summary="", paper=Paper(title="", authors="", year=2026), licence="", inputs=Inputs,
    settings=ToySettings, checkpoints=(), outputs=("text",), determinism=Determinism.BIT_EXACT,
)  # fmt: skip


class Shelf:
    """Artifacts in memory."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def run(self, pane: str, data: bytes, *, kind="text", media_type="text/plain", state=RunState.DONE, **changes) -> RunRow:
        identity = f"{pane}-{len(self.files)}"
        self.files[identity] = data
        artifact = ArtifactRow(id=identity, run=pane, digest=str(hash(data)), kind=kind, name="out", media_type=media_type, bytes=len(data))
        fields = {"method": "toy", "settings": {"kv_cache": True, "block": 8}} | changes
        return RunRow(
            id=pane, method_title="Toy", tab="text", checkpoint="c", inputs={}, seed=1, pane=pane, sequence=1, state=state,
            created=datetime.now(UTC), artifacts=(artifact,), **fields,
        )  # fmt: skip

    def judge(self, base: RunRow, other: RunRow):
        return verdict(base, other, CARD, self.files.__getitem__)


def trace(*tokens: str) -> bytes:
    committed = [{"position": i, "token": ord(t[0]), "text": t, "confidence": 1.0} for i, t in enumerate(tokens)]
    return json.dumps({"positions": len(tokens), "passes": [{"committed": committed}]}).encode()


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def test_equal_output_is_a_kept_promise_when_only_the_cache_differs(shelf):
    found = shelf.judge(shelf.run("A", b"same"), shelf.run("B", b"same", settings={"kv_cache": False, "block": 8}))
    assert (found.kind, found.promised) == ("kept", True)


def test_a_difference_is_a_broken_promise_when_only_the_cache_differs(shelf):
    found = shelf.judge(shelf.run("A", b"same"), shelf.run("B", b"sane", settings={"kv_cache": False, "block": 8}))
    assert found.kind == "broken"
    assert (found.difference.unit, found.difference.index, found.difference.baseline, found.difference.other) == ("character", 2, "m", "n")


def test_equal_output_without_a_promise_is_a_fact(shelf):
    found = shelf.judge(shelf.run("A", b"same"), shelf.run("B", b"same", settings={"kv_cache": True, "block": 16}))
    assert (found.kind, found.promised) == ("equal", False)


def test_another_method_checkpoint_or_seed_promises_nothing(shelf):
    base = shelf.run("A", b"one")
    for change in ({"method": "other"}, {"settings": {"kv_cache": True}}):
        other = shelf.run("B", b"two", **change)
        assert shelf.judge(base, other).kind == "different"
    reseeded = shelf.run("B", b"two").model_copy(update={"seed": 2})
    assert shelf.judge(base, reseeded).kind == "different"


def test_traces_are_compared_by_token_and_not_by_timing(shelf):
    base = shelf.run("A", trace("a", "b", "c"), kind="decoding_trace", media_type="application/json")
    other = shelf.run("B", trace("a", "x", "c"), kind="decoding_trace", media_type="application/json")
    found = shelf.judge(base, other)
    assert (found.difference.unit, found.difference.index, found.difference.baseline, found.difference.other) == ("token", 1, "b", "x")
    again = shelf.run("B", trace("a", "b", "c") + b" ", kind="decoding_trace", media_type="application/json")
    assert shelf.judge(base, again).kind == "kept"


def test_a_shorter_output_differs_at_its_end(shelf):
    base = shelf.run("A", trace("a", "b"), kind="decoding_trace", media_type="application/json")
    other = shelf.run("B", trace("a"), kind="decoding_trace", media_type="application/json")
    assert shelf.judge(base, other).difference.other == "end"


def test_unfinished_and_failed_panes_are_never_called_equal(shelf):
    base = shelf.run("A", b"same")
    assert shelf.judge(base, shelf.run("B", b"same", state=RunState.RUNNING)).kind == "pending"
    for state in (RunState.FAILED, RunState.CANCELLED, RunState.INTERRUPTED):
        assert shelf.judge(base, shelf.run("B", b"same", state=state)).kind == "none"


def test_outputs_of_different_kinds_are_not_compared(shelf):
    assert shelf.judge(shelf.run("A", b"x"), shelf.run("B", b"x", kind="image", media_type="image/png")).kind == "none"
