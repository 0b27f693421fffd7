"""The card of plain masked diffusion decoding.

What it does: says what the method is and which checkpoints it runs.
Where: Nie et al., arXiv 2502.09992 (LLaDA).
What it does not do: it loads nothing.
"""

from __future__ import annotations

from backends.contract import Card, Checkpoint, Determinism, Estimate, Example, Paper, Tab
from backends.parts.text_checkpoints import DIFFUSION_CHECKPOINTS
from backends.parts.text_checks import check_pocket, check_prompt
from backends.parts.text_inputs import TextInputs
from backends.text.masked_diffusion.settings import MaskedDiffusionSettings


def check(inputs: TextInputs, settings: MaskedDiffusionSettings, checkpoint: Checkpoint) -> None:
    """What can be refused before the weights are loaded."""
    check_prompt(inputs.prompt)
    if checkpoint.pocket:
        check_pocket(inputs.prompt, settings.max_new_tokens, settings.block_size)


def estimate(inputs: TextInputs, settings: MaskedDiffusionSettings, checkpoint: Checkpoint) -> Estimate:
    """Bytes of one full pass; nothing is kept between passes."""
    positions = len(inputs.prompt) + settings.max_new_tokens
    return Estimate(bytes=positions * (20_000 if checkpoint.pocket else 1_400_000))


CARD = Card(
    key="masked_diffusion",
    title="Plain diffusion",
    tab=Tab.TEXT,
    summary="LLaDA's own sampler: a full bidirectional pass for every few tokens.",
    paper=Paper(title="Large Language Diffusion Models", authors="Nie et al.", year=2025, arxiv="2502.09992"),
    licence="MIT",
    inputs=TextInputs,
    settings=MaskedDiffusionSettings,
    checkpoints=DIFFUSION_CHECKPOINTS,
    outputs=("text", "decoding_trace"),
    determinism=Determinism.BIT_EXACT,
    limits="Nothing is cached: every pass covers prompt and answer, so time grows with both. On Dream checkpoints this runs "
    "LLaDA's schedule, not Dream's own.",
    examples=(
        Example(
            title="Half the steps",
            inputs={"prompt": "Convert 7.315 kV to mV. Show each step."},
            panes=(("masked_diffusion", {}), ("masked_diffusion", {"steps": 48})),
            point="Fewer steps commit more tokens a pass.",
        ),
    ),
    sweep=("steps", "block_size", "temperature"),
    order=40,
    check=check,
    estimate=estimate,
)
