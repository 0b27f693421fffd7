"""What autoregressive decoding promises.

What it does: the cache changes no token and saves time; accuracy of the pocket model on held-out questions.
Where: the usual causal decoder.
What it does not do: nothing is claimed about general models.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from backends.contract import BadInput, BenchContext, Checkpoint, Claim, ResolvedCheckpoint, Source
from backends.parts.language_models.baselines.causal_models import StackModel
from backends.parts.language_models.character_tokenizer import END, build_tokenizer
from backends.parts.language_models.checkpoint import load_checkpoint
from backends.parts.language_models.decoding import drain
from backends.parts.language_models.measuring import Begin, measure_side_by_side, seconds_ratio
from backends.parts.language_models.prompts import encode_prompt
from backends.parts.language_models.tiny_checkpoints import write_llama
from backends.parts.procedural.questions import held_out
from backends.text.autoregressive.algorithm import NextTokenRule, decode

STOPS = frozenset({END})

CLAIMS = (
    Claim(name="cache_token_mismatches", op="==", floor=0, quick=True),
    Claim(name="cache_max_abs_logit_delta", op="<=", floor=1e-4, quick=True),
    Claim(name="seconds_ratio_cache_off_over_on", op=">=", floor=1.5),
    Claim(name="accuracy", op=">=", floor=90),
)

BAD_INPUTS = (
    BadInput(name="empty prompt", inputs={"prompt": "\n"}, error="InputError", field="prompt", says="empty"),
    BadInput(name="unknown character", inputs={"prompt": "Convert 4 Å to m."}, error="InputError", field="prompt", says="Å"),
    BadInput(name="lone surrogate", inputs={"prompt": "a\ud800"}, error="InputError", field="prompt", says="unicode"),
    BadInput(
        name="temperature too high",
        inputs={"prompt": "a"},
        settings={"temperature": 3.0},
        error="SettingError",
        field="temperature",
        says="between",
    ),
    BadInput(
        name="no tokens",
        inputs={"prompt": "a"},
        settings={"max_new_tokens": 0},
        error="SettingError",
        field="max_new_tokens",
        says="between",
    ),
    BadInput(
        name="top-k without temperature",
        inputs={"prompt": "a"},
        settings={"top_k": 5},
        error="SettingError",
        field="top_k",
        says="temperature",
    ),
    BadInput(
        name="prompt and answer too long",
        inputs={"prompt": "x" * 200},
        settings={"max_new_tokens": 300},
        error="SettingError",
        field="max_new_tokens",
        says="384",
    ),
)


def measure(context: BenchContext) -> dict[str, float]:
    """Exactness of the cache, its time, and accuracy on the pocket checkpoint."""
    torch.set_num_threads(context.threads)
    stack = load_checkpoint(context.assets / "pocket" / "autoregressive")
    stack.pack()
    model = StackModel(stack)  # type: ignore[arg-type]
    figures = _exactness(model, 2 if context.quick else 12)
    if context.quick:
        return figures

    def with_cache(cache: bool) -> Begin:
        return lambda ids: decode(model, ids, NextTokenRule(cache=cache), STOPS)

    both = measure_side_by_side({"on": with_cache(True), "off": with_cache(False)}, held_out(20, "conversion"))
    figures["seconds_ratio_cache_off_over_on"] = seconds_ratio(both["off"], both["on"])
    figures["accuracy"] = measure_side_by_side({"on": with_cache(True)}, held_out(300, "conversion"))["on"].accuracy
    figures["hard_accuracy"] = measure_side_by_side({"on": with_cache(True)}, held_out(300, "base_pairs"))["on"].accuracy
    return figures


def _exactness(model: StackModel, prompts: int) -> dict[str, float]:
    tokenizer = build_tokenizer()
    mismatches, largest = 0, 0.0
    for question in held_out(prompts, "conversion"):
        ids = encode_prompt(tokenizer, question.prompt)
        answers, logits = [], []
        for cache in (True, False):
            seen: list[Tensor] = []
            answers.append(
                drain(decode(model, ids, NextTokenRule(cache=cache), STOPS, None, lambda *found, kept=seen: kept.append(found[2].clone())))
            )
            logits.append(seen)
        mismatches += sum(a != b for a, b in zip(answers[0].tokens, answers[1].tokens, strict=False))
        mismatches += abs(len(answers[0].tokens) - len(answers[1].tokens))
        largest = max(largest, *(float((a - b).abs().max()) for a, b in zip(*logits, strict=False)))
    return {"cache_token_mismatches": mismatches, "cache_max_abs_logit_delta": largest}


def published(folder: Path) -> list[ResolvedCheckpoint]:
    """A tiny random checkpoint in Llama's layout."""
    base = write_llama(folder / "llama")
    checkpoint = Checkpoint(key="tiny_llama", title="Tiny Llama", sources=(Source(kind="folder", location=str(base)),))
    return [ResolvedCheckpoint(checkpoint=checkpoint, paths={"base": base})]
