"""The data of a thumbnail."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui_views.traces import PUMP_LEFT, in_blocks, long_text, one_by_one, words
from ui.views.thumbnails import compact, shade


def test_a_trace_becomes_one_width_and_one_shade_a_token() -> None:
    trace = in_blocks(words(PUMP_LEFT))
    made = compact("decoding_trace", trace.model_dump(mode="json"))
    assert made is not None
    assert len(made["widths"]) == len(made["shades"]) == trace.positions
    assert set(made["shades"]) <= set("1234567")
    assert [int(width, 36) for width in made["widths"]] == [len(token) for token in words(PUMP_LEFT)]


def test_masks_of_a_stopped_run_have_no_shade() -> None:
    trace = in_blocks(words(PUMP_LEFT), stop=6)
    made = compact("decoding_trace", trace.model_dump(mode="json"))
    known = sum(len(each.committed) for each in trace.passes)
    assert made is not None
    assert made["shades"].count("0") == trace.positions - known


def test_a_long_text_is_thinned_so_that_its_end_is_seen() -> None:
    made = compact("decoding_trace", one_by_one(long_text(3000)).model_dump(mode="json"))
    assert made is not None
    assert len(made["widths"]) < 400
    assert made["shades"][-1] == "7"


def test_a_plain_text_has_words_and_other_kinds_have_none() -> None:
    assert compact("text", "one three") == {"widths": "35", "shades": "00"}
    assert compact("text", "") is None
    assert compact("mesh", {"passes": []}) is None
    assert compact("decoding_trace", None) is None


def test_a_trace_without_passes_has_no_thumbnail() -> None:
    empty: dict[str, Any] = {"passes": [], "positions": 0}
    assert compact("decoding_trace", empty) is None


@pytest.mark.parametrize(("ordinal", "wanted"), [(1, 1), (10, 1), (11, 2), (19, 2), (20, 3), (56, 7), (64, 7)])
def test_shades_follow_the_page(ordinal: int, wanted: int) -> None:
    assert shade(ordinal, 64) == wanted


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_a_shade_is_between_one_and_seven_and_never_falls(one: int, total: int) -> None:
    ordinal = min(one, total)
    assert 1 <= shade(ordinal, total) <= 7
    assert shade(ordinal, total) <= shade(total, total)
