"""The events of runs, kept in memory for those who watch.

What it does: numbers events, hands out those after a cursor, keeps only the latest preview's bytes, and forgets the steps of finished
runs whose artifacts hold them anyway.
Where: a page polls `LocalEngine.events`; the cursor it gets back is the number of the next event.
What it does not do: it stores nothing durably. Results, metrics and notes are in the store.
"""

import threading
from collections import OrderedDict
from typing import Any

from app.engine.protocol import EventPage

STEPS_KEPT = 20_000
"""Of one running run; older ones are forgotten."""
RUNS_KEPT = 200
"""Finished runs whose metrics, notes and artifacts are kept."""
WHOLE_KEPT = 8
"""Finished runs that keep their steps too: a page may be a poll or two behind."""


class RunLog:
    """Numbered events of one run."""

    def __init__(self) -> None:
        self._events: list[tuple[int, dict[str, Any]]] = []
        self._next = 0
        self._lock = threading.Lock()

    def extend(self, events: list[dict[str, Any]]) -> None:
        """Append; an older preview gives way to a newer one."""
        with self._lock:
            if any(event["type"] == "preview" for event in events):
                self._events = [(number, event) for number, event in self._events if event["type"] != "preview"]
            latest = max((place for place, event in enumerate(events) if event["type"] == "preview"), default=-1)
            for place, event in enumerate(events):
                if event["type"] != "preview" or place == latest:
                    self._events.append((self._next, event))
                self._next += 1
            if len(self._events) > STEPS_KEPT:
                del self._events[: len(self._events) - STEPS_KEPT]

    def page(self, since: int) -> EventPage:
        """Events numbered `since` and later."""
        with self._lock:
            first = len(self._events)
            while first > 0 and self._events[first - 1][0] >= since:
                first -= 1
            return EventPage(events=tuple(event for _, event in self._events[first:]), next=self._next)

    def slim(self) -> None:
        """Forget steps, previews and progress: the artifacts are stored."""
        with self._lock:
            self._events = [(number, event) for number, event in self._events if event["type"] in ("metric", "note", "produced")]


class RunLogs:
    """The logs of this process by run, the latest finished ones included."""

    def __init__(self) -> None:
        self._logs: OrderedDict[str, RunLog] = OrderedDict()
        self._finished: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, run: str) -> RunLog:
        """A fresh log for a run that starts."""
        with self._lock:
            self._logs[run] = log = RunLog()
            return log

    def finish(self, run: str) -> None:
        """Bound what is kept of finished runs."""
        with self._lock:
            self._finished[run] = None
            finished = list(self._finished)
            if len(finished) > WHOLE_KEPT:
                self._logs[finished[-WHOLE_KEPT - 1]].slim()
            if len(finished) > RUNS_KEPT:
                del self._finished[finished[0]]
                del self._logs[finished[0]]

    def page(self, run: str, since: int) -> EventPage:
        """Events after the cursor; an unknown run has none."""
        with self._lock:
            log = self._logs.get(run)
        return log.page(since) if log is not None else EventPage(events=(), next=since)
