"""From logits to chosen tokens and their confidence.

What it does: greedy or sampled choice with temperature, top-k and top-p, the probability of the choice, and three scores that
order positions.
Where: D2F 3.3 step 6 (probability of the choice is tested against the threshold; the score picks the forced position); LLaDA's
Gumbel sampling.
What it does not do: no penalties, no beam, no constraints.

Shapes: N positions, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from backends.contract import NumericalError

Confidence = Literal["max_prob", "margin", "neg_entropy"]


@dataclass(frozen=True)
class SamplingRule:
    """How a token is drawn; temperature 0 is greedy and ignores the two cuts."""

    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None
    confidence: Confidence = "max_prob"


class Choice(NamedTuple):
    """One chosen token for each row."""

    tokens: Tensor  # (N,)
    probabilities: Tensor  # (N,) of the chosen token
    scores: Tensor  # (N,) higher is better


def check_finite(logits: Tensor, step: int) -> None:
    """Stop on NaN or infinity and name the pass. The largest value is enough: it is NaN when any value is."""
    if not bool(torch.isfinite(logits.amax())):
        raise NumericalError(
            f"The model produced values that are not numbers in pass {step}.",
            "The weights do not fit the number format, or the checkpoint is damaged.",
            "Try float32, or check the checkpoint's files.",
        )


def choose(logits: Tensor, rule: SamplingRule, generator: torch.Generator | None = None) -> Choice:
    """Choose one token for every row of `(N, V)` logits."""
    logits = logits.float()
    if rule.temperature == 0.0:
        probabilities = torch.softmax(logits, dim=-1)
        best, tokens = probabilities.max(dim=-1)
    else:
        probabilities = torch.softmax(cut(logits / rule.temperature, rule.top_p, rule.top_k), dim=-1)
        tokens = torch.multinomial(probabilities, 1, generator=generator)[:, 0]
        best = probabilities.gather(1, tokens[:, None])[:, 0]
    if rule.confidence == "margin":
        leading = probabilities.topk(2, dim=-1).values
        return Choice(tokens, best, leading[:, 0] - leading[:, 1])
    if rule.confidence == "neg_entropy":
        return Choice(tokens, best, (probabilities * probabilities.clamp(min=1e-10).log()).sum(dim=-1))
    return Choice(tokens, best, best)


def cut(logits: Tensor, top_p: float | None, top_k: int | None) -> Tensor:
    """Remove everything outside the nucleus of mass `top_p` and outside the `top_k` best; the best token always stays."""
    if top_k is not None and top_k < logits.shape[-1]:
        smallest = logits.topk(top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < smallest, -torch.inf)
    if top_p is not None and top_p < 1.0:
        ordered, indices = logits.sort(dim=-1, descending=True)
        shares = torch.softmax(ordered, dim=-1)
        surplus = shares.cumsum(dim=-1) - shares > top_p  # mass before this token already exceeds p
        logits = logits.scatter(1, indices, ordered.masked_fill(surplus, -torch.inf))
    return logits


def gumbel_choice(logits: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
    """LLaDA's draw: argmax of logits + temperature * Gumbel noise, in float64 because low precision biases the draw."""
    if temperature == 0.0:
        return logits.argmax(dim=-1)
    noise = torch.rand(logits.shape, dtype=torch.float64, generator=generator, device=logits.device)
    return (logits.double() - temperature * torch.log(-torch.log(noise.clamp(min=1e-300)))).argmax(dim=-1)
