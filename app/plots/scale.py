"""Numbers to pixels, round ticks, and how numbers and units are written.

Ticks step by 1, 2, 2.5 or 5 times a power of ten; bytes are written in decimal multiples (ISO 80000-13).

It deliberately has linear scales only: every axis drawn here is a count, a share, a time or a speed over a small range.
"""

import math
from typing import NamedTuple

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class Scale(NamedTuple):
    """Maps `low`..`high` to `start`..`end` pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        if self.high == self.low:
            return (self.start + self.end) / 2
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values that enclose `low`..`high`, about `about` of them."""
    if not (math.isfinite(low) and math.isfinite(high)) or low > high:
        raise ValueError(f"no ticks between {low} and {high}")
    if high - low <= max(1e-9 * max(abs(low), abs(high)), 1e-300):  # equal, or too close for a double to count the steps between
        middle = max(abs(low), abs(high))
        middle = middle if middle > 1e-290 else 1.0
        low, high = low - middle / 2, high + middle / 2
    rough = (high - low) / max(1, about - 1)
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = magnitude * next(found for found in _STEPS if found * magnitude >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = 3 - math.floor(math.log10(step))
    return [round(index * step, digits) for index in range(first, last + 1)]


def short(value: float) -> str:
    """A number as people read it: at most three significant digits, thousands apart, no exponent where it can be avoided."""
    if not math.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace(",", "\u2009")
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}".replace(",", "\u2009")
    if size < 1e-4:
        return f"{value:.1e}"
    decimals = 2 - math.floor(math.log10(size))
    return f"{value:.{min(max(decimals, 0), 6)}f}".rstrip("0").rstrip(".")


def with_unit(value: float, unit: str, sample_size: int | None = None) -> str:
    """A number and its unit; bytes in decimal multiples, a count of successes as "36 of 40"."""
    if sample_size is not None:
        return f"{short(value)} of {sample_size}"
    if unit in ("B", "bytes", "byte"):
        for name, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
            if abs(value) >= size:
                return f"{short(value / size)} {name}"
        return f"{short(value)} B"
    return f"{short(value)} {unit}".rstrip()
