"""Autoregressive decoding: one token a pass.

What it does: feeds the prompt, then each chosen token. With the key-value cache a pass feeds one row; without it, everything
again (the plain version).
Where: the usual causal decoder; the baseline of the D2F paper's headline.
What it does not do: no speculation, no beams, no batching.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from backends.parts.language_models.decoding import CommittedToken, Decoding, DecodingResult, DecodingStep, Observer, cut_at_stop
from backends.parts.language_models.sampling import SamplingRule, check_finite, choose


@dataclass(frozen=True)
class NextTokenRule:
    """The controls."""

    new_tokens: int = 96
    cache: bool = True
    sampling: SamplingRule = field(default_factory=SamplingRule)


class NextTokenModel(Protocol):
    """A causal model with at most one sequence in its cache."""

    def begin(self, capacity: int, *, cache: bool) -> None:
        """Forget everything; room for `capacity` positions."""

    def next_logits(self, ids: list[int], start: int) -> Tensor:
        """Feed `ids` at absolute position `start`; logits `(1, V)` of the token that follows."""

    def cached(self) -> tuple[int, int]:
        """Positions and bytes held between passes."""


@torch.inference_mode()
def decode(
    model: NextTokenModel,
    prompt: Sequence[int],
    rule: NextTokenRule,
    stops: frozenset[int],
    generator: torch.Generator | None = None,
    observer: Observer | None = None,
) -> Decoding:
    """Decode one prompt; yields one step a forward pass and returns the answer."""
    tokens = list(prompt)
    model.begin(len(prompt) + rule.new_tokens, cache=rule.cache)
    fed = index = 0
    for index in range(1, rule.new_tokens + 1):
        start = model.cached()[0] if rule.cache else 0
        logits = model.next_logits(tokens[start:], start)
        if observer is not None:
            observer(index, [len(tokens)], logits)
        check_finite(logits, index)
        choice = choose(logits, rule.sampling, generator)
        confidence = choice.probabilities.item()
        fed += len(tokens) - start
        token = int(choice.tokens.item())
        tokens.append(token)
        yield DecodingStep(index, len(tokens) - 1 - start, start, model.cached()[1], (CommittedToken(index - 1, token, confidence),))
        if token in stops:
            break
    answer, reason = cut_at_stop(tokens[len(prompt) :], stops)
    return DecodingResult(answer, reason, index, fed)
