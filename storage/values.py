"""The rows of the store as frozen values: what leaves storage and what the app passes on to page, command line and HTTP.

Ids of runs, comparisons and artifacts are 32 hexadecimal digits from the system's random source (128 bits). Order is by
`sequence`, a number the database gives; clock times are for display only. All times are UTC.

It deliberately holds no query: see `storage.store`.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RunState(StrEnum):
    """The life of a run. The last four are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def final(self) -> bool:
        return self not in (RunState.QUEUED, RunState.RUNNING)


Purpose = Literal["run", "warmup", "replay", "sweep"]


class NewRun(Value):
    """What `Store.add_runs` takes: a request with its settings already resolved (defaults included)."""

    id: str
    method: str
    method_title: str
    tab: str
    checkpoint: str
    inputs: dict[str, Any]
    settings: dict[str, Any]
    seed: int
    device: str = "auto"
    dtype: str = "float32"
    title: str = ""
    owner: str = ""
    purpose: Purpose = "run"
    comparison: str | None = None
    pane: str | None = None
    repeat: int = 0
    seconds_limit: float | None = None
    parents: tuple[str, ...] = ()
    """Ids of the runs this one replays or builds on."""
    fingerprint: str = ""
    """SHA-256 (hex) of method, checkpoint, inputs, settings, seed, device and dtype: equal runs are found by it."""


class ArtifactRow(Value):
    """One kept artifact. `digest` is the SHA-256 (hex) of its bytes and the name of its file."""

    id: str
    run: str
    digest: str
    kind: str
    name: str
    media_type: str
    bytes: int
    facts: dict[str, Any] = Field(default_factory=dict)
    partial: bool = False
    record: int | None = None
    """Sequence of the signed record that names it."""


class MetricRow(Value):
    name: str
    value: float
    unit: str = ""
    label: str
    better: Literal["lower", "higher"] | None = None
    sample_size: int | None = None


class RunRow(NewRun):
    """A run as stored. `fault` is a backends.contract Fault as a dict; `position` is its place in the queue, 1 is next."""

    sequence: int
    state: RunState
    position: int | None = None
    created: datetime
    started: datetime | None = None
    finished: datetime | None = None
    fault: dict[str, Any] | None = None
    partial: bool = False
    starred: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""
    notes: tuple[dict[str, Any], ...] = ()
    """Note events of the method: {"level", "text"}."""
    preview: dict[str, Any] | None = None
    """The last preview of a running run (an Artifact with base64 data), so that a crash of the studio keeps it."""
    checkpoint_digests: dict[str, str] = Field(default_factory=dict)
    environment: dict[str, Any] = Field(default_factory=dict)
    """device name, dtype, package versions, code version, threads."""
    metrics: tuple[MetricRow, ...] = ()
    artifacts: tuple[ArtifactRow, ...] = ()


class RecordRow(Value):
    """One signed record. `envelope` is the DSSE envelope exactly as signed; `digest` is the SHA-256 of those bytes."""

    sequence: int
    run: str | None
    digest: str
    previous: str
    """Digest of the record before it; 64 zeros for the first."""
    envelope: bytes
    created: datetime


class PaneSpec(Value):
    """One pane of a comparison."""

    pane: str
    method: str
    checkpoint: str
    settings: dict[str, Any]


class ComparisonRow(Value):
    """Panes run on one input and seed. `kind` "sweep" has `axes`: [{"field", "values", "pane"}], one pane a cell."""

    id: str
    sequence: int
    tab: str
    title: str
    kind: Literal["panes", "sweep"] = "panes"
    inputs: dict[str, Any]
    seed: int
    repeats: int
    baseline: str
    panes: tuple[PaneSpec, ...]
    axes: tuple[dict[str, Any], ...] = ()
    owner: str = ""
    created: datetime


class PresetRow(Value):
    id: str
    method: str
    name: str
    version: int
    settings: dict[str, Any]
    created: datetime


class CheckpointRow(Value):
    """A checkpoint the user added (folders or a hub id): `spec` is a backends.contract Checkpoint as a dict."""

    key: str
    method: str
    spec: dict[str, Any]
    created: datetime


class HistoryQuery(Value):
    """What History asks for. `text` is full-text search over title, prompt, settings, method, tags and note."""

    text: str = ""
    tab: str = ""
    method: str = ""
    state: str = ""
    starred: bool = False
    tag: str = ""
    owner: str | None = None
    """None: everybody's (the studio without accounts)."""
    all_repeats: bool = False
    """False: one row a pane (repeat 0), no warm-ups and no cells of sweeps but the first."""
    before: int | None = None
    """Only runs with a smaller sequence: the key of the next page."""
    limit: int = Field(50, ge=1, le=500)


class HistoryPage(Value):
    runs: tuple[RunRow, ...]
    total: int
    next_before: int | None
    counts: dict[str, int]
    """Matches by filter chip: "all", each tab, "starred", "partial", "failed"."""
