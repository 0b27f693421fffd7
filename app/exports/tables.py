"""CSV as RFC 4180 describes it, in UTF-8, safe to open in a spreadsheet.

A cell of text that a spreadsheet would run as a formula gets an apostrophe in front. Text of a model is written as a JSON
string, so that spaces and line breaks show and the first character is always a quotation mark.

It deliberately formats no number: they are written in full.
"""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

_EXACT = 2**53
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """A table with a header line."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow([_cell(name) for name in header])
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return buffer.getvalue().encode("utf-8", "backslashreplace")


def model_text(text: str) -> str:
    """Text that a model wrote, as a JSON string."""
    return json.dumps(text, ensure_ascii=False)


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
