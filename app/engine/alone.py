"""Lets only one engine work on a data folder: a second one would take the first one's running runs for interrupted.

The operating system holds the lock, so that it ends with the process however that ends.

It deliberately does not guard reading: a folder can be opened without an engine at any time.
"""

from pathlib import Path

from filelock import FileLock, Timeout

from app.errors import ResourceError


def hold(data: Path) -> FileLock:
    """The lock of a data folder, taken; ResourceError if another engine has it or the folder cannot be written."""
    lock = FileLock(data / "engine.lock", timeout=0, thread_local=False, is_singleton=False)
    try:
        lock.acquire()
    except Timeout as error:
        next_step = "Use the page that is open, close it first, or start with --data on another folder."
        raise ResourceError(f"A studio is already open on {data}.", "Two of them would disturb each other's runs.", next_step) from error
    except PermissionError as error:
        raise unwritable(data, error) from error
    return lock


def unwritable(data: Path, error: OSError) -> ResourceError:
    """What to say of a data folder that nothing can be written to."""
    return ResourceError(f"{data} cannot be written.", error.strerror or str(error), "Start with --data on another folder.")
