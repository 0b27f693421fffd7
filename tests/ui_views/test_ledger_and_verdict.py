"""The cost ledger and the verdict on the hinge."""

import pytest

from tests.ui_views.conftest import Open
from tests.ui_views.scenes import PARTING

pytestmark = pytest.mark.browser


def test_the_ledger_says_values_spreads_and_ratios_in_words(view: Open) -> None:
    page = view("pair")
    rows = [" ".join(row.split()) for row in page.locator(".lr").all_inner_texts()]
    assert rows[0] == "2.14 s±0.02 Wall time 3.4× faster 0.63 s±0.02"
    assert rows[1] == "0.03 s First output 3.0× later 0.09 s"
    assert rows[3] == "71 Forward passes 4.7× fewer 15"
    assert rows[5].startswith("212 MB Peak memory 1.09× more")
    assert rows[6] == "36of 40 Answers right 1 fewer 35of 40"


def test_bars_share_one_scale_a_row_with_zero_at_the_hinge(view: Open) -> None:
    page = view("pair")
    bars = page.evaluate("probe.ledgerBars()")
    assert bars[3][1][2] / bars[3][0][2] == pytest.approx(15 / 71, rel=0.02)
    assert len({(round(left[1]), round(right[0])) for left, right in bars}) == 1


def test_a_ratio_wears_the_colour_of_the_pane_that_did_better(view: Open) -> None:
    page = view("pair")
    colours = page.evaluate("probe.ratioOwners()")
    assert colours[0] == "challenger"
    assert colours[1] == "baseline"
    assert colours[6] == "baseline"


def test_three_panes_become_a_table_with_the_baseline_first(view: Open) -> None:
    page = view("three")
    assert page.locator(".tri thead th").first.inner_text().split() == ["A", "Autoregressive"]
    first = page.locator(".tri tbody tr").first.inner_text().split("\t")
    assert "Wall time" in first[1]
    assert "faster" in first[3]
    assert "faster" in first[5]
    assert page.locator(".lr").count() == 0


def test_a_pane_without_a_measure_gets_a_dash(view: Open) -> None:
    page = view("pair")
    page.evaluate("""() => {
        const summary = structuredClone(harness.scene.summary);
        delete summary.ledger[0].cells.B;
        summary.ledger[0].ratios = {};
        harness.summarise(summary);
    }""")
    assert " ".join(page.locator(".lr").first.inner_text().split()) == "2.14 s±0.02 Wall time –"


def test_the_left_wing_is_the_chosen_baseline(view: Open) -> None:
    page = view("pair")
    page.evaluate("""() => {
        const panes = harness.scene.panes.map((pane) => ({ ...pane.info, baseline: pane.info.pane === "B" }));
        diptych.ledger(document.querySelector(".dp-ledger"), harness.scene.summary, { panes });
    }""")
    assert page.locator(".lr").nth(3).inner_text().split()[0] == "15"


def test_the_verdict_names_the_first_difference_and_what_was_set_differently(view: Open) -> None:
    page = view("pair")
    words = " ".join(page.locator(".dp-verdict").inner_text().split())
    assert words.startswith(f"First difference at token {PARTING + 1}: “ is” / “ equals”. Nothing promised equal output.")
    assert "All shared settings are equal." in words
    assert page.locator(".pin").get_attribute("class") == "pin"
    assert page.locator(".pin").get_attribute("aria-label") == "Different; nothing promised otherwise"


def test_a_kept_promise_is_a_filled_pin(view: Open) -> None:
    page = view("kept")
    assert page.locator(".dp-hinge .pin").get_attribute("class") == "pin on"
    assert page.locator(".dp-hinge .pin").inner_text() == "="
    words = page.locator(".dp-verdict").inner_text()
    assert "Equal, as promised: 71 of 71 tokens." in words
    assert "Only one setting differs: key-value cache on / off." in words


def test_a_broken_promise_is_red_and_withholds_the_ratios(view: Open) -> None:
    page = view("broken")
    assert page.locator(".dp-hinge .pin").get_attribute("class") == "pin bad"
    assert "the ratios are withheld" in page.locator(".dp-verdict").inner_text()
    assert set(page.locator(".lr em b").all_inner_texts()) == {"withheld"}


def test_a_running_comparison_is_a_dashed_pin(view: Open) -> None:
    page = view("pair", live=True)
    assert page.locator(".dp-hinge .pin").get_attribute("class") == "pin wait"
    assert "Comparing" in page.locator(".dp-verdict").inner_text()


def test_each_challenger_has_its_line_with_the_worst_news_first(view: Open) -> None:
    page = view("three")
    lines = [line.split()[0] for line in page.locator(".dp-verdict .line").all_inner_texts()]
    assert lines[:2] == ["B", "C"]


@pytest.mark.parametrize(
    ("value", "unit", "spread", "shown"),
    [
        (1.923, "s", 0.04, "1.92 s ±0.04"),
        (1.923, "s", 0.4, "1.9 s ±0.4"),
        (1_500_000, "bytes", 0, "1.50 MB"),
        (999_700_000, "bytes", 0, "1.00 GB"),
        (0.0042, "s", 0, "4.20 ms"),
        (33.25, "tokens/s", 0.3, "33.3 tokens/s ±0.3"),
        (64, "passes", 0, "64"),
        (0, "s", 0, "0 s"),
        (12345, "", 0, "12\u202f345"),
        (float("nan"), "s", 0, "not a number"),
        (400, "s", 3, "6.67 min ±0.05"),
    ],
)
def test_a_quantity_shows_no_more_digits_than_its_spread_supports(view: Open, value: float, unit: str, spread: float, shown: str) -> None:
    page = view("pair")
    script = "([value, unit, spread]) => probe.quantity(value, unit, spread)"
    assert page.evaluate(script, [None if value != value else value, unit, spread]) == shown
