"""Follows runs from the command line: a line of progress while they go on, and a stop on Ctrl+C that keeps what there is.

It uses the same `watch` as the page, so both show the same states.

It deliberately interprets no event beyond progress: outputs are read from the store when a run has ended.
"""

import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from app.api import Studio
from app.values import WatchPage, WatchRun
from storage.values import RunState

_INTERVAL = 0.1


def follow(studio: Studio, console: Console, *, comparison: str | None = None, runs: tuple[str, ...] = ()) -> None:
    """Block until all runs have ended. Ctrl+C stops them and waits for their partial outputs."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        lines = _Lines(progress)
        try:
            _until_finished(studio, comparison, runs, lines.update)
        except KeyboardInterrupt:
            console.print("Stopping; what was produced so far is kept.")
            stop = [studio.cancel(run) for run in runs] if comparison is None else [studio.cancel_comparison(comparison)]
            if any(stop):
                _until_finished(studio, comparison, runs, lines.update)


def _until_finished(studio: Studio, comparison: str | None, runs: tuple[str, ...], show: Callable[[WatchPage], None]) -> None:
    since: dict[str, int] = {}
    while True:
        page = studio.watch(comparison, runs, since)
        since.update({run.id: run.next for run in page.runs})
        show(page)
        if page.finished:
            return
        time.sleep(_INTERVAL)


class _Lines:
    """One line a run."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def update(self, page: WatchPage) -> None:
        for run in page.runs:
            if run.id not in self._tasks and run.state is not RunState.QUEUED:
                label = f"{run.pane}: {run.method}" if run.pane else run.method
                self._tasks[run.id] = self._progress.add_task(label, total=None, state="")
            if run.id in self._tasks:
                self._show(self._tasks[run.id], run)

    def _show(self, task: TaskID, run: WatchRun) -> None:
        steps = [event for event in run.events if event.get("type") == "progress"]
        state = run.state.value if run.state.final else str(steps[-1].get("phase", "")) if steps else None
        if steps:
            self._progress.update(task, completed=steps[-1]["step"], total=steps[-1].get("total"))
        if state is not None:
            self._progress.update(task, state=state)
        if run.state.final:
            self._progress.stop_task(task)
