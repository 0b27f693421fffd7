"""The controls of plain masked diffusion decoding.

What it does: one frozen model; each field carries its range, default, label and effect.
Where: the arguments of LLaDA's published sampler.
What it does not do: lengths in tokens are checked when the tokenizer is known.
"""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from backends.contract import Group, SettingError, Settings, setting
from backends.parts import text_settings as shared


class MaskedDiffusionSettings(Settings):
    """One pane's settings."""

    guidance_scale: float = setting(
        0.0,
        label="Classifier-free guidance",
        effect="0 is off; higher follows the prompt harder and doubles the work",
        group=Group.GUIDANCE,
        ge=0.0,
        le=10.0,
        step=0.5,
    )
    steps: int = setting(
        96,
        label="Steps",
        effect="equal to the new tokens: one token a pass; fewer is faster and worse",
        group=Group.PARALLEL_DECODING,
        unit="passes",
        ge=1,
        le=4096,
        step=1,
    )
    block_size: int = shared.block_size(96, 4096)
    remasking: Literal["low_confidence", "random"] = setting(
        "low_confidence", label="Commit", effect="the most confident positions, or random ones", group=Group.PARALLEL_DECODING
    )
    skip_after_end: bool = shared.skip_after_end(False)
    temperature: float = shared.temperature()
    max_new_tokens: int = shared.max_new_tokens()

    @model_validator(mode="after")
    def _fit(self) -> MaskedDiffusionSettings:
        shared.check_blocks(self.max_new_tokens, self.block_size)
        blocks = self.max_new_tokens // self.block_size
        if self.steps > self.max_new_tokens:
            raise SettingError(
                f"{self.steps} steps for {self.max_new_tokens} new tokens.",
                "A step commits at least one token.",
                f"Choose at most {self.max_new_tokens} steps.",
                field="steps",
                suggestion=self.max_new_tokens,
            )
        if self.steps % blocks:
            nearest = max(blocks, round(self.steps / blocks) * blocks)
            raise SettingError(
                f"{self.steps} steps cannot be split evenly over {blocks} blocks.",
                "",
                f"Choose a multiple of {blocks}.",
                field="steps",
                suggestion=nearest,
            )
        return self
