"""Values that cross the app's public boundary: requests, pages of events, summaries of comparisons.

Everything is frozen pydantic, so the page, the command line and HTTP speak the same JSON. Rows of the store
(`storage.values`) are passed on as they are.

It deliberately holds no behaviour; `app.api.Studio` does the work.
"""

from typing import Any, Literal

from pydantic import Field

from backends.contract import Fault
from storage.values import ArtifactRow, ComparisonRow, MetricRow, PaneSpec, RunState, Value


class SubmitRequest(Value):
    """One run. `settings` and `inputs` may be partial: defaults fill the rest."""

    method: str
    checkpoint: str = ""
    """Empty: the card's first."""
    inputs: dict[str, Any] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    seed: int = Field(1729, ge=0, lt=2**63)
    title: str = ""
    owner: str = ""
    device: str = "auto"
    seconds_limit: float | None = Field(None, gt=0)


class CompareRequest(Value):
    """Panes on one input and seed. `baseline` names a pane; the first one if empty."""

    tab: str
    panes: tuple[PaneSpec, ...] = Field(min_length=1, max_length=4)
    inputs: dict[str, Any] = Field(default_factory=dict)
    seed: int = Field(1729, ge=0, lt=2**63)
    repeats: int = Field(1, ge=1, le=50)
    baseline: str = ""
    title: str = ""
    owner: str = ""
    device: str = "auto"


class Axis(Value):
    """One named axis of a sweep: a settings field and its values."""

    field: str
    values: tuple[Any, ...] = Field(min_length=1, max_length=40)


class SweepRequest(Value):
    """Every combination of the axes' values in place of the pane's own; all cells share inputs and seed."""

    tab: str
    pane: PaneSpec
    axes: tuple[Axis, ...] = Field(min_length=1, max_length=2)
    inputs: dict[str, Any] = Field(default_factory=dict)
    seed: int = Field(1729, ge=0, lt=2**63)
    title: str = ""
    owner: str = ""
    device: str = "auto"


class Plan(Value):
    """What a sweep would do: cells in all, cells whose result is already here, seconds and bytes for the rest (None: unknown)."""

    cells: int
    already_here: int
    seconds: float | None
    bytes: int | None


class WatchRun(Value):
    """A run as the page follows it. `events` are those after the cursor it sent; `next` is the new cursor."""

    id: str
    pane: str | None
    repeat: int
    purpose: str
    method: str
    state: RunState
    position: int | None
    eta_seconds: float | None
    typical_seconds: float | None
    events: tuple[dict[str, Any], ...]
    next: int
    partial: bool
    fault: Fault | None
    metrics: tuple[MetricRow, ...]
    artifacts: tuple[ArtifactRow, ...]
    notes: tuple[dict[str, Any], ...]


class WatchPage(Value):
    """The state of a comparison (or of single runs) and what happened since the cursors."""

    comparison: str | None
    runs: tuple[WatchRun, ...]
    finished: bool
    paused: bool


class Cell(Value):
    """One value of the ledger: median and spread (half the range) over `count` repeats."""

    value: float
    spread: float
    count: int
    sample_size: int | None = None


class Ratio(Value):
    """A pane against the baseline in words ("3.1× faster"); `winner` is the pane that did better, None if neither."""

    words: str
    factor: float | None
    winner: str | None


class LedgerRow(Value):
    name: str
    label: str
    unit: str
    better: Literal["lower", "higher"] | None
    cells: dict[str, Cell]
    ratios: dict[str, Ratio]


class FirstDifference(Value):
    """Where two outputs part: `unit` "token", "character" or "byte", 0-based index, and both sides as text."""

    unit: Literal["token", "character", "byte", "artifact"]
    index: int
    baseline: str
    other: str


class PairVerdict(Value):
    """A pane against the baseline. `kind` drives the mark on the hinge; `sentence` says it in words."""

    kind: Literal["kept", "equal", "different", "broken", "pending", "none"]
    promised: bool
    sentence: str
    difference: FirstDifference | None = None


class SettingRow(Value):
    """A setting across panes; a pane whose method lacks it is absent from `values`."""

    field: str
    label: str
    group: str
    values: dict[str, Any]


class PaneSummary(Value):
    pane: str
    method: str
    method_title: str
    checkpoint: str
    checkpoint_title: str
    pocket: bool
    sentence: str
    """The pane's settings in a sentence."""
    determinism: str
    """What a replay promises, in words."""
    state: RunState
    run: str
    """The run whose output is shown (the first repeat)."""
    runs: tuple[str, ...]
    partial: bool
    fault: Fault | None
    artifacts: tuple[ArtifactRow, ...]


class ComparisonSummary(Value):
    comparison: ComparisonRow
    panes: tuple[PaneSummary, ...]
    ledger: tuple[LedgerRow, ...]
    verdicts: dict[str, PairVerdict]
    """By challenger pane."""
    different: tuple[SettingRow, ...]
    same: tuple[SettingRow, ...]
    finished: bool
    protocol: str
    """How the costs were measured, in words."""


class SweepCell(Value):
    pane: str
    values: tuple[Any, ...]
    run: str
    state: RunState
    reused: bool
    metrics: tuple[MetricRow, ...]
    fault: Fault | None


class SweepSummary(Value):
    comparison: ComparisonRow
    cells: tuple[SweepCell, ...]
    score: str
    """Name of the metric on the vertical axis ("answers_right" where there is one)."""
    speed: str
    """Name of the metric on the horizontal axis."""
    seconds_left: float | None
    finished: bool
    sentence: str


class ModelRow(Value):
    """A checkpoint in the Models panel."""

    method: str
    method_title: str
    key: str
    title: str
    here: bool
    why: str
    """Where it is, or what is missing."""
    bytes: int
    memory_bytes: int
    licence: str
    pocket: bool
    added: bool
    """Added by the user; can be removed."""
    pullable: bool
    loaded: bool
    fits: bool


class StudioStatus(Value):
    device: str
    memory_used: int
    memory_total: int
    running: int
    waiting: int
    paused: bool
