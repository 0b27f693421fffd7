"""Plain masked diffusion decoding: the published LLaDA sampler.

What it does: the answer starts as masks; each step runs one full bidirectional pass and commits a fixed number of tokens, the
most confident ones (or random ones), block after block. Optional classifier-free guidance runs the prompt masked beside the
prompt given.
Where: LLaDA's `generate`: Gumbel draw in float64, low-confidence remasking, tokens per step = masks // steps with the remainder
first.
What it does not do: no cache, no parallel threshold (see Fast-dLLM), no revision of committed tokens.

Letters: P prompt length, N answer length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from backends.contract import MethodError
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
from backends.parts.language_models.sampling import check_finite, gumbel_choice
from backends.parts.language_models.transformer import DecoderStack
from backends.parts.schedules.tokens_per_step import tokens_per_step


@dataclass(frozen=True)
class DiffusionRule:
    """The controls of the sampler."""

    new_tokens: int = 96
    block_size: int = 96
    steps: int = 96
    temperature: float = 0.0
    guidance_scale: float = 0.0
    remasking: Literal["low_confidence", "random"] = "low_confidence"
    skip_after_end: bool = False


@torch.inference_mode()
def decode(
    model: DecoderStack,
    prompt: Sequence[int],
    rule: DiffusionRule,
    stops: frozenset[int],
    generator: torch.Generator | None = None,
    observer: Observer | None = None,
) -> Decoding:
    """Decode one prompt; yields one step a forward pass and returns the answer."""
    mask_id = model.shape.mask_token_id
    if mask_id is None:
        raise MethodError("This checkpoint has no mask token.", "Masked diffusion needs one.", "Choose a LLaDA or Dream checkpoint.")
    start = len(prompt)
    ids = torch.tensor([[*prompt, *[mask_id] * rule.new_tokens]], device=model.device)
    blocks = rule.new_tokens // rule.block_size
    index = fed = 0
    final = False
    for block in range(blocks):
        block_end = start + (block + 1) * rule.block_size
        for count in tokens_per_step(rule.block_size, rule.steps // blocks):
            if final or count == 0:
                continue
            index += 1
            positions = (ids[0] == mask_id).nonzero()[:, 0]  # all masked positions; only those before block_end can be committed
            candidates = positions[positions < block_end]
            logits = _guided_logits(model, ids, start, candidates, mask_id, rule.guidance_scale)
            if observer is not None:
                observer(index, candidates.tolist(), logits)
            committed = _commit(ids, start, candidates, logits, count, rule, generator, index)
            rows = ids.shape[1] * (2 if rule.guidance_scale > 0 else 1)
            fed += rows
            yield DecodingStep(index, rows, 0, 0, committed, block_states(ids[0, start:].tolist(), rule.block_size, block, mask_id))
            final = rule.skip_after_end and answer_is_final(ids[0, start:].tolist(), mask_id, stops)
    tokens, reason = cut_at_stop(ids[0, start:].tolist(), stops)
    return DecodingResult(tokens, reason, index, fed)


def _guided_logits(model: DecoderStack, ids: Tensor, start: int, positions: Tensor, mask_id: int, scale: float) -> Tensor:
    """Logits `(positions, V)`; with guidance, unconditional + (scale + 1) (conditional - unconditional)."""
    if scale == 0.0:
        return masked_logits(model, predicting_rows(model, model.hidden(ids), 0, positions))
    without_prompt = ids.clone()
    without_prompt[:, :start] = mask_id
    hidden = model.hidden(torch.cat((ids, without_prompt)))
    conditional = masked_logits(model, predicting_rows(model, hidden[:1], 0, positions))
    unconditional = masked_logits(model, predicting_rows(model, hidden[1:], 0, positions))
    guided = unconditional + (scale + 1) * (conditional - unconditional)
    guided[:, mask_id] = -torch.inf  # infinity minus infinity
    return guided


def _commit(
    ids: Tensor,
    start: int,
    positions: Tensor,
    logits: Tensor,
    count: int,
    rule: DiffusionRule,
    generator: torch.Generator | None,
    index: int,
) -> tuple[CommittedToken, ...]:
    check_finite(logits, index)
    tokens = gumbel_choice(logits, rule.temperature, generator)
    probabilities = torch.softmax(logits.float(), dim=-1).gather(1, tokens[:, None])[:, 0]
    order = probabilities if rule.remasking == "low_confidence" else torch.rand(probabilities.shape, generator=generator, device=ids.device)
    chosen = order.topk(min(count, len(positions))).indices
    ids[0, positions[chosen]] = tokens[chosen]
    chosen_positions, chosen_tokens, confidences = (
        (positions[chosen] - start).tolist(),
        tokens[chosen].tolist(),
        probabilities[chosen].tolist(),
    )
    return tuple(CommittedToken(*committed) for committed in zip(chosen_positions, chosen_tokens, confidences, strict=True))


def block_states(answer: list[int], block_size: int, current: int, mask_id: int) -> tuple[str, ...]:
    """ "done", "full" (being decoded) or "inactive" for each block."""
    states = []
    for block in range(len(answer) // block_size):
        if mask_id not in answer[block * block_size : (block + 1) * block_size]:
            states.append("done")
        else:
            states.append("full" if block == current else "inactive")
    return tuple(states)
