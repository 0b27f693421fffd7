"""Glue of plain masked diffusion decoding.

What it does: `METHOD.load` and `METHOD.run` of the contract.
Where: `algorithm` is the method; `backends.parts.language_models.narration` tells about it.
What it does not do: nothing of the decoding itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from backends.contract import Context, Event, ResolvedCheckpoint
from backends.parts.language_models.loading import LanguageModel, load_diffusion
from backends.parts.language_models.narration import narrate
from backends.parts.text_inputs import TextInputs
from backends.text.masked_diffusion.algorithm import DiffusionRule, decode
from backends.text.masked_diffusion.settings import MaskedDiffusionSettings


def rule_of(settings: MaskedDiffusionSettings) -> DiffusionRule:
    """The algorithm's rule for a pane's settings."""
    return DiffusionRule(
        new_tokens=settings.max_new_tokens,
        block_size=settings.block_size,
        steps=settings.steps,
        temperature=settings.temperature,
        guidance_scale=settings.guidance_scale,
        remasking=settings.remasking,
        skip_after_end=settings.skip_after_end,
    )


class MaskedDiffusion:
    """The method."""

    def load(self, checkpoint: ResolvedCheckpoint, device: str, dtype: str) -> LanguageModel:
        """A LLaDA or Dream model."""
        return load_diffusion(checkpoint, device, dtype)

    def run(self, model: LanguageModel, inputs: TextInputs, settings: MaskedDiffusionSettings, context: Context) -> Iterator[Event]:
        """Decode and tell."""
        rule = rule_of(settings)
        return narrate(
            model,
            inputs,
            context,
            lambda ids, generator: decode(model.network, ids, rule, model.stops, generator),
            method="masked_diffusion",
            new_tokens=settings.max_new_tokens,
            block_size=settings.block_size,
        )


METHOD = MaskedDiffusion()
