"""A method for tests that does what its input says, word by word; see method.py.

Where: nowhere; it follows the studio's contract only.
It deliberately computes nothing.
"""

from backends.contract import (
    Card,
    Checkpoint,
    Determinism,
    Estimate,
    Group,
    Inputs,
    Paper,
    Settings,
    Source,
    Tab,
    input_field,
    setting,
)


class ScriptInputs(Inputs):
    script: str = input_field("", label="Script", effect="what to do", widget="textarea")


class ScriptSettings(Settings):
    length: int = setting(10, label="Length", effect="needs a megabyte each", group=Group.OUTPUT, ge=1, le=1_000_000_000, step=1)
    ratio: float = setting(0.5, label="Ratio", effect="none", group=Group.SAMPLING, ge=0.0, le=1.0, step=0.1)


def _checkpoint(key: str, load: str = "", location: str = "toy") -> Checkpoint:
    source = Source(kind="pocket", location=location, licence="MIT")
    return Checkpoint(key=key, title=key, sources=(source,), memory_bytes=1_000_000, pocket=True, options={"load": load})


def _estimate(inputs: ScriptInputs, settings: ScriptSettings, checkpoint: Checkpoint) -> Estimate:
    return Estimate(bytes=settings.length * 1_000_000)


CARD = Card(
    key="scripted",
    title="Scripted toy",
    tab=Tab.TEXT,
    summary="Does what its input says.",
    paper=Paper(title="none", authors="none", year=2025),
    licence="MIT",
    inputs=ScriptInputs,
    settings=ScriptSettings,
    checkpoints=(
        _checkpoint("plain"),
        _checkpoint("other"),
        _checkpoint("load_waits", "touch:loading wait:go"),
        _checkpoint("load_ignores", "touch:loading block:pipe"),
        _checkpoint("load_runs_out", "memory"),
        _checkpoint("load_crashes", "segfault"),
        _checkpoint("load_raises", "raise"),
        _checkpoint("missing", location="absent"),
    ),
    outputs=("text",),
    determinism=Determinism.BIT_EXACT,
    estimate=_estimate,
)
