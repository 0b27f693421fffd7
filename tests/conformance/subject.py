"""A registered method as the conformance suite holds it: card, code, one small checkpoint, and ways to run it in this process.

`Subject.run` collects the events of a run and how it ended; `pairwise` makes settings that cover every pair of values.

It deliberately uses the app's own parsing, resolving and determinism set-up, so that a method meets here what it meets in a worker.
"""

import itertools
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from app.checkpoints import available, resolve
from app.engine.runtime import configure
from app.registry import MethodLocation, Registry, load_claims, load_method
from app.validation import parse
from backends.contract import (
    Artifact,
    Cancelled,
    Card,
    Checkpoint,
    Context,
    Event,
    Fault,
    FieldSpec,
    MethodError,
    Preview,
    Produced,
    field_specs,
)

ASSETS = Path(__file__).resolve().parents[2] / "assets"


@dataclass
class Ended:
    """A run that has ended: its events, what it raised (None: it finished), and its seconds (after the stop, if there was one)."""

    events: list[Event] = field(default_factory=list)
    error: MethodError | Cancelled | None = None
    seconds: float = 0.0
    seconds_after_stop: float = 0.0

    @property
    def artifacts(self) -> dict[str, Artifact]:
        return {event.artifact.name: event.artifact for event in self.events if isinstance(event, Produced)}

    @property
    def previews(self) -> list[Artifact]:
        return [event.artifact for event in self.events if isinstance(event, Preview)]

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.type == kind]


class Subject:
    """One method; models are loaded once and kept."""

    def __init__(self, registry: Registry, key: str, scratch: Path) -> None:
        self.key = key
        self.card: Card = registry.card(key)
        self.location: MethodLocation = registry.locate(key)
        self.scratch = scratch
        self._models: dict[str, Any] = {}

    @cached_property
    def method(self) -> Any:
        return load_method(self.location)

    @cached_property
    def claims(self) -> ModuleType:
        return load_claims(self.location)

    @cached_property
    def small(self) -> tuple[Checkpoint, ...]:
        """The pocket checkpoints, which must be here."""
        return tuple(checkpoint for checkpoint in self.card.checkpoints if checkpoint.pocket and available(checkpoint, ASSETS).here)

    def model(self, checkpoint: Checkpoint) -> Any:
        if checkpoint.key not in self._models:
            configure(1)
            self._models[checkpoint.key] = self.method.load(resolve(checkpoint, ASSETS), "cpu", checkpoint.dtype)
        return self._models[checkpoint.key]

    def example(self, number: int = 0, **changes: Any) -> dict[str, Any]:
        """An example's inputs, with whatever repeats work (counts of held-out cases) at its least."""
        least = {spec.name: int(spec.minimum) for spec in field_specs(self.card.inputs) if spec.kind == "int" and spec.minimum is not None}
        return self.card.examples[number].inputs | least | changes

    def parse(self, inputs: dict[str, Any], settings: dict[str, Any], checkpoint: Checkpoint | None = None) -> Any:
        """Typed inputs and settings, or a tuple of faults."""
        return parse(self.card, checkpoint or self.small[0], inputs, settings)

    def run(
        self,
        inputs: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        *,
        seed: int = 1729,
        threads: int = 1,
        limit: float | None = None,
        stop_after: int | None = None,
        checkpoint: Checkpoint | None = None,
        model: Any = None,
    ) -> Ended:
        """Run to the end, or set the stop flag after `stop_after` events."""
        checkpoint = checkpoint or self.small[0]
        parsed = self.parse(inputs if inputs is not None else self.example(), settings or {}, checkpoint)
        if isinstance(parsed[0], Fault):
            raise AssertionError(f"{self.key} refuses its own example: {parsed[0].sentence()}")
        model = self.model(checkpoint) if model is None else model
        configure(threads)
        flag = threading.Event()
        if stop_after == 0:
            flag.set()
        context = Context(seed=seed, device="cpu", scratch=self.scratch, dtype=checkpoint.dtype, seconds_limit=limit, stop=flag)
        ended, began = Ended(), time.monotonic()
        stopped = began
        try:
            for event in self.method.run(model, *parsed, context):
                ended.events.append(event)
                if stop_after is not None and len(ended.events) == stop_after:
                    flag.set()
                    stopped = time.monotonic()
        except (MethodError, Cancelled) as error:
            ended.error = error
        now = time.monotonic()
        ended.seconds, ended.seconds_after_stop = now - began, now - stopped
        return ended


def levels(spec: FieldSpec) -> list[Any]:
    """The values a control can be pushed to: both ends, the default, every choice."""
    if spec.kind == "bool":
        found: list[Any] = [spec.default, not spec.default]
    elif spec.kind == "choice":
        found = [spec.default, *spec.choices]
    elif spec.kind in ("int", "float"):
        kind = int if spec.kind == "int" else float
        found = [spec.default, *(kind(end) for end in (spec.minimum, spec.maximum) if end is not None)]
    else:
        found = [spec.default]
    found += [None] if spec.optional else []
    return [value for place, value in enumerate(found) if value not in found[:place] or type(value) is not type(found[found.index(value)])]


def pairwise(specs: tuple[FieldSpec, ...]) -> Iterator[dict[str, Any]]:
    """Settings such that every pair of levels of two fields occurs together at least once; greedy, seeded."""
    choices = {spec.name: levels(spec) for spec in specs}
    names = list(choices)
    missing = {
        ((one, a), (two, b))
        for one, two in itertools.combinations(names, 2)
        for a in range(len(choices[one]))
        for b in range(len(choices[two]))
    }
    source = random.Random(1729)
    while missing:
        candidates = [_row(min(missing, key=repr), choices, source) for _ in range(12)]
        best = max(candidates, key=lambda row: len(_covered(row, names) & missing))
        missing -= _covered(best, names)
        yield {name: choices[name][place] for name, place in best.items()}


def _row(pair: tuple[tuple[str, int], tuple[str, int]], choices: dict[str, list[Any]], source: random.Random) -> dict[str, int]:
    return {name: source.randrange(len(values)) for name, values in choices.items()} | dict(pair)


def _covered(row: dict[str, int], names: list[str]) -> set[tuple[tuple[str, int], tuple[str, int]]]:
    return {((one, row[one]), (two, row[two])) for one, two in itertools.combinations(names, 2)}
