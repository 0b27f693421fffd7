"""The trace of a text decoder: which pass committed which token, block by block.

One JSON artifact of kind "decoding_trace" (media type application/json) per run; the text view, its replay and the plots
are drawn from it alone. While a run goes on, each pass is also sent as `Step(index=pass, data=Pass.model_dump())`.

It deliberately holds no logits; confidences are enough for the view.
"""

from pydantic import BaseModel, ConfigDict


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Committed(_Frozen):
    """A token fixed in a pass. `position` counts from the first generated token, 0-based."""

    position: int
    token: int
    text: str
    confidence: float
    """Probability the model gave the token when it was committed, 0 to 1."""


class Pass(_Frozen):
    """One forward pass, 1-based. `rows` tokens were fed, `cached` positions were read from the cache."""

    index: int
    seconds: float
    """Wall time since the run's first pass began, at the end of this pass."""
    rows: int
    cached: int
    cache_bytes: int
    committed: tuple[Committed, ...]
    blocks: tuple[str, ...] = ()
    """State of each block after the pass: "inactive", "semi" (may overlap), "full", "done", "cached"."""


class DecodingTrace(_Frozen):
    """Everything the text view draws. Generated positions are split into blocks of `block_size` (AR: the view's choice)."""

    method: str
    prompt_tokens: int
    block_size: int
    positions: int
    """Generated positions shown, end-of-sequence excluded."""
    passes: tuple[Pass, ...]
    text: str
    stopped_by: str
    """"end of sequence", "length", "user", "time limit"."""
