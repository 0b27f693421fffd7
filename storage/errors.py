"""The store's errors, and how failures of the database drivers and of the file system become them.

    StoreError
    ├─ NotFound           no row of this id
    ├─ Conflict           a row of this id or name is already here
    ├─ Full               no space left; nothing half-written remains
    └─ Unavailable        the store cannot be used; `reason` says why, `hint` what to do
       ├─ Damaged         the database file is not whole
       └─ NewerVersion    the database was written by a newer version

It deliberately never leaks a driver's exception: whoever calls the store handles these names only.
"""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

CHECK_DISK = "Check the disk and the rights of the data folder."
BACKUP_HINT = "Restore the latest backup into an empty data folder, or run the doctor command to see what is damaged."


class StoreError(Exception):
    """The root."""


class NotFound(StoreError):
    """No row of this id."""

    def __init__(self, what: str, key: object) -> None:
        super().__init__(f"There is no {what} {key}.")
        self.what = what
        self.key = key


class Conflict(StoreError):
    """A row of this id or name is already here, or a row it points to is not."""


class Full(StoreError):
    """No space left on the device; nothing half-written remains."""


class Unavailable(StoreError):
    """The store cannot be used."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(" ".join(part for part in (reason, hint) if part))
        self.reason = reason
        self.hint = hint


class Damaged(Unavailable):
    """The database file is not whole."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, BACKUP_HINT)


class NewerVersion(Unavailable):
    """The database was written by a newer version of the studio."""


_SQLITE_REASONS = {
    sqlite3.SQLITE_IOERR: "The disk reported an error while the database was read or written.",
    sqlite3.SQLITE_READONLY: "The database file is read-only.",
    sqlite3.SQLITE_CANTOPEN: "The database file cannot be opened.",
    sqlite3.SQLITE_PERM: "The database file may not be opened by this user.",
    sqlite3.SQLITE_AUTH: "The database file may not be opened by this user.",
    sqlite3.SQLITE_BUSY: "Another program kept the database locked.",
    sqlite3.SQLITE_LOCKED: "Another connection kept the database locked.",
    sqlite3.SQLITE_NOMEM: "The machine has no memory left for the database.",
}
_SQLSTATE_REASONS = {
    "08": "The connection to the database server was lost.",
    "28": "The database server refused this user.",
    "3D": "The database server has no database of this name.",
    "53": "The database server is out of resources.",
    "57": "The database server is shutting down.",
    "58": "The database server reported a system error.",
}


@contextmanager
def naming_errors() -> Iterator[None]:
    """Give errors of the database and its drivers their names here. A value that cannot be stored stays the caller's error."""
    try:
        yield
    except (DBAPIError, PoolTimeout, sqlite3.Error) as error:
        raise from_driver(error) from error
    except UnicodeDecodeError as error:  # a damaged file's names make the driver's own message undecodable
        raise Damaged("The database file is damaged: it holds text that is no text.") from error


def from_driver(error: Exception) -> StoreError:
    """The store's name for an exception of SQLAlchemy or of a driver below it."""
    if isinstance(error, PoolTimeout):
        return Unavailable("All connections to the database are in use.", "Try again in a moment.")
    original = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    if isinstance(original, sqlite3.Error):
        return _from_sqlite(original)
    if isinstance(error, IntegrityError):
        return Conflict(f"The database refused the row: {original}.")
    return _from_server(original)


def _from_sqlite(error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    # The index of the log is a file that grows by whole pages and is never synced: only a full disk stops it.
    if code == sqlite3.SQLITE_FULL or getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHMSIZE:
        return Full("No space is left for the database.")
    if isinstance(error, sqlite3.IntegrityError):
        return Conflict(f"The database refused the row: {error}.")
    if code in _SQLITE_REASONS:
        return Unavailable(_SQLITE_REASONS[code], CHECK_DISK)
    # What is left is a malformed file: a statement of ours that once worked no longer fits the schema or the pages.
    return Damaged(f"The database file is damaged: {error}.")


def _from_server(error: BaseException) -> StoreError:
    state = getattr(error, "sqlstate", None) or ""
    if state == "53100":
        return Full("No space is left on the database server.")
    if state.startswith("XX"):
        return Damaged(f"The database server found damaged data: {error}.")
    reason = _SQLSTATE_REASONS.get(state[:2], f"The database server answered: {error}.")
    return Unavailable(reason, "Check that the server runs and that the address is right.")


def from_system(error: OSError, doing: str) -> StoreError:
    """The store's name for a failed file operation; `doing` completes "... failed"."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Full(f"No space is left: {doing} failed.")
    return Unavailable(f"{doing[:1].upper()}{doing[1:]} failed: {error.strerror or error}.", CHECK_DISK)
