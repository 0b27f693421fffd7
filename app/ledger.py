"""The cost ledger of a comparison: medians, spreads, and every ratio to the baseline in words.

A ratio is words ("3.1× faster", "1 fewer"), so that a loss reads as plainly as a gain. Values are medians over the repeats;
the spread is half the distance between the largest and the smallest.

It deliberately does no significance test: a handful of repeats cannot carry one.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence

from app.values import Cell, LedgerRow, Ratio
from storage.values import MetricRow, RunRow

_ORDER = ("wall_seconds", "first_output_seconds", "tokens_per_second", "forward_passes", "cache_bytes", "peak_memory_bytes")
_HIDDEN = ("load_seconds",)
"""Loading happens once a worker and says nothing about a method."""
_SAME_BELOW = 1.005
"""Factors closer to one than this are shown as equal."""


def ledger(runs: Mapping[str, Sequence[RunRow]], baseline: str) -> tuple[LedgerRow, ...]:
    """One row for each metric that any pane reported. `runs` has the finished runs of each pane, warm-ups excluded."""
    names = dict.fromkeys(metric.name for rows in runs.values() for run in rows for metric in run.metrics if metric.name not in _HIDDEN)
    ranked = sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), list(names).index(name)))
    return tuple(_row(name, runs, baseline) for name in ranked)


def _row(name: str, runs: Mapping[str, Sequence[RunRow]], baseline: str) -> LedgerRow:
    found = {pane: [metric for run in rows for metric in run.metrics if metric.name == name] for pane, rows in runs.items()}
    metric = next(metrics[0] for metrics in found.values() if metrics)
    cells = {pane: _cell(metrics) for pane, metrics in found.items() if metrics}
    ratios: dict[str, Ratio] = {}
    if baseline in cells:
        ratios = {pane: ratio(metric, cells[baseline], cell, baseline, pane) for pane, cell in cells.items() if pane != baseline}
    return LedgerRow(name=name, label=metric.label, unit=metric.unit, better=metric.better, cells=cells, ratios=ratios)


def _cell(metrics: Iterable[MetricRow]) -> Cell:
    listed = list(metrics)
    values = [metric.value for metric in listed]
    return Cell(
        value=statistics.median(values),
        spread=(max(values) - min(values)) / 2,
        count=len(values),
        sample_size=listed[0].sample_size,
    )


def ratio(metric: MetricRow, base: Cell, cell: Cell, baseline: str, pane: str) -> Ratio:
    """`cell` against `base` in words, with the pane that did better."""
    winner = _winner(metric, base.value, cell.value, baseline, pane)
    if cell.sample_size is not None or metric.unit == "of":
        difference = round(cell.value - base.value)
        words = "same" if difference == 0 else f"{abs(difference)} {'more' if difference > 0 else 'fewer'}"
        return Ratio(words=words, factor=None, winner=winner if difference else None)
    if base.value <= 0 or cell.value <= 0:
        same = base.value == cell.value
        return Ratio(words="same" if same else "–", factor=None, winner=None if same else winner)
    factor = cell.value / base.value
    magnitude = max(factor, 1 / factor)
    if magnitude < _SAME_BELOW:
        return Ratio(words="1.0×", factor=factor, winner=None)
    return Ratio(words=f"{_magnitude(magnitude)}× {_comparative(metric, factor > 1)}", factor=factor, winner=winner)


def _winner(metric: MetricRow, base: float, value: float, baseline: str, pane: str) -> str | None:
    if metric.better is None or base == value:
        return None
    return pane if (value < base) == (metric.better == "lower") else baseline


def _comparative(metric: MetricRow, larger: bool) -> str:
    if metric.name == "first_output_seconds":
        return "later" if larger else "sooner"
    if metric.unit == "s":
        return "slower" if larger else "faster"
    if metric.unit in ("", "passes", "tokens", "steps"):
        return "more" if larger else "fewer"
    return "more" if larger else "less"


def _magnitude(value: float) -> str:
    return f"{value:.2f}" if value < 1.1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"
