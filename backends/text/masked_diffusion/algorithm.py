"""The published LLaDA sampler: a fixed number of tokens a step, one full bidirectional pass a step.

What it does: names the loop of this method; it lives with the baselines because other methods are measured against it in one
process.
Where: `backends.parts.language_models.baselines.masked_diffusion`.
What it does not do: see there.
"""

from backends.parts.language_models.baselines.masked_diffusion import DiffusionRule, decode

__all__ = ["DiffusionRule", "decode"]
