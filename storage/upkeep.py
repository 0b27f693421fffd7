"""Upkeep: recovery at start, backup, and a check of the whole store.

Recovery marks what was running as interrupted and sweeps files that no row names.
It deliberately repairs nothing: a damaged store is reported, a backup is restored by opening it.
"""

import contextlib
import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from sqlalchemy import Connection, insert, select, text, update

from storage import search
from storage.artifacts import FileOperations
from storage.database import FILE_NAME, Database
from storage.errors import Conflict, NotFound, from_system, naming_errors
from storage.records import FIRST_PREVIOUS
from storage.rows import column_values, decoding, fetch, load_runs, select_runs
from storage.schema import artifacts, metadata, records, run_details, runs
from storage.sweeping import Sweeping
from storage.values import RunRow, RunState

_BATCH = 1000


class Upkeep(Sweeping):
    """The store's part for recovery, backup and checks."""

    def recover(self) -> list[RunRow]:
        """Call once at start: runs left running become interrupted and keep their preview; what no row names is swept away.

        On a database server only the runs of this installation are touched: others may be at work.
        """
        left = runs.c.state == RunState.RUNNING
        if not self._database.is_sqlite:
            left = left & (runs.c.claimed_by == self._installation)

        def work(connection: Connection) -> list[RunRow]:
            found = column_values(connection, select(runs.c.sequence).where(left).order_by(runs.c.sequence))
            ended = {"state": RunState.INTERRUPTED, "finished": self._clock()}
            connection.execute(update(runs).where(runs.c.sequence.in_(found)).values(**ended))
            statement = select_runs().where(runs.c.sequence.in_(found)).order_by(runs.c.sequence)
            return list(load_runs(connection, statement))

        interrupted = self._write(work)
        self.sweep()
        return interrupted

    def backup(self, to: Path) -> None:
        """Write a consistent copy of database and files to a new folder, which opens as a data folder.

        Work goes on meanwhile. The folder gets its name when the copy is complete, so a backup that was cut off is not one.
        """
        if to.exists():
            raise Conflict(f"{to} is already here; a backup needs a new folder.")
        unfinished = to.with_name(to.name + ".unfinished")
        try:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            with self._keeping_files():
                copy = self._copy_file if self._database.is_sqlite else self._copy_rows
                copy(unfinished)
                self._copy_artifacts(unfinished)
            _sync_tree(unfinished)
            unfinished.rename(to)
        except OSError as error:
            raise from_system(error, "writing the backup") from error

    def integrity(self) -> list[str]:
        """Everything that is wrong with the store, each a sentence; empty when it is whole."""
        with self._read() as connection, decoding():
            found = list(_database_faults(connection)) if self._database.is_sqlite else []
            found += _chain_faults(connection)
            found += self._file_faults(connection)
        return found

    def _copy_file(self, folder: Path) -> None:
        raw = self._database.reader.raw_connection()
        try:
            with naming_errors(), contextlib.closing(sqlite3.connect(folder / FILE_NAME)) as target:
                source = raw.driver_connection
                cast(sqlite3.Connection, source).backup(target)
        finally:
            raw.close()

    def _copy_rows(self, folder: Path) -> None:
        """A server's rows as an SQLite file: the schema is the same."""
        target = Database(None, folder)
        try:
            with self._read() as source, target.writer.begin() as sink:
                for table in metadata.sorted_tables:
                    for page in source.execution_options(yield_per=_BATCH).execute(select(table)).mappings().partitions():
                        sink.execute(insert(table), [dict(row) for row in page])
                _index_all(sink)
        finally:
            target.dispose()

    def _copy_artifacts(self, folder: Path) -> None:
        copied = Database(None, folder)
        try:
            with copied.read() as connection:
                digests = column_values(connection, select(artifacts.c.digest).distinct())
        finally:
            copied.dispose()
        for digest in digests:
            target = folder / "artifacts" / digest[:2] / digest
            target.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # a file that is missing here is missing there: `integrity` names it
                shutil.copyfile(self._files.path(digest), target)

    def _file_faults(self, connection: Connection) -> list[str]:
        found = []
        for row in connection.execute(select(artifacts.c.digest).distinct()):
            try:
                if not self._files.is_whole(row.digest):
                    found.append(f"The file of artifact {row.digest} is not the one that was stored.")
            except NotFound:
                found.append(f"The file of artifact {row.digest} is missing.")
        return found


def _database_faults(connection: Connection) -> Iterator[str]:
    for (message,) in connection.execute(text("PRAGMA integrity_check")):
        if message != "ok":
            yield f"The database says: {message}."
    for row in connection.execute(text("PRAGMA foreign_key_check")):
        yield f"A row of {row[0]} points to a row of {row[2]} that is not here."


def _chain_faults(connection: Connection) -> list[str]:
    found: list[str] = []
    previous = FIRST_PREVIOUS
    links = select(records.c.sequence, records.c.previous, records.c.digest, records.c.envelope)
    for number, row in enumerate(connection.execute(links.order_by(records.c.sequence)), start=1):
        if row.sequence != number:
            return [*found, f"Record {number} is missing."]
        if row.previous != previous:
            found.append(f"Record {number} does not follow the one before it.")
        if hashlib.sha256(row.envelope).hexdigest() != row.digest:
            found.append(f"Record {number} has been changed.")
        previous = row.digest
    return found


def _sync_tree(folder: Path) -> None:
    """Return when every file and folder below is on the device."""
    operations = FileOperations()
    for parent, _folders, names in os.walk(folder, topdown=False):
        for name in names:
            with open(Path(parent, name), "rb+") as file:
                operations.sync(file.fileno())
        operations.sync_folder(Path(parent))


def _index_all(connection: Connection) -> None:
    details = run_details.c
    statement = select(
        runs.c.sequence, runs.c.method, details.method_title, details.title, details.note, details.tags, details.inputs, details.settings
    ).join_from(runs, run_details, runs.c.sequence == details.sequence)
    rows = [row._asdict() for row in fetch(connection, statement)]
    search.index(connection, ((row["sequence"], search.document(row)) for row in rows))
