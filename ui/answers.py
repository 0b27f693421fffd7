"""JSON as this server answers it: plain ASCII, so that whatever text a user or a model wrote reaches the page unchanged.

Lone surrogates have no UTF-8 form, but JSON can spell them; numbers that are not finite are spelled as null.

It deliberately does not know what the answers are about.
"""

import json
import math
from typing import Any

from fastapi.responses import JSONResponse


class Answer(JSONResponse):
    """A JSON answer that can carry any text."""

    def render(self, content: Any) -> bytes:
        """The body, in ASCII."""
        return json.dumps(_finite(content), ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def _finite(content: Any) -> Any:
    if isinstance(content, float) and not math.isfinite(content):
        return None
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return content
