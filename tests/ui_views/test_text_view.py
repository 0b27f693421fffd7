"""The text of a pane: colours by pass, masks, caret, first difference, and what a token tells when it is looked at."""

import pytest
from playwright.sync_api import Page, expect

from tests.ui_views.conftest import Open
from tests.ui_views.scenes import PARTING
from tests.ui_views.traces import PUMP_LEFT, PUMP_RIGHT

pytestmark = pytest.mark.browser


def settle(page: Page) -> None:
    """Let the frame be drawn that the last change asked for."""
    page.evaluate("probe.frames()")


def until(page: Page, condition: str) -> None:
    """Wait for `condition` to hold, looked at every frame; the content policy forbids evaluating it as the page's own script."""
    page.evaluate(f"probe.until(() => {condition})")


def test_both_panes_show_their_whole_text_in_order(view: Open) -> None:
    page = view("pair")
    assert page.locator("[data-pane=A] .flow").text_content() == PUMP_LEFT
    assert page.locator("[data-pane=B] .flow").text_content() == PUMP_RIGHT


def test_tokens_wear_the_shade_of_the_pass_that_committed_them(view: Open) -> None:
    page = view("pair")
    assert page.evaluate("probe.wrongShades()") == []


def test_shades_split_the_passes_into_seven_equal_parts(view: Open) -> None:
    page = view("pair")
    assert page.evaluate("probe.shadeFirsts(64)") == [1, 11, 20, 29, 38, 47, 56]


def test_the_first_difference_is_boxed_in_both_panes_and_nowhere_else(view: Open) -> None:
    page = view("pair")
    assert page.locator("i.df").all_text_contents() == [" is", " equals"]


def test_equal_outputs_have_no_box(view: Open) -> None:
    page = view("kept")
    assert page.locator("i.df").count() == 0


def test_a_running_pane_shows_dots_for_masks_and_a_caret(view: Open) -> None:
    page = view("pair", live=True)
    page.evaluate("harness.feed('B', 0, 6)")
    settle(page)
    known = page.evaluate("harness.panes.get('B').events.slice(0, 6).flatMap((event) => event.data.committed).length")
    opened = page.evaluate("harness.panes.get('B').events[5].data.blocks.length * 16")
    assert page.locator("[data-pane=B] .flow i:not(.mask)").count() == known
    assert page.locator("[data-pane=B] .flow i.mask").count() == opened - known
    assert page.locator("[data-pane=B] .flow.running").count() == 1
    page.evaluate("harness.finish('B')")
    settle(page)
    assert page.locator("[data-pane=B] .flow.running").count() == 0
    assert page.locator("[data-pane=B] i.mask").count() == 0


def test_events_sent_twice_change_nothing(view: Open) -> None:
    page = view("pair", live=True)
    page.evaluate("harness.feed('B', 0, 6); harness.feed('B', 0, 6); harness.feed('B', 3, 5)")
    settle(page)
    twice = page.locator("[data-pane=B] .flow").inner_html()
    other = view("pair", live=True)
    other.evaluate("harness.feed('B', 0, 8)")
    settle(other)
    assert other.locator("[data-pane=B] .flow").inner_html() == twice


def test_the_outlook_of_a_diffusion_run_is_an_estimate_and_of_a_counted_run_is_not(view: Open) -> None:
    page = view("pair", live=True)
    assert page.evaluate("harness.outlook('B')") is None
    page.evaluate("harness.feed('A', 0, 6); harness.feed('B', 0, 6)")
    counted, estimated = page.evaluate("[harness.outlook('A'), harness.outlook('B')]")
    assert counted == {"pass": 5, "total": 71, "about": False}
    assert estimated["pass"] == 6
    assert estimated["about"]
    assert 8 <= estimated["total"] <= 40


def test_pointing_at_a_token_tells_its_pass_confidence_place_id_and_partner(view: Open) -> None:
    page = view("pair")
    page.hover(f"[data-pane=B] .flow i:nth-child({PARTING + 1})")
    card = page.locator("[data-pane=B] .dp-card")
    expect(card).to_be_visible()
    token = page.evaluate("probe.token('B', ' equals')")
    words = card.inner_text()
    assert f"{token['pass']} of 15" in words
    assert f"{token['confidence']:.3f}" in words
    assert str(token["token"]) in words
    assert "“ equals”" in words
    assert "“ is”" in words
    assert page.locator("[data-pane=A] i.partner").all_text_contents() == [" is"]
    page.mouse.move(2, 2)
    expect(card).to_be_hidden()
    assert page.locator("i.partner").count() == 0


def test_the_keyboard_walks_tokens_and_says_each_aloud(view: Open) -> None:
    page = view("pair")
    page.focus("[data-pane=A] .out")
    for _ in range(PARTING + 1):
        page.keyboard.press("ArrowRight")
    assert page.locator("[data-pane=A] i.at").all_text_contents() == [" is"]
    said = page.locator("[data-pane=A] [role=status]").text_content() or ""
    assert "“ is”" in said
    assert f"pass {PARTING + 1} of 71" in said
    assert "pane B: “ equals”" in said
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    assert page.locator("[data-pane=A] i.at").all_text_contents() == ["³"]
    page.keyboard.press("Escape")
    assert page.locator("i.at").count() == 0


def test_the_card_does_not_move_the_page(view: Open) -> None:
    page = view("pair")
    before = page.evaluate("document.querySelector('.dp-ledger').getBoundingClientRect().top")
    page.hover("[data-pane=A] .flow i:nth-child(5)")
    assert page.evaluate("document.querySelector('.dp-ledger').getBoundingClientRect().top") == before


def test_a_stopped_run_keeps_its_masks_and_says_where_it_stopped(view: Open) -> None:
    page = view("stopped")
    assert page.locator("[data-pane=B] i.mask").count() > 5
    assert "Stopped at pass 9." in (page.locator("[data-pane=B] svg.dp-timeline").get_attribute("aria-label") or "")
    assert page.locator("[data-pane=B] .flow.running").count() == 0


def test_a_text_without_a_trace_is_shown_as_it_is(view: Open) -> None:
    page = view("plain")
    assert page.locator("[data-pane=A] .flow").text_content() == PUMP_LEFT
    assert page.locator("[data-pane=A] svg.dp-timeline").is_hidden()


def test_a_preview_shows_until_the_first_pass_arrives(view: Open) -> None:
    page = view("pair", live=True)
    page.evaluate("harness.preview('A', 'so far')")
    assert page.locator("[data-pane=A] .flow").text_content() == "so far"
    page.evaluate("harness.feed('A', 0, 3)")
    settle(page)
    assert (page.locator("[data-pane=A] .flow").text_content() or "").startswith("Convert the")
    assert "so far" not in (page.locator("[data-pane=A] .flow").text_content() or "")


def test_a_reset_pane_is_empty_and_ready_for_the_next_run(view: Open) -> None:
    page = view("pair")
    page.evaluate("diptych.views.text.reset(harness.panes.get('B').el, harness.panes.get('B').info)")
    settle(page)
    assert page.locator("[data-pane=B] .flow").text_content() == ""
    page.evaluate("harness.feed('B', 0, 2)")
    settle(page)
    assert page.locator("[data-pane=B] i.p1, [data-pane=B] i.p2").count() > 0


def test_a_long_text_scrolls_inside_its_pane_and_takes_the_partner_along(view: Open) -> None:
    page = view("long")
    box = "[data-pane={}] .out"
    assert page.evaluate("document.documentElement.scrollHeight") < 1600
    page.evaluate(f"document.querySelector('{box.format('A')}').scrollTop = 3000")
    until(page, f"document.querySelector('{box.format('B')}').scrollTop > 2900")
    tops = page.evaluate("probe.topTokens()")
    assert abs(tops[0] - tops[1]) < 12


def test_alt_scrolls_one_pane_alone(view: Open) -> None:
    page = view("long")
    page.hover("[data-pane=A] .out")
    page.keyboard.down("Alt")
    page.mouse.wheel(0, 900)
    until(page, "document.querySelector('[data-pane=A] .out').scrollTop > 500")
    settle(page)
    page.keyboard.up("Alt")
    assert page.evaluate("document.querySelector('[data-pane=B] .out').scrollTop") == 0


def test_show_it_brings_a_late_difference_into_view_in_both_panes(view: Open) -> None:
    page = view("long")
    page.click("text=Show it")
    settle(page)
    assert page.evaluate("probe.boxesInView()") == [True, True]


def test_the_map_of_a_long_text_jumps_to_where_it_is_pressed(view: Open) -> None:
    page = view("long")
    strip = page.locator("[data-pane=B] .dp-map")
    expect(strip).to_be_visible()
    strip.click(position={"x": 5, "y": 200})
    until(page, "document.querySelector('[data-pane=B] .out').scrollTop > 1500")
    assert view("pair").locator(".dp-map:visible").count() == 0


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_enough_contrast_on_every_shade(view: Open, dark: bool) -> None:
    page = view("pair", dark=dark)
    assert page.evaluate("probe.worstContrast()") >= 4.5
