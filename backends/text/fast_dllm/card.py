"""The card of Fast-dLLM.

What it does: says what the method is and which checkpoints it runs.
Where: Wu et al., arXiv 2505.22618.
What it does not do: it loads nothing.
"""

from __future__ import annotations

from backends.contract import Card, Checkpoint, Determinism, Estimate, Example, Paper, Preset, Tab
from backends.parts.text_checkpoints import DIFFUSION_CHECKPOINTS
from backends.parts.text_checks import check_pocket, check_prompt
from backends.parts.text_inputs import TextInputs
from backends.text.fast_dllm.settings import FastDllmSettings


def check(inputs: TextInputs, settings: FastDllmSettings, checkpoint: Checkpoint) -> None:
    """What can be refused before the weights are loaded."""
    check_prompt(inputs.prompt)
    if checkpoint.pocket:
        check_pocket(inputs.prompt, settings.max_new_tokens, settings.block_size)


def estimate(inputs: TextInputs, settings: FastDllmSettings, checkpoint: Checkpoint) -> Estimate:
    """Bytes of one full pass and of the cache."""
    positions = len(inputs.prompt) + settings.max_new_tokens
    return Estimate(bytes=positions * (25_000 if checkpoint.pocket else 1_900_000))


CARD = Card(
    key="fast_dllm",
    title="Fast-dLLM",
    tab=Tab.TEXT,
    summary="Plain diffusion sped up without training: many confident tokens a pass, approximate caches.",
    paper=Paper(
        title="Fast-dLLM: Training-free Acceleration of Diffusion LLM by Enabling KV Cache and Parallel Decoding",
        authors="Wu et al.",
        year=2025,
        arxiv="2505.22618",
    ),
    licence="Apache-2.0",
    inputs=TextInputs,
    settings=FastDllmSettings,
    checkpoints=DIFFUSION_CHECKPOINTS,
    outputs=("text", "decoding_trace"),
    determinism=Determinism.BIT_EXACT,
    limits="Both caches are approximate: frozen rows go stale while the block fills in, so tokens can differ from decoding "
    "without a cache.",
    examples=(
        Example(
            title="Dual cache beside none",
            inputs={"prompt": "Convert 2.904 GJ to kJ. Show each step."},
            panes=(("fast_dllm", {"cache": "none"}), ("fast_dllm", {"cache": "dual"})),
            repeats=3,
            point="The dual cache recomputes only the current block.",
        ),
    ),
    presets=(
        Preset(
            name="LLaDA, threshold 0.9",
            settings={"max_new_tokens": 256, "block_size": 32, "threshold": 0.9},
            source="Fast-dLLM evaluation scripts",
        ),
        Preset(
            name="LLaDA, dual cache",
            settings={"max_new_tokens": 256, "block_size": 32, "threshold": 0.9, "cache": "dual"},
            source="Fast-dLLM evaluation scripts",
        ),
    ),
    sweep=("threshold", "factor", "block_size", "steps"),
    order=30,
    check=check,
    estimate=estimate,
)
