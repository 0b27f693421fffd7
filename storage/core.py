"""What every part of the store stands on: the database, the writer, the artifact files, the clock.

Errors of the database and of the disk become the store's own here, once.
It deliberately holds no statement of its own: the parts (`runs`, `queue`, `records`, `history`, `presets`, `upkeep`) do.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, select

from storage.artifacts import ArtifactFiles, FileOperations
from storage.database import Database
from storage.errors import NotFound
from storage.rows import batches, fetch, load_runs, number, select_runs
from storage.schema import runs
from storage.values import RunRow
from storage.writer import Writer

Result = TypeVar("Result")
Clock = Callable[[], datetime]
_ID = re.compile(r"[0-9a-f]{32}")


def system_clock() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)


def checked_id(what: str, key: str) -> str:
    """The id itself; NotFound when it is none, so that no foreign text reaches the database as a key."""
    if not _ID.fullmatch(key):
        raise NotFound(what, repr(key[:40]))
    return key


class Core:
    """The shared state of one open store."""

    def __init__(self, database: Database, data: Path, installation: str, operations: FileOperations | None, clock: Clock) -> None:
        self._database = database
        self._data = data
        self._installation = installation
        self._clock = clock
        self._files = ArtifactFiles(data / "artifacts", operations)
        self._writer = Writer(database.writer)

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with self._database.read() as connection:
            yield connection

    def _write(self, work: Callable[[Connection], Result]) -> Result:
        return self._writer.do(work)


def load_run(connection: Connection, key: str) -> RunRow:
    """The run of this id, on a connection already open."""
    found = load_runs(connection, select_runs().where(runs.c.id == checked_id("run", key)))
    if not found:
        raise NotFound("run", key)
    return found[0]


def sequence_of(connection: Connection, key: str) -> int:
    """The sequence of the run of this id; NotFound when there is none."""
    found = number(connection, select(runs.c.sequence).where(runs.c.id == checked_id("run", key)))
    if found is None:
        raise NotFound("run", key)
    return found


def sequences_of(connection: Connection, keys: Sequence[str]) -> dict[str, int]:
    """The sequences of those runs that are here."""
    found: dict[str, int] = {}
    for some in batches([key for key in keys if _ID.fullmatch(key)]):
        rows = fetch(connection, select(runs.c.id, runs.c.sequence).where(runs.c.id.in_(some)))
        found.update((row.id, row.sequence) for row in rows)
    return found
