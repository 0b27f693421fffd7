"""What the page needs while runs go on: states, places in the queue, times left, and events since its last look.

The page sends a cursor a run; events of running runs come from the engine's memory, everything else from the store, so a
second tab or a refreshed page sees the same thing.

It deliberately keeps no session: any number of pages may watch the same run.
"""

from collections.abc import Mapping

from app.engine.protocol import Engine
from app.values import WatchPage, WatchRun
from backends.contract import Fault
from storage.store import Store
from storage.values import RunRow, RunState


def watch(store: Store, engine: Engine | None, comparison: str | None, runs: tuple[RunRow, ...], since: Mapping[str, int]) -> WatchPage:
    """The page for `runs`; `since` maps run id -> cursor (absent: from the start)."""
    waits = waiting_seconds(store, store.queue())
    watched = tuple(_watch_run(store, engine, run, since.get(run.id, 0), waits.get(run.id)) for run in runs)
    return WatchPage(comparison=comparison, runs=watched, finished=all(run.state.final for run in runs), paused=store.paused)


def waiting_seconds(store: Store, queue: tuple[RunRow, ...]) -> dict[str, float | None]:
    """Seconds until each queued run starts, from the medians of earlier runs; None as soon as one before it is unknown."""
    waits: dict[str, float | None] = {}
    total: float | None = 0.0
    for run in queue:
        if run.state is RunState.QUEUED:
            waits[run.id] = total
        typical = store.typical_seconds(run.method, run.checkpoint)
        total = None if total is None or typical is None else total + typical
    return waits


def _watch_run(store: Store, engine: Engine | None, run: RunRow, cursor: int, eta: float | None) -> WatchRun:
    page = engine.events(run.id, cursor) if engine is not None else None
    return WatchRun(
        id=run.id,
        pane=run.pane,
        repeat=run.repeat,
        purpose=run.purpose,
        method=run.method,
        state=run.state,
        position=run.position,
        eta_seconds=eta,
        typical_seconds=store.typical_seconds(run.method, run.checkpoint),
        events=tuple(page.events) if page else (),
        next=page.next if page else cursor,
        partial=run.partial,
        fault=Fault.model_validate(run.fault) if run.fault else None,
        metrics=run.metrics,
        artifacts=run.artifacts,
        notes=run.notes,
    )
