"""The few hundred characters a thumbnail in History is drawn from.

A decoding trace becomes one digit a token for its width (base 36, at most 35 letters) and one for the shade of the pass that
committed it (1 to 7 by its place among all passes, 0 for a mask). A plain text becomes word widths without shades.

Deliberately absent: the picture itself (ui/web/views/thumb.js), and any letter of the text.
"""

from typing import Any, Final

SHADES: Final = 7
_LETTERS: Final = 330
"""About what fits the picture; of a longer text every second, third … token stands for its neighbours."""
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def compact(kind: str, parsed: Any) -> dict[str, str] | None:
    """Thumbnail data of an artifact of `kind` ("decoding_trace" parsed from JSON, "text" as a string); None if it has none."""
    if kind == "decoding_trace" and isinstance(parsed, dict):
        return _of_tokens(*_tokens(parsed))
    if kind == "text" and isinstance(parsed, str):
        return _of_tokens([(word, 0) for word in parsed.split()], 1)
    return None


def shade(ordinal: int, total: int) -> int:
    """The shade of the `ordinal`-th of `total`, as the page colours tokens."""
    if total <= 1:
        return 1
    return min(SHADES, max(1, 1 + (ordinal - 1) * SHADES // total))


def _tokens(trace: dict[str, Any]) -> tuple[list[tuple[str, int]], int]:
    """(text, pass) by position as far as the trace shows any, and the number of passes."""
    passes = trace.get("passes") or []
    committed = {
        int(token["position"]): (str(token["text"]), int(step["index"]))
        for step in passes for token in step["committed"]
    }  # fmt: skip
    shown = int(trace.get("positions") or 0)
    last = int(passes[-1]["index"]) if passes else 0
    return [committed.get(position, ("·", 0)) for position in range(shown)], last


def _of_tokens(tokens: list[tuple[str, int]], total: int) -> dict[str, str] | None:
    letters = sum(max(1, len(text)) for text, _ in tokens)
    kept = tokens[:: max(1, -(-letters // _LETTERS))]
    if not kept:
        return None
    widths = "".join(_DIGITS[min(len(_DIGITS) - 1, max(1, len(text)))] for text, _ in kept)
    shades = "".join(str(shade(committed_in, total)) if committed_in else "0" for _, committed_in in kept)
    return {"widths": widths, "shades": shades}
