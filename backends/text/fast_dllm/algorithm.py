"""Fast-dLLM's loop: threshold or factor rule, no cache, prefix cache, dual cache.

What it does: names the loop of this method; it lives with the baselines because other methods are measured against it in one
process.
Where: `backends.parts.language_models.baselines.confidence_parallel`.
What it does not do: see there.
"""

from backends.parts.language_models.baselines.confidence_parallel import ParallelRule, decode, select

__all__ = ["ParallelRule", "decode", "select"]
