"""Glue of Fast-dLLM.

What it does: `METHOD.load` and `METHOD.run` of the contract.
Where: `algorithm` is the method; `backends.parts.language_models.narration` tells about it.
What it does not do: nothing of the decoding itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from backends.contract import Context, Event, ResolvedCheckpoint
from backends.parts.language_models.loading import LanguageModel, load_diffusion
from backends.parts.language_models.narration import narrate
from backends.parts.language_models.sampling import SamplingRule
from backends.parts.text_inputs import TextInputs
from backends.text.fast_dllm.algorithm import ParallelRule, decode
from backends.text.fast_dllm.settings import FastDllmSettings


def rule_of(settings: FastDllmSettings) -> ParallelRule:
    """The algorithm's rule for a pane's settings."""
    return ParallelRule(
        new_tokens=settings.max_new_tokens,
        block_size=settings.block_size,
        threshold=settings.threshold if settings.rule == "threshold" else None,
        factor=settings.factor if settings.rule == "factor" else None,
        steps=settings.steps,
        cache=settings.cache,
        skip_after_end=settings.skip_after_end,
        sampling=SamplingRule(settings.temperature, settings.top_p, settings.top_k, settings.confidence),
    )


class FastDllm:
    """The method."""

    def load(self, checkpoint: ResolvedCheckpoint, device: str, dtype: str) -> LanguageModel:
        """A LLaDA or Dream model."""
        return load_diffusion(checkpoint, device, dtype)

    def run(self, model: LanguageModel, inputs: TextInputs, settings: FastDllmSettings, context: Context) -> Iterator[Event]:
        """Decode and tell."""
        rule = rule_of(settings)
        return narrate(
            model,
            inputs,
            context,
            lambda ids, generator: decode(model.network, ids, rule, model.stops, generator),
            method="fast_dllm",
            new_tokens=settings.max_new_tokens,
            block_size=settings.block_size,
        )


METHOD = FastDllm()
