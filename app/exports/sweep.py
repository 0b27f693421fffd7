"""A sweep as a table of its cells and as the trade-off plot: score against speed, each mark labelled by the swept value.

Cells that were computed earlier are found by their fingerprint, wherever they were computed, exactly as the page finds them.

It deliberately draws only finished cells; the table lists all of them with their state.
"""

from typing import Any, NamedTuple

from app.compare import fingerprint
from app.errors import ResourceError
from app.exports.describing import footer, label_of
from app.exports.tables import csv_bytes
from app.exports.text import described
from app.exports.values import Job
from app.plots.palette import palette
from app.plots.raster import rasterise
from app.plots.tradeoff import Axis, Point, draw_tradeoff
from app.provenance.canonical import jsonable
from app.provenance.embed import json_bytes
from app.registry import Registry
from storage.store import Store
from storage.values import ComparisonRow, MetricRow, RunRow, RunState

_SCORES = ("answers_right", "answer_right")
_SPEEDS = ("held_out_tokens_per_second", "tokens_per_second", "wall_seconds")
"""The same choice of axes as the page's summary of a sweep."""


class Cell(NamedTuple):
    pane: str
    values: tuple[Any, ...]
    run: RunRow | None


def sweep_runs(store: Store, registry: Registry, comparison: ComparisonRow) -> tuple[RunRow, ...]:
    """The run of every cell that has one, as a run of this sweep: computed for it, or found by its fingerprint."""
    own = {run.pane or "": run for run in store.comparison_runs(comparison.id)}
    found = []
    for pane in comparison.panes:
        run = own.get(pane.pane) or _found_elsewhere(store, registry, comparison, pane.method, pane.checkpoint, pane.settings, own)
        if run is not None:
            found.append(run.model_copy(update={"pane": pane.pane}))
    return tuple(found)


def _found_elsewhere(
    store: Store, registry: Registry, comparison: ComparisonRow, method: str, checkpoint: str, settings: dict[str, Any],
    own: dict[str, RunRow],
) -> RunRow | None:  # fmt: skip
    card = registry.card(method)
    names = {name for name in card.inputs.model_fields if name in comparison.inputs}
    inputs = card.inputs.model_validate({name: comparison.inputs[name] for name in names}).model_dump(mode="json")
    sample = next(iter(own.values()), None)
    dtypes = {sample.dtype} if sample else {found.dtype for found in card.checkpoints if found.key == checkpoint} or {"float32", "bfloat16"}
    devices = [sample.device] if sample else list(card.devices)
    for device in devices:
        for dtype in sorted(dtypes):
            done = store.find_done(fingerprint(method, checkpoint, inputs, settings, comparison.seed, device, dtype))
            if done is not None:
                return done
    return None


def _cells(job: Job) -> list[Cell]:
    comparison = _comparison(job)
    by_pane = {run.pane: run for run in job.runs}
    fields = [str(axis["field"]) for axis in comparison.axes]
    return [Cell(pane.pane, tuple(pane.settings.get(field) for field in fields), by_pane.get(pane.pane)) for pane in comparison.panes]


def _comparison(job: Job) -> ComparisonRow:
    if job.comparison is None:
        raise ValueError("this export needs a sweep")
    return job.comparison


def cells_csv(job: Job) -> bytes:
    """One line a cell: swept values, state, and every measure."""
    cells, fields = _cells(job), [str(axis["field"]) for axis in _comparison(job).axes]
    names = list(dict.fromkeys(found.name for cell in cells if cell.run for found in cell.run.metrics))
    rows = []
    for cell in cells:
        measured = {found.name: found.value for found in cell.run.metrics} if cell.run else {}
        state = cell.run.state.value if cell.run else "missing"
        rows.append((cell.pane, *cell.values, state, *(measured.get(name) for name in names), cell.run.id if cell.run else ""))
    return csv_bytes(("cell", *fields, "state", *names, "run"), rows)


def sweep_json(job: Job) -> bytes:
    """Axes and cells with their runs."""
    comparison = _comparison(job)
    cells = [
        {"cell": cell.pane, "values": list(cell.values), "run": described(cell.run) if cell.run else None} for cell in _cells(job)
    ]  # fmt: skip
    whole = {
        "sweep": comparison.id, "title": comparison.title, "inputs": comparison.inputs, "seed": comparison.seed,
        "axes": list(comparison.axes), "cells": cells,
    }  # fmt: skip
    return json_bytes(jsonable(whole))


def tradeoff_svg(job: Job) -> bytes:
    """Score against speed."""
    comparison = _comparison(job)
    drawn = _scored(job)
    _, run, across, up = drawn[0]
    points = [
        Point(x.value, y.value, _shown(cell.values[0]), _shown(cell.values[1]) if len(cell.values) > 1 else "") for cell, _, x, y in drawn
    ]
    labels = [label_of(job.registry, run, str(axis["field"])).lower() for axis in comparison.axes]
    title = f"{run.method_title}: {up.label.lower()} against {across.label.lower()}"
    note = f"{len(points)} of {len(comparison.panes)} cells, one run each, seed {comparison.seed}, checkpoint {run.checkpoint}"
    return draw_tradeoff(
        points, _axis(across), _axis(up), labels[0], labels[1] if len(labels) > 1 else "", palette(job.theme), title, note,
        footer(f"sweep {comparison.id[:12]}"),
    ).encode()  # fmt: skip


def scored(runs: tuple[RunRow, ...]) -> bool:
    """Whether some cell is done and has a score and a speed."""
    named = ({found.name for found in run.metrics} for run in runs if run.state is RunState.DONE)
    return any(not names.isdisjoint(_SCORES) and not names.isdisjoint(_SPEEDS) for names in named)


def _scored(job: Job) -> list[tuple[Cell, RunRow, MetricRow, MetricRow]]:
    """Finished cells with their speed and score; ResourceError if there is none."""
    done = [(cell, cell.run) for cell in _cells(job) if cell.run is not None and cell.run.state is RunState.DONE]
    names = {found.name for _, run in done for found in run.metrics}
    score = next((name for name in _SCORES if name in names), "")
    speed = next((name for name in _SPEEDS if name in names), "")
    measured = [(cell, run, _metric(run, speed), _metric(run, score)) for cell, run in done]
    scored = [(cell, run, across, up) for cell, run, across, up in measured if across is not None and up is not None]
    if not scored:
        raise ResourceError(
            "There is no score to plot.", "No finished cell of this sweep has a count of right answers.",
            "Sweep again with held-out questions, or export the table.",
        )  # fmt: skip
    return scored


def _metric(run: RunRow, name: str) -> MetricRow | None:
    return next((found for found in run.metrics if found.name == name), None)


def _axis(metric: MetricRow) -> Axis:
    better = {"lower": "lower is better", "higher": "higher is better"}.get(metric.better or "", "")
    unit = f"of {metric.sample_size}" if metric.sample_size else metric.unit
    return Axis(", ".join(filter(None, (metric.label, unit))), better, float(metric.sample_size) if metric.sample_size else None)


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def tradeoff_png(job: Job) -> bytes:
    """The same as a picture."""
    return rasterise(tradeoff_svg(job).decode(), job.dpi)
