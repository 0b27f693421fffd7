"""The card of D2F.

What it does: says what the method is, which checkpoints it runs, and with which comparisons the text tab opens.
Where: Wang et al., arXiv 2508.09192; the presets are the settings of the authors' evaluation scripts.
What it does not do: it loads nothing.
"""

from __future__ import annotations

from typing import Any

from backends.contract import Card, Checkpoint, Determinism, Estimate, Example, Paper, Preset, Source, Tab
from backends.parts.text_checkpoints import (
    D2F_DREAM_BASE,
    D2F_DREAM_INSTRUCT,
    D2F_LLADA,
    DREAM_BASE,
    DREAM_INSTRUCT,
    LLADA_INSTRUCT,
    POCKET_BASE,
    POCKET_LICENCE,
    dream_7b,
    llada_8b,
    pocket,
)
from backends.parts.text_checks import check_pocket, check_prompt
from backends.parts.text_inputs import TextInputs
from backends.text.d2f.settings import D2FSettings

CONVERSION = "Convert 4.250 mg to kg. Show each step."
BASE_PAIRS = "Design a duplex of 20 base pairs from GATCATGC, no base twice in a row."
LAB_NOTES = (
    "Pump 3 ran at 47 rpm. Buffer B changed at 14:37. Room at 21 C. Sample 58 stored cold. Run 58 looked clean. Filter 4 replaced. "
    "Pump 6 ran at 68 rpm. Buffer C changed at 14:12. Room at 19 C. Sample 33 stored cold.\n"
)


def _pocket_adapter(location: str) -> Source:
    return Source(role="adapter", kind="pocket", location=location, bytes=660_000, licence=POCKET_LICENCE)


CHECKPOINTS = (
    pocket(
        "pocket",
        "Pocket LLaDA + D2F adapter",
        POCKET_BASE,
        _pocket_adapter("d2f"),
        note="Trained here in minutes on unit conversions and DNA duplexes.",
    ),
    pocket(
        "pocket_random_noise",
        "Pocket LLaDA + adapter trained with random noise",
        POCKET_BASE,
        _pocket_adapter("d2f_random_noise"),
        note="Ablation: noise not rising from left to right.",
    ),
    pocket(
        "pocket_no_adapter", "Pocket LLaDA without adapter", POCKET_BASE, note="Ablation: the teacher never saw block-causal attention."
    ),
    llada_8b("llada_8b_instruct", "LLaDA-8B-Instruct + D2F", LLADA_INSTRUCT, D2F_LLADA),
    dream_7b("dream_7b_base", "Dream-v0-Base-7B + D2F", DREAM_BASE, D2F_DREAM_BASE),
    dream_7b("dream_7b_instruct", "Dream-v0-Instruct-7B + D2F", DREAM_INSTRUCT, D2F_DREAM_INSTRUCT),
)


def _preset(name: str, length: int, block: int, add: float, confidence: float = 0.9, act: float = 0.95) -> Preset:
    values: dict[str, Any] = {"max_new_tokens": length, "block_size": block, "tau_add": add, "tau_act": act, "tau_conf": confidence}
    return Preset(name=name, settings=values, source="evaluation script of the authors' repository")


PRESETS = (
    _preset("LLaDA, GSM8K", 512, 64, 0.7),
    _preset("LLaDA, MBPP", 512, 32, 0.9),
    _preset("LLaDA, MATH", 512, 32, 0.1),
    _preset("LLaDA, HumanEval", 512, 32, 0.1),
    _preset("Dream, GSM8K with reasoning", 256, 32, 0.1),
    Preset(
        name="Dream, MBPP",
        settings={"max_new_tokens": 240, "block_size": 48, "tau_add": 0.1, "tau_act": 0.95, "tau_conf": 0.9},
        source="evaluation script of the authors' repository (256 tokens there, of which five blocks of 48 are used)",
    ),
    _preset("Dream, MATH", 256, 64, 0.1),
    _preset("Dream, HumanEval", 256, 32, 0.9, confidence=0.95),
)

EXAMPLES = (
    Example(
        title="The same answer, many tokens a pass",
        inputs={"prompt": CONVERSION},
        panes=(("autoregressive", {}), ("d2f", {})),
        repeats=3,
        point="Both write the same conversion; D2F needs a fraction of the forward passes.",
    ),
    Example(
        title="When tokens depend on one another",
        inputs={"prompt": BASE_PAIRS, "held_out": 40},
        panes=(("d2f", {"tau_conf": 0.9}), ("d2f", {"tau_conf": 0.5})),
        point="Free choices must fit one another: a lower threshold saves passes and costs right answers.",
    ),
    Example(
        title="Exact cache on a long prompt",
        inputs={"prompt": LAB_NOTES + CONVERSION},
        panes=(("d2f", {"kv_cache": False}), ("d2f", {"kv_cache": True})),
        repeats=3,
        point="The cache changes no token, only the time.",
    ),
)


def check(inputs: TextInputs, settings: D2FSettings, checkpoint: Checkpoint) -> None:
    """What can be refused before the weights are loaded."""
    check_prompt(inputs.prompt)
    if checkpoint.pocket:
        check_pocket(inputs.prompt, settings.max_new_tokens, settings.block_size)


def estimate(inputs: TextInputs, settings: D2FSettings, checkpoint: Checkpoint) -> Estimate:
    """Bytes of the cache and of the logits, by the size class of the checkpoint."""
    positions = len(inputs.prompt) + settings.max_new_tokens
    if checkpoint.pocket:
        return Estimate(bytes=positions * 5_120 + 10_000_000)
    per_position = 524_288 if "llada" in checkpoint.key else 57_344
    return Estimate(bytes=positions * per_position + settings.max_new_tokens * 152_064 * 8)


CARD = Card(
    key="d2f",
    title="D2F",
    tab=Tab.TEXT,
    summary="A diffusion language model that decodes several blocks at once with an exact cache.",
    paper=Paper(
        title="Diffusion LLMs Can Do Faster-Than-AR Inference via Discrete Diffusion Forcing",
        authors="Wang, Xu, Jin, Jin, Zhang, Deng",
        year=2025,
        arxiv="2508.09192",
    ),
    licence="MIT",
    inputs=TextInputs,
    settings=D2FSettings,
    checkpoints=CHECKPOINTS,
    outputs=("text", "decoding_trace"),
    determinism=Determinism.BIT_EXACT,
    baseline="autoregressive",
    limits="D2F fixes tokens from left to right, block by block: it loses the any-order planning of its base model (sudoku, for example), "
    "never revises a token, and gains less on text that is hard to predict.",
    examples=EXAMPLES,
    presets=PRESETS,
    sweep=("tau_conf", "tau_add", "tau_act", "block_size"),
    folder_roles=("base", "adapter"),
    order=20,
    check=check,
    estimate=estimate,
)
