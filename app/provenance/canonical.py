"""JSON with exactly one reading: strict parsing, and the canonical bytes that are signed.

RFC 8785 (JSON Canonicalization Scheme) gives the bytes; RFC 8259 section 4 leaves duplicate names open, so they are
refused here, as are NaN, infinities and numbers a double cannot hold.

It deliberately knows nothing of records: any JSON value may pass.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import PurePath
from typing import Any

import rfc8785

_LARGEST_EXACT = 2**53 - 1
"""Integers beyond it are written as decimal strings: a double would round them."""


_LONGEST_NUMBER = 1000
"""Characters; no record has such a number, and reading one takes quadratic time."""


class NotStrictJson(ValueError):
    """The bytes are not JSON with exactly one reading; the message says why."""


def parse_strict(raw: bytes) -> Any:
    """Parse UTF-8 JSON; raises NotStrictJson for duplicate names, NaN, infinities, too large numbers, bad UTF-8, deep nesting."""
    try:
        text = raw.decode("utf-8")
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole)
    except UnicodeDecodeError as error:
        raise NotStrictJson("it is not UTF-8 text") from error
    except RecursionError as error:
        raise NotStrictJson("it is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise NotStrictJson(f"it is not JSON (position {error.pos})") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotStrictJson(f"the name {twice[:60]!r} occurs twice in one object")
    return found


def _refuse_constant(name: str) -> Any:
    raise NotStrictJson(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise NotStrictJson(f"the number {text[:40]} is too large")
    return value


def _whole(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise NotStrictJson(f"the number {text[:40]}… is too long")
    return int(text)


def jsonable(value: Any) -> Any:
    """`value` as JSON that canonicalises: large integers and non-finite numbers become strings, times ISO 8601 in UTC."""
    if value is None or isinstance(value, bool | str):
        return _well_formed(value) if isinstance(value, str) else value
    if isinstance(value, Enum):
        return jsonable(value.value)
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST_EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, bytes):
        return {"sha256": hashlib.sha256(value).hexdigest(), "bytes": len(value)}
    if isinstance(value, Mapping):
        return {_well_formed(str(name)): jsonable(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(part) for part in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, date | PurePath):
        return _well_formed(str(value))
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _well_formed(text: str) -> str:
    """`text` without lone surrogates, which UTF-8 cannot carry."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def moment(when: datetime) -> str:
    """A time as ISO 8601 in UTC; a time without zone is taken as UTC, as everywhere in the store."""
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of `value`."""
    return rfc8785.dumps(jsonable(value))


def digest_of(value: Any) -> str:
    """SHA-256 (hex) of the canonical bytes of `value`."""
    return hashlib.sha256(canonical(value)).hexdigest()


def is_canonical(raw: bytes, parsed: Any) -> bool:
    """Whether `raw` is the canonical form of what it says."""
    try:
        return rfc8785.dumps(parsed) == raw
    except rfc8785.CanonicalizationError:
        return False
