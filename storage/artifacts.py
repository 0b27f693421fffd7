"""Artifact files: named by the SHA-256 of their bytes, whole or absent.

A file is written under a random name in `incoming/`, synced, renamed to its digest, and the folder is synced; only then may a
row name it. `FileOperations` is the one seam to the operating system, so that a test can make any single step fail.

It deliberately knows no rows: which files are still wanted is told by the caller.
"""

import contextlib
import hashlib
import logging
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from storage.errors import NotFound, from_system

_log = logging.getLogger(__name__)
_DIGEST = re.compile(r"[0-9a-f]{64}")


class FileOperations:
    """The steps that can fail."""

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write some of `data`, return how much."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Return when the file's bytes are on the device."""
        os.fsync(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        """Give the file its final name at once."""
        os.replace(source, target)

    def sync_folder(self, folder: Path) -> None:
        """Return when the folder's names are on the device."""
        if os.name == "nt":  # a folder cannot be opened there, and a rename is already journalled
            return
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def remove(self, path: Path) -> None:
        """Remove the file."""
        path.unlink(missing_ok=True)


class ArtifactFiles:
    """The files below one folder."""

    def __init__(self, folder: Path, operations: FileOperations | None = None) -> None:
        self.folder = folder
        self._incoming = folder / "incoming"
        self._operations = operations or FileOperations()
        try:
            self._incoming.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise from_system(error, "making the artifact folder") from error

    def path(self, digest: str) -> Path:
        """Where the file of this digest is or would be. The digest is checked, so no other path can be named."""
        if not _DIGEST.fullmatch(digest):
            raise NotFound("artifact", digest)
        return self.folder / digest[:2] / digest

    def holds(self, digest: str, size: int) -> bool:
        """Is the file here, in full length?"""
        try:
            return self.path(digest).stat().st_size == size
        except OSError:
            return False

    def add(self, data: bytes) -> str:
        """Keep these bytes and return their digest. Returns only when file and name are on the device.

        A sweep may take the unfinished file away; then there is none, as `holds` tells whoever has the write lock.
        """
        digest = hashlib.sha256(data).hexdigest()
        target = self.path(digest)
        try:
            self._make_folder(target.parent)
            if not self.holds(digest, len(data)):
                self._write(target, data)
            self._operations.sync_folder(target.parent)
        except FileNotFoundError:
            _log.debug("an unfinished file was swept away")
        except OSError as error:
            raise from_system(error, "writing an artifact") from error
        return digest

    def read(self, digest: str) -> bytes:
        """The bytes of this digest; raises NotFound when the file is gone, Unavailable when it cannot be read."""
        try:
            return self.path(digest).read_bytes()
        except FileNotFoundError:
            raise NotFound("artifact file", digest) from None
        except OSError as error:
            raise from_system(error, "reading an artifact") from error

    def remove(self, digest: str) -> None:
        """Remove the file of this digest, if it is here."""
        try:
            self._operations.remove(self.path(digest))
        except OSError as error:
            raise from_system(error, "removing an artifact") from error

    def digests(self) -> Iterator[str]:
        """The digests of all files here."""
        for path in self.folder.glob("[0-9a-f][0-9a-f]/*"):
            if _DIGEST.fullmatch(path.name):
                yield path.name

    def is_whole(self, digest: str) -> bool:
        """Are the file's bytes those of its name?"""
        return hashlib.sha256(self.read(digest)).hexdigest() == digest

    def unfinished(self) -> tuple[Path, ...]:
        """Files whose writing was never completed."""
        return tuple(self._incoming.iterdir())

    def remove_unfinished(self) -> int:
        """Remove what `unfinished` lists and return how many. A writer at work elsewhere notices and writes again."""
        left = self.unfinished()
        for path in left:
            try:
                self._operations.remove(path)
            except OSError as error:
                raise from_system(error, "removing an unfinished file") from error
        return len(left)

    def _make_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            folder.mkdir(exist_ok=True)
            self._operations.sync_folder(self.folder)

    def _write(self, target: Path, data: bytes) -> None:
        temporary = self._incoming / secrets.token_hex(16)
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[self._operations.write(descriptor, rest) :]
                self._operations.sync(descriptor)
            finally:
                os.close(descriptor)
            self._operations.rename(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
