"""What plain masked diffusion decoding promises.

What it does: one token a pass when steps equal the answer's length; half the passes at half the steps; accuracy on held-out
questions.
Where: LLaDA's published sampler.
What it does not do: it promises no speed: it is what the others are faster than.
"""

from __future__ import annotations

from pathlib import Path

import torch

from backends.contract import BadInput, BenchContext, Claim, ResolvedCheckpoint, Source
from backends.parts.language_models.character_tokenizer import END
from backends.parts.language_models.checkpoint import load_checkpoint
from backends.parts.language_models.measuring import Begin, measure_side_by_side
from backends.parts.language_models.tiny_checkpoints import write_dream, write_llada
from backends.parts.procedural.questions import held_out
from backends.parts.text_checkpoints import dream_7b, llada_8b
from backends.text.masked_diffusion.algorithm import DiffusionRule, decode

CLAIMS = (
    Claim(name="passes_full_steps", op="==", floor=96, quick=True),
    Claim(name="passes_half_steps", op="==", floor=48, quick=True),
    Claim(name="skip_after_end_mismatches", op="==", floor=0, quick=True),
    Claim(name="accuracy", op=">=", floor=90),
)

BAD_INPUTS = (
    BadInput(name="empty prompt", inputs={"prompt": ""}, error="InputError", field="prompt", says="empty"),
    BadInput(name="more steps than tokens", inputs={"prompt": "a"}, settings={"steps": 97}, error="SettingError", field="steps", says="96"),
    BadInput(
        name="steps not a multiple of the blocks",
        inputs={"prompt": "a"},
        settings={"block_size": 32, "steps": 20},
        error="SettingError",
        field="steps",
        says="multiple of 3",
    ),
    BadInput(name="no steps", inputs={"prompt": "a"}, settings={"steps": 0}, error="SettingError", field="steps", says="between"),
    BadInput(name="prompt too long", inputs={"prompt": "x" * 400}, error="InputError", field="prompt", says="384"),
)


def measure(context: BenchContext) -> dict[str, float]:
    """Passes and accuracy on the pocket checkpoint."""
    torch.set_num_threads(context.threads)
    model = load_checkpoint(context.assets / "pocket" / "llada")
    model.pack()

    def with_rule(rule: DiffusionRule) -> Begin:
        return lambda ids: decode(model, ids, rule, frozenset({END}))

    decoders = {
        "full": with_rule(DiffusionRule()),
        "half": with_rule(DiffusionRule(steps=48)),
        "skip": with_rule(DiffusionRule(skip_after_end=True)),
    }
    found = measure_side_by_side(decoders, held_out(4 if context.quick else 300, "conversion"))
    figures = {
        "passes_full_steps": found["full"].mean_passes,
        "passes_half_steps": found["half"].mean_passes,
        "passes_skip_after_end": found["skip"].mean_passes,
        "skip_after_end_mismatches": sum(a != b for a, b in zip(found["full"].right, found["skip"].right, strict=True)),
        "accuracy": found["full"].accuracy,
        "accuracy_half_steps": found["half"].accuracy,
    }
    if not context.quick:
        hard = measure_side_by_side({"full": with_rule(DiffusionRule())}, held_out(300, "base_pairs"))
        figures["hard_accuracy"] = hard["full"].accuracy
    return figures


def published(folder: Path) -> list[ResolvedCheckpoint]:
    """Tiny random LLaDA and Dream checkpoints in the published layouts."""
    found = []
    for name, write, listed in (("llada", write_llada, llada_8b), ("dream", write_dream, dream_7b)):
        base = write(folder / name)
        checkpoint = listed(f"tiny_{name}", f"Tiny {name}", Source(kind="folder", location=str(base))).model_copy(update={"options": {}})
        found.append(ResolvedCheckpoint(checkpoint=checkpoint, paths={"base": base}))
    return found
