"""Glue of autoregressive decoding.

What it does: `METHOD.load` and `METHOD.run` of the contract.
Where: `algorithm` is the method; `backends.parts.language_models.narration` tells about it.
What it does not do: nothing of the decoding itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from backends.contract import Context, Event, ResolvedCheckpoint
from backends.parts.language_models.loading import LanguageModel, load_next_token
from backends.parts.language_models.narration import narrate
from backends.parts.language_models.sampling import SamplingRule
from backends.parts.text_inputs import TextInputs
from backends.text.autoregressive.algorithm import NextTokenRule, decode
from backends.text.autoregressive.settings import AutoregressiveSettings

VIEW_BLOCK = 32  # tokens to a row of the timeline; the method itself has no blocks


def rule_of(settings: AutoregressiveSettings) -> NextTokenRule:
    """The algorithm's rule for a pane's settings."""
    return NextTokenRule(settings.max_new_tokens, settings.kv_cache, SamplingRule(settings.temperature, settings.top_p, settings.top_k))


class Autoregressive:
    """The method."""

    def load(self, checkpoint: ResolvedCheckpoint, device: str, dtype: str) -> LanguageModel:
        """A pocket folder, a GGUF file, or a folder that transformers knows."""
        return load_next_token(checkpoint, device, dtype)

    def run(self, model: LanguageModel, inputs: TextInputs, settings: AutoregressiveSettings, context: Context) -> Iterator[Event]:
        """Decode and tell."""
        rule = rule_of(settings)
        return narrate(
            model,
            inputs,
            context,
            lambda ids, generator: decode(model.network, ids, rule, model.stops, generator),
            method="autoregressive",
            new_tokens=settings.max_new_tokens,
            block_size=VIEW_BLOCK,
        )


METHOD = Autoregressive()
