"""Removing artifact files that no row names.

Files are removed only while the write lock is held and the database says that no row names them; whoever adds an artifact looks
for its file under the same lock. So no row can ever name a file that a sweep took.

It deliberately waits for nobody: while a backup copies files none is removed, and the next sweep takes what is left.
"""

import contextlib
from collections.abc import Sequence

import filelock
from sqlalchemy import Connection, select

from storage.core import Core
from storage.rows import column_values
from storage.schema import artifacts

_BATCH = 500


class Sweeping(Core):
    """The store's part for files nobody needs."""

    def sweep(self) -> int:
        """Remove files whose writing was never completed and files no row names; how many."""
        unfinished = self._write(lambda _connection: self._files.remove_unfinished())
        return unfinished + self._remove_unreferenced(tuple(self._files.digests()))

    def _remove_unreferenced(self, digests: Sequence[str]) -> int:
        try:
            with self._keeping_files(wait=False):
                return sum(self._remove_batch(digests[start : start + _BATCH]) for start in range(0, len(digests), _BATCH))
        except filelock.Timeout:
            return 0

    def _remove_batch(self, digests: Sequence[str]) -> int:
        def work(connection: Connection) -> int:
            named = set(column_values(connection, select(artifacts.c.digest).where(artifacts.c.digest.in_(digests))))
            orphans = [digest for digest in digests if digest not in named]
            for digest in orphans:
                self._files.remove(digest)
            return len(orphans)

        return self._write(work)

    def _keeping_files(self, *, wait: bool = True) -> contextlib.AbstractContextManager[object]:
        """While this is held, no process removes a file of this data folder."""
        lock = filelock.FileLock(self._data / "files.lock", thread_local=False, is_singleton=False)
        return lock.acquire(blocking=wait)
