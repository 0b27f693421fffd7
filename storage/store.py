"""The store: one object for everything the studio keeps. Thread-safe; every change goes through one writer.

Its parts are `runs` (runs, comparisons), `queue`, `records` (artifacts, signed records), `history`, `presets` (presets, drafts,
checkpoints, digests) and `upkeep` (recovery, backup, checks). The data folder holds `diptych.sqlite3` (unless a database server
is named) and `artifacts/`.

It deliberately is not for workers: they send what they have to the process that owns the store.
"""

import re
import secrets
from pathlib import Path

from storage.artifacts import FileOperations
from storage.core import Clock, system_clock
from storage.database import Database
from storage.errors import Conflict, Damaged, Full, NewerVersion, NotFound, StoreError, Unavailable, from_system
from storage.history import History
from storage.presets import Presets
from storage.queue import Queue
from storage.records import Records
from storage.runs import Runs
from storage.upkeep import Upkeep

_INSTALLATION = re.compile(r"[0-9a-f]{32}")


class Store(Runs, Queue, Records, History, Presets, Upkeep):
    """An open store. Close it, or use it as a context manager."""

    @classmethod
    def open(cls, url: str | None, data: Path, *, operations: FileOperations | None = None, clock: Clock = system_clock) -> "Store":
        """Open the store in folder `data`, making or migrating it as needed.

        `url` is a PostgreSQL address; None keeps everything in one SQLite file in `data`. `operations` are the file operations,
        replaced where a failing disk is tried; `clock` gives the times shown with rows, by which nothing is ordered.
        """
        try:
            data.mkdir(parents=True, exist_ok=True)
            installation = _installation(data / "store.id")
        except OSError as error:
            raise from_system(error, "opening the data folder") from error
        database = Database(url, data)
        try:
            return cls(database, data, installation, operations, clock)
        except BaseException:
            database.dispose()
            raise

    def close(self) -> None:
        """Finish the waiting writes and close every connection."""
        self._writer.close()
        self._database.dispose()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _installation(file: Path) -> str:
    """The random name of this data folder, by which its runs are told from those of other machines on the same server."""
    try:
        with file.open("x", encoding="ascii") as new:
            new.write(secrets.token_hex(16))
    except FileExistsError:
        pass
    name = file.read_text(encoding="ascii", errors="replace").strip()
    if not _INSTALLATION.fullmatch(name):
        name = secrets.token_hex(16)
        file.write_text(name, encoding="ascii")
    return name


__all__ = ["Conflict", "Damaged", "Full", "NewerVersion", "NotFound", "Store", "StoreError", "Unavailable"]
