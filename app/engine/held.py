"""The weights a worker keeps ready, and which leave first.

What it does: loads a method's model once for a (method, checkpoint, device, dtype), remembers how much memory it took, and drops the least
recently used ones when memory is needed or they have been idle for long.
Where: this is a least-recently-used cache whose budget is the machine's free memory.
What it does not do: it decides nothing about runs, and never frees a model that the caller is using.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.engine.runtime import give_memory_back, resident_bytes
from backends.contract import Checkpoint

Key = tuple[str, str, str, str]
"""Method, checkpoint as JSON (so that another folder under the same key is another model), device, dtype."""


@dataclass
class Held:
    """One loaded model."""

    method: str
    checkpoint: str
    device: str
    dtype: str
    model: Any
    resident_bytes: int
    used: float


class HeldModels:
    """Loaded models by key, least recently used first."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._held: dict[Key, Held] = {}

    def get(self, key: Key) -> Any | None:
        """The model of `key`, marked as used now; None if it is not held."""
        held = self._held.pop(key, None)
        if held is None:
            return None
        self._held[key] = held
        held.used = time.monotonic()
        return held.model

    def load(self, key: Key, checkpoint: Checkpoint, load: Callable[[], Any]) -> Any:
        """Load and keep. What it took is measured, and is at least what the checkpoint says (mapped files grow later)."""
        before = resident_bytes(key[2])
        model = load()
        taken = max(resident_bytes(key[2]) - before, checkpoint.memory_bytes or checkpoint.bytes)
        self._held[key] = Held(key[0], checkpoint.key, key[2], key[3], model, taken, time.monotonic())
        return model

    def make_room(self, key: Key, enough: Callable[[], bool]) -> None:
        """Drop the least recently used models, never `key`, until `enough` or none is left."""
        for victim in [other for other in self._held if other != key]:
            if enough():
                return
            self._drop([victim])

    def drop(self, method: str = "", checkpoint: str = "") -> None:
        """Drop what matches; an empty name matches all."""
        self._drop([key for key, one in self._held.items() if method in ("", one.method) and checkpoint in ("", one.checkpoint)])

    def drop_key(self, key: Key) -> None:
        """Drop one model, if it is held."""
        self._drop([key] if key in self._held else [])

    def drop_idle(self) -> bool:
        """Drop what has not been used for the idle time; whether anything was."""
        old = time.monotonic() - self._idle_seconds
        victims = [key for key, one in self._held.items() if one.used < old]
        self._drop(victims)
        return bool(victims)

    def listed(self) -> list[dict[str, Any]]:
        """What is held, in the shape of `LoadedModel`."""
        now = time.monotonic()
        return [
            {
                "method": one.method,
                "checkpoint": one.checkpoint,
                "device": one.device,
                "dtype": one.dtype,
                "resident_bytes": one.resident_bytes,
                "idle_seconds": round(now - one.used, 1),
            }
            for one in self._held.values()
        ]

    def _drop(self, keys: list[Key]) -> None:
        for key in keys:
            del self._held[key]
        if keys:
            give_memory_back()
