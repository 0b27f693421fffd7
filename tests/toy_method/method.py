"""The toy's two functions: read the table, turn the letters.

Where: letter n becomes table[(n + shift) mod 26].

It deliberately waits on the run's own check between steps, so that a stop is obeyed within one.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from backends.contract import (
    Artifact,
    Cancelled,
    CheckpointError,
    Context,
    Event,
    Metric,
    Preview,
    Produced,
    Progress,
    ResolvedCheckpoint,
    Step,
)

_A = ord("a")


class Rotation:
    """See the module."""

    def load(self, checkpoint: ResolvedCheckpoint, device: str, dtype: str) -> np.ndarray:
        folder = Path(checkpoint.paths["base"])
        size = json.loads((folder / "config.json").read_text(encoding="utf-8"))["letters"]
        weights = load_file(folder / "model.safetensors")
        if set(weights) != {"table"} or weights["table"].shape != (size,):
            raise CheckpointError("The table does not fit its config.", f"Found {sorted(weights)}.", "Use a folder with one table.")
        return weights["table"]

    def run(self, model: np.ndarray, inputs: Any, settings: Any, context: Context) -> Iterator[Event]:
        letters = list(inputs.prompt)[: settings.limit]
        total = -(-len(letters) // settings.batch)
        done: list[str] = []
        try:
            for index in range(total):
                context.check()
                self._wait(settings.pause, context)
                done += [turned(letter, model, settings) for letter in letters[len(done) : len(done) + settings.batch]]
                yield Step(index=index + 1, data={"letters": len(done)})
                yield Progress(phase="turn", step=index + 1, total=total)
                yield Preview(artifact=artifact("".join(done), partial=True))
        except Cancelled:
            if done:
                yield Produced(artifact=artifact("".join(done), partial=True))
            raise
        yield Produced(artifact=artifact("".join(done)))
        yield Metric(name="steps", value=total, unit="steps", label="steps", better="lower")

    def _wait(self, seconds: float, context: Context) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            context.check()
            time.sleep(0.005)


def turned(letter: str, table: np.ndarray, settings: Any) -> str:
    place = ord(letter.lower()) - _A
    if not 0 <= place < len(table):
        return letter
    found = chr(_A + int(table[(place + settings.shift) % len(table)]))
    return found.upper() if settings.case == "upper" or letter.isupper() else found


def artifact(text: str, partial: bool = False) -> Artifact:
    return Artifact(
        kind="text",
        name="answer",
        media_type="text/plain; charset=utf-8",
        data=text.encode(),
        facts={"letters": len(text)},
        partial=partial,
    )


METHOD = Rotation()
