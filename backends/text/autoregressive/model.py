"""The causal models of this method: the shared stack, or transformers.

What it does: names the two classes.
Where: `backends.parts.language_models.baselines.causal_models`.
What it does not do: see there.
"""

from backends.parts.language_models.baselines.causal_models import LibraryModel, StackModel

__all__ = ["LibraryModel", "StackModel"]
