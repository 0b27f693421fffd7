"""The controls of Fast-dLLM.

What it does: one frozen model; each field carries its range, default, label and effect.
Where: the arguments of Fast-dLLM's generation script; D2F specification, 3.4.
What it does not do: lengths in tokens are checked when the tokenizer is known.
"""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from backends.contract import Group, SettingError, Settings, setting
from backends.parts import text_settings as shared


class FastDllmSettings(Settings):
    """One pane's settings."""

    cache: Literal["none", "prefix", "dual"] = setting(
        "none",
        label="Approximate cache",
        effect="prefix freezes what stands before the block, dual also what follows; faster on long text, not exact",
        group=Group.CACHING,
    )
    block_size: int = shared.block_size(32)
    rule: Literal["threshold", "factor", "steps"] = setting(
        "threshold",
        label="Commit by",
        effect="a confidence threshold, the factor rule, or a fixed number a pass",
        group=Group.PARALLEL_DECODING,
    )
    threshold: float = setting(
        0.9,
        label="Confidence threshold",
        effect="lower commits more tokens a pass and makes more mistakes; above 1 commits one a pass",
        group=Group.PARALLEL_DECODING,
        symbol="τ",
        ge=0.0,
        le=1.1,
        step=0.05,
    )
    factor: float = setting(
        1.0,
        label="Factor",
        effect="higher commits more tokens a pass; used by the factor rule only",
        group=Group.PARALLEL_DECODING,
        symbol="f",
        ge=0.0,
        le=10.0,
        step=0.1,
    )
    steps: int = setting(
        96,
        label="Steps",
        effect="passes in all; used by the fixed number only",
        group=Group.PARALLEL_DECODING,
        unit="passes",
        ge=1,
        le=4096,
        step=1,
    )
    confidence: Literal["max_prob", "margin", "neg_entropy"] = shared.confidence_kind()
    skip_after_end: bool = shared.skip_after_end(False)
    temperature: float = shared.temperature()
    top_p: float | None = shared.top_p()
    top_k: int | None = shared.top_k()
    max_new_tokens: int = shared.max_new_tokens()

    @model_validator(mode="after")
    def _fit(self) -> FastDllmSettings:
        shared.check_blocks(self.max_new_tokens, self.block_size)
        shared.check_cuts(self.temperature, self.top_p, self.top_k)
        blocks = self.max_new_tokens // self.block_size
        if self.rule == "steps" and self.steps % blocks:
            nearest = max(blocks, round(self.steps / blocks) * blocks)
            raise SettingError(
                f"{self.steps} steps cannot be split evenly over {blocks} blocks.",
                "",
                f"Choose a multiple of {blocks}.",
                field="steps",
                suggestion=nearest,
            )
        return self
