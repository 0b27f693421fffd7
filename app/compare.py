"""Plans comparisons and sweeps: which runs, in which order, with which settings.

Panes of one comparison share inputs and seed. With more than one repeat, every pane is warmed up once and then the panes
take turns (A B A B …), so that slow drift of the machine hits all of them alike. A sweep has one cell for each combination
of its axes' values; a cell whose equal run is already done is not computed again.

It deliberately starts nothing: the engine takes what stands in the queue.
"""

import hashlib
import itertools
import json
import secrets
from typing import Any

from app.values import Axis
from storage.values import ComparisonRow, NewRun, PaneSpec, Purpose

Order = list[tuple[str, int, Purpose]]


def new_id() -> str:
    """128 random bits as 32 hexadecimal digits."""
    return secrets.token_hex(16)


def run_order(panes: tuple[PaneSpec, ...], repeats: int) -> Order:
    """(pane, repeat, purpose) in the order of execution: warm-ups first when there are repeats, then A B A B."""
    warmups: Order = [(pane.pane, 0, "warmup") for pane in panes] if repeats > 1 else []
    turns: Order = [(pane.pane, repeat, "run") for repeat in range(repeats) for pane in panes]
    return warmups + turns


def cells(pane: PaneSpec, axes: tuple[Axis, ...]) -> tuple[tuple[PaneSpec, tuple[Any, ...]], ...]:
    """One pane a cell, named "1", "2", … in row-major order of the axes, with the values that make it."""
    combinations = itertools.product(*(axis.values for axis in axes))
    return tuple(
        (
            pane.model_copy(
                update={"pane": str(number), "settings": pane.settings | {axis.field: v for axis, v in zip(axes, values, strict=True)}}
            ),
            values,
        )
        for number, values in enumerate(combinations, start=1)
    )


def fingerprint(method: str, checkpoint: str, inputs: dict[str, Any], settings: dict[str, Any], seed: int, device: str, dtype: str) -> str:
    """SHA-256 over everything that decides an output; equal fingerprints mean an equal request."""
    text = json.dumps([method, checkpoint, inputs, settings, seed, device, dtype], sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def in_comparison(run: NewRun, comparison: ComparisonRow, pane: str, repeat: int, purpose: Purpose) -> NewRun:
    """`run` again as one turn of a pane, with an id of its own."""
    return run.model_copy(update={"id": new_id(), "comparison": comparison.id, "pane": pane, "repeat": repeat, "purpose": purpose})
