"""The shared input of the text tab.

All text methods use this one model, so that any two of them can stand side by side.

It deliberately does not tokenise: lengths in tokens are checked by the method, which knows the checkpoint.
"""

from backends.contract import Inputs, input_field


class TextInputs(Inputs):
    """A prompt and, for checkpoints with a checkable task, how many held-out questions to answer besides."""

    prompt: str = input_field("", label="Shared input", effect="every pane reads exactly this", widget="textarea", max_length=200_000)
    held_out: int = input_field(
        0, label="Held-out questions", effect="also answer this many unseen questions and count the right answers", ge=0, le=400, step=1
    )
