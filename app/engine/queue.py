"""The queue's rules over the store: what of moving and repeating makes sense, refused in words where it does not.

Where: the states are `storage.values.RunState`; `storage.queue` keeps the order, each change in one transaction.
What it does not do: it starts nothing, and an engine is told of new work by the caller.
"""

from app.errors import StudioError
from storage.store import Store
from storage.values import RunRow, RunState


class QueueRefusal(StudioError):
    """A change to the queue that does not fit the run's state."""


def move(store: Store, run_id: str, to: int) -> None:
    """Put a queued run at place `to` (1 is next); places beyond the ends mean the ends."""
    run = store.run(run_id)
    if run.state is not RunState.QUEUED:
        raise QueueRefusal("This run cannot be moved.", f"It is {run.state}.", "Only queued runs have a place.")
    store.move(run_id, to)


def retry(store: Store, run_id: str) -> RunRow:
    """Queue the same request again as a new run that names this one as its parent."""
    run = store.run(run_id)
    if not run.state.final:
        raise QueueRefusal("This run cannot be repeated yet.", f"It is {run.state}.", "Stop it first, or wait until it has ended.")
    return store.retry(run_id)
