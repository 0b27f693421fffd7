"""The values that every decoder yields and returns, and the bookkeeping they share.

What it does: one `DecodingStep` a forward pass, one `DecodingResult` at the end; where an answer ends; which hidden row
predicts which position.
Where: the shift head of Dream (row i - 1 predicts position i) is D2F 3.1, last item.
What it does not do: it holds no logits; a test that needs them passes an `Observer`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from backends.parts.language_models.transformer import DecoderStack

Observer = Callable[[int, list[int], Tensor], None]
"""Called with the pass number, the absolute positions and their logits (positions, vocabulary)."""


class CommittedToken(NamedTuple):
    """A token fixed in a pass; `position` counts from the first generated token."""

    position: int
    token: int
    confidence: float


@dataclass(frozen=True)
class DecodingStep:
    """One forward pass, 1-based."""

    index: int
    rows: int  # rows fed, all sequences of the pass together
    cached: int  # positions read from the cache
    cache_bytes: int
    committed: tuple[CommittedToken, ...]
    blocks: tuple[str, ...] = ()
    passes: int = 1


@dataclass(frozen=True)
class DecodingResult:
    """The generated tokens, cut before the first stop token."""

    tokens: list[int]
    stopped_by: str  # "end of sequence" or "length"
    passes: int
    positions_fed: int
    details: dict[str, int] = field(default_factory=dict)


Decoding = Generator[DecodingStep, None, DecodingResult]


def cut_at_stop(tokens: Sequence[int], stops: frozenset[int]) -> tuple[list[int], str]:
    """Tokens before the first stop token, and why the text ends there."""
    for index, token in enumerate(tokens):
        if token in stops:
            return list(tokens[:index]), "end of sequence"
    return list(tokens), "length"


def answer_is_final(tokens: Sequence[int], mask_id: int, stops: frozenset[int]) -> bool:
    """True when a stop token stands before the first mask: what follows is cut anyway."""
    for token in tokens:
        if token == mask_id:
            return False
        if token in stops:
            return True
    return False


def predicting_rows(model: DecoderStack, hidden: Tensor, start: int, positions: Tensor, carry: Tensor | None = None) -> Tensor:
    """Hidden rows `(positions, D)` that predict absolute `positions`, for a window whose first row stands at `start`.

    A model that predicts the next token needs the row before; for the first row of a window that is `carry`, the last row of
    the pass that fed the position before it. Position 0 has no row before it and uses its own.
    """
    rows = hidden[0]
    if not model.shape.predicts_next:
        return rows[positions - start]
    before = rows[:1] if carry is None else carry[None]
    return torch.cat((before, rows[:-1]))[positions - start]


def masked_logits(model: DecoderStack, rows: Tensor) -> Tensor:
    """Logits `(positions, V)` with the mask token ruled out: a position is never committed as still masked."""
    logits = model.head(rows)
    logits[:, model.shape.mask_token_id] = -torch.inf
    return logits


def drain(decoding: Decoding) -> DecodingResult:
    """Run a decoder to its end and return its result."""
    while True:
        try:
            next(decoding)
        except StopIteration as end:
            result: DecodingResult = end.value
            return result
