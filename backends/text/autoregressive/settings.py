"""The controls of autoregressive decoding.

What it does: one frozen model; each field carries its range, default, label and effect.
Where: the usual arguments of a causal decoder.
What it does not do: lengths in tokens are checked when the tokenizer is known.
"""

from __future__ import annotations

from pydantic import model_validator

from backends.contract import Group, Settings, setting
from backends.parts import text_settings as shared


class AutoregressiveSettings(Settings):
    """One pane's settings."""

    kv_cache: bool = setting(
        True,
        label="Key-value cache",
        effect="off recomputes the whole text for every token: same tokens, slower",
        group=Group.CACHING,
        equal_output=True,
    )
    temperature: float = shared.temperature()
    top_p: float | None = shared.top_p()
    top_k: int | None = shared.top_k()
    max_new_tokens: int = shared.max_new_tokens()

    @model_validator(mode="after")
    def _fit(self) -> AutoregressiveSettings:
        shared.check_cuts(self.temperature, self.top_p, self.top_k)
        return self
