"""The two functions of a method, and what the engine hands to them.

A method's folder holds `method.py` with one value `METHOD` that has `load` and `run`. It is imported only in a worker.

Deliberately absent: access to the store, to other runs, or to the network.
"""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from backends.contract.card import ResolvedCheckpoint
from backends.contract.errors import Cancelled, DeadlineExceeded
from backends.contract.events import Event


class Context:
    """What a run may use: its seed, device, number format, a scratch folder, and the two ways it can be ended."""

    def __init__(self, *, seed: int, device: str, scratch: Path, dtype: str = "float32", seconds_limit: float | None = None,
                 stop: threading.Event | None = None) -> None:  # fmt: skip
        self.seed = seed
        self.device = device
        self.dtype = dtype
        self.scratch = scratch
        self._stop = stop or threading.Event()
        self._deadline = None if seconds_limit is None else time.monotonic() + seconds_limit
        self._seconds_limit = seconds_limit

    def check(self) -> None:
        """Call once a step: raises Cancelled after a stop, DeadlineExceeded after the time limit."""
        if self._stop.is_set():
            raise Cancelled
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise DeadlineExceeded(
                f"The time limit of {self._seconds_limit:g} s passed.", "The run was stopped there.", "Raise the limit or ask for less."
            )


class Method(Protocol):
    """What `METHOD` in a method's `method.py` must be."""

    def load(self, checkpoint: ResolvedCheckpoint, device: str, dtype: str) -> Any:
        """Read the weights strictly and return the model; raises CheckpointError naming what is missing or unexpected."""

    def run(self, model: Any, inputs: Any, settings: Any, context: Context) -> Iterator[Event]:
        """Yield events until done. Calls `context.check()` once a step; on Cancelled may yield partial artifacts, then re-raises."""
