"""Opening a database: engines for reading and writing, pragmas, write lock, and the step to the current schema.

SQLite: write-ahead log, synchronous=FULL (a commit that returned survives a power cut), foreign keys, 5 s busy timeout. The
driver's own transaction control is off; reads open a plain transaction (one snapshot for all statements of a read), writes
begin with `BEGIN IMMEDIATE`. PostgreSQL: a write begins by taking one advisory lock, which gives the same order of writers.

It deliberately holds no statement about rows.
"""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import QueuePool

from storage.errors import Unavailable, from_system, naming_errors

_log = logging.getLogger(__name__)

FILE_NAME = "diptych.sqlite3"
HEAD = "0002"
"""The newest migration. A database already there is opened without loading the migration machinery."""

BUSY_MILLISECONDS = 5000
LOG_LIMIT_BYTES = 32 * 1024 * 1024
_LOCK_SECONDS = 120
_WRITE_LOCK = 0x44495054
_READER_OPTIONS = r"-c default_transaction_read_only=on -c default_transaction_isolation=repeatable\ read"
_WRITER_OPTIONS = "-c lock_timeout=60000 -c idle_in_transaction_session_timeout=60000"
"""A machine that hangs in the middle of a write loses the write lock after a minute."""


class Database:
    """Two engines on one database: `reader` for snapshots, `writer` for the one writing thread."""

    def __init__(self, url: str | None, data: Path) -> None:
        self.url = _address(url, data)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.reader = _engine(self.url, writes=False)
        self.writer = _engine(self.url, writes=True)
        self._lock_file = data / "store.lock"
        self._disposed = False
        try:
            self._prepare()
        except BaseException:
            self.dispose()
            raise

    @property
    def file(self) -> Path | None:
        """The database file, when it is one."""
        return Path(self.url.database) if self.is_sqlite and self.url.database else None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection inside a read transaction; errors of the driver leave as StoreError."""
        if self._disposed:
            raise Unavailable("The store is closed.")
        with naming_errors(), self.reader.connect() as connection, connection.begin():
            yield connection

    def dispose(self) -> None:
        """Close every connection."""
        self._disposed = True
        self.reader.dispose()
        self.writer.dispose()

    def _prepare(self) -> None:
        try:
            # Several processes may start at once: changing the journal mode and the schema is for one of them.
            with filelock.FileLock(self._lock_file, timeout=_LOCK_SECONDS), naming_errors():
                if self.is_sqlite:
                    _use_write_ahead_log(self.writer)
                self._migrate()
        except OSError as error:
            raise from_system(error, "locking the data folder") from error

    def _migrate(self) -> None:
        with self.writer.connect() as connection:
            found = current_version(connection)
        if found == HEAD:
            return
        from storage.migrations import upgrade  # loading the migration machinery costs a third of a second

        _log.info("bringing the database from version %s to %s", found or "none", HEAD)
        with self.writer.begin() as connection:
            upgrade(connection)


def current_version(connection: Connection) -> str | None:
    """The migration the database is at; None for an empty one."""
    if not connection.dialect.has_table(connection, "alembic_version"):
        return None
    version: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return version


def _address(url: str | None, data: Path) -> URL:
    if url is None:
        return URL.create("sqlite", database=str(data / FILE_NAME))
    try:
        address = make_url(url)
        backend = address.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise Unavailable("The database address cannot be read.", "Write it as postgresql+psycopg://user@host/name.") from error
    if backend not in ("sqlite", "postgresql"):
        raise Unavailable(f"Databases of the kind {backend} are not supported.", "Use SQLite or PostgreSQL.")
    return address.set(drivername="postgresql+psycopg") if backend == "postgresql" else address


def _engine(url: URL, *, writes: bool) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, poolclass=QueuePool, pool_size=1 if writes else 8, max_overflow=0 if writes else 32)
        event.listen(engine, "connect", _connect_writer if writes else _connect_reader)
        event.listen(engine, "begin", _begin_immediate if writes else _begin_snapshot)
        return engine
    try:
        engine = create_engine(
            url,
            pool_size=1 if writes else 8,
            max_overflow=0 if writes else 32,
            pool_pre_ping=True,
            connect_args={"options": _WRITER_OPTIONS if writes else _READER_OPTIONS},
        )
    except ImportError as error:
        raise Unavailable("The PostgreSQL driver is not installed.", "Install the extra named postgresql.") from error
    if writes:
        event.listen(engine, "begin", _take_advisory_lock)
    return engine


def _connect_writer(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute(f"PRAGMA journal_size_limit = {LOG_LIMIT_BYTES}")
    cursor.close()


def _connect_reader(connection: sqlite3.Connection, record: Any) -> None:
    _connect_writer(connection, record)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA cache_size = -16384")


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_snapshot(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _take_advisory_lock(connection: Connection) -> None:
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITE_LOCK})")


def _use_write_ahead_log(engine: Engine) -> None:
    raw = engine.raw_connection()
    try:
        mode = raw.driver_connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]  # type: ignore[union-attr]
    finally:
        raw.close()
    if mode != "wal":
        raise Unavailable("The data folder cannot hold a write-ahead log.", "Choose a folder on a local disk.")
