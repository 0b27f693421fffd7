"""Autoregressive decoding: one token a pass, with or without the key-value cache.

What it does: names the loop of this method; it lives with the baselines because other methods are measured against it in one
process.
Where: `backends.parts.language_models.baselines.autoregressive`.
What it does not do: see there.
"""

from backends.parts.language_models.baselines.autoregressive import NextTokenModel, NextTokenRule, decode

__all__ = ["NextTokenModel", "NextTokenRule", "decode"]
