"""The queue's rules over the store: order, pause, move, retry, cancel, and how long a run will wait.

What it does: says what stands where, and refuses what makes no sense in words (moving a run that has started, retrying one that has not
ended). Every change is one transaction of the store, so a crash leaves the queue as it was before or after.
Where: the states are `storage.values.RunState`; `storage.queue` keeps the order.
What it does not do: it starts nothing; an engine is told by `notify`, and stopping a running run is the engine's.
"""

from collections.abc import Callable

from pydantic import BaseModel, ConfigDict

from app.errors import StudioError
from storage.store import Store
from storage.values import RunRow, RunState


class QueueRefusal(StudioError):
    """A change to the queue that does not fit the run's state."""


class Waiting(BaseModel):
    """A run in the queue. `eta_seconds`: until it starts, from the medians of earlier runs; None where one is unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: RunRow
    position: int
    eta_seconds: float | None


class RunQueue:
    """The queue; `notify` is called when there may be something to start."""

    def __init__(self, store: Store, notify: Callable[[], None] = lambda: None) -> None:
        self._store = store
        self._notify = notify

    @property
    def paused(self) -> bool:
        """Whether nothing new starts. A run in progress goes on."""
        return self._store.paused

    def pause(self) -> None:
        """Start nothing new, also after a restart."""
        self._store.set_paused(True)

    def resume(self) -> None:
        """Go on with the first in line."""
        self._store.set_paused(False)
        self._notify()

    def running(self) -> tuple[RunRow, ...]:
        """The runs in progress."""
        return tuple(run for run in self._store.queue() if run.state is RunState.RUNNING)

    def waiting(self) -> tuple[Waiting, ...]:
        """The queued runs in order, 1 is next."""
        listed: list[Waiting] = []
        seconds: float | None = 0.0
        typical: dict[tuple[str, str], float | None] = {}
        for run in self._store.queue():
            if run.state is RunState.QUEUED:
                listed.append(Waiting(run=run, position=len(listed) + 1, eta_seconds=seconds))
            key = (run.method, run.checkpoint)
            if key not in typical:
                typical[key] = self._store.typical_seconds(*key)
            one = typical[key]
            seconds = None if seconds is None or one is None else seconds + one
        return tuple(listed)

    def move(self, run_id: str, to: int) -> None:
        """Put a queued run at position `to`; positions beyond the ends mean the ends."""
        run = self._store.run(run_id)
        if run.state is not RunState.QUEUED:
            raise QueueRefusal("This run cannot be moved.", f"It is {run.state}.", "Only queued runs have a place.")
        self._store.move(run_id, to)

    def retry(self, run_id: str) -> RunRow:
        """Queue the same request again as a new run that names this one as its parent."""
        run = self._store.run(run_id)
        if not run.state.final:
            raise QueueRefusal("This run cannot be repeated yet.", f"It is {run.state}.", "Stop it first, or wait until it has ended.")
        again = self._store.retry(run_id)
        self._notify()
        return again

    def cancel_waiting(self) -> int:
        """Cancel everything queued; the run in progress goes on. How many that were."""
        return self._store.cancel_all_queued()
