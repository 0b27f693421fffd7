"""What an engine is to the rest of the app, and the values it gives out.

`Engine` is implemented by `app.engine.local.LocalEngine` (worker processes on this machine) and by `app.engine.ray.RayEngine` (the same
workers on a Ray cluster). The wire between an engine and its workers is `app.engine.wire`.

It deliberately holds no behaviour.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from storage.values import ArtifactRow, RunRow

Sign = Callable[[RunRow], Callable[[ArtifactRow, str, int], bytes]]
"""Run with its metrics so far -> what `Store.add_artifact` calls: (artifact, previous record's digest, sequence) -> signed envelope."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EventPage(_Frozen):
    """Events of a run after a cursor: contract events as JSON with "at", seconds since a worker took the run up."""

    events: tuple[dict[str, Any], ...]
    next: int


class DeviceInfo(_Frozen):
    """A device of this machine. `key` is "cpu" or "cuda:0"."""

    key: str
    name: str
    memory_total: int


class LoadedModel(_Frozen):
    """Weights a worker holds ready."""

    method: str
    checkpoint: str
    device: str
    dtype: str
    resident_bytes: int
    idle_seconds: float


class WorkerInfo(_Frozen):
    device: str
    pid: int
    state: Literal["starting", "idle", "running"]


class EngineStatus(_Frozen):
    """`device` names the main device in words; memory is that device's; `running` is the run on it, if any."""

    device: str
    devices: tuple[DeviceInfo, ...]
    memory_used: int
    memory_total: int
    running: str | None
    loaded: tuple[LoadedModel, ...]
    workers: tuple[WorkerInfo, ...]


class EngineOptions(_Frozen):
    """How an engine runs its workers."""

    threads: int | None = Field(None, ge=1)
    """Computing threads of a run; None: 1 for pocket checkpoints (faster there: measured), the physical cores otherwise."""
    warm_modules: tuple[str, ...] = ("torch",)
    """Imported by a worker as it starts, so that the first run need not wait for them."""
    warm_methods: bool = True
    """Whether an idle worker loads the methods' pocket checkpoints ahead, so that a first run starts at once."""
    stop_grace: float = 2.0
    """Seconds a run may take to obey a stop before its worker is killed."""
    deadline_grace: float = 0.25
    """The same after a run's own time limit."""
    idle_minutes: float = 15.0
    """Loaded weights unused for this long are dropped."""
    address_space: int | None = None
    """Bytes; a hard limit on a worker's address space (RLIMIT_AS)."""
    cache: Path | None = None
    """The hub cache; None: huggingface_hub's own."""
    device: str = "auto"
    """The main device: what runs that ask for "auto" get. "auto": the first GPU, otherwise the CPU."""


class Engine(Protocol):
    """Takes runs from the store's queue and carries them out."""

    def start(self) -> None:
        """Close what an earlier studio left running, start workers, take the first run."""

    def shutdown(self) -> None:
        """Stop and end every worker. A run in progress ends as interrupted, its last preview kept."""

    def notify(self) -> None:
        """There may be new work: runs were added, retried, or the queue was resumed."""

    def cancel(self, run_id: str) -> bool:
        """Take a queued run out, or stop a running one; False if it was neither. Returns at once."""

    def cancel_all(self) -> int:
        """Cancel everything queued and running; how many runs that were."""

    def events(self, run_id: str, since: int = 0) -> EventPage:
        """Events after the cursor `since`; 0 is the start. Only runs of this process have any."""

    def wait(self, run_id: str, seconds: float) -> RunRow:
        """Block until the run is final, at most `seconds`; the run as it then is."""

    def status(self) -> EngineStatus:
        """What is going on."""

    def unload(self, method: str, checkpoint: str) -> None:
        """Drop weights from every worker that holds them, as soon as its run ends."""
