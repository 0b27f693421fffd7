"""The card of a toy: it turns the letters of a prompt by a shift, a few at a time, as a stand-in for any method.

Where: Caesar's cipher. Its weights are one table of 26 numbers beside this file.

It deliberately imports nothing but the contract and the text tab's shared input, as a plug-in outside the project would.
"""

from pathlib import Path

from backends.contract import Card, Checkpoint, Determinism, Estimate, Example, Paper, Preset, Source, Tab
from backends.parts.text_inputs import TextInputs

from .settings import RotationSettings, check

WEIGHTS = Path(__file__).resolve().parent / "weights"

CARD = Card(
    key="toy_rotation",
    title="Rotation",
    tab=Tab.TEXT,
    summary="Turns every letter of the prompt by a shift.",
    paper=Paper(title="De vita Caesarum", authors="Suetonius", year=121),
    licence="public domain",
    inputs=TextInputs,
    settings=RotationSettings,
    checkpoints=(
        Checkpoint(
            key="alphabet",
            title="Alphabet",
            sources=(Source(kind="folder", location=str(WEIGHTS), licence="public domain"),),
            parameters=26,
            memory_bytes=4096,
            pocket=True,
        ),
    ),
    outputs=("text",),
    determinism=Determinism.BIT_EXACT,
    limits="Letters outside the Latin alphabet stay as they are.",
    examples=(
        Example(
            title="A proverb",
            inputs={"prompt": "Festina lente"},
            panes=(("toy_rotation", {"batch": 1}), ("toy_rotation", {"batch": 4})),
            point="Four letters at a time give the same text in a quarter of the steps.",
        ),
    ),
    presets=(Preset(name="Thirteen", settings={"shift": 13}, source="its own inverse"),),
    sweep=("batch", "shift"),
    folder_roles=("base",),
    order=900,
    check=check,
    estimate=lambda inputs, settings, checkpoint: Estimate(bytes=4096, seconds=0.01),
)
