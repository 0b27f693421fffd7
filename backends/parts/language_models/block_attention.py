"""Block-causal attention: bidirectional inside a block, causal between blocks.

What it does: block numbers of positions and the boolean masks that follow from them.
Where: D2F 3.1. Block 0 is the prompt; block b >= 1 covers positions P + (b - 1) k .. P + b k - 1; row i sees column j when
block(j) <= block(i).
What it does not do: nothing is cached and no kernel is specialised; the mask is a plain boolean tensor.
"""

from __future__ import annotations

import torch
from torch import Tensor


def block_numbers(prompt_length: int, block_size: int, start: int, end: int) -> Tensor:
    """`(end - start,)` block number of each absolute position."""
    positions = torch.arange(start, end)
    return torch.div(positions - prompt_length, block_size, rounding_mode="floor").add(1).clamp(min=0)


def block_causal_mask(prompt_length: int, block_size: int, start: int, end: int) -> Tensor:
    """`(end - start, end)` boolean mask of the rows `start .. end` over all columns; True may be seen."""
    columns = block_numbers(prompt_length, block_size, 0, end)
    return columns[None, :] <= columns[start:, None]


def batched_block_mask(prompt_lengths: Tensor, block_size: int, length: int) -> tuple[Tensor, Tensor]:
    """Block numbers `(batch, length)` and masks `(batch, 1, length, length)` for prompts of different lengths."""
    positions = torch.arange(length)[None, :] - prompt_lengths[:, None]
    numbers = torch.div(positions, block_size, rounding_mode="floor").add(1).clamp(min=0)
    return numbers, (numbers[:, None, :] <= numbers[:, :, None])[:, None]
