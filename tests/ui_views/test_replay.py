"""Timelines on one axis, and the replay that moves all panes at once."""

import pytest
from playwright.sync_api import Page, expect

from tests.ui_views.conftest import Open
from tests.ui_views.test_text_view import settle, until
from tests.ui_views.traces import PUMP_LEFT, PUMP_RIGHT

pytestmark = pytest.mark.browser

SLIDER = ".dp-replay input[type=range]"


def scrub(page: Page, value: int) -> None:
    page.evaluate(f"(() => {{ const s = document.querySelector('{SLIDER}'); s.value = {value}; s.dispatchEvent(new Event('input')); }})()")
    settle(page)


def committed_by(page: Page, pane: str, last: int) -> int:
    """Tokens the trace says are known after pass `last`."""
    script = "([pane, last]) => probe.committedBy(pane, last)"
    return int(page.evaluate(script, [pane, last]))


def coloured(page: Page, pane: str) -> int:
    return page.locator(f"[data-pane={pane}] .flow i:not(.mask):not(.later)").count()


def test_both_timelines_share_one_axis_and_the_faster_one_ends_early(view: Open) -> None:
    page = view("pair")
    left, right, axis = page.evaluate("probe.barEnds()")
    assert left == pytest.approx(58 + axis, abs=2)
    assert right == pytest.approx(58 + axis * 15 / 71, abs=2)


def test_the_saving_is_said_in_the_white_it_is_about(view: Open) -> None:
    page = view("pair")
    words = page.locator("[data-pane=B] svg.dp-timeline").text_content() or ""
    assert "Done at pass 15." in words
    assert "56 passes saved, up to 8 tokens in each." in words
    assert "saved" not in (page.locator("[data-pane=A] svg.dp-timeline").text_content() or "")


def test_on_a_phone_the_saving_stands_below_the_picture(view: Open) -> None:
    page = view("pair", width=390, height=844)
    assert page.locator("[data-pane=B] .saving").text_content() == "Done at pass 15. 56 passes saved, up to 8 tokens in each."


def test_bars_count_the_tokens_of_each_pass_in_each_block(view: Open) -> None:
    page = view("pair")
    assert page.evaluate("probe.wrongBlocks('B')") == [5, []]


def test_every_finished_block_has_its_brass_line(view: Open) -> None:
    page = view("pair")
    assert (page.locator("[data-pane=B] svg.dp-timeline path.done").get_attribute("d") or "").count("M") == 5


@pytest.mark.parametrize("last", [0, 1, 5, 9, 14, 30])
def test_the_slider_shows_both_texts_as_of_its_pass(view: Open, last: int) -> None:
    page = view("pair")
    scrub(page, last)
    for pane in "AB":
        assert coloured(page, pane) == committed_by(page, pane, last)
    expect(page.locator(".dp-replay .moment")).to_have_text(f"pass {last} of 71")


def test_a_replay_keeps_every_line_where_it_is(view: Open) -> None:
    page = view("pair")
    places = "[...document.querySelectorAll('.flow i')].map((cell) => [cell.offsetLeft, cell.offsetTop])"
    heights = "[...document.querySelectorAll('.flow')].map((flow) => flow.offsetHeight)"
    whole = page.evaluate(heights)
    scrub(page, 40)
    before = page.evaluate(places)
    for last in (39, 30, 13, 6, 1):
        scrub(page, last)
        if page.locator("i.df").count() == 2:
            assert page.evaluate(places) == before
        assert page.evaluate(heights) == whole


def test_masks_of_a_replay_have_the_length_of_the_token_to_come(view: Open) -> None:
    page = view("pair")
    scrub(page, 6)
    assert page.locator("[data-pane=B] .flow").text_content() == PUMP_RIGHT
    assert page.evaluate("probe.maskedAreUnseen()")


def test_the_end_of_the_slider_is_the_whole_text(view: Open) -> None:
    page = view("pair")
    scrub(page, 3)
    scrub(page, 71)
    assert coloured(page, "A") == page.locator("[data-pane=A] .flow i").count()
    expect(page.locator(".dp-replay .moment")).to_have_text("all 71 passes")
    assert page.locator("[data-pane=A] .flow").text_content() == PUMP_LEFT


def test_the_slider_obeys_the_keyboard_and_tells_its_moment(view: Open) -> None:
    page = view("pair")
    page.focus(SLIDER)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert coloured(page, "B") == committed_by(page, "B", 2)
    assert page.locator(SLIDER).get_attribute("aria-valuetext") == "pass 2 of 71"
    assert page.locator(SLIDER).get_attribute("aria-label")


def test_play_runs_from_the_first_pass_to_the_last_and_stops(view: Open) -> None:
    page = view("slow")
    page.evaluate("probe.countMoments()")
    page.click(".dp-replay .play")
    expect(page.locator(".dp-replay .play")).to_have_attribute("aria-label", "Pause the replay")
    until(page, "probe.moment().startsWith('all ')")
    expect(page.locator(".dp-replay .play")).to_have_attribute("aria-label", "Replay all panes from the first pass")
    assert page.evaluate("new Set(moments).size") > 10


def test_play_pauses_where_it_is(view: Open) -> None:
    page = view("pair")
    page.click(".dp-replay .play")
    until(page, "/^pass [1-9]/.test(probe.moment())")
    page.click(".dp-replay .play")
    settle(page)
    held = page.locator(".dp-replay .moment").text_content()
    settle(page)
    settle(page)
    assert page.locator(".dp-replay .moment").text_content() == held
    assert (held or "").startswith("pass ")


def test_with_reduced_motion_a_replay_takes_few_large_steps(view: Open) -> None:
    page = view("pair", still=True)
    page.evaluate("probe.countMoments()")
    page.click(".dp-replay .play")
    until(page, "moments.length > 2 && probe.moment().startsWith('all ')")
    assert page.evaluate("moments.length") <= 16


def test_by_the_clock_the_faster_pane_is_ahead(view: Open) -> None:
    page = view("pair")
    page.click("text=By the clock")
    scrub(page, 250)
    moment = page.locator(".dp-replay .moment").text_content() or ""
    assert " of " in moment
    shares = [coloured(page, pane) / page.locator(f"[data-pane={pane}] .flow i").count() for pane in "AB"]
    assert shares[0] == pytest.approx(0.25, abs=0.03)
    assert shares[1] > 0.6


def test_dragging_on_a_timeline_scrubs_both_panes(view: Open) -> None:
    page = view("pair")
    box = page.locator("[data-pane=B] svg.dp-timeline").bounding_box()
    assert box is not None
    axis = box["width"] - 58 - 5
    page.mouse.click(box["x"] + 58 + axis * 8.5 / 71, box["y"] + 30)
    settle(page)
    expect(page.locator(".dp-replay .moment")).to_have_text("pass 9 of 71")
    assert coloured(page, "A") == 9
    assert page.locator("svg.dp-timeline path.cursor[d]").count() == 2


def test_tokens_per_pass_is_drawn_on_one_scale_with_its_mean(view: Open) -> None:
    page = view("pair")
    page.click("text=Tokens per pass")
    settle(page)
    assert "mean 4.7" in (page.locator("[data-pane=B] svg.dp-timeline").text_content() or "")
    assert "mean 1" in (page.locator("[data-pane=A] svg.dp-timeline").text_content() or "")
    tops = page.evaluate("probe.gridLines()")
    assert tops[0] == tops[1]
    page.click("text=Blocks")
    settle(page)
    assert "block 1" in (page.locator("[data-pane=A] svg.dp-timeline").text_content() or "")


def test_a_run_that_goes_on_keeps_the_moment_the_reader_chose(view: Open) -> None:
    page = view("pair", live=True)
    page.evaluate("harness.feed('A', 0, 30)")
    settle(page)
    scrub(page, 10)
    page.evaluate("harness.feed('A', 30, 5)")
    settle(page)
    assert coloured(page, "A") == 10
    scrub(page, 34)
    page.evaluate("harness.feed('A', 35, 5)")
    settle(page)
    assert coloured(page, "A") == 39


def test_timelines_stand_level_when_the_texts_differ_in_height(view: Open) -> None:
    page = view("pair", live=True)
    page.evaluate("harness.feed('A', 0, 20); harness.feed('B', 0, 9)")
    settle(page)
    tops = page.evaluate("[...document.querySelectorAll('svg.dp-timeline')].map((svg) => svg.getBoundingClientRect().top)")
    assert tops[0] == pytest.approx(tops[1], abs=0.6)


def test_many_blocks_share_rows_and_the_picture_stays_small(view: Open) -> None:
    page = view("long")
    assert page.evaluate("document.querySelector('svg.dp-timeline').getBoundingClientRect().height") < 175
    assert page.evaluate("document.querySelectorAll('[data-pane=A] svg.dp-timeline *').length") < 80
