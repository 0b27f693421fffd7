"""Runs and comparisons: adding, reading, what a running run reports, how it ends.

A run's first final state stays: finishing it again changes nothing and returns what is stored, so a late message of a worker
cannot turn a cancelled run into a finished one.

It deliberately decides no order: see `storage.queue`.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from statistics import median
from typing import Any

from sqlalchemy import Connection, insert, select, update

from storage import search
from storage.core import Core, checked_id, load_run, sequence_of
from storage.errors import NotFound
from storage.rows import batches, column_values, load_comparisons, load_runs, queue_end, select_runs
from storage.schema import comparisons, run_details, runs
from storage.values import ComparisonRow, MetricRow, NewRun, PaneSpec, RunRow, RunState

_NARROW = ("id", "method", "tab", "checkpoint", "device", "owner", "purpose", "comparison", "pane", "repeat", "fingerprint")
_WIDE = ("method_title", "title", "inputs", "settings", "seed", "dtype", "seconds_limit", "parents")
_EMPTY: dict[str, Any] = {
    "tags": [],
    "note": "",
    "notes": [],
    "metrics": [],
    "checkpoint_digests": {},
    "environment": {},
    "fault": None,
    "preview": None,
}
WARMUP, SWEEP = "warmup", "sweep"
DURATIONS = 20
"""How many of the latest runs the typical duration is taken from."""


class Runs(Core):
    """The store's part for runs and comparisons."""

    def add_runs(self, new: Sequence[NewRun]) -> list[RunRow]:
        """Put runs at the end of the queue, all or none."""
        return self._write(lambda connection: insert_runs(connection, new, self._clock()))

    def run(self, id: str) -> RunRow:
        """The run of this id."""
        with self._read() as connection:
            return load_run(connection, id)

    def runs(self, ids: Sequence[str]) -> tuple[RunRow, ...]:
        """The runs of these ids, in the order asked for; raises NotFound for the first that is not here."""
        found: dict[str, RunRow] = {}
        with self._read() as connection:
            for wanted in batches([checked_id("run", key) for key in ids]):
                found.update((row.id, row) for row in load_runs(connection, select_runs().where(runs.c.id.in_(wanted))))
        missing = [key for key in ids if key not in found]
        if missing:
            raise NotFound("run", missing[0])
        return tuple(found[key] for key in ids)

    def find_done(self, fingerprint: str) -> RunRow | None:
        """The newest finished run of the same request (`NewRun.fingerprint`); None without one."""
        if not (fingerprint.isascii() and fingerprint.isalnum()):
            return None
        same = (runs.c.fingerprint == fingerprint) & (runs.c.state == RunState.DONE) & (runs.c.purpose != WARMUP)
        with self._read() as connection:
            found = load_runs(connection, select_runs().where(same).order_by(runs.c.sequence.desc()).limit(1))
        return found[0] if found else None

    def set_preview(self, id: str, preview: Mapping[str, Any] | None) -> None:
        """Remember the output so far, so that a crash of the studio keeps it; None forgets it."""
        self._set_details(id, {"preview": None if preview is None else dict(preview)})

    def set_environment(self, id: str, environment: Mapping[str, Any], checkpoint_digests: Mapping[str, str]) -> None:
        """Remember where and with which files the run runs."""
        self._set_details(id, {"environment": dict(environment), "checkpoint_digests": dict(checkpoint_digests)})

    def finish(
        self,
        id: str,
        state: RunState,
        fault: Mapping[str, Any] | None = None,
        partial: bool = False,
        metrics: Iterable[MetricRow] = (),
        notes: Iterable[Mapping[str, Any]] = (),
    ) -> RunRow:
        """End a run with one of the final states and forget its preview. A run already ended stays as it is."""
        state = RunState(state)
        if not state.final:
            raise ValueError(f"{state} is not a final state")
        details = {
            "fault": None if fault is None else dict(fault),
            "metrics": [metric.model_dump() for metric in metrics],
            "notes": [dict(note) for note in notes],
            "preview": None,
        }
        return self._write(lambda connection: _finish(connection, id, state, partial, details, self._clock()))

    def typical_seconds(self, method: str, checkpoint: str) -> float | None:
        """How long this method usually takes: the median of its latest finished runs; None without any."""
        statement = (
            select(runs.c.wall_seconds)
            .where(runs.c.method == method, runs.c.checkpoint == checkpoint, runs.c.state == RunState.DONE)
            .where(runs.c.wall_seconds.is_not(None), runs.c.purpose != WARMUP)
            .order_by(runs.c.sequence.desc())
            .limit(DURATIONS)
        )
        with self._read() as connection:
            seconds = column_values(connection, statement)
        return float(median(seconds)) if seconds else None

    def add_comparison(
        self,
        *,
        tab: str,
        title: str,
        inputs: Mapping[str, Any],
        seed: int,
        repeats: int,
        baseline: str,
        panes: Sequence[PaneSpec],
        kind: str = "panes",
        axes: Sequence[Mapping[str, Any]] = (),
        owner: str = "",
        id: str | None = None,
        runs: Sequence[NewRun] = (),
    ) -> ComparisonRow:
        """Keep a comparison and, in the same transaction, put its runs at the end of the queue."""
        values: dict[str, Any] = {
            **{"id": checked_id("comparison", id) if id else secrets.token_hex(16), "created": self._clock()},
            **{"tab": tab, "title": title, "kind": kind, "owner": owner, "inputs": dict(inputs), "seed": seed},
            **{"repeats": repeats, "baseline": baseline, "axes": [dict(axis) for axis in axes]},
            "panes": [pane.model_dump() for pane in panes],
        }

        def work(connection: Connection) -> ComparisonRow:
            connection.execute(insert(comparisons).values(values))
            insert_runs(connection, runs, self._clock())
            return _load_comparison(connection, values["id"])

        return self._write(work)

    def comparison(self, id: str) -> ComparisonRow:
        """The comparison of this id."""
        with self._read() as connection:
            return _load_comparison(connection, id)

    def comparison_runs(self, id: str) -> tuple[RunRow, ...]:
        """The runs of a comparison in the order they were added."""
        with self._read() as connection:
            _load_comparison(connection, id)
            statement = select_runs().where(runs.c.comparison == id).order_by(runs.c.sequence)
            return load_runs(connection, statement)

    def _set_details(self, id: str, values: Mapping[str, Any]) -> None:
        def work(connection: Connection) -> None:
            sequence = sequence_of(connection, id)
            connection.execute(update(run_details).where(run_details.c.sequence == sequence).values(**values))

        self._write(work)


def insert_runs(connection: Connection, new: Sequence[NewRun], now: datetime) -> list[RunRow]:
    """Add runs inside a write."""
    if not new:
        return []
    waiting, place = queue_end(connection)
    narrow: list[dict[str, Any]] = []
    swept = _swept(connection, new)
    for offset, run in enumerate(new, start=1):
        checked_id("run", run.id)
        row: dict[str, Any] = {name: getattr(run, name) for name in _NARROW}
        row.update(state=RunState.QUEUED, place=place + offset, partial=False, starred=False, created=now)
        row["listed"] = run.repeat == 0 and run.purpose != WARMUP and not (run.purpose == SWEEP and run.comparison in swept)
        if run.purpose == SWEEP:
            swept.add(run.comparison)
        narrow.append(row)
    added = insert(runs).returning(runs.c.sequence, sort_by_parameter_order=True)
    sequences = [int(sequence) for sequence in connection.scalars(added, narrow)]
    wide = [{**_EMPTY, **{name: getattr(run, name) for name in _WIDE}} for run in new]
    for row, sequence in zip(wide, sequences, strict=True):
        row["sequence"] = sequence
    connection.execute(insert(run_details), wide)
    documents = ((row["sequence"], search.document({**row, "method": run.method})) for row, run in zip(wide, new, strict=True))
    search.index(connection, documents)
    return [
        RunRow(**run.model_dump(), sequence=sequence, state=RunState.QUEUED, position=waiting + offset, created=now)
        for offset, (run, sequence) in enumerate(zip(new, sequences, strict=True), start=1)
    ]


def _swept(connection: Connection, new: Sequence[NewRun]) -> set[str | None]:
    """Sweeps that already have a cell here: the first one stands for all of them in the history."""
    wanted = {run.comparison for run in new if run.purpose == SWEEP}
    return set(column_values(connection, select(runs.c.comparison).where(runs.c.comparison.in_(wanted)).distinct())) if wanted else set()


def _finish(connection: Connection, id: str, state: RunState, partial: bool, details: Mapping[str, Any], now: datetime) -> RunRow:
    before = load_run(connection, id)
    if before.state.final:
        return before
    seconds = next((metric["value"] for metric in details["metrics"] if metric["name"] == "wall_seconds"), None)
    if seconds is None and before.started is not None and now >= before.started:
        seconds = (now - before.started).total_seconds()
    values = {"state": state, "place": None, "finished": now, "wall_seconds": seconds, "partial": partial or before.partial}
    connection.execute(update(runs).where(runs.c.sequence == before.sequence).values(**values))
    connection.execute(update(run_details).where(run_details.c.sequence == before.sequence).values(**details))
    return load_run(connection, id)


def _load_comparison(connection: Connection, id: str) -> ComparisonRow:
    found = load_comparisons(connection, select(comparisons).where(comparisons.c.id == checked_id("comparison", id)))
    if not found:
        raise NotFound("comparison", id)
    return found[0]
