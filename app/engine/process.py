"""A worker process seen from the engine: started, spoken to, listened to, and ended with everything it started.

What it does: starts `python -m app.engine.worker` in its own process group, sends commands, delivers every message to one function from a
reader thread, keeps the last lines of its log, and says in words how it ended.
Where: `WorkerLink` is the shape; `app.engine.ray` has the other one, a worker on a cluster.
What it does not do: it knows nothing of runs.
"""

import fcntl
import logging
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from app.engine.guard import worker_environment
from app.engine.wire import Message, WireError, read_message, write_message
from app.engine.worker import WorkerOptions

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
LOG_LINES = 200
PIPE_BYTES = 2**20


class WorkerLink(Protocol):
    """A worker, wherever it is. `deliver` gets (link, message, blobs); a message of type "gone" is the last one."""

    pid: int

    def send(self, message: Message) -> None:
        """Send a command; a worker that is gone is noticed by its "gone" message, not here."""

    def kill(self) -> None:
        """End it now, with all it started."""

    def log(self) -> str:
        """The last lines it wrote."""


Deliver = Callable[[WorkerLink, Message, list[bytes]], None]
Spawn = Callable[[WorkerOptions, Deliver], WorkerLink]


class WorkerProcess:
    """A worker on this machine."""

    def __init__(self, options: WorkerOptions, deliver: Deliver, folder: Path) -> None:
        self._deliver = deliver
        self._log: deque[str] = deque(maxlen=LOG_LINES)
        self._sending = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "app.engine.worker", options.model_dump_json()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            cwd=folder,
            env=worker_environment(ROOT),
        )
        self._commands, self._reports = cast(BinaryIO, self._process.stdin), cast(BinaryIO, self._process.stdout)
        _widen(self._reports)
        self.pid = self._process.pid
        self._listener = threading.Thread(target=self._listen, name=f"worker-{self.pid}", daemon=True)
        self._logger = threading.Thread(target=self._keep_log, name=f"worker-{self.pid}-log", daemon=True)
        self._logger.start()
        self._listener.start()

    def send(self, message: Message) -> None:
        """See WorkerLink."""
        with self._sending:
            try:
                write_message(self._commands, message)
            except (BrokenPipeError, ValueError):
                logger.debug("worker %s is gone", self.pid)

    def kill(self) -> None:
        """See WorkerLink. Safe to call twice."""
        if self._process.returncode is None:
            self._kill_group()

    def join(self, seconds: float) -> None:
        """Wait until the process and its threads have ended."""
        self._listener.join(seconds)
        self._logger.join(seconds)

    def log(self) -> str:
        """See WorkerLink."""
        return "\n".join(self._log)

    def _kill_group(self) -> None:
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        except PermissionError:
            self._process.kill()

    def _listen(self) -> None:
        try:
            while (received := read_message(self._reports)) is not None:
                self._deliver(self, *received)
        except (WireError, OSError, ValueError) as error:
            logger.error("worker %s sent nonsense: %s", self.pid, error)
        # Whatever ended the stream, the process and its children must go: a worker without a stream is of no use.
        try:
            self._process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            logger.debug("worker %s closed its stream and still runs", self.pid)
        self._kill_group()
        code = self._process.wait()
        self._logger.join(1.0)
        for stream in (self._commands, self._reports):
            try:
                stream.close()
            except BrokenPipeError:
                logger.debug("worker %s left commands unread", self.pid)
        self._deliver(self, {"type": "gone", "how": how_it_ended(code), "signal": -code if code < 0 else None}, [])

    def _keep_log(self) -> None:
        with cast(BinaryIO, self._process.stderr) as stream:
            for line in iter(lambda: stream.readline(4096), b""):
                self._log.append(line.decode("utf-8", "replace").rstrip())


def how_it_ended(code: int) -> str:
    """An exit status in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _widen(pipe: BinaryIO) -> None:
    """Let a worker be far ahead of its reader before it has to wait; only Linux can."""
    resize = getattr(fcntl, "F_SETPIPE_SZ", None)
    if resize is not None:
        with suppress(OSError):  # beyond the user's limit: the default works too
            fcntl.fcntl(pipe, resize, PIPE_BYTES)
