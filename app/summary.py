"""Sums a comparison up for the page: panes, ledger, verdicts, and which settings differ.

A pane shows the output of its first repeat; costs are medians over all its finished repeats. Only differing settings are
listed as different; the rest stand under "same", so that nothing is hidden.

It deliberately reads only the store and the cards.
"""

from collections import defaultdict
from typing import Any

from app.checkpoints import find_checkpoint
from app.equality import Read, verdict
from app.ledger import ledger
from app.registry import Registry
from app.values import ComparisonSummary, PairVerdict, PaneSummary, SettingRow, SweepCell, SweepSummary
from backends.contract import Card, Checkpoint, Determinism, Fault, FieldSpec, field_specs
from storage.values import ComparisonRow, MetricRow, PaneSpec, RunRow, RunState

_DETERMINISM = {
    Determinism.BIT_EXACT: "repeats bit for bit on {device}",
    Determinism.TOLERANCE: "repeats within {tolerance:g} on {device}",
    Determinism.NONE: "does not promise to repeat",
}


def summarise(
    comparison: ComparisonRow, runs: tuple[RunRow, ...], registry: Registry, added: dict[str, Checkpoint], read: Read
) -> ComparisonSummary:
    """The summary of a finished or running comparison. `added` holds the user's own checkpoints by key."""
    by_pane: dict[str, list[RunRow]] = defaultdict(list)
    for run in sorted((run for run in runs if run.purpose == "run"), key=lambda run: run.repeat):
        by_pane[run.pane or "A"].append(run)
    done = {pane: [run for run in rows if run.state is RunState.DONE] for pane, rows in by_pane.items()}
    panes = tuple(_pane(rows, registry, added) for rows in by_pane.values() if rows)
    different, same = setting_rows(comparison, registry)
    return ComparisonSummary(
        comparison=comparison,
        panes=panes,
        ledger=ledger(done, comparison.baseline),
        verdicts=_verdicts(comparison, by_pane, registry, read),
        different=different,
        same=same,
        finished=all(run.state.final for run in runs),
        protocol=_protocol(comparison),
    )


def beside(named: dict[str, RunRow], baseline: str, registry: Registry, added: dict[str, Checkpoint], read: Read) -> ComparisonSummary:
    """Single runs (pane letter -> run) side by side as if they were panes of one comparison."""
    first = named[baseline]
    rows = tuple(run.model_copy(update={"pane": letter, "purpose": "run", "repeat": 0}) for letter, run in named.items())
    panes = tuple(PaneSpec(pane=row.pane or "", method=row.method, checkpoint=row.checkpoint, settings=row.settings) for row in rows)
    comparison = ComparisonRow(
        id="", sequence=0, tab=first.tab, title=first.title, inputs=first.inputs, seed=first.seed, repeats=1,
        baseline=baseline, panes=panes, owner=first.owner, created=first.created,
    )  # fmt: skip
    summary = summarise(comparison, rows, registry, added, read)
    return summary.model_copy(update={"protocol": _protocol_beside(tuple(named.values()))})


def _protocol_beside(runs: tuple[RunRow, ...]) -> str:
    unlike = [name for name in ("inputs", "seed", "device") if len({repr(getattr(run, name)) for run in runs}) > 1]
    said = "run at different times, so compare times with care"
    return f"{said}; they differ in {' and '.join(unlike)}" if unlike else said


def _verdicts(comparison: ComparisonRow, by_pane: dict[str, list[RunRow]], registry: Registry, read: Read) -> dict[str, PairVerdict]:
    base = by_pane.get(comparison.baseline)
    if not base:
        return {}
    return {
        pane: verdict(base[0], rows[0], registry.card(rows[0].method), read)
        for pane, rows in by_pane.items()
        if pane != comparison.baseline and rows
    }


def _pane(rows: list[RunRow], registry: Registry, added: dict[str, Checkpoint]) -> PaneSummary:
    shown = rows[0]
    card = registry.card(shown.method)
    checkpoint = find_checkpoint(card, shown.checkpoint, added)
    return PaneSummary(
        pane=shown.pane or "A",
        method=shown.method,
        method_title=card.title,
        checkpoint=shown.checkpoint,
        checkpoint_title=checkpoint.title if checkpoint else shown.checkpoint,
        pocket=bool(checkpoint and checkpoint.pocket),
        sentence=settings_sentence(card, shown.settings),
        determinism=determinism_sentence(card, shown.device),
        state=shown.state,
        run=shown.id,
        runs=tuple(run.id for run in rows),
        partial=shown.partial,
        fault=Fault.model_validate(shown.fault) if shown.fault else None,
        artifacts=shown.artifacts,
    )


def determinism_sentence(card: Card, device: str) -> str:
    """What a replay of `card` promises, in words."""
    shown = "CPU" if device in ("cpu", "auto") else device.upper()
    return _DETERMINISM[card.determinism].format(device=shown, tolerance=card.tolerance)


def settings_sentence(card: Card, settings: dict[str, Any]) -> str:
    """What matters of a pane's settings: those the card would sweep, and those that are not at their default."""
    said = [
        f"{spec.label.lower()} {shown_value(settings.get(spec.name, spec.default), spec)}"
        for spec in field_specs(card.settings)
        if spec.name in card.sweep or settings.get(spec.name, spec.default) != spec.default
    ]
    return ", ".join(said) or "every setting at its default"


def shown_value(value: Any, spec: FieldSpec) -> str:
    """A setting's value as the page prints it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "off"
    if isinstance(value, float):
        return f"{value:g}{' ' + spec.unit if spec.unit else ''}"
    return f"{value}{' ' + spec.unit if spec.unit else ''}"


def setting_rows(comparison: ComparisonRow, registry: Registry) -> tuple[tuple[SettingRow, ...], tuple[SettingRow, ...]]:
    """(different, same): settings by field over the panes; a field that some pane lacks counts as different."""
    rows: dict[str, SettingRow] = {}
    for pane in comparison.panes:
        for spec in field_specs(registry.card(pane.method).settings):
            known = rows.get(spec.name) or SettingRow(field=spec.name, label=spec.label, group=str(spec.group or "output"), values={})
            value = pane.settings.get(spec.name, spec.default)
            rows[spec.name] = known.model_copy(update={"values": known.values | {pane.pane: value}})
    everywhere = len(comparison.panes)
    same = [row for row in rows.values() if len(row.values) == everywhere and len({repr(v) for v in row.values.values()}) == 1]
    return tuple(row for row in rows.values() if row not in same), tuple(same)


def _protocol(comparison: ComparisonRow) -> str:
    if comparison.repeats > 1:
        turns = " ".join(pane.pane for pane in comparison.panes)
        return f"median of {comparison.repeats}, run in turn {turns} {turns} after one warm-up, same machine"
    return "one run each, one after the other, same machine; more repeats give a spread"


def summarise_sweep(comparison: ComparisonRow, found: dict[str, RunRow], card: Card, seconds_left: float | None) -> SweepSummary:
    """The cells of a sweep of `card`'s settings, and in words which one pays best. `found` maps cell to run, old or new."""
    listed = tuple(_cell(comparison, pane.pane, found.get(pane.pane)) for pane in comparison.panes)
    cells = tuple(cell for cell in listed if cell is not None)
    names = {metric.name for cell in cells for metric in cell.metrics}
    score = "answers_right" if "answers_right" in names else "answer_right" if "answer_right" in names else ""
    speed = next((name for name in ("held_out_tokens_per_second", "tokens_per_second", "wall_seconds") if name in names), "wall_seconds")
    return SweepSummary(
        comparison=comparison,
        cells=cells,
        score=score,
        speed=speed,
        seconds_left=seconds_left,
        finished=all(cell.state.final for cell in cells),
        sentence=_sweep_sentence(cells, score, speed, comparison, card),
    )


def _cell(comparison: ComparisonRow, pane: str, run: RunRow | None) -> SweepCell | None:
    if run is None:
        return None
    spec = next(found for found in comparison.panes if found.pane == pane)
    values = tuple(spec.settings[axis["field"]] for axis in comparison.axes)
    return SweepCell(
        pane=pane,
        values=values,
        run=run.id,
        state=run.state,
        reused=run.comparison != comparison.id,
        metrics=run.metrics,
        fault=Fault.model_validate(run.fault) if run.fault else None,
    )


def _sweep_sentence(cells: tuple[SweepCell, ...], score: str, speed: str, comparison: ComparisonRow, card: Card) -> str:
    done = [cell for cell in cells if cell.state is RunState.DONE]
    if len(done) < 2 or not score:
        return ""
    best_score = max(_value(cell, score) for cell in done)
    good = [cell for cell in done if _value(cell, score) == best_score]
    fastest = max(good, key=lambda cell: _value(cell, speed))
    specs = {spec.name: spec for spec in field_specs(card.settings)}
    axes = [specs[axis["field"]] for axis in comparison.axes]
    names = ", ".join(f"{spec.label.lower()} {shown_value(value, spec)}" for spec, value in zip(axes, fastest.values, strict=True))
    sample = _sample(fastest, score)
    return f"Fastest of those with the best score: {names} ({best_score:g}{f' of {sample}' if sample else ''}, one run each)."


def _value(cell: SweepCell, name: str) -> float:
    return next((metric.value for metric in cell.metrics if metric.name == name), 0.0)


def _sample(cell: SweepCell, name: str) -> int | None:
    found: MetricRow | None = next((metric for metric in cell.metrics if metric.name == name), None)
    return found.sample_size if found else None
