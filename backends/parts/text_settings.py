"""Settings that several text methods share, and the rules between them.

What it does: builds the sampling and length fields once, so that a control means the same in every pane, and checks that blocks
divide the answer.
Where: D2F specification, section 4 (toggles) and section 8 (bad inputs).
What it does not do: nothing here needs a model.
"""

from __future__ import annotations

from typing import Any

from backends.contract import Group, SettingError, setting


def max_new_tokens(default: int = 96) -> Any:
    """The upper bound of the answer."""
    return setting(
        default,
        label="New tokens at most",
        effect="upper bound; the end of the answer stops earlier",
        group=Group.OUTPUT,
        unit="tokens",
        ge=1,
        le=4096,
        step=1,
    )


def temperature() -> Any:
    """The field: temperature."""
    return setting(
        0.0,
        label="Temperature",
        effect="0 always takes the likeliest token; higher is more varied and less exact",
        group=Group.SAMPLING,
        ge=0.0,
        le=2.0,
        step=0.05,
    )


def top_p() -> Any:
    """The field: top p."""
    return setting(
        None,
        label="Top-p",
        effect="sample from the likeliest tokens that together hold this probability",
        group=Group.SAMPLING,
        symbol="p",
        ge=0.01,
        le=1.0,
        step=0.01,
    )


def top_k() -> Any:
    """The field: top k."""
    return setting(
        None, label="Top-k", effect="sample from this many likeliest tokens", group=Group.SAMPLING, symbol="k", ge=1, le=1000, step=1
    )


def confidence_kind() -> Any:
    """The field: confidence kind."""
    return setting(
        "max_prob", label="Confidence", effect="which position is taken when none passes the threshold", group=Group.PARALLEL_DECODING
    )


def block_size(default: int = 32, limit: int = 512) -> Any:
    """The field: block size."""
    return setting(
        default,
        label="Block size",
        effect="larger blocks: more tokens decided together; quality rises, then falls",
        group=Group.PARALLEL_DECODING,
        symbol="k",
        unit="tokens",
        ge=1,
        le=limit,
        step=1,
    )


def skip_after_end(default: bool) -> Any:
    """The field: skip after end."""
    return setting(
        default,
        label="Skip what follows the end",
        effect="stop once the answer's end is fixed; same text, fewer passes",
        group=Group.PARALLEL_DECODING,
        equal_output=True,
    )


def check_blocks(new_tokens: int, size: int) -> None:
    """The answer must be a whole number of blocks."""
    if size > new_tokens:
        raise SettingError(
            f"Block size is {size}, but only {new_tokens} new tokens are asked for.",
            "",
            f"Choose 1 to {new_tokens}.",
            field="block_size",
            suggestion=new_tokens,
        )
    if new_tokens % size:
        lower = new_tokens // size * size
        raise SettingError(
            f"{new_tokens} new tokens do not divide into blocks of {size}.",
            "",
            f"Choose a multiple of {size} such as {lower} or {lower + size}.",
            field="max_new_tokens",
            suggestion=lower if new_tokens - lower <= size // 2 else lower + size,
        )


def check_cuts(temperature_value: float, top_p_value: float | None, top_k_value: int | None) -> None:
    """Top-p and top-k do nothing at temperature 0: say so instead of ignoring them."""
    if temperature_value == 0.0 and (top_p_value is not None or top_k_value is not None):
        field = "top_p" if top_p_value is not None else "top_k"
        name = "Top-p" if top_p_value is not None else "Top-k"
        raise SettingError(
            f"{name} has no effect at temperature 0.",
            "The likeliest token is always taken.",
            f"Raise the temperature or clear {name}.",
            field=field,
        )
