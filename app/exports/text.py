"""A text with what made it: as Markdown, as JSON with its trace, and its measures as a table.

Markdown follows CommonMark 0.31, with tables as GitHub extends it; JSON is RFC 8259, laid out by `app.provenance.embed`.

It deliberately marks the model's text as such and escapes nothing in it: it stands in a fence longer than any inside.
"""

import re
from typing import Any

from app.exports.describing import metric_values, settings_of, shown
from app.exports.tables import csv_bytes
from app.exports.trace import trace_of
from app.exports.values import Job
from app.provenance.canonical import NotStrictJson, jsonable, parse_strict
from app.provenance.embed import json_bytes
from storage.values import RunRow


def markdown(job: Job) -> bytes:
    """Input, output, settings, costs and where the record is."""
    run, artifact = job.runs[0], job.artifacts[0]
    text = job.read(artifact).decode("utf-8", "replace")
    partial = " (partial: the run was stopped)" if artifact.partial else ""
    parts = [
        f"# {one_line(run.title or run.method_title)}",
        f"{one_line(run.method_title)} on checkpoint {one_line(run.checkpoint)}, seed {run.seed}, {run.device}, {run.dtype}.",
        *(f"## Input: {one_line(name)}\n\n{_shown_input(value)}" for name, value in run.inputs.items() if value not in ("", 0, None)),
        f"## Output{partial}\n\n{fence(text)}",
        "## Settings\n\n" + _table(("Setting", "Value"), settings_of(job.registry, run)),
        *_costs(run),
        f"## Record\n\nThe output has SHA-256 `{artifact.digest}`. The signed record of this file lies beside it.",
    ]
    return ("\n\n".join(parts) + "\n").encode("utf-8", "backslashreplace")


def _costs(run: RunRow) -> list[str]:
    rows = [(found.label, shown(found)) for found in run.metrics]
    return ["## What it cost\n\n" + _table(("Measure", "Value"), rows)] if rows else []


def fence(text: str) -> str:
    """`text` in a fenced block that nothing inside can close (CommonMark 4.5)."""
    longest = max((len(found) for found in re.findall(r"`+", text)), default=0)
    bars = "`" * max(3, longest + 1)
    return f"{bars}text\n{text}\n{bars}"


def _shown_input(value: Any) -> str:
    return fence(value) if isinstance(value, str) else one_line(str(value))


def one_line(text: str) -> str:
    """Text as one line of Markdown in which nothing is markup."""
    return re.sub(r"([\\`*_\[\]#|<>~&])", r"\\\1", " ".join(text.split()))


def _table(header: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    lines = [f"| {header[0]} | {header[1]} |", "| --- | --- |"]
    return "\n".join(lines + [f"| {one_line(one)} | {one_line(two)} |" for one, two in rows])


def text_json(job: Job) -> bytes:
    """Everything about the run in one object, its trace included."""
    run, artifact = job.runs[0], job.artifacts[0]
    trace = trace_of(run)
    whole = described(run) | {
        "text": job.read(artifact).decode("utf-8", "replace"),
        "partial": artifact.partial,
        "digest": artifact.digest,
        "trace": _parsed(job.read(trace)) if trace else None,
    }
    return json_bytes(jsonable(whole))


def described(run: RunRow) -> dict[str, Any]:
    """A run as the JSON exports describe it; nothing about who asked for it."""
    return {
        "run": run.id, "title": run.title, "method": run.method, "method_title": run.method_title, "checkpoint": run.checkpoint,
        "checkpoint_digests": run.checkpoint_digests, "inputs": run.inputs, "settings": run.settings, "seed": run.seed,
        "device": run.device, "dtype": run.dtype, "state": run.state.value, "pane": run.pane, "repeat": run.repeat,
        "metrics": metric_values(run), "notes": run.notes,
    }  # fmt: skip


def _parsed(data: bytes) -> Any:
    try:
        return parse_strict(data)
    except NotStrictJson:  # kept as text rather than dropped
        return data.decode("utf-8", "replace")


def metrics_csv(job: Job) -> bytes:
    """The run's measures, one a line."""
    rows = [
        (run.id, run.method, found.name, found.label, found.value, found.unit, found.sample_size)
        for run in job.runs
        for found in run.metrics
    ]
    return csv_bytes(("run", "method", "measure", "label", "value", "unit", "of"), rows)
