"""What the commands print: quantities with units, outputs, ledgers, reports. Tables and text only, by rich.

It computes nothing: ratios, verdicts and sentences come from `app` as they are, so that page and command line agree.

Text of models and users is always printed as plain text, never as markup.
"""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.provenance.report import VerifyReport
from app.values import Cell, ComparisonSummary
from backends.contract import Fault, Verdict
from storage.values import ArtifactRow, RunRow

_BYTES = ("bytes", "kB", "MB", "GB", "TB")


def quantity(number: float, unit: str, sample_size: int | None = None) -> str:
    """A number with its unit as a person reads it."""
    if sample_size is not None:
        return f"{number:g} of {sample_size}"
    if unit in ("B", "bytes"):
        step = 0
        while number >= 1000 and step < len(_BYTES) - 1:
            number, step = number / 1000, step + 1
        return f"{number:.3g} {_BYTES[step]}"
    shown = f"{number:,.0f}" if abs(number) >= 1000 or float(number).is_integer() else f"{number:.3g}"
    return f"{shown} {unit}".strip()


def show_fault(console: Console, fault: Fault) -> None:
    """An error in its three parts, and the control it belongs to."""
    where = f" (at {fault.field})" if fault.field else ""
    console.print(Text(fault.what + where, style="bold red"))
    for label, text in (("Why", fault.why), ("Next", fault.next_step)):
        if text:
            console.print(Text(f"  {label}: {text}"))
    if fault.suggestion is not None:
        console.print(Text(f"  Nearest: {fault.field}={fault.suggestion}"))


def show_run(console: Console, run: RunRow, outputs: list[tuple[ArtifactRow, bytes]]) -> None:
    """Outputs, costs and notes of one run."""
    for artifact, data in outputs:
        if artifact.media_type.startswith("text/") and artifact.kind != "decoding_trace":
            console.print(Text(data.decode("utf-8", "replace") + (" …" if artifact.partial else "")))
        else:
            console.print(Text(f"{artifact.name}: {artifact.kind}, {quantity(artifact.bytes, 'bytes')}", style="dim"))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for metric in run.metrics:
        table.add_row(Text(metric.label, style="dim"), Text(quantity(metric.value, metric.unit, metric.sample_size), justify="right"))
    console.print(table)
    for note in run.notes:
        console.print(Text(str(note.get("text", "")), style="yellow" if note.get("level") == "warning" else "dim"))
    console.print(Text(f"{run.state.value}{', partial' if run.partial else ''}: run {run.id}, seed {run.seed}", style="dim"))


def show_comparison(console: Console, summary: ComparisonSummary, outputs: dict[str, str]) -> None:
    """Each pane's text, the ledger with every ratio to the baseline, and the verdicts."""
    baseline = summary.comparison.baseline
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for pane in summary.panes:
        mark = " (baseline)" if pane.pane == baseline else ""
        table.add_column(Text(f"{pane.pane}: {pane.method_title}{mark}"), justify="right")
    for row in summary.ledger:
        ratios = {pane: ratio.words for pane, ratio in row.ratios.items()}
        cells = [_cell(row.cells.get(pane.pane), row.unit, ratios.get(pane.pane, "")) for pane in summary.panes]
        table.add_row(Text(row.label, style="dim"), *cells)
    for pane in summary.panes:
        console.print(Text(f"{pane.pane}: {pane.method_title}, {pane.sentence} [{pane.state.value}]", style="bold"))
        if pane.pane in outputs:
            console.print(Text(outputs[pane.pane]))
        if pane.fault is not None:
            show_fault(console, pane.fault)
    console.print(table)
    for name, verdict in summary.verdicts.items():
        console.print(Text(f"{name}: {verdict.sentence}"))
    console.print(Text(summary.protocol, style="dim"))


def _cell(cell: Cell | None, unit: str, ratio: str) -> Text:
    if cell is None:
        return Text("–")
    spread = f" ± {cell.spread:.2g}" if cell.count > 1 and cell.spread else ""
    return Text(f"{quantity(cell.value, unit, cell.sample_size)}{spread}" + (f"  {ratio}" if ratio else ""))


def show_report(console: Console, report: VerifyReport) -> None:
    """What a verification found."""
    console.print(Text(f"{report.verdict}: {report.sentence}", style="bold green" if report.valid else "bold red"))
    size = quantity(report.bytes, "bytes")
    facts: dict[str, Any] = {
        "file": f"{report.name}, {size}", "digest": report.digest_now, "record": report.found, "signed": report.signed, "key": report.key,
        "method": report.method_title, "checkpoint": report.checkpoint, "seed": report.seed, "run": report.run, "log": report.chain,
    }  # fmt: skip
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for label, fact in facts.items():
        if fact not in ("", None):
            table.add_row(Text(label, style="dim"), Text(str(fact)))
    for name, setting in {**report.inputs, **report.settings}.items():
        table.add_row(Text(name, style="dim"), Text(str(setting)))
    console.print(table)
    for heading, lines in (("Covered", report.covers), ("Not proved", report.does_not_prove)):
        for line in lines:
            console.print(Text(f"{heading}: {line}", style="dim"))


def show_verdict(console: Console, verdict: Verdict) -> None:
    """The figures of a bench and its claims."""
    table = Table(box=None, padding=(0, 2, 0, 0), title=Text(verdict.method, style="bold"), title_justify="left")
    for heading in ("figure", "value", "claim", ""):
        table.add_column(heading, justify="right" if heading == "value" else "left")
    claims = {claim.name: claim for claim in verdict.claims}
    for name, number in verdict.figures.items():
        claim = claims.pop(name, None)
        promise = f"{claim.op} {claim.floor}" if claim else ""
        mark = Text("") if claim is None else Text("holds", style="green") if claim.holds else Text("does not hold", style="bold red")
        table.add_row(Text(name), Text(f"{number:.6g}"), Text(promise), mark)
    for claim in claims.values():
        table.add_row(Text(claim.name), Text("not measured"), Text(f"{claim.op} {claim.floor}"), Text("does not hold", style="bold red"))
    console.print(table)
