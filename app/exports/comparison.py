"""A comparison as tables and as the cost plot.

The table has every repeat; JSON, Markdown and the plot have medians and spreads, computed by the same ledger as the page.

It deliberately leaves warm-ups out, and says how many repeats each number rests on.
"""

from collections import defaultdict
from typing import Any

from app.exports.describing import changed_settings, footer
from app.exports.tables import csv_bytes
from app.exports.text import described, one_line
from app.exports.values import Job
from app.ledger import ledger
from app.plots.cost import CostBand, CostBar, CostPane, draw_costs
from app.plots.palette import palette
from app.plots.raster import rasterise
from app.plots.scale import short, with_unit
from app.provenance.canonical import jsonable
from app.provenance.embed import json_bytes
from app.values import LedgerRow
from storage.values import ComparisonRow, RunRow, RunState


def runs_by_pane(job: Job) -> dict[str, list[RunRow]]:
    """Finished runs of each pane, the baseline first."""
    comparison = _comparison(job)
    found: dict[str, list[RunRow]] = defaultdict(list)
    for run in sorted(job.runs, key=lambda run: (run.pane != comparison.baseline, run.pane or "", run.repeat)):
        if run.state is RunState.DONE and run.purpose == "run":
            found[run.pane or "A"].append(run)
    return found


def _comparison(job: Job) -> ComparisonRow:
    if job.comparison is None:
        raise ValueError("this export needs a comparison")
    return job.comparison


def repeats_csv(job: Job) -> bytes:
    """One line for each measure of each repeat of each pane."""
    rows = [
        (pane, run.repeat + 1, run.method, run.checkpoint, run.seed, found.name, found.value, found.unit, found.sample_size, run.id)
        for pane, runs in runs_by_pane(job).items()
        for run in runs
        for found in run.metrics
    ]
    return csv_bytes(("pane", "repeat", "method", "checkpoint", "seed", "measure", "value", "unit", "of", "run"), rows)


def _ledger(job: Job) -> tuple[LedgerRow, ...]:
    return ledger(runs_by_pane(job), _comparison(job).baseline)


def comparison_json(job: Job) -> bytes:
    """Panes, settings, ledger and every run."""
    comparison = _comparison(job)
    rows: list[dict[str, Any]] = [row.model_dump(mode="json") for row in _ledger(job)]
    whole = {
        "comparison": comparison.id, "title": comparison.title, "tab": comparison.tab, "inputs": comparison.inputs,
        "seed": comparison.seed, "repeats": comparison.repeats, "baseline": comparison.baseline,
        "panes": [pane.model_dump(mode="json") for pane in comparison.panes], "ledger": rows,
        "runs": [described(run) for runs in runs_by_pane(job).values() for run in runs],
    }  # fmt: skip
    return json_bytes(jsonable(whole))


def comparison_markdown(job: Job) -> bytes:
    """The ledger as a table, one column a pane, ratios in words."""
    comparison, by_pane = _comparison(job), runs_by_pane(job)
    panes = list(by_pane)
    lines = [f"# {one_line(comparison.title or 'Comparison')}", "", f"Seed {comparison.seed}. {one_line(protocol(job))}", ""]
    for pane, runs in by_pane.items():
        settings = changed_settings(job.registry, runs[0]) or "as published"
        lines.append(f"- **{one_line(pane)}**: {one_line(runs[0].method_title)} on {one_line(runs[0].checkpoint)}, {one_line(settings)}")
    lines += ["", "| Measure | " + " | ".join(one_line(pane) for pane in panes) + " |", "| --- |" + " ---: |" * len(panes)]
    for row in _ledger(job):
        cells = [_markdown_cell(row, pane) for pane in panes]
        lines.append(f"| {one_line(row.label)} | " + " | ".join(cells) + " |")
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _markdown_cell(row: LedgerRow, pane: str) -> str:
    cell = row.cells.get(pane)
    if cell is None:
        return "–"
    spread = f" ± {with_unit(cell.spread, '' if cell.sample_size else row.unit)}" if cell.count > 1 else ""
    words = f" ({row.ratios[pane].words})" if pane in row.ratios else ""
    return one_line(f"{with_unit(cell.value, row.unit, cell.sample_size)}{spread}{words}")


def protocol(job: Job) -> str:
    """How the numbers were measured, in words."""
    comparison = _comparison(job)
    if comparison.repeats > 1:
        return f"Median of {comparison.repeats} after one warm-up, panes in turn, one machine; ± is half the range."
    return "One run each, one after the other, one machine."


def cost_svg(job: Job) -> bytes:
    """The cost plot."""
    comparison, by_pane = _comparison(job), runs_by_pane(job)
    places = {pane: place for place, pane in enumerate(by_pane)}
    panes = [
        CostPane(pane, places[pane], runs[0].method_title, changed_settings(job.registry, runs[0]) or "as published")
        for pane, runs in by_pane.items()
    ]
    bands = [_band(row, places) for row in _ledger(job)]
    text = draw_costs(panes, bands, palette(job.theme), comparison.title, protocol(job), footer(f"comparison {comparison.id[:12]}"))
    return text.encode()


def _band(row: LedgerRow, places: dict[str, int]) -> CostBand:
    hint = {"lower": "lower is better", "higher": "higher is better"}.get(row.better or "", "")
    bars = []
    for pane, place in places.items():
        cell, ratio = row.cells.get(pane), row.ratios.get(pane)
        if cell is not None:
            winner = places.get(ratio.winner) if ratio and ratio.winner else None
            spread = short(cell.spread) if cell.count > 1 and row.unit not in ("B", "bytes") else ""
            shown = with_unit(cell.value, row.unit, cell.sample_size)
            bars.append(CostBar(pane, place, cell.value, shown, spread, ratio.words if ratio else "", winner))
    return CostBand(row.label, hint, tuple(bars))


def cost_png(job: Job) -> bytes:
    """The cost plot as a picture."""
    return rasterise(cost_svg(job).decode(), job.dpi)
