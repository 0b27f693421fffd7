"""Noise schedules, block masks and token quotas."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from backends.parts.language_models.block_attention import batched_block_mask, block_causal_mask, block_numbers
from backends.parts.schedules.masking import draw_mask, random_block_ratios, rising_block_ratios, sequence_ratios
from backends.parts.schedules.tokens_per_step import tokens_per_step


@given(batch=some.integers(1, 8), blocks=some.integers(1, 12), seed=some.integers(0, 2**31))
def test_rising_ratios_never_fall_and_stay_in_range(batch: int, blocks: int, seed: int) -> None:
    ratios = rising_block_ratios(batch, blocks, torch.Generator().manual_seed(seed))
    assert ratios.shape == (batch, blocks)
    assert bool((ratios >= 0.2).all()) and bool((ratios <= 0.7 + 1e-6).all())
    assert bool((ratios.diff(dim=1) >= 0).all())


def test_random_ratios_do_fall_somewhere() -> None:
    ratios = random_block_ratios(16, 6, torch.Generator().manual_seed(0))
    assert bool((ratios.diff(dim=1) < 0).any()) and bool((ratios >= 0.2).all()) and bool((ratios <= 0.7).all())


def test_the_empirical_mask_rate_is_the_ratio_within_three_sigma_and_prompts_stay_clear() -> None:
    generator = torch.Generator().manual_seed(3)
    ratios = rising_block_ratios(64, 4, generator)
    numbers, _ = batched_block_mask(torch.full((64,), 50), 100, 450)
    token_ratios = torch.cat((torch.zeros(64, 1), ratios), dim=1).gather(1, numbers)
    masked = draw_mask(token_ratios, numbers > 0, generator)
    assert not bool(masked[:, :50].any())
    for block in range(1, 5):
        chosen = numbers == block
        expected = token_ratios[chosen].mean().item()
        sigma = math.sqrt((token_ratios[chosen] * (1 - token_ratios[chosen])).sum().item()) / int(chosen.sum())
        assert abs(masked[chosen].float().mean().item() - expected) <= 3 * sigma


def test_sequence_ratios_cover_the_unit_interval_evenly() -> None:
    ratios = sequence_ratios(10, torch.Generator().manual_seed(0)).sort().values
    assert bool((ratios.diff() - 0.1).abs().max() < 0.09) and ratios[0] >= 0.02 and ratios[-1] < 1


def test_blocks_count_from_the_end_of_the_prompt() -> None:
    assert block_numbers(3, 2, 0, 8).tolist() == [0, 0, 0, 1, 1, 2, 2, 3]


def test_a_row_sees_its_own_block_and_everything_before() -> None:
    mask = block_causal_mask(3, 2, 0, 7)
    assert mask[0].tolist() == [True] * 3 + [False] * 4, "the prompt sees the whole prompt"
    assert mask[3].tolist() == [True] * 5 + [False] * 2
    assert bool(mask[6].all())
    assert torch.equal(block_causal_mask(3, 2, 5, 7), mask[5:])


@given(masks=some.integers(0, 300), steps=some.integers(1, 300))
def test_quotas_sum_to_the_masks_and_differ_by_at_most_one(masks: int, steps: int) -> None:
    quotas = tokens_per_step(masks, steps)
    assert sum(quotas) == masks and len(quotas) == steps and max(quotas) - min(quotas) <= 1
    assert quotas == sorted(quotas, reverse=True)


def test_no_steps_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        tokens_per_step(4, 0)
