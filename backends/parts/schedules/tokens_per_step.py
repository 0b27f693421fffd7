"""How many tokens a fixed-step sampler commits in each step.

What it does: splits a number of masks evenly over steps, the remainder going to the first ones.
Where: `get_num_transfer_tokens` of LLaDA's sampler, used by Fast-dLLM when no threshold is set.
What it does not do: no non-linear schedules.
"""

from __future__ import annotations


def tokens_per_step(masks: int, steps: int) -> list[int]:
    """Counts that sum to `masks`."""
    if steps < 1:
        raise ValueError(f"steps must be at least 1, not {steps}")
    base, remainder = divmod(masks, steps)
    return [base + 1] * remainder + [base] * (steps - remainder)
