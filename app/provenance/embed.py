"""Carries a record inside the file it covers: PNG, SVG and the studio's JSON exports.

The record covers the file *without* it. Cutting it out gives back exactly the covered bytes, and putting it in again must
give exactly the file at hand, so no byte is left outside the signature. PNG: a tEXt chunk (PNG, third edition, 11.3.3.2)
before IEND; SVG: a `metadata` element at the end; JSON: a last member of the outer object.

It deliberately checks no signature: `verify` does.
"""

import json
import re
import struct
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from app.provenance.canonical import NotStrictJson, parse_strict

KEYWORD = "diptych-record"
JSON_MEMBER = "diptych_record"
_PNG = b"\x89PNG\r\n\x1a\n"
_IEND = struct.pack(">I", 0) + b"IEND" + struct.pack(">I", zlib.crc32(b"IEND"))
_OPEN = f'<metadata id="{KEYWORD}">'.encode()
_CLOSE = b"</metadata>\n"
_SVG_END = b"</svg>"
_SVG_RECORD = re.compile(re.escape(_OPEN) + rb"([^<]*)" + re.escape(_CLOSE))


class Embedded(NamedTuple):
    """A record found in a file, and the bytes it covers."""

    record: bytes
    covered: bytes


def embed(data: bytes, record: bytes) -> bytes:
    """`data` with `record` inside; raises ValueError if this kind of file cannot carry one."""
    kind = _kind(data)
    if kind is None:
        raise ValueError("only PNG, SVG and JSON objects carry a record inside")
    return _PUT[kind](data, record)


def extract(data: bytes) -> Embedded | None:
    """The record inside `data`, None if there is none or if the file is not exactly what putting it in gives."""
    kind = _kind(data)
    if kind is None:
        return None
    try:
        found = _TAKE[kind](data)
        return found if found is not None and _PUT[kind](found.covered, found.record) == data else None
    except (ValueError, RecursionError):  # not a file this module made
        return None


def carries(data: bytes) -> bool:
    """Whether `data` seems to hold a record, sound or not."""
    return KEYWORD.encode() in data or JSON_MEMBER.encode() in data


def _kind(data: bytes) -> str | None:
    if data.startswith(_PNG):
        return "png"
    start = data[:1024].lstrip()
    if start.startswith(b"{"):
        return "json"
    return "svg" if b"<svg" in start and data.rstrip().endswith(_SVG_END) else None


def _put_png(data: bytes, record: bytes) -> bytes:
    if not data.endswith(_IEND):
        raise ValueError("the PNG does not end as a PNG ends")
    body = b"tEXt" + KEYWORD.encode() + b"\0" + record
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return data[: -len(_IEND)] + chunk + _IEND


def _take_png(data: bytes) -> Embedded | None:
    mark = b"tEXt" + KEYWORD.encode() + b"\0"
    at = data.rfind(mark)
    if at < len(_PNG) + 4:
        return None
    (length,) = struct.unpack(">I", data[at - 4 : at])
    end = at + 4 + length + 4
    record = data[at + len(mark) : at + 4 + length]
    return Embedded(record, data[: at - 4] + data[end:]) if data[end:] == _IEND else None


def _put_svg(data: bytes, record: bytes) -> bytes:
    at = data.rfind(_SVG_END)
    return data[:at] + _OPEN + record + _CLOSE + data[at:]


def _take_svg(data: bytes) -> Embedded | None:
    found = _SVG_RECORD.findall(data)
    return Embedded(found[0], _SVG_RECORD.sub(b"", data)) if len(found) == 1 else None


def json_bytes(value: dict[str, Any]) -> bytes:
    """The one layout of the studio's JSON exports."""
    return (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _put_json(data: bytes, record: bytes) -> bytes:
    try:
        outer = parse_strict(data)
        return json_bytes({**outer, JSON_MEMBER: parse_strict(record)})
    except NotStrictJson as error:
        raise ValueError(f"the JSON cannot carry a record: {error}") from error


def _take_json(data: bytes) -> Embedded | None:
    try:
        outer = parse_strict(data)
    except NotStrictJson:
        return None
    if not isinstance(outer, dict) or JSON_MEMBER not in outer or len(outer) == 1:
        return None
    record = outer.pop(JSON_MEMBER)
    compact = json.dumps(record, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Embedded(compact.encode(), json_bytes(outer))


_PUT: dict[str, Callable[[bytes, bytes], bytes]] = {"png": _put_png, "svg": _put_svg, "json": _put_json}
_TAKE: dict[str, Callable[[bytes], Embedded | None]] = {"png": _take_png, "svg": _take_svg, "json": _take_json}
