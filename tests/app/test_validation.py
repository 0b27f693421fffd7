"""Bad requests become faults at their controls, with the nearest legal value."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import model_validator

from app.validation import parse, shared_part
from backends.contract import Card, Checkpoint, Determinism, Fault, Group, Inputs, Paper, SettingError, Settings, Tab, input_field, setting


class ToyInputs(Inputs):
    prompt: str = input_field("", label="Shared input", effect="", max_length=10)


class ToySettings(Settings):
    threshold: float = setting(0.9, label="Commit above confidence", effect="", group=Group.PARALLEL_DECODING, ge=0, le=1)
    block: int = setting(16, label="Block size", effect="", group=Group.PARALLEL_DECODING, ge=1, le=128)
    length: int = setting(64, label="New tokens", effect="", group=Group.OUTPUT, ge=1, le=512)

    @model_validator(mode="after")
    def whole_blocks(self):
        if self.length % self.block:
            what = "New tokens must be a multiple of the block size."
            raise SettingError(what, next_step="Choose a multiple.", field="length", suggestion=64)
        return self


CHECKPOINT = Checkpoint(key="c", title="C", sources=())
CARD = Card(
    key="toy", title="Toy", tab=Tab.TEXT, summary="", paper=Paper(title="", authors="", year=2026), licence="", inputs=ToyInputs,
    settings=ToySettings, checkpoints=(CHECKPOINT,), outputs=("text",), determinism=Determinism.BIT_EXACT,
)  # fmt: skip


def faults(settings=None, inputs=None) -> tuple[Fault, ...]:
    found = parse(CARD, CHECKPOINT, inputs or {}, settings or {})
    return tuple(part for part in found if isinstance(part, Fault))


def test_defaults_alone_are_legal():
    inputs, settings = parse(CARD, CHECKPOINT, {}, {})
    assert (inputs.prompt, settings.block) == ("", 16)


@pytest.mark.parametrize(
    ("settings", "field", "says", "suggestion"),
    [
        ({"threshold": 1.5}, "threshold", "between 0 and 1", 1.0),
        ({"threshold": -0.1}, "threshold", "between 0 and 1", 0.0),
        ({"threshold": "high"}, "threshold", "must be a number", 0.9),
        ({"block": 0}, "block", "between 1 and 128", 1),
        ({"block": 8.5}, "block", "whole number", 8),
        ({"block": 24, "length": 64}, "length", "multiple of the block size", 64),
    ],
)
def test_a_bad_setting_is_named_at_its_control_with_the_nearest_value(settings, field, says, suggestion):
    (fault,) = faults(settings)
    assert (fault.field, fault.kind, fault.suggestion) == (field, "SettingError", suggestion)
    assert says in fault.what


def test_an_unknown_field_names_the_known_ones():
    (fault,) = faults({"blocks": 3})
    assert "blocks" in fault.what
    assert "block" in fault.next_step


def test_a_long_prompt_is_refused_with_both_numbers():
    (fault,) = faults(inputs={"prompt": "x" * 90})
    assert fault.field == "prompt"
    assert "10" in fault.what and "90" in fault.why


def test_several_faults_are_all_named():
    assert {fault.field for fault in faults({"threshold": 2, "block": 999})} == {"threshold", "block"}


def test_a_pane_reads_only_the_shared_fields_it_declares():
    assert shared_part(CARD, {"prompt": "a", "image": "b"}) == {"prompt": "a"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["threshold", "block", "length", "other"]), json_values, max_size=4))
def test_whatever_json_comes_the_answer_is_typed_settings_or_faults(settings):
    found = parse(CARD, CHECKPOINT, {}, settings)
    assert found
    if isinstance(found[0], Fault):
        assert all(fault.what and isinstance(fault.suggestion, int | float | str | bool | None) for fault in found)
    else:
        assert 0 <= found[1].threshold <= 1 and not math.isnan(found[1].threshold)
