"""Glue of D2F: loads a base with its adapter, turns settings into a rule, narrates the decoding.

What it does: `METHOD.load` and `METHOD.run` of the contract.
Where: `algorithm` is the method; `backends.parts.language_models.narration` tells about it.
What it does not do: nothing of the decoding itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from backends.contract import Context, Event, Note, ResolvedCheckpoint
from backends.parts.language_models.loading import LanguageModel, load_diffusion
from backends.parts.language_models.narration import narrate
from backends.parts.language_models.sampling import SamplingRule
from backends.parts.text_inputs import TextInputs
from backends.text.d2f.algorithm import PipelineRule, decode
from backends.text.d2f.settings import D2FSettings


def rule_of(settings: D2FSettings) -> PipelineRule:
    """The algorithm's rule for a pane's settings."""
    return PipelineRule(
        new_tokens=settings.max_new_tokens,
        block_size=settings.block_size,
        tau_add=settings.tau_add,
        tau_act=settings.tau_act,
        tau_conf=settings.tau_conf,
        cache=settings.kv_cache,
        skip_after_end=settings.skip_after_end,
        sampling=SamplingRule(settings.temperature, settings.top_p, settings.top_k, settings.confidence),
    )


def notes_of(settings: D2FSettings, has_adapter: bool) -> tuple[Note, ...]:
    """What the user should know about this run."""
    told = []
    if not has_adapter:
        told.append(
            Note(level="warning", text="No D2F adapter: the base model was never trained for block-causal attention, so answers suffer.")
        )
    if settings.tau_add >= settings.tau_act:
        told.append(Note(level="info", text="τ_add is not below τ_act: every block opens fully active, so blocks barely overlap."))
    if settings.tau_conf == 1.0:
        told.append(Note(level="info", text="No confidence exceeds 1: each full block commits exactly one token a pass."))
    return tuple(told)


class D2F:
    """The method."""

    def load(self, checkpoint: ResolvedCheckpoint, device: str, dtype: str) -> LanguageModel:
        """Base and adapter, merged in float32."""
        return load_diffusion(checkpoint, device, dtype)

    def run(self, model: LanguageModel, inputs: TextInputs, settings: D2FSettings, context: Context) -> Iterator[Event]:
        """Decode and tell."""
        rule = rule_of(settings)
        return narrate(
            model,
            inputs,
            context,
            lambda ids, generator: decode(model.network, ids, rule, model.stops, generator),
            method="d2f",
            new_tokens=settings.max_new_tokens,
            block_size=settings.block_size,
            notes=notes_of(settings, model.adapted),
        )


METHOD = D2F()
