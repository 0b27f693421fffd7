"""Rows of the database as the values of `storage.values`, and the few statements every part needs.

A row that cannot be decoded leaves as `Damaged`. A list of runs costs two statements more than its rows: their artifacts and,
when one is queued, the order of the queue.

It deliberately knows no filters and no changes: the parts of the store do.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Executable, Row, Select, func, select

from storage.errors import Damaged
from storage.schema import artifacts, run_details, runs
from storage.values import ArtifactRow, ComparisonRow, MetricRow, PresetRow, RecordRow, RunRow, RunState

_COLUMNS = [column for column in runs.c if column.name not in ("place", "claimed_by", "wall_seconds", "listed")]
_DETAILS = [column for column in run_details.c if column.name != "sequence"]
_IDS_AT_ONCE = 500
"""Keys in one statement; SQLite accepts far more, but each different number is a statement to prepare."""


@contextmanager
def decoding() -> Iterator[None]:
    """What cannot be decoded is damage: every row was checked when it was written."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise Damaged(f"A row of the database cannot be read ({type(error).__name__}).") from error


def fetch(connection: Connection, statement: Executable) -> Sequence[Row[*tuple[Any, ...]]]:
    """All rows of a statement."""
    with decoding():
        return connection.execute(statement).all()


def column_values(connection: Connection, statement: Executable) -> list[Any]:
    """The first column of all rows of a statement."""
    return [row[0] for row in fetch(connection, statement)]


def number(connection: Connection, statement: Executable) -> int | None:
    """The one number a statement finds; None without a row."""
    found = column_values(connection, statement)
    with decoding():
        return None if not found or found[0] is None else int(found[0])


def select_runs(*, with_preview: bool = True) -> Select[Any]:
    """Runs with their details. Lists leave out the previews, which may be megabytes each."""
    details = _DETAILS if with_preview else [column for column in _DETAILS if column.name != "preview"]
    return select(*_COLUMNS, *details).join_from(runs, run_details, runs.c.sequence == run_details.c.sequence)


def load_runs(connection: Connection, statement: Executable) -> tuple[RunRow, ...]:
    """The runs of a statement made from `select_runs`."""
    rows = [dict(row._mapping) for row in fetch(connection, statement)]
    kept = artifacts_of(connection, [row["id"] for row in rows])
    positions = queue_positions(connection) if any(row["state"] == RunState.QUEUED for row in rows) else {}
    with decoding():
        for row in rows:
            row["artifacts"] = kept.get(row["id"], ())
            row["position"] = positions.get(row["id"])
            row["metrics"] = tuple(MetricRow(**metric) for metric in row["metrics"])
        return tuple(RunRow(**row) for row in rows)


def batches(keys: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The keys in portions for one statement each."""
    for start in range(0, len(keys), _IDS_AT_ONCE):
        yield keys[start : start + _IDS_AT_ONCE]


def artifacts_of(connection: Connection, ids: Sequence[str]) -> Mapping[str, tuple[ArtifactRow, ...]]:
    """The artifacts of each run, in the order they were kept."""
    grouped: dict[str, list[ArtifactRow]] = defaultdict(list)
    for some in batches(ids):
        for found in load_artifacts(connection, select(artifacts).where(artifacts.c.run.in_(some)).order_by(artifacts.c.sequence)):
            grouped[found.run].append(found)
    return {run: tuple(found) for run, found in grouped.items()}


def queue_positions(connection: Connection) -> dict[str, int]:
    """The place of every queued run, 1 is next."""
    statement = select(runs.c.id).where(runs.c.state == RunState.QUEUED).order_by(runs.c.place)
    return {run: position for position, run in enumerate(column_values(connection, statement), start=1)}


def queue_end(connection: Connection) -> tuple[int, int]:
    """How many runs are queued, and the highest place among them (0 when there are none)."""
    statement = select(func.count(), func.coalesce(func.max(runs.c.place), 0)).where(runs.c.state == RunState.QUEUED)
    (found,) = fetch(connection, statement)
    with decoding():
        return int(found[0]), int(found[1])


def load_artifacts(connection: Connection, statement: Executable) -> tuple[ArtifactRow, ...]:
    """The artifacts of a statement over whole rows of `artifacts`."""
    rows = fetch(connection, statement)
    with decoding():
        return tuple(ArtifactRow(**_without_sequence(row)) for row in rows)


def load_records(connection: Connection, statement: Executable) -> tuple[RecordRow, ...]:
    """The records of a statement over whole rows of `records`."""
    rows = fetch(connection, statement)
    with decoding():
        return tuple(RecordRow(**{name: getattr(row, name) for name in RecordRow.model_fields}) for row in rows)


def load_comparisons(connection: Connection, statement: Executable) -> tuple[ComparisonRow, ...]:
    """The comparisons of a statement over whole rows of `comparisons`."""
    rows = fetch(connection, statement)
    with decoding():
        return tuple(ComparisonRow(**row._mapping) for row in rows)


def load_presets(connection: Connection, statement: Executable) -> tuple[PresetRow, ...]:
    """The presets of a statement over whole rows of `presets`."""
    rows = fetch(connection, statement)
    with decoding():
        return tuple(PresetRow(**_without_sequence(row)) for row in rows)


def _without_sequence(row: Row[*tuple[Any, ...]]) -> dict[str, Any]:
    return {name: value for name, value in row._mapping.items() if name != "sequence"}
