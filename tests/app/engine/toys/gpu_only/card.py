"""A method for tests that can only run on a GPU.

Where: nowhere; it follows the studio's contract only.
It deliberately has no method.py: it must be refused before anything is loaded.
"""

from backends.contract import Card, Checkpoint, Determinism, Inputs, Paper, Settings, Source, Tab


class NoInputs(Inputs):
    pass


class NoSettings(Settings):
    pass


CARD = Card(
    key="gpu_only",
    title="GPU toy",
    tab=Tab.TEXT,
    summary="Never runs.",
    paper=Paper(title="none", authors="none", year=2025),
    licence="MIT",
    inputs=NoInputs,
    settings=NoSettings,
    checkpoints=(Checkpoint(key="plain", title="plain", sources=(Source(kind="pocket", location="toy"),)),),
    outputs=("text",),
    determinism=Determinism.NONE,
    devices=("cuda",),
)
