"""Checks that D2F's cache and masks are exact, as numbers.

What it does: compares decoding with and without the cache pass by pass, and measures how far a change in a later block reaches
back.
Where: D2F specification, section 8, items 1 and 3.
What it does not do: it sets no tolerance; claims and tests do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from backends.parts.language_models.block_attention import block_causal_mask
from backends.parts.language_models.transformer import DecoderStack
from backends.text.d2f.algorithm import PipelineRule, decode


class CacheComparison(NamedTuple):
    """Differences between a cached and an uncached decoding of one prompt."""

    token_mismatches: int
    largest_logit_delta: float


def compare_cache(model: DecoderStack, prompt: Sequence[int], rule: PipelineRule, stops: frozenset[int]) -> CacheComparison:
    """Decode twice under the same mask and compare every pass: committed tokens, and logits at every masked position."""
    runs = []
    for cache in (True, False):
        logits: list[tuple[list[int], Tensor]] = []
        steps = list(
            decode(
                model,
                prompt,
                replace(rule, cache=cache),
                stops,
                None,
                lambda _, where, found, kept=logits: kept.append((where, found.clone())),
            )
        )
        runs.append((steps, logits))
    (cached_steps, cached_logits), (plain_steps, plain_logits) = runs
    mismatches = abs(len(cached_steps) - len(plain_steps))
    mismatches += sum(
        [(token.position, token.token) for token in first.committed] != [(token.position, token.token) for token in second.committed]
        for first, second in zip(cached_steps, plain_steps, strict=False)
    )
    largest = 0.0
    for (first_where, first), (second_where, second) in zip(cached_logits, plain_logits, strict=False):
        if first_where != second_where:
            mismatches += 1
            continue
        finite = torch.isfinite(first) & torch.isfinite(second)  # the mask token is ruled out in both
        largest = max(largest, float((first - second)[finite].abs().max()) if finite.any() else 0.0)
    return CacheComparison(mismatches, largest)


@torch.inference_mode()
def leak_delta(model: DecoderStack, ids: Sequence[int], prompt_length: int, block_size: int, *, bidirectional: bool = False) -> float:
    """Largest change in the logits of all blocks but the last when every token of the last block is changed.

    With `bidirectional` the plain full attention of the teacher is used: the same measurement must then show a leak.
    """
    length = len(ids)
    mask = None if bidirectional else block_causal_mask(prompt_length, block_size, 0, length).to(model.device)
    original = torch.tensor([list(ids)], device=model.device)
    changed = original.clone()
    changed[0, length - block_size :] = (changed[0, length - block_size :] + 7) % model.shape.vocabulary
    before, after = (model(tokens, mask=mask)[0, : length - block_size] for tokens in (original, changed))
    return float((before - after).abs().max())
