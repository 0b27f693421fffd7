"""The one writer: a thread with a queue, through which every change of the store goes.

Each piece of work is one transaction that holds the database's write lock from its first statement (`BEGIN IMMEDIATE` on
SQLite, an advisory lock on PostgreSQL, both emitted by `storage.database`), so a transaction never has to be upgraded and
never fails half-way because of another writer, in this process or in another.

It deliberately repeats no work: only waiting for the lock is repeated, and nothing has been done before that.
"""

import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, RootTransaction
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from storage.errors import Unavailable, naming_errors

_log = logging.getLogger(__name__)
Result = TypeVar("Result")
Work = Callable[[Connection], Any]


class Writer:
    """Runs work in order, one transaction each."""

    def __init__(self, engine: Engine, patience_seconds: float = 60.0) -> None:
        self._engine = engine
        self._patience = patience_seconds
        self._jobs: queue.SimpleQueue[tuple[Work, Future[Any]] | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
        self._thread.start()

    def do(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` in a transaction and return its result once committed; an exception rolls all of it back."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("a write was asked for inside a write")
        result: Future[Result] = Future()
        with self._closing:
            if self._closed:
                raise Unavailable("The store is closed.")
            self._jobs.put((work, result))
        return result.result()

    def close(self) -> None:
        """Finish the waiting work, then stop."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, result = job
            try:
                result.set_result(self._transaction(work))
            except BaseException as error:  # handed to the caller, who waits for it
                result.set_exception(error)
            del job, work, result  # keep no artifact bytes alive while idle

    def _transaction(self, work: Callable[[Connection], Result]) -> Result:
        with naming_errors(), self._engine.connect() as connection:
            transaction = self._begin(connection)
            try:
                outcome = work(connection)
                transaction.commit()
            except BaseException as error:
                if isinstance(error, DBAPIError) and not isinstance(error, IntegrityError):
                    connection.invalidate()  # after a failed write the driver's own state is not to be trusted
                transaction.rollback()
                raise
            return outcome

    def _begin(self, connection: Connection) -> RootTransaction:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return connection.begin()
            except OperationalError as error:
                if not _locked(error) or time.monotonic() > deadline:
                    raise
                _log.debug("waiting for the write lock")


def _locked(error: OperationalError) -> bool:
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
