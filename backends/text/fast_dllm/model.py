"""The networks of this method: LLaDA and Dream under their published key names.

What it does: names the two classes.
Where: `backends.parts.language_models.layouts`; configs and key names as published with LLaDA-8B and Dream-7B.
What it does not do: it adds nothing to them.
"""

from backends.parts.language_models.layouts import LladaModel, LlamaModel

__all__ = ["LladaModel", "LlamaModel"]
