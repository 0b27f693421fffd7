"""What lanes share, the run in progress, and how a run can end.

Plain values and two translations: a dead worker and a failing store into a state and a reason in words.

It deliberately holds no thread and no loop: see `app.engine.lane`.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from app.engine.devices import Devices
from app.engine.keeping import Keeper
from app.engine.process import Spawn
from app.engine.protocol import EngineOptions, Sign
from app.engine.runlog import RunLogs
from app.engine.wire import Message
from app.errors import StorageFull, StoreUnavailable, StudioError, WorkerCrashed
from app.registry import Registry
from backends.contract import DeadlineExceeded, Fault, MethodError
from storage import errors as store_errors
from storage.store import Store
from storage.values import RunRow, RunState


@dataclass(frozen=True)
class Shop:
    """What all lanes share."""

    store: Store
    registry: Registry
    data: Path
    assets: Path
    options: EngineOptions
    devices: Devices
    sign: Sign | None
    spawn: Spawn
    logs: RunLogs
    finished: Callable[[RunRow], None]
    engine: str = "local"
    """What records call the engine."""
    claiming: threading.Lock = field(default_factory=threading.Lock)


@dataclass
class Active:
    """The run in progress."""

    run: RunRow
    keeper: Keeper
    stop_at: float | None = None
    """When a stop was asked for."""
    closing: bool = False
    """The stop comes from the studio's end, not from the user."""
    deadline: float | None = None
    """When the worker is killed for the run's own time limit."""
    killed_for: Literal["stop", "deadline"] | None = None
    sent: bool = False
    store_fault: Fault | None = None


@dataclass(frozen=True)
class End:
    """How a run ended."""

    state: RunState
    fault: Fault | None
    message: Message


def after_death(active: Active, message: Message) -> tuple[RunState, Fault | None]:
    """State and reason of a run whose worker is gone."""
    if active.killed_for == "deadline":
        limit = active.run.seconds_limit or 0.0
        what = f"The time limit of {limit:g} s passed."
        return RunState.FAILED, DeadlineExceeded(what, "The run did not stop by itself.", "Raise the limit or ask for less.").fault
    if active.killed_for == "stop" or active.stop_at is not None:
        return RunState.CANCELLED, None
    why = "Its process ended; what it had produced before is kept, and other runs are not affected."
    if message["how"] == "SIGKILL":
        why = "The system ended it, most likely because the machine ran out of memory."
    return RunState.FAILED, WorkerCrashed(
        f"The worker crashed ({message['how']}).", why, "Run it again; if it crashes again, ask for less or tell the method's authors."
    ).fault()


def fault_of(error: Exception) -> Fault:
    """Why a run could not be started or its result not be kept, in the studio's words."""
    if isinstance(error, MethodError):
        return error.fault
    if isinstance(error, StudioError):
        return error.fault()
    if isinstance(error, OSError):
        return fault_of(store_errors.from_system(error, "starting the run"))
    if isinstance(error, store_errors.Full):
        return StorageFull("The disk is full.", "The result could not be kept.", "Free some space and run it again.").fault()
    if isinstance(error, store_errors.StoreError):
        return StoreUnavailable("The result could not be kept.", str(error), "Check the data folder and run it again.").fault()
    what = f"The studio made a mistake with this run: {type(error).__name__}."
    return Fault(kind="UnexpectedError", what=what, why=str(error)[:300], next_step="Run it again; if that fails too, report it.")
