"""Mask ratios for training masked diffusion language models.

What it does: one ratio per sequence (plain masked diffusion), and one ratio per block, rising from left to right (D2F) or in
random order (its ablation).
Where: LLaDA's training objective; D2F 3.2 item 2 as coded: p_1 = 0.2 + U/2, increments U_b (0.7 - p_1)/(N - 1), cumulative, at
most 1.
What it does not do: it draws ratios and masks only; losses are the trainers'.
"""

from __future__ import annotations

import torch
from torch import Tensor

LOWEST, HIGHEST = 0.2, 0.7


def sequence_ratios(batch: int, generator: torch.Generator, smallest: float = 0.02) -> Tensor:
    """`(batch,)` ratios that cover (0, 1) evenly: one uniform offset, then equal spacing, shuffled."""
    offset = torch.rand((), generator=generator)
    ratios = (torch.arange(batch) / batch + offset) % 1.0
    return ratios[torch.randperm(batch, generator=generator)].clamp(min=smallest)


def rising_block_ratios(batch: int, blocks: int, generator: torch.Generator) -> Tensor:
    """`(batch, blocks)` ratios, never falling from left to right, all within [0.2, 0.7]."""
    first = LOWEST + torch.rand(batch, 1, generator=generator) * (HIGHEST - LOWEST)
    if blocks == 1:
        return first
    increments = torch.rand(batch, blocks - 1, generator=generator) * (HIGHEST - first) / (blocks - 1)
    return torch.cat((first, first + increments.cumsum(dim=1)), dim=1).clamp(max=1.0)


def random_block_ratios(batch: int, blocks: int, generator: torch.Generator) -> Tensor:
    """The ablation: the same range, each block drawn independently."""
    return LOWEST + torch.rand(batch, blocks, generator=generator) * (HIGHEST - LOWEST)


def draw_mask(token_ratios: Tensor, maskable: Tensor, generator: torch.Generator) -> Tensor:
    """Mask each maskable token independently with its own ratio."""
    return (torch.rand(token_ratios.shape, generator=generator) < token_ratios) & maskable
