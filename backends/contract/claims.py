"""Acceptance as data: what a method promises and how it is measured.

A method's folder holds `claims.py` with `CLAIMS`, `BAD_INPUTS`, `measure(context) -> dict of figures` and
`published(folder) -> ResolvedCheckpoints`: tiny random checkpoints in the published layout, written below `folder`.

It deliberately never loosens anything: a floor that is not reached is reported as failing.
"""

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ClaimResult(_Frozen):
    name: str
    value: float
    op: str
    floor: float | tuple[float, float]
    holds: bool


class Claim(_Frozen):
    """`figures[name] op floor` must hold. "in" takes a closed interval. `quick`: also checked in the test suite."""

    name: str
    op: Literal["==", "<=", ">=", "<", ">", "in"]
    floor: float | tuple[float, float]
    quick: bool = False

    def judge(self, value: float) -> ClaimResult:
        """Compare `value` with the floor; NaN never holds."""
        return ClaimResult(name=self.name, value=value, op=self.op, floor=self.floor, holds=self._holds(value))

    def _holds(self, value: float) -> bool:
        if isinstance(self.floor, tuple):
            return self.op == "in" and self.floor[0] <= value <= self.floor[1]
        comparisons: dict[str, Callable[[float, float], bool]] = {
            "==": operator.eq,
            "<=": operator.le,
            ">=": operator.ge,
            "<": operator.lt,
            ">": operator.gt,
        }
        return self.op in comparisons and comparisons[self.op](value, self.floor)


class BadInput(_Frozen):
    """A wrong use and the error it must raise: class name, the control it is shown at, and a fragment of the message."""

    name: str
    inputs: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    error: str
    field: str
    says: str
    checkpoint: str = ""


class BenchContext(_Frozen):
    """How to measure: `quick` is the size the test suite can afford, otherwise the size the claims are about."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    assets: Path
    scratch: Path
    quick: bool = False
    threads: int = 1
    say: Callable[[str], None] = lambda line: None


class Verdict(_Frozen):
    """What `bench` prints for one method."""

    method: str
    figures: dict[str, float]
    claims: tuple[ClaimResult, ...]
    machine: dict[str, Any]

    @property
    def holds(self) -> bool:
        return all(claim.holds for claim in self.claims)
