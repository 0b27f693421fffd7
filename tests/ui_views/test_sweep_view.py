"""A sweep: plan, grid, score against speed, the picked cell, what went wrong."""

import pytest
from playwright.sync_api import expect

from tests.ui_views.conftest import Open

pytestmark = pytest.mark.browser


def test_the_plan_counts_cells_and_names_the_time_left(view: Open) -> None:
    page = view("sweep2")
    words = " ".join(page.locator(".plan").inner_text().split())
    assert "18 cells" in words
    assert "12 done" in words
    assert "4 waiting, 1 failed" in words
    assert "left" in words


def test_every_cell_shows_its_state(view: Open) -> None:
    page = view("sweep2")
    assert page.locator(".dp-cells button.c").count() == 18
    assert page.locator(".dp-cells button.c.w").count() == 4
    assert page.locator(".dp-cells button.c.f").inner_text().startswith("Out of memory")
    assert page.locator(".dp-cells .run").count() == 1
    assert page.locator(".dp-cells em").first.inner_text().startswith("19/40")


def test_each_finished_cell_is_a_labelled_mark_with_whiskers(view: Open) -> None:
    page = view("sweep1")
    assert page.locator(".dp-scatter .mark").count() == 6
    labels = page.locator(".dp-scatter text[aria-hidden=true]").all_text_contents()
    assert set(labels) == {"0.5", "0.6", "0.7", "0.8", "0.9", "0.95"}
    assert page.locator(".dp-scatter .whisker").count() == 6


def test_the_best_trade_offs_are_those_nothing_beats_in_both(view: Open) -> None:
    page = view("sweep1")
    marks = [["a", 1, 9], ["b", 2, 9], ["c", 3, 5], ["d", 2.5, 4], ["e", 4, 1]]
    best = page.evaluate("(marks) => probe.bestTradeOffs(marks)", marks)
    assert best == ["b", "c", "e"]


def test_picking_in_the_grid_rings_the_mark_and_tells_the_page(view: Open) -> None:
    page = view("sweep1")
    page.click(".c[data-pane=cell3]")
    assert page.evaluate("harness.last") == {"name": "dp:pick", "pane": "cell3", "run": f"{3:032x}"}
    assert page.locator(".mark.picked").get_attribute("data-pane") == "cell3"
    assert page.locator(".mark.picked circle.ring").count() == 1
    expect(page.locator(".pick")).to_contain_text("Picked: commit above 0.8")
    expect(page.locator(".pick")).to_contain_text("answers right 36 of 40")
    page.get_by_role("button", name="Open").click()
    assert page.evaluate("harness.last.open") is True
    page.click("text=Use these")
    assert page.evaluate("harness.last.name") == "dp:use"


def test_picking_a_mark_presses_its_cell(view: Open) -> None:
    page = view("sweep1")
    page.focus(".mark[data-pane=cell5]")
    page.keyboard.press("Enter")
    assert page.locator(".c[aria-pressed=true]").get_attribute("data-pane") == "cell5"


def test_arrow_keys_walk_the_grid(view: Open) -> None:
    page = view("sweep2")
    page.focus(".c[data-pane=cell0]")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.pane") == "cell7"


def test_a_new_look_at_the_runs_keeps_pick_and_focus(view: Open) -> None:
    page = view("sweep2")
    page.click(".c[data-pane=cell2]")
    page.focus(".c[data-pane=cell1]")
    page.evaluate("harness.sweep()")
    assert page.evaluate("document.activeElement.dataset.pane") == "cell1"
    assert page.locator(".c[aria-pressed=true]").get_attribute("data-pane") == "cell2"


def test_the_map_shades_cells_by_the_measure(view: Open) -> None:
    page = view("sweep2")
    page.click("text=Map")
    assert page.locator(".c.heat").count() == 12
    assert page.evaluate("probe.heatColours()") > 2


def test_another_measure_can_stand_on_the_vertical_axis(view: Open) -> None:
    page = view("sweep1")
    page.select_option(".dp-sweep select", label="Forward passes")
    assert "forward passes" in (page.locator(".dp-scatter").text_content() or "")


def test_a_failed_cell_says_what_why_and_what_next(view: Open) -> None:
    page = view("sweep2")
    words = page.locator(".wrong").inner_text()
    assert "block size 16, commit above 0.95: Out of memory at pass 9." in words
    assert "Lower the block size." in words
    page.click("text=Run this cell again")
    assert page.evaluate("harness.last") == {"name": "dp:retry", "pane": "cell11", "run": f"{11:032x}"}


def test_the_result_is_said_in_words(view: Open) -> None:
    page = view("sweep1")
    expect(page.locator(".result")).to_have_text("Fastest of those with the best score: commit above 0.8 (36 of 40, one run each).")


def test_what_the_page_does_not_answer_is_not_offered(view: Open) -> None:
    page = view("sweep2")
    page.evaluate("delete document.querySelector('.dp-sweep').dataset.can")
    page.click(".c[data-pane=cell2]")
    assert page.get_by_role("button", name="Use these").count() == 0
    assert page.get_by_role("button", name="Run this cell again").count() == 0
