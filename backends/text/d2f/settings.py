"""The controls of D2F.

What it does: one frozen model; each field carries its range, default, label, effect and the paper's symbol.
Where: D2F specification, section 4. Defaults are the paper's LLaDA values where they suit short answers (k = 32, tau 0.1 / 0.95
/ 0.9).
What it does not do: lengths in tokens are checked when the tokenizer is known.
"""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from backends.contract import Group, Settings, setting
from backends.parts import text_settings as shared


class D2FSettings(Settings):
    """One pane's settings."""

    kv_cache: bool = setting(
        True,
        label="Exact key-value cache",
        effect="off recomputes everything each pass: same tokens, slower",
        group=Group.CACHING,
        equal_output=True,
    )
    block_size: int = shared.block_size(32)
    tau_add: float = setting(
        0.1,
        label="Add the next block at",
        effect="share of a block decided before the next one is opened; lower overlaps more",
        group=Group.PARALLEL_DECODING,
        symbol="τ_add",
        ge=0.0,
        le=1.0,
        step=0.05,
    )
    tau_act: float = setting(
        0.95,
        label="Fully activate at",
        effect="share of a block decided before the next one must commit every pass; lower is faster and worse",
        group=Group.PARALLEL_DECODING,
        symbol="τ_act",
        ge=0.0,
        le=1.0,
        step=0.05,
    )
    tau_conf: float = setting(
        0.9,
        label="Commit above confidence",
        effect="lower commits more tokens a pass and makes more mistakes",
        group=Group.PARALLEL_DECODING,
        symbol="τ_conf",
        ge=0.0,
        le=1.0,
        step=0.05,
    )
    confidence: Literal["max_prob", "margin", "neg_entropy"] = shared.confidence_kind()
    skip_after_end: bool = shared.skip_after_end(True)
    temperature: float = shared.temperature()
    top_p: float | None = shared.top_p()
    top_k: int | None = shared.top_k()
    max_new_tokens: int = shared.max_new_tokens()

    @model_validator(mode="after")
    def _fit(self) -> D2FSettings:
        shared.check_blocks(self.max_new_tokens, self.block_size)
        shared.check_cuts(self.temperature, self.top_p, self.top_k)
        return self
