"""What Fast-dLLM promises.

What it does: one token a pass when nothing passes the threshold; fewer passes than plain diffusion at equal accuracy; seconds
against plain diffusion with no, prefix and dual cache.
Where: D2F specification, 3.4 and section 8, item 7.
What it does not do: both caches are approximate, so no equality with the uncached tokens is claimed; the share that agrees is
reported.
"""

from __future__ import annotations

from pathlib import Path

import torch

from backends.contract import BadInput, BenchContext, Claim, ResolvedCheckpoint, Source
from backends.parts.language_models.baselines.masked_diffusion import DiffusionRule
from backends.parts.language_models.baselines.masked_diffusion import decode as decode_plain
from backends.parts.language_models.character_tokenizer import END
from backends.parts.language_models.checkpoint import load_checkpoint
from backends.parts.language_models.measuring import Begin, measure_side_by_side, passes_ratio, seconds_ratio
from backends.parts.language_models.tiny_checkpoints import write_dream, write_llada
from backends.parts.procedural.questions import held_out
from backends.parts.text_checkpoints import dream_7b, llada_8b
from backends.text.fast_dllm.algorithm import ParallelRule, decode

CLAIMS = (
    Claim(name="passes_when_none_passes", op="==", floor=96, quick=True),
    Claim(name="nfe_ratio_vanilla_over_fast_dllm", op=">=", floor=3, quick=True),
    Claim(name="seconds_ratio_vanilla_over_fast_dllm", op=">=", floor=2),
    Claim(name="accuracy_drop_points", op="<=", floor=3),
)

BAD_INPUTS = (
    BadInput(name="empty prompt", inputs={"prompt": ""}, error="InputError", field="prompt", says="empty"),
    BadInput(
        name="answer not a whole number of blocks",
        inputs={"prompt": "a"},
        settings={"block_size": 20},
        error="SettingError",
        field="max_new_tokens",
        says="multiple of 20",
    ),
    BadInput(
        name="threshold too high",
        inputs={"prompt": "a"},
        settings={"threshold": 2.0},
        error="SettingError",
        field="threshold",
        says="between",
    ),
    BadInput(
        name="steps not a multiple of the blocks",
        inputs={"prompt": "a"},
        settings={"rule": "steps", "steps": 20},
        error="SettingError",
        field="steps",
        says="multiple of 3",
    ),
    BadInput(name="prompt too long", inputs={"prompt": "x" * 400}, error="InputError", field="prompt", says="384"),
)


def measure(context: BenchContext) -> dict[str, float]:
    """Passes, seconds and accuracy on the pocket checkpoint."""
    torch.set_num_threads(context.threads)
    model = load_checkpoint(context.assets / "pocket" / "llada")
    model.pack()
    stops = frozenset({END})

    def with_rule(rule: ParallelRule) -> Begin:
        return lambda ids: decode(model, ids, rule, stops)

    decoders = {
        "vanilla": lambda ids: decode_plain(model, ids, DiffusionRule(), stops),
        "fast_dllm": with_rule(ParallelRule()),
        "fast_dllm_whole": with_rule(ParallelRule(block_size=96)),
        "fast_dllm_prefix": with_rule(ParallelRule(cache="prefix")),
        "fast_dllm_dual": with_rule(ParallelRule(cache="dual")),
        "fast_dllm_factor": with_rule(ParallelRule(threshold=None, factor=1.0)),
    }
    found = measure_side_by_side(decoders, held_out(3 if context.quick else 300, "conversion"))
    alone = measure_side_by_side({"alone": with_rule(ParallelRule(threshold=1.1))}, held_out(2, "conversion"))
    figures = {"passes_when_none_passes": alone["alone"].mean_passes}
    for name, one in found.items():
        figures[f"accuracy_{name}"] = one.accuracy
        figures[f"passes_{name}"] = one.mean_passes
        if name != "vanilla":
            figures[f"nfe_ratio_vanilla_over_{name}"] = passes_ratio(found["vanilla"], one)
            figures[f"seconds_ratio_vanilla_over_{name}"] = seconds_ratio(found["vanilla"], one)
    figures["accuracy_drop_points"] = found["vanilla"].accuracy - found["fast_dllm"].accuracy
    return figures


def published(folder: Path) -> list[ResolvedCheckpoint]:
    """Tiny random LLaDA and Dream checkpoints in the published layouts."""
    found = []
    for name, write, listed in (("llada", write_llada, llada_8b), ("dream", write_dream, dream_7b)):
        base = write(folder / name)
        checkpoint = listed(f"tiny_{name}", f"Tiny {name}", Source(kind="folder", location=str(base))).model_copy(update={"options": {}})
        found.append(ResolvedCheckpoint(checkpoint=checkpoint, paths={"base": base}))
    return found
