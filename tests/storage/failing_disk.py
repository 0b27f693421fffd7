"""A disk on which the n-th step fails: for artifact files, and for SQLite's own writes.

SQLite lets the system calls of its file layer be replaced, which is how its authors test it; here `pwrite64`, `pwrite`, `write`
and `ftruncate` of the library Python uses are replaced by ones that fail once their turn has come.

It deliberately fails from the n-th step on, not only at it, unless told otherwise: a full disk stays full.
"""

import _sqlite3
import ctypes
import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.artifacts import FileOperations

_CALL = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, use_errno=True)
_SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_GET = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_POINTERS = (
    "xOpen xDelete xAccess xFullPathname xDlOpen xDlError xDlSym xDlClose xRandomness xSleep xCurrentTime xGetLastError xCurrentTimeInt64"
)
_WRITING = (b"pwrite64", b"pwrite", b"write", b"ftruncate")


class FailurePlan:
    """Counts steps and says when they fail."""

    def __init__(self, first: int | None, error: int, lasting: bool = True) -> None:
        self.error = error
        self.steps = 0
        self.failed = 0
        self._first = first
        self._lasting = lasting
        self._lock = threading.Lock()

    def heal(self) -> None:
        """From now on every step succeeds."""
        self._first = None

    def fails_now(self) -> bool:
        with self._lock:
            self.steps += 1
            fails = self._first is not None and (self.steps >= self._first if self._lasting else self.steps == self._first)
            self.failed += fails
            return fails


class FailingOperations(FileOperations):
    """File operations that follow a plan; a write takes a few bytes at a time, as it may."""

    def __init__(self, plan: FailurePlan) -> None:
        self._plan = plan

    def _step(self) -> None:
        if self._plan.fails_now():
            raise OSError(self._plan.error, os.strerror(self._plan.error))

    def write(self, descriptor: int, data: memoryview) -> int:
        self._step()
        return super().write(descriptor, data[: max(len(data) // 3, 1)])

    def sync(self, descriptor: int) -> None:
        self._step()
        super().sync(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        self._step()
        super().rename(source, target)

    def sync_folder(self, folder: Path) -> None:
        self._step()
        super().sync_folder(folder)

    def remove(self, path: Path) -> None:
        self._step()
        super().remove(path)


class _FileLayer(ctypes.Structure):
    """SQLite's table of its file layer, version 3."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("file_size", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("application", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in _POINTERS.split()),
        ("set_call", _SET),
        ("get_call", _GET),
    ]


@contextmanager
def failing_sqlite(plan: FailurePlan) -> Iterator[None]:
    """Within this, the writes of every SQLite database in this process follow the plan."""
    library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    library.sqlite3_vfs_find.restype = ctypes.c_void_p
    address = library.sqlite3_vfs_find(None)
    layer = _FileLayer.from_address(address)
    assert layer.version >= 3, "this SQLite does not let its system calls be replaced"
    replaced = []
    for name in _WRITING:
        original = layer.get_call(address, name)
        if original:
            failing = _failing_call(original, plan)
            replaced.append((name, failing))
            layer.set_call(address, name, ctypes.cast(failing, ctypes.c_void_p))
    assert replaced
    try:
        yield
    finally:
        for name, _ in replaced:
            layer.set_call(address, name, None)  # none means: the original again


def _failing_call(original: int, plan: FailurePlan) -> "ctypes._FuncPointer":
    call = _CALL(original)

    def maybe(descriptor: int, buffer: int, size: int, offset: int) -> int:
        if plan.fails_now():
            ctypes.set_errno(plan.error)
            return -1
        return int(call(descriptor, buffer, size, offset))

    return _CALL(maybe)


FULL = errno.ENOSPC
BROKEN = errno.EIO
