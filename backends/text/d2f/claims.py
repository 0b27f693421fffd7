"""What D2F promises, and how it is measured on the pocket checkpoints.

What it does: exactness of cache and mask; passes, seconds and accuracy against plain diffusion, an autoregressive model of the
same size, and Fast-dLLM, on two tasks; the effect of dual-state blocks, of the noise schedule and of the thresholds.
Where: D2F specification, sections 8 and 11.
What it does not do: no floor is moved to pass; figures without a claim are reports.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from backends.contract import BadInput, BenchContext, Claim, ResolvedCheckpoint, Source
from backends.parts.language_models.baselines.autoregressive import NextTokenRule
from backends.parts.language_models.baselines.autoregressive import decode as decode_next_token
from backends.parts.language_models.baselines.causal_models import StackModel
from backends.parts.language_models.baselines.confidence_parallel import ParallelRule
from backends.parts.language_models.baselines.confidence_parallel import decode as decode_parallel
from backends.parts.language_models.baselines.masked_diffusion import DiffusionRule
from backends.parts.language_models.baselines.masked_diffusion import decode as decode_plain
from backends.parts.language_models.character_tokenizer import END, build_tokenizer
from backends.parts.language_models.checkpoint import load_checkpoint
from backends.parts.language_models.layouts import LladaModel, LlamaModel
from backends.parts.language_models.lora import merge_adapter
from backends.parts.language_models.measuring import Begin, Measured, measure_side_by_side, passes_ratio, seconds_ratio
from backends.parts.language_models.prompts import encode_prompt
from backends.parts.language_models.tiny_checkpoints import write_adapter, write_dream, write_llada
from backends.parts.procedural.questions import Question, Task, held_out, with_notes
from backends.parts.text_checkpoints import dream_7b, llada_8b
from backends.text.d2f.algorithm import PipelineRule, decode
from backends.text.d2f.exactness import compare_cache, leak_delta

STOPS = frozenset({END})
THRESHOLDS = (0.95, 0.9, 0.8, 0.7)
PROMPT_LENGTHS = (39, 250)

CLAIMS = (
    Claim(name="cache_token_mismatches", op="==", floor=0, quick=True),
    Claim(name="cache_max_abs_logit_delta", op="<=", floor=1e-4, quick=True),
    Claim(name="leak_max_abs_delta", op="<=", floor=1e-6, quick=True),
    Claim(name="teacher_mask_leaks", op=">=", floor=1e-3, quick=True),
    Claim(name="nfe_ratio_vanilla_over_d2f", op=">=", floor=5, quick=True),
    Claim(name="seconds_ratio_vanilla_over_d2f", op=">=", floor=10),
    Claim(name="seconds_ratio_ar_over_d2f", op=">=", floor=2.5),
    Claim(name="accuracy_drop_points", op="<=", floor=3),
    Claim(name="accuracy_drop_against_ar_points", op="<=", floor=3),
    Claim(name="dual_state_gain_points", op=">=", floor=0),
    Claim(name="passes_rise_as_threshold_falls", op="<=", floor=0),
    Claim(name="cache_seconds_ratio_long_prompt", op=">=", floor=1.0),
)

BAD_INPUTS = (
    BadInput(name="empty prompt", inputs={"prompt": "  "}, error="InputError", field="prompt", says="empty"),
    BadInput(
        name="mask token in the prompt", inputs={"prompt": "Convert <|mdm_mask|>"}, error="InputError", field="prompt", says="mask token"
    ),
    BadInput(name="unknown character", inputs={"prompt": "Convert 4.250 µg to kg."}, error="InputError", field="prompt", says="µ"),
    BadInput(name="NUL in the prompt", inputs={"prompt": "a\x00b"}, error="InputError", field="prompt", says="NUL"),
    BadInput(name="prompt alone too long", inputs={"prompt": "x" * 400}, error="InputError", field="prompt", says="384"),
    BadInput(
        name="prompt and answer too long",
        inputs={"prompt": "x" * 200},
        settings={"max_new_tokens": 256},
        error="SettingError",
        field="max_new_tokens",
        says="384",
    ),
    BadInput(
        name="block of zero", inputs={"prompt": "a"}, settings={"block_size": 0}, error="SettingError", field="block_size", says="between"
    ),
    BadInput(
        name="block larger than the answer",
        inputs={"prompt": "a"},
        settings={"block_size": 64, "max_new_tokens": 32},
        error="SettingError",
        field="block_size",
        says="32",
    ),
    BadInput(
        name="answer not a whole number of blocks",
        inputs={"prompt": "a"},
        settings={"block_size": 20},
        error="SettingError",
        field="max_new_tokens",
        says="multiple of 20",
    ),
    BadInput(
        name="threshold above one",
        inputs={"prompt": "a"},
        settings={"tau_conf": 1.5},
        error="SettingError",
        field="tau_conf",
        says="between",
    ),
    BadInput(
        name="threshold below zero",
        inputs={"prompt": "a"},
        settings={"tau_add": -0.1},
        error="SettingError",
        field="tau_add",
        says="between",
    ),
    BadInput(
        name="top-p without temperature",
        inputs={"prompt": "a"},
        settings={"top_p": 0.9},
        error="SettingError",
        field="top_p",
        says="temperature",
    ),
)


@dataclass(frozen=True)
class Pocket:
    """The pocket models of one measurement."""

    teacher: LladaModel | LlamaModel
    student: LladaModel | LlamaModel
    random_noise: LladaModel | LlamaModel
    causal: StackModel


def open_pocket(assets: Path) -> Pocket:
    """All pocket models, packed."""

    def adapted(name: str) -> LladaModel | LlamaModel:
        model = load_checkpoint(assets / "pocket" / "llada")
        merge_adapter(model, assets / "pocket" / name)
        model.pack()
        return model

    teacher = load_checkpoint(assets / "pocket" / "llada")
    teacher.pack()
    causal = load_checkpoint(assets / "pocket" / "autoregressive")
    causal.pack()
    return Pocket(teacher, adapted("d2f"), adapted("d2f_random_noise"), StackModel(causal))  # type: ignore[arg-type]


def measure(context: BenchContext) -> dict[str, float]:
    """All figures; `quick` asks few questions and leaves out what needs many."""
    torch.set_num_threads(context.threads)
    pocket = open_pocket(context.assets)
    figures = _exactness(pocket, 2 if context.quick else 12)
    context.say("exactness measured")
    if context.quick:
        measured = measure_side_by_side({"vanilla": _vanilla(pocket), "d2f": _d2f(pocket)}, held_out(4, "conversion"))
        figures["nfe_ratio_vanilla_over_d2f"] = passes_ratio(measured["vanilla"], measured["d2f"])
        return figures
    for task, prefix in (("conversion", ""), ("base_pairs", "hard_")):
        figures |= _side_by_side(pocket, task, prefix)  # type: ignore[arg-type]
        context.say(f"{task}: decoders compared")
    figures |= _thresholds(pocket)
    context.say("thresholds swept")
    figures |= _dual_state(pocket)
    figures |= _prompt_lengths(pocket)
    return figures


def _vanilla(pocket: Pocket) -> Begin:
    return lambda ids: decode_plain(pocket.teacher, ids, DiffusionRule(), STOPS)


def _d2f(pocket: Pocket, rule: PipelineRule | None = None) -> Begin:
    chosen = rule or PipelineRule()
    return lambda ids: decode(pocket.student, ids, chosen, STOPS)


def _exactness(pocket: Pocket, prompts: int) -> dict[str, float]:
    tokenizer = build_tokenizer()
    mismatches, largest, leak, teacher_leak = 0, 0.0, 0.0, float("inf")
    questions = [*held_out(prompts, "conversion"), *held_out(prompts, "base_pairs")]
    for number, question in enumerate(questions):
        ids = encode_prompt(tokenizer, question.prompt)
        rule = PipelineRule(block_size=(8, 16, 32)[number % 3], tau_add=(0.1, 0.5)[number % 2])
        found = compare_cache(pocket.student, ids, rule, STOPS)
        mismatches += found.token_mismatches
        largest = max(largest, found.largest_logit_delta)
        whole = [*ids, *tokenizer(question.answer, add_special_tokens=False)["input_ids"]]
        whole = whole[: len(ids) + (len(whole) - len(ids)) // 16 * 16]
        leak = max(leak, leak_delta(pocket.student, whole, len(ids), 16))
        teacher_leak = min(teacher_leak, leak_delta(pocket.student, whole, len(ids), 16, bidirectional=True))
    return {
        "cache_token_mismatches": mismatches,
        "cache_max_abs_logit_delta": largest,
        "leak_max_abs_delta": leak,
        "teacher_mask_leaks": teacher_leak,
    }


def _side_by_side(pocket: Pocket, task: Task, prefix: str) -> dict[str, float]:
    decoders: dict[str, Begin] = {
        "vanilla": _vanilla(pocket),
        "ar": lambda ids: decode_next_token(pocket.causal, ids, NextTokenRule(), STOPS),
        "d2f": _d2f(pocket),
        "d2f_block_16": _d2f(pocket, PipelineRule(block_size=16)),
        "d2f_random_noise": lambda ids: decode(pocket.random_noise, ids, PipelineRule(), STOPS),
        "d2f_no_adapter": lambda ids: decode(pocket.teacher, ids, PipelineRule(), STOPS),
        "fast_dllm": lambda ids: decode_parallel(pocket.teacher, ids, ParallelRule(), STOPS),
        "fast_dllm_prefix": lambda ids: decode_parallel(pocket.teacher, ids, ParallelRule(cache="prefix"), STOPS),
        "fast_dllm_dual": lambda ids: decode_parallel(pocket.teacher, ids, ParallelRule(cache="dual"), STOPS),
    }
    found = measure_side_by_side(decoders, held_out(300, task))
    figures = {f"{prefix}accuracy_{name}": one.accuracy for name, one in found.items()}
    figures |= {f"{prefix}passes_{name}": one.mean_passes for name, one in found.items()}
    figures |= {f"{prefix}tokens_per_second_{name}": one.tokens_per_second for name, one in found.items()}
    d2f = found["d2f"]
    figures[f"{prefix}accuracy_drop_points"] = found["vanilla"].accuracy - d2f.accuracy
    figures[f"{prefix}accuracy_drop_against_ar_points"] = found["ar"].accuracy - d2f.accuracy
    figures[f"{prefix}nfe_ratio_vanilla_over_d2f"] = passes_ratio(found["vanilla"], d2f)
    for name in ("vanilla", "ar", "fast_dllm", "fast_dllm_prefix", "fast_dllm_dual"):
        figures[f"{prefix}seconds_ratio_{name}_over_d2f"] = seconds_ratio(found[name], d2f)
    return figures


def _thresholds(pocket: Pocket) -> dict[str, float]:
    questions = held_out(100, "base_pairs")
    rules = {f"{value:g}": _d2f(pocket, PipelineRule(tau_conf=value)) for value in THRESHOLDS}
    found = measure_side_by_side(rules, questions)
    passes = [one.mean_passes for one in found.values()]
    figures = {f"hard_passes_at_{name}": one.mean_passes for name, one in found.items()}
    figures |= {f"hard_accuracy_at_{name}": one.accuracy for name, one in found.items()}
    figures["passes_rise_as_threshold_falls"] = max(0.0, *(later - earlier for earlier, later in itertools.pairwise(passes)))
    return figures


def _dual_state(pocket: Pocket) -> dict[str, float]:
    """Blocks that open early and commit only what is certain, against blocks that open when they may be forced (both at 0.85)."""
    rule = PipelineRule(tau_act=0.85, tau_conf=0.85, block_size=16)
    decoders = {"dual": _d2f(pocket, rule), "single": _d2f(pocket, replace(rule, tau_add=0.85))}
    accuracies: dict[str, list[float]] = {"dual": [], "single": []}
    passes: dict[str, list[float]] = {"dual": [], "single": []}
    tasks: tuple[Task, ...] = ("conversion", "base_pairs")
    for task in tasks:
        for name, one in measure_side_by_side(decoders, held_out(300, task)).items():
            accuracies[name].append(one.accuracy)
            passes[name].append(one.mean_passes)
    return {
        "dual_state_gain_points": sum(accuracies["dual"]) / 2 - sum(accuracies["single"]) / 2,
        "dual_state_passes": sum(passes["dual"]) / 2,
        "single_state_passes": sum(passes["single"]) / 2,
    }


def _prompt_lengths(pocket: Pocket) -> dict[str, float]:
    """Cache on against off, short and long prompts."""
    generator = np.random.default_rng(7)
    figures = {}
    decoders: Mapping[str, Begin] = {
        "on": _d2f(pocket, PipelineRule(block_size=16)),
        "off": _d2f(pocket, PipelineRule(block_size=16, cache=False)),
        "fast_dllm": lambda ids: decode_parallel(pocket.teacher, ids, ParallelRule(), STOPS),
    }
    for length, name in zip(PROMPT_LENGTHS, ("short", "long"), strict=True):
        questions: list[Question] = [with_notes(question, length, generator) for question in held_out(40, "conversion")]
        found: dict[str, Measured] = measure_side_by_side(decoders, questions)
        figures[f"cache_seconds_ratio_{name}_prompt"] = seconds_ratio(found["off"], found["on"])
        figures[f"seconds_ratio_fast_dllm_over_d2f_{name}_prompt"] = seconds_ratio(found["fast_dllm"], found["on"])
        figures[f"accuracy_d2f_{name}_prompt"] = found["on"].accuracy
    return figures


def published(folder: Path) -> list[ResolvedCheckpoint]:
    """Tiny random checkpoints in the published layouts: LLaDA and Dream, each with an adapter."""
    found = []
    for name, write, listed in (("llada", write_llada, llada_8b), ("dream", write_dream, dream_7b)):
        base = write(folder / name)
        adapter = write_adapter(folder / f"{name}_adapter", base)
        sources = tuple(Source(role=role, kind="folder", location=str(path)) for role, path in (("base", base), ("adapter", adapter)))
        checkpoint = listed(f"tiny_{name}", f"Tiny {name}", *sources).model_copy(update={"options": {}})
        found.append(ResolvedCheckpoint(checkpoint=checkpoint, paths={"base": base, "adapter": adapter}))
    return found
