"""Compares two artifacts by what their media type means: text by characters, JSON by its values, pictures by their pixels,
anything else by bytes.

Measured times inside JSON (members named `seconds` or ending in `_seconds`) differ between any two runs and are not compared.

It deliberately judges nothing: whether a difference breaks a promise is `replay`'s question.
"""

import io
import math
from collections.abc import Iterator
from typing import Any

from PIL import Image, ImageChops, UnidentifiedImageError
from pydantic import BaseModel, ConfigDict

from app.provenance.canonical import NotStrictJson, parse_strict

_PICTURES = frozenset({"image/png", "image/jpeg", "image/webp"})
_SHOWN = 24
"""Characters of each side that a difference shows."""


class Difference(BaseModel):
    """How far two artifacts are apart. Neither field set: equal. `first` names a place where numbers cannot say it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    largest: float = 0.0
    """The largest absolute difference of two numbers at the same place."""
    where: str = ""
    """Where the largest difference is."""
    first: str = ""
    """The first difference that is not one of numbers, in words."""

    @property
    def equal(self) -> bool:
        return not self.first and self.largest == 0.0


def difference(one: bytes, two: bytes, media_type: str) -> Difference:
    """Compare two artifacts of the same media type."""
    if one == two:
        return Difference()
    kind = media_type.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return _json(one, two)
    if kind in _PICTURES:
        return _picture(one, two)
    if kind.startswith("text/") or kind.endswith("+xml"):
        return _text(one, two)
    return _bytes(one, two)


def _bytes(one: bytes, two: bytes) -> Difference:
    at = parting(one, two)
    return Difference(first=f"byte {at + 1:,}: {one[at : at + 1].hex() or 'end'} then, {two[at : at + 1].hex() or 'end'} now")


def _text(one: bytes, two: bytes) -> Difference:
    try:
        left, right = one.decode(), two.decode()
    except UnicodeDecodeError:
        return _bytes(one, two)
    at = parting(left, right)
    word = len(left[:at].split()) + (0 if at and not left[at - 1].isspace() else 1)
    shown = f"“{_excerpt(left, at)}” then, “{_excerpt(right, at)}” now"
    return Difference(first=f"character {at + 1:,} (word {max(word, 1):,}): {shown}")


def _excerpt(text: str, at: int) -> str:
    return text[at : at + _SHOWN] or "end"


def parting(one: bytes | str, two: bytes | str) -> int:
    """The first index at which the two differ."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(one), len(two)))


def _json(one: bytes, two: bytes) -> Difference:
    try:
        left, right = parse_strict(one), parse_strict(two)
    except NotStrictJson:
        return _text(one, two)
    largest, where = 0.0, ""
    for path, first, second in _apart(left, right, ""):
        if not (_is_number(first) and _is_number(second)):
            return Difference(largest=largest, where=where, first=f"{path or 'the whole'}: {_shown(first)} then, {_shown(second)} now")
        gap = abs(first - second)
        if gap > largest:
            largest, where = gap, path
    return Difference(largest=largest, where=where)


class _Absent:
    """A member or item that one side lacks."""


def _apart(one: Any, two: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Places at which two JSON values differ, in order."""
    if isinstance(one, dict) and isinstance(two, dict):
        for name in [*one, *(name for name in two if name not in one)]:
            if not _is_time(name):
                yield from _apart(one.get(name, _Absent), two.get(name, _Absent), f"{path}.{name}" if path else name)
    elif isinstance(one, list) and isinstance(two, list):
        for index in range(max(len(one), len(two))):
            left = one[index] if index < len(one) else _Absent
            right = two[index] if index < len(two) else _Absent
            yield from _apart(left, right, f"{path}[{index}]")
    elif (type(one) is not type(two) and not (_is_number(one) and _is_number(two))) or one != two:
        yield path, one, two


def _is_time(name: str) -> bool:
    return name == "seconds" or name.endswith("_seconds")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _shown(value: Any) -> str:
    return "absent" if value is _Absent else repr(value)[: 2 * _SHOWN]


def _picture(one: bytes, two: bytes) -> Difference:
    """Pixels as numbers from 0 to 1."""
    try:
        left, right = (Image.open(io.BytesIO(data)).convert("RGBA") for data in (one, two))
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError):
        return _bytes(one, two)
    if left.size != right.size:
        sizes = [f"{picture.size[0]} × {picture.size[1]}" for picture in (left, right)]
        return Difference(first=f"size: {sizes[0]} then, {sizes[1]} now")
    apart = ImageChops.difference(left, right)
    highest = max(band[1] for band in _extrema(apart))
    return Difference(largest=highest / 255, where=f"pixels inside {apart.getbbox(alpha_only=False)}" if highest else "")


def _extrema(picture: Image.Image) -> list[tuple[float, float]]:
    found: Any = picture.getextrema()
    return [tuple(band) for band in found]
