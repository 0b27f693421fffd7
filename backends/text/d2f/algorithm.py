"""D2F's pipelined parallel decoding, batch size 1.

What it does: blocks are appended, activated and completed in a moving window; several masked blocks are denoised at once,
confident tokens are committed, and a completed block enters the key-value cache in the pass after its last token was fixed, so
cached rows are exact.
Where: D2F 3.3, steps 1 to 8; thresholds tau_add, tau_act, tau_conf. `cache=False` is the plain version: every pass recomputes
everything under the same mask.
What it does not do: it never revises a committed token, and it does not batch prompts.

Letters: P prompt length, k block size, L = P + new tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from backends.contract import MethodError
from backends.parts.language_models.block_attention import block_causal_mask
from backends.parts.language_models.decoding import (
    CommittedToken,
    Decoding,
    DecodingResult,
    DecodingStep,
    Observer,
    cut_at_stop,
    masked_logits,
    predicting_rows,
)
from backends.parts.language_models.sampling import SamplingRule, check_finite, choose
from backends.parts.language_models.transformer import DecoderStack

PASS_LIMIT = 10_000  # the published safety stop


@dataclass(frozen=True)
class PipelineRule:
    """The controls of the pipeline."""

    new_tokens: int = 96
    block_size: int = 32
    tau_add: float = 0.1
    tau_act: float = 0.95
    tau_conf: float = 0.9
    cache: bool = True
    skip_after_end: bool = True  # drop blocks behind a committed end of sequence: same text, fewer passes
    sampling: SamplingRule = field(default_factory=SamplingRule)


@dataclass
class Block:
    """One block of the pipeline; block 0 is the prompt."""

    start: int
    end: int
    masked: list[int]  # absolute positions still masked
    status: Literal["active", "to_cache", "in_cache"] = "active"
    full: bool = False

    @property
    def progress(self) -> float:
        return 1.0 - len(self.masked) / (self.end - self.start)


class Pipeline:
    """The state of one decoding: tokens, blocks, cache."""

    def __init__(self, model: DecoderStack, prompt: Sequence[int], rule: PipelineRule, stops: frozenset[int]) -> None:
        self.model, self.rule, self.stops = model, rule, stops
        self.prompt_length = len(prompt)
        capacity = self.prompt_length + rule.new_tokens
        assert_mask = model.shape.mask_token_id
        if assert_mask is None:
            raise MethodError(
                "This checkpoint has no mask token.", "D2F needs a masked diffusion model.", "Choose a LLaDA or Dream checkpoint."
            )
        self.mask_id = assert_mask
        self.tokens = list(prompt)
        self.blocks = [Block(0, self.prompt_length, [], "to_cache", True)]
        self.cache = model.new_cache(capacity) if rule.cache else None
        self.carry: Tensor | None = None  # last hidden row of the last cached position, for models that predict the next token
        self.ended = False
        visible = block_causal_mask(self.prompt_length, rule.block_size, 0, capacity)
        self.mask = torch.zeros(capacity, capacity, dtype=model.dtype).masked_fill(~visible, torch.finfo(model.dtype).min).to(model.device)

    def append_and_activate(self) -> None:
        """Steps 1 and 2: at most one new block a pass; a block that is far enough fully activates its successor."""
        last = self.blocks[-1]
        if len(self.blocks) - 1 < self.rule.new_tokens // self.rule.block_size and not self.ended and last.progress >= self.rule.tau_add:
            end = last.end + self.rule.block_size
            self.blocks.append(Block(last.end, end, list(range(last.end, end))))
            self.tokens += [self.mask_id] * self.rule.block_size
        for block, successor in zip(self.blocks, self.blocks[1:], strict=False):
            if block.progress >= self.rule.tau_act:
                successor.full = True

    def finished(self) -> bool:
        """Step 3: nothing is active any more, and no block can follow."""
        return all(block.status != "active" for block in self.blocks)

    def window(self) -> tuple[int, int]:
        """Step 4: first position to feed, and how many of its rows are final and go to the cache."""
        waiting = [block for block in self.blocks if block.status == "to_cache"]
        new_rows = sum(block.end - block.start for block in waiting)
        if self.cache is None:
            return 0, new_rows
        first = waiting[0] if waiting else next(block for block in self.blocks if block.status == "active")
        return first.start, new_rows

    def run_pass(self, start: int, new_rows: int) -> Tensor:
        """Step 5: one forward pass over the window; returns hidden rows `(1, T, D)` and keeps the rows that are final."""
        end = len(self.tokens)
        ids = torch.tensor([self.tokens[start:]], device=self.model.device)
        alone = start == self.blocks[-1].start  # one block sees everything: no mask needed
        hidden = self.model.hidden(ids, start=start, mask=None if alone else self.mask[start:end, :end], cache=self.cache)
        if new_rows and self.cache is not None:
            self.cache.commit(start + new_rows)
        for block in self.blocks:
            if block.status == "to_cache":
                block.status = "in_cache"
        return hidden

    def commit(self, positions: list[int], tokens: list[int], probabilities: list[float], scores: list[float]) -> list[CommittedToken]:
        """Steps 6 to 8: commit confident tokens, force the best one in a full block, then move block states on."""
        committed: list[CommittedToken] = []
        offset = 0
        for block in self.blocks:
            if block.status != "active":
                continue
            here = range(offset, offset + len(block.masked))
            offset += len(block.masked)
            chosen = [index for index in here if probabilities[index] > self.rule.tau_conf]
            if not chosen and block.full and here:
                chosen = [max(here, key=scores.__getitem__)]
            for index in chosen:
                self.tokens[positions[index]] = tokens[index]
                committed.append(CommittedToken(positions[index] - self.prompt_length, tokens[index], probabilities[index]))
                self.ended = self.ended or tokens[index] in self.stops
            if chosen:
                block.masked = [position for position in block.masked if self.tokens[position] == self.mask_id]
        self._move_on()
        return committed

    def _move_on(self) -> None:
        for block in self.blocks:
            if block.status == "active" and block.masked:
                break
            if block.status == "active":
                block.status = "to_cache"

    def answer_is_final(self) -> bool:
        """A stop token is committed and nothing before it is masked."""
        if not self.ended:
            return False
        answer = self.tokens[self.prompt_length :]
        end = next(index for index, token in enumerate(answer) if token in self.stops)
        return self.mask_id not in answer[:end]

    def drop_after_end(self) -> None:
        """Forget the blocks behind the first committed stop token; earlier blocks cannot see them, so nothing else changes."""
        if not self.ended:
            return
        first = next(index for index, token in enumerate(self.tokens[self.prompt_length :]) if token in self.stops) + self.prompt_length
        kept = [block for block in self.blocks if block.start <= first]
        if len(kept) < len(self.blocks):
            self.blocks = kept
            del self.tokens[kept[-1].end :]

    def states(self) -> tuple[str, ...]:
        """Names of the block states for the timeline, blocks that are still to come included."""
        names = [_state_name(block) for block in self.blocks[1:]]
        return tuple(names + ["inactive"] * (self.rule.new_tokens // self.rule.block_size - len(names)))


def _state_name(block: Block) -> str:
    if block.status == "active":
        return "full" if block.full else "semi"
    return "done" if block.status == "to_cache" else "cached"


@torch.inference_mode()
def decode(
    model: DecoderStack,
    prompt: Sequence[int],
    rule: PipelineRule,
    stops: frozenset[int],
    generator: torch.Generator | None = None,
    observer: Observer | None = None,
) -> Decoding:
    """Decode one prompt; yields one step a forward pass and returns the answer."""
    pipeline = Pipeline(model, prompt, rule, stops)
    index = fed = 0
    while True:
        pipeline.append_and_activate()
        if pipeline.finished() or (rule.skip_after_end and pipeline.answer_is_final()):
            break
        index += 1
        if index > PASS_LIMIT:
            raise MethodError(
                f"Decoding did not end after {PASS_LIMIT:,} passes.",
                "This is a safety stop.",
                "Lower tau_conf or the number of new tokens.",
            )
        start, new_rows = pipeline.window()
        cached = start
        positions = [position for block in pipeline.blocks if block.status == "active" for position in block.masked]
        hidden = pipeline.run_pass(start, new_rows)
        fed += hidden.shape[1]
        rows = predicting_rows(model, hidden, start, torch.tensor(positions, device=model.device), pipeline.carry)
        if new_rows and pipeline.cache is not None:
            pipeline.carry = hidden[0, new_rows - 1]
        logits = masked_logits(model, rows)
        if observer is not None:
            observer(index, positions, logits)
        check_finite(logits, index)
        choice = choose(logits, rule.sampling, generator)
        committed = pipeline.commit(positions, choice.tokens.tolist(), choice.probabilities.tolist(), choice.scores.tolist())
        if rule.skip_after_end:
            pipeline.drop_after_end()
        held = pipeline.cache.bytes_held() if pipeline.cache is not None else 0
        yield DecodingStep(index, hidden.shape[1], cached, held, tuple(committed), pipeline.states())
    tokens, reason = cut_at_stop(pipeline.tokens[pipeline.prompt_length :], stops)
    return DecodingResult(tokens, reason, index, fed)
