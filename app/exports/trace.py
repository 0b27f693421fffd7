"""A decoding trace as tables and pictures.

The trace is the JSON artifact of kind "decoding_trace" that text methods produce. Only the fields that are drawn are read.

It deliberately changes nothing in the trace: its JSON export is the artifact itself.
"""

from pydantic import BaseModel, ConfigDict, ValidationError

from app.errors import ResourceError
from app.exports.describing import changed_settings, footer
from app.exports.tables import csv_bytes, model_text
from app.exports.values import Job
from app.plots.palette import palette
from app.plots.raster import rasterise
from app.plots.timeline import PassMark, Timeline, draw_timelines
from storage.values import ArtifactRow, RunRow, RunState

KIND = "decoding_trace"


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Committed(_Read):
    position: int
    token: int
    text: str
    confidence: float


class _Pass(_Read):
    index: int
    seconds: float
    committed: tuple[_Committed, ...]


class Trace(_Read):
    """The part of a decoding trace that is drawn."""

    block_size: int
    positions: int
    passes: tuple[_Pass, ...]


def read_trace(data: bytes) -> Trace:
    """Parse a trace; ResourceError if it is not one."""
    try:
        return Trace.model_validate_json(data)
    except ValidationError as error:
        raise ResourceError(
            "The trace cannot be drawn.",
            f"It is not a decoding trace ({error.error_count()} fields do not fit).",
            "Export it as JSON instead.",
        ) from error


def trace_of(run: RunRow) -> ArtifactRow | None:
    """The run's decoding trace, None if it kept none."""
    return next((found for found in run.artifacts if found.kind == KIND), None)


def traced(runs: tuple[RunRow, ...]) -> bool:
    """Whether some run is done and kept a trace."""
    return any(run.state is RunState.DONE and run.purpose == "run" and trace_of(run) is not None for run in runs)


def tokens_csv(job: Job) -> bytes:
    """One line a token: position, block, pass, seconds, confidence, token id, text."""
    trace = read_trace(job.read(job.artifacts[0]))
    size = max(1, trace.block_size)
    rows = [
        (token.position, token.position // size + 1, step.index, step.seconds, token.confidence, token.token, model_text(token.text))
        for step in trace.passes
        for token in step.committed
        if token.position < trace.positions
    ]
    return csv_bytes(("position", "block", "pass", "seconds", "confidence", "token", "text"), sorted(rows))


def timeline_of(run: RunRow, data: bytes, note: str, letter: str = "", place: int = 0) -> Timeline:
    """A run's trace as the timeline draws it."""
    trace = read_trace(data)
    marks = tuple(PassMark(step.index, step.seconds, tuple(token.position for token in step.committed)) for step in trace.passes)
    return Timeline(run.method_title, note, letter, place, trace.block_size, trace.positions, marks)


def timeline_svg(job: Job) -> bytes:
    """The block timeline of the run, or of all panes of a comparison on one scale."""
    baseline = job.comparison.baseline if job.comparison else None
    ordered = sorted(zip(job.artifacts, job.runs, strict=True), key=lambda pair: (pair[1].pane != baseline, pair[1].pane or ""))
    timelines = [
        timeline_of(run, job.read(artifact), changed_settings(job.registry, run), run.pane or "" if job.comparison else "", place)
        for place, (artifact, run) in enumerate(ordered)
    ]
    said = " · ".join(f"sha256 {artifact.digest[:12]}" for artifact, _ in ordered)
    return draw_timelines(timelines, palette(job.theme), footer(said)).encode()


def timeline_png(job: Job) -> bytes:
    """The same as a picture."""
    return rasterise(timeline_svg(job).decode(), job.dpi)
