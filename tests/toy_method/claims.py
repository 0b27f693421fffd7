"""What the toy promises, measured as real methods measure it.

Where: none.

It deliberately claims one equality and one ratio, the two kinds there are.
"""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from backends.contract import BadInput, BenchContext, Checkpoint, Claim, Context, Produced, ResolvedCheckpoint, Source
from backends.parts.text_inputs import TextInputs

from .method import METHOD
from .settings import RotationSettings

CLAIMS = (
    Claim(name="batch_mismatches", op="==", floor=0, quick=True),
    Claim(name="step_ratio", op=">=", floor=7.5, quick=True),
    Claim(name="letters_read", op=">=", floor=100),
)

BAD_INPUTS = (
    BadInput(name="an empty prompt", inputs={"prompt": "  "}, error="InputError", field="prompt", says="empty"),
    BadInput(name="a shift too far", inputs={"prompt": "a"}, settings={"shift": 26}, error="SettingError", field="shift", says="25"),
    BadInput(
        name="more at once than asked for", inputs={"prompt": "a"}, settings={"batch": 8, "limit": 2}, error="SettingError", field="batch",
        says="at most 2",
    ),
)  # fmt: skip


def published(folder: Path) -> tuple[ResolvedCheckpoint, ...]:
    """The published layout: a config and one table."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"letters": 26}), encoding="utf-8")
    save_file({"table": np.random.default_rng(1729).permutation(26).astype(np.int64)}, folder / "model.safetensors")
    checkpoint = Checkpoint(key="published", title="Published", sources=(Source(kind="folder", location=str(folder)),))
    return (ResolvedCheckpoint(checkpoint=checkpoint, paths={"base": folder}),)


def measure(context: BenchContext) -> dict[str, float]:
    """Turn a text with one and with eight letters at once."""
    (resolved,) = published(context.scratch / "published")
    model = METHOD.load(resolved, "cpu", "float32")
    text = "festina lente " * (4 if context.quick else 40)
    one, eight = (_run(model, text, batch, context.scratch) for batch in (1, 8))
    context.say("turned twice")
    return {"batch_mismatches": float(one[0] != eight[0]), "step_ratio": one[1] / eight[1], "letters_read": float(len(text))}


def _run(model: np.ndarray, text: str, batch: int, scratch: Path) -> tuple[bytes, int]:
    context = Context(seed=1, device="cpu", scratch=scratch)
    events = list(METHOD.run(model, TextInputs(prompt=text), RotationSettings(batch=batch, pause=0.0), context))
    produced = next(event for event in events if isinstance(event, Produced))
    return produced.artifact.data, sum(event.type == "progress" for event in events)
