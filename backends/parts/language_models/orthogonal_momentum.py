"""The Muon optimiser in float32, batched over matrices of one shape.

What it does: momentum, then the nearest semi-orthogonal matrix by five Newton-Schulz steps, scaled to the size of an AdamW
update.
Where: Jordan et al. 2024 (Muon); the scale 0.2 sqrt(max(rows, columns)) is Moonshot's "match RMS AdamW".
What it does not do: `torch.optim.Muon` iterates in bfloat16, which is many times slower on processors without bfloat16 units;
apart from the number format this is the same update.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)


class OrthogonalMomentum(torch.optim.Optimizer):
    """Muon with Nesterov momentum for two-dimensional parameters."""

    def __init__(self, parameters: Iterable[Tensor], learning_rate: float, momentum: float = 0.95, weight_decay: float = 0.01) -> None:
        super().__init__(list(parameters), {"lr": learning_rate, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One update of every parameter that has a gradient."""
        for group in self.param_groups:
            by_shape: dict[tuple[int, ...], list[Tensor]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape[tuple(parameter.shape)].append(parameter)
            for shape, parameters in by_shape.items():
                updates = orthogonalise(torch.stack([self._momentum(parameter, group["momentum"]) for parameter in parameters]))
                scale = 0.2 * math.sqrt(max(shape))
                for parameter, update in zip(parameters, updates, strict=True):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-group["lr"] * scale)

    def _momentum(self, parameter: Tensor, momentum: float) -> Tensor:
        gradient: Tensor = parameter.grad  # type: ignore[assignment]
        state = self.state[parameter]
        average = state.setdefault("average", torch.zeros_like(gradient))
        average.lerp_(gradient, 1 - momentum)
        return gradient.lerp(average, momentum)


def orthogonalise(matrices: Tensor, steps: int = 5) -> Tensor:
    """Newton-Schulz on `(count, rows, columns)`: X <- a X + (b A + c A A) X with A = X X^T, singular values towards 1."""
    tall = matrices.shape[-2] > matrices.shape[-1]
    rows = matrices.mT if tall else matrices
    rows = rows / (rows.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    first, second, third = COEFFICIENTS
    for _ in range(steps):
        gram = rows @ rows.mT
        rows = torch.baddbmm(rows, torch.baddbmm(gram, gram, gram, beta=second, alpha=third), rows, beta=first)
    return rows.mT if tall else rows
