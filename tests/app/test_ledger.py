"""The cost ledger: medians, spreads and ratios in words."""

from datetime import UTC, datetime

import pytest

from app.ledger import ledger
from storage.values import MetricRow, RunRow, RunState


def run(pane: str, repeat: int, **metrics: MetricRow) -> RunRow:
    return RunRow(
        id=f"{pane}{repeat}", method="m", method_title="M", tab="text", checkpoint="c", inputs={}, settings={}, seed=1,
        pane=pane, repeat=repeat, sequence=repeat, state=RunState.DONE, created=datetime.now(UTC), metrics=tuple(metrics.values()),
    )  # fmt: skip


def seconds(value: float) -> MetricRow:
    return MetricRow(name="wall_seconds", value=value, unit="s", label="Wall time", better="lower")


def rows_for(base: list[MetricRow], other: list[MetricRow]):
    runs = {
        "A": [run("A", index, one=metric) for index, metric in enumerate(base)],
        "B": [run("B", index, one=metric) for index, metric in enumerate(other)],
    }
    return ledger(runs, "A")


def test_the_value_is_the_median_and_the_spread_half_the_range():
    (row,) = rows_for([seconds(1.0), seconds(5.0), seconds(2.0)], [seconds(1.0)])
    assert row.cells["A"].value == 2.0
    assert row.cells["A"].spread == 2.0
    assert row.cells["A"].count == 3


@pytest.mark.parametrize(
    ("base", "other", "words", "winner"),
    [
        (3.1, 1.0, "3.1× faster", "B"),
        (1.0, 3.0, "3.0× slower", "A"),
        (1.0, 1.001, "1.0×", None),
        (1.0, 1.05, "1.05× slower", "A"),
        (250.0, 1.0, "250× faster", "B"),
    ],
)
def test_a_ratio_of_seconds_is_said_as_faster_or_slower(base, other, words, winner):
    (row,) = rows_for([seconds(base)], [seconds(other)])
    assert (row.ratios["B"].words, row.ratios["B"].winner) == (words, winner)


@pytest.mark.parametrize(
    ("name", "unit", "better", "base", "other", "words", "winner"),
    [
        ("first_output_seconds", "s", "lower", 0.03, 0.09, "3.0× later", "A"),
        ("first_output_seconds", "s", "lower", 0.09, 0.03, "3.0× sooner", "B"),
        ("forward_passes", "passes", "lower", 64, 16, "4.0× fewer", "B"),
        ("tokens_per_second", "tokens/s", "higher", 33, 99, "3.0× more", "B"),
        ("cache_bytes", "bytes", "lower", 100, 200, "2.0× more", "A"),
        ("cache_bytes", "bytes", "lower", 0, 200, "–", "A"),
        ("cache_bytes", "bytes", "lower", 0, 0, "same", None),
    ],
)
def test_each_quantity_has_its_own_words(name, unit, better, base, other, words, winner):
    (row,) = rows_for(
        [MetricRow(name=name, value=base, unit=unit, label=name, better=better)],
        [MetricRow(name=name, value=other, unit=unit, label=name, better=better)],
    )
    assert (row.ratios["B"].words, row.ratios["B"].winner) == (words, winner)


def test_counts_out_of_a_sample_are_said_as_a_difference():
    def right(value: int) -> MetricRow:
        return MetricRow(name="answers_right", value=value, label="Answers right", better="higher", sample_size=40)

    (row,) = rows_for([right(36)], [right(35)])
    assert row.ratios["B"].words == "1 fewer"
    assert row.ratios["B"].winner == "A"
    assert row.cells["A"].sample_size == 40


def test_a_metric_only_one_pane_reports_has_no_ratio():
    runs = {"A": [run("A", 0, one=seconds(1.0))], "B": [run("B", 0, other=MetricRow(name="own", value=1, label="Own"))]}
    rows = {row.name: row for row in ledger(runs, "A")}
    assert rows["own"].ratios == {}
    assert set(rows["wall_seconds"].cells) == {"A"}


def test_wall_time_stands_first_and_loading_is_left_out():
    metrics = {
        "load": MetricRow(name="load_seconds", value=9, unit="s", label="Load"),
        "own": MetricRow(name="own", value=1, label="Own"),
        "wall": seconds(1.0),
    }
    assert [row.name for row in ledger({"A": [run("A", 0, **metrics)]}, "A")] == ["wall_seconds", "own"]
