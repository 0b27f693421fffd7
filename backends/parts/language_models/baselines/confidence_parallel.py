"""Fast-dLLM: confidence-parallel decoding of a plain diffusion model, with an approximate prefix or dual cache.

What it does: the answer is decoded block by block. Each pass commits the best position of the current block and every other one
that passes a threshold or the factor rule. With a cache, the first pass of a block covers everything and freezes the rows
around the block.
Where: Fast-dLLM (NVlabs), LLaDA version; D2F specification 3.4. `cache="none"` is the plain version.
What it does not do: attention is bidirectional, so frozen rows go stale as the block fills in: both caches are approximate,
unlike D2F's.

Letters: P prompt length, [s, e) the current block, L = P + new tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from backends.contract import MethodError
from backends.parts.caches.key_values import KeyValueCache
from backends.parts.language_models.decoding import (
    CommittedToken,
    Decoding,
    DecodingResult,
    DecodingStep,
    Observer,
    answer_is_final,
    cut_at_stop,
    masked_logits,
    predicting_rows,
)
from backends.parts.language_models.sampling import SamplingRule, check_finite, choose
from backends.parts.language_models.transformer import DecoderStack
from backends.parts.schedules.tokens_per_step import tokens_per_step

CacheKind = Literal["none", "prefix", "dual"]


@dataclass(frozen=True)
class ParallelRule:
    """The controls. Exactly one of threshold, factor and fixed steps decides how many tokens a pass commits."""

    new_tokens: int = 96
    block_size: int = 32
    threshold: float | None = 0.9
    factor: float | None = None
    steps: int = 96  # used when neither threshold nor factor is set
    cache: CacheKind = "none"
    skip_after_end: bool = False
    sampling: SamplingRule = field(default_factory=SamplingRule)


class Window:
    """Runs the passes of one block; knows what is frozen."""

    def __init__(self, model: DecoderStack, kind: CacheKind, length: int) -> None:
        self.model, self.kind, self.length = model, kind, length
        self.cache: KeyValueCache | None = model.new_cache(length) if kind != "none" else None
        self.carry: Tensor | None = None
        self.frozen = 0  # positions read from the cache in the last pass

    def hidden(self, ids: Tensor, block_start: int, block_end: int, first: bool) -> tuple[Tensor, int]:
        """Hidden rows of one pass and the absolute position of the first of them."""
        if self.cache is None or first:
            self.frozen = 0
            hidden = self.model.hidden(ids, cache=self.cache)
            self.carry = hidden[0, block_start - 1].clone()
            return hidden, 0
        end = block_end if self.kind == "dual" else self.length
        self.frozen = self.length - (end - block_start)
        return self.model.hidden(ids[:, block_start:end], start=block_start, cache=self.cache, end=self.length), block_start

    def bytes_held(self) -> int:
        """Bytes of the rows that are frozen, not those rewritten in every pass."""
        if self.cache is None:
            return 0
        self.cache.length = self.frozen
        return self.cache.bytes_held()


@torch.inference_mode()
def decode(
    model: DecoderStack,
    prompt: Sequence[int],
    rule: ParallelRule,
    stops: frozenset[int],
    generator: torch.Generator | None = None,
    observer: Observer | None = None,
) -> Decoding:
    """Decode one prompt; yields one step a forward pass and returns the answer."""
    mask_id = model.shape.mask_token_id
    if mask_id is None:
        raise MethodError(
            "This checkpoint has no mask token.", "Fast-dLLM needs a masked diffusion model.", "Choose a LLaDA or Dream checkpoint."
        )
    prompt_length = len(prompt)
    ids = torch.tensor([[*prompt, *[mask_id] * rule.new_tokens]], device=model.device)
    window = Window(model, rule.cache, ids.shape[1])
    blocks = rule.new_tokens // rule.block_size
    index = fed = 0
    final = False
    for block in range(blocks):
        start, end = prompt_length + block * rule.block_size, prompt_length + (block + 1) * rule.block_size
        quota = tokens_per_step(rule.block_size, max(1, rule.steps // blocks))
        first = True
        while not final:
            positions = (ids[0, start:end] == mask_id).nonzero()[:, 0] + start
            if not len(positions):
                break
            index += 1
            hidden, window_start = window.hidden(ids, start, end, first)
            logits = masked_logits(
                model, predicting_rows(model, hidden, window_start, positions, None if window_start == 0 else window.carry)
            )
            if observer is not None:
                observer(index, positions.tolist(), logits)
            committed = _commit(ids, prompt_length, positions, logits, rule, quota.pop(0) if quota else 1, generator, index)
            fed += hidden.shape[1]
            first = False
            states = _states(blocks, block, end_reached=mask_id not in ids[0, start:end].tolist())
            yield DecodingStep(index, hidden.shape[1], window.frozen, window.bytes_held(), committed, states)
            final = rule.skip_after_end and answer_is_final(ids[0, prompt_length:].tolist(), mask_id, stops)
    tokens, reason = cut_at_stop(ids[0, prompt_length:].tolist(), stops)
    return DecodingResult(tokens, reason, index, fed)


def _commit(
    ids: Tensor,
    prompt_length: int,
    positions: Tensor,
    logits: Tensor,
    rule: ParallelRule,
    quota: int,
    generator: torch.Generator | None,
    index: int,
) -> tuple[CommittedToken, ...]:
    check_finite(logits, index)
    choice = choose(logits, rule.sampling, generator)
    tokens, probabilities, scores = choice.tokens.tolist(), choice.probabilities.tolist(), choice.scores.tolist()
    where = positions.tolist()
    chosen = select(probabilities, scores, rule, quota)
    for row in chosen:
        ids[0, where[row]] = tokens[row]
    return tuple(CommittedToken(where[row] - prompt_length, tokens[row], probabilities[row]) for row in chosen)


def select(probabilities: list[float], scores: list[float], rule: ParallelRule, quota: int) -> list[int]:
    """Rows to commit: the best one always, then those that the rule allows.

    Factor rule: the largest n with (n + 1) (1 - c_n) < factor, confidences in falling order; its condition keeps parallel and
    sequential greedy decoding equal when the model's confidence is honest.
    """
    order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    if rule.threshold is not None:
        return order[:1] + [row for row in order[1:] if probabilities[row] >= rule.threshold]
    if rule.factor is not None:
        allowed = 1
        for count, row in enumerate(order, start=1):
            if (count + 1) * (1 - probabilities[row]) >= rule.factor:
                break
            allowed = count
        return order[:allowed]
    return order[:quota] if quota else order[:1]


def _states(blocks: int, current: int, *, end_reached: bool) -> tuple[str, ...]:
    here = "done" if end_reached else "full"
    return tuple("done" if block < current else here if block == current else "inactive" for block in range(blocks))
