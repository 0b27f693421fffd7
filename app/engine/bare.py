"""A method without the studio: loaded and run in this process, nothing stored, nothing sent.

What it does: the same loading, threads and deterministic kernels as a worker, so that a run here and a run through the studio differ by
the studio alone. Benches compare the two.
Where: `app.engine.worker` is the counterpart.
What it does not do: no stop, no memory check, no record. It imports numerical libraries, so the web process must not call it.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.checkpoints import resolve
from app.engine import runtime
from app.registry import MethodLocation, load_card, load_method
from backends.contract import Artifact, Checkpoint, Context, Metric, Preview, Produced, Step


@dataclass(frozen=True)
class BareResult:
    """What a bare run gave and cost. `seconds` is the method's own time, as a worker's wall_seconds."""

    seconds: float
    first_output_seconds: float | None
    events: int
    artifacts: tuple[Artifact, ...]
    metrics: tuple[Metric, ...]


class BareMethod:
    """A method loaded here; `run` may be called again and again."""

    def __init__(
        self,
        location: MethodLocation,
        checkpoint: Checkpoint,
        device: str = "cpu",
        *,
        dtype: str = "float32",
        threads: int | None = None,
        assets: Path | None = None,
        cache: Path | None = None,
    ) -> None:
        self._card = load_card(location)
        self._device, self._dtype = device, dtype
        self._method = load_method(location)
        runtime.configure(runtime.threads_for(checkpoint.pocket, threads))
        began = time.perf_counter()
        self._model = self._method.load(resolve(checkpoint, assets, cache), device, dtype)
        self.load_seconds = time.perf_counter() - began

    def run(self, inputs: dict[str, Any], settings: dict[str, Any], seed: int) -> BareResult:
        """One run to its end; a method's error is raised as it is."""
        given = self._card.inputs.model_validate(inputs), self._card.settings.model_validate(settings)
        artifacts: list[Artifact] = []
        metrics: list[Metric] = []
        first: float | None = None
        count = 0
        with tempfile.TemporaryDirectory(prefix="diptych-") as scratch:
            context = Context(seed=seed, device=self._device, scratch=Path(scratch), dtype=self._dtype)
            began = time.perf_counter()
            for event in self._method.run(self._model, *given, context):
                count += 1
                if first is None and isinstance(event, Step | Preview | Produced):
                    first = time.perf_counter() - began
                if isinstance(event, Produced):
                    artifacts.append(event.artifact)
                elif isinstance(event, Metric):
                    metrics.append(event)
            runtime.finish_device_work(self._device)
            seconds = time.perf_counter() - began
        return BareResult(seconds, first, count, tuple(artifacts), tuple(metrics))


def run_bare(
    location: MethodLocation,
    checkpoint: Checkpoint,
    inputs: dict[str, Any],
    settings: dict[str, Any],
    seed: int,
    device: str = "cpu",
    *,
    threads: int | None = None,
    assets: Path | None = None,
) -> BareResult:
    """Load and run once; the time of the run does not include loading."""
    return BareMethod(location, checkpoint, device, threads=threads, assets=assets).run(inputs, settings, seed)
