"""The toy's settings and the rule between them.

Where: none; they stand for the kinds of control a method can have: a number, a promise of equal output, a choice, an option.

It deliberately leaves empty prompts to the method's check, as real methods do.
"""

from typing import Any, Literal

from backends.contract import Checkpoint, Group, InputError, SettingError, Settings, setting


class RotationSettings(Settings):
    """What one pane sets."""

    shift: int = setting(
        3, label="Shift", effect="how far each letter is turned", group=Group.SAMPLING, symbol="s", unit="letters", ge=0, le=25, step=1
    )
    batch: int = setting(
        1,
        label="Letters at once",
        effect="more letters a step: fewer steps, same text",
        group=Group.PARALLEL_DECODING,
        ge=1,
        le=8,
        step=1,
        equal_output=True,
    )
    case: Literal["keep", "upper"] = setting("keep", label="Case", effect="writes everything in capitals", group=Group.OUTPUT)
    pause: float = setting(0.02, label="Pause", effect="waits before every step", group=Group.OUTPUT, unit="s", ge=0.0, le=0.5, step=0.01)
    limit: int | None = setting(
        None, label="Letters at most", effect="stops after this many letters", group=Group.OUTPUT, ge=1, le=1000, step=1
    )


def check(inputs: Any, settings: Any, checkpoint: Checkpoint) -> None:
    """What the fields cannot see by themselves."""
    if not inputs.prompt.strip():
        raise InputError("The prompt is empty.", "There is nothing to turn.", "Type a sentence.", field="prompt")
    if settings.limit is not None and settings.batch > settings.limit:
        raise SettingError(
            f"{settings.batch} letters at once are more than the {settings.limit} asked for.", "", f"Choose at most {settings.limit}.",
            field="batch", suggestion=settings.limit,
        )  # fmt: skip
