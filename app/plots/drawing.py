"""A sheet to draw on: a handful of SVG 1.1 shapes with plain attributes, escaped text, and a title for screen readers.

Attributes stand on each element rather than in a style sheet, so that every renderer and editor shows the same picture.

It deliberately offers no script, link, image or foreign object: nothing in the result can run or be fetched.
"""

import math
import re
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from app.plots.palette import MONO, SANS, Palette

Anchor = Literal["start", "middle", "end"]
_NOT_XML = re.compile("[^\\t\\n\\r\\u0020-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_ADVANCE = 0.56
"""Mean width of a character in units of the font size; IBM Plex Sans, measured over the labels drawn here."""


def text_width(text: str, size: float) -> float:
    """About how wide `text` is; for keeping labels apart."""
    return len(text) * size * _ADVANCE


def number(value: float) -> str:
    """A coordinate: two decimals at most, no trailing zeros."""
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown


def clean(text: str) -> str:
    """`text` without the characters XML cannot hold, on one line."""
    return " ".join(_NOT_XML.sub("�", text).split())


class Drawing:
    """One picture. Coordinates are pixels at 96 dpi, from the upper left corner."""

    def __init__(self, width: float, height: float, colours: Palette, title: str, description: str) -> None:
        self.width = math.ceil(width)
        self.height = math.ceil(height)
        self.colours = colours
        self._title = title
        self._description = description
        self._parts: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, fill: str, *, stroke: str = "", thickness: float = 0.0) -> None:
        """A filled rectangle."""
        line = f' stroke="{stroke}" stroke-width="{number(thickness)}"' if stroke else ""
        place = f'x="{number(x)}" y="{number(y)}" width="{number(max(0.0, width))}" height="{number(max(0.0, height))}"'
        self._parts.append(f'<rect {place} fill="{fill}"{line}/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str, *, thickness: float = 1.0, dashed: bool = False) -> None:
        """A straight line."""
        dash = ' stroke-dasharray="3 2.5"' if dashed else ""
        path = f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}"
        self._parts.append(f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{number(thickness)}"{dash}/>')

    def path(self, points: list[tuple[float, float]], stroke: str, *, thickness: float = 1.0, dashed: bool = False) -> None:
        """Straight lines through `points`."""
        if len(points) < 2:
            return
        steps = "L".join(f"{number(x)} {number(y)}" for x, y in points)
        dash = ' stroke-dasharray="3 2.5"' if dashed else ""
        self._parts.append(f'<path d="M{steps}" fill="none" stroke="{stroke}" stroke-width="{number(thickness)}"{dash}/>')

    def circle(self, x: float, y: float, radius: float, fill: str, *, stroke: str = "none", thickness: float = 1.0) -> None:
        """A circle."""
        place = f'cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"'
        self._parts.append(f'<circle {place} fill="{fill}" stroke="{stroke}" stroke-width="{number(thickness)}"/>')

    def text(
        self, x: float, y: float, text: str, *, size: float = 11.0, fill: str = "", anchor: Anchor = "start", bold: bool = False,
        mono: bool = False, halo: bool = False,
    ) -> None:  # fmt: skip
        """A line of text at its baseline. `halo` keeps it readable over lines."""
        extra = ' font-weight="700"' if bold else ""
        extra += f' text-anchor="{anchor}"' if anchor != "start" else ""
        extra += f" font-family={quoteattr(MONO)}" if mono else ""
        if halo:
            extra += f' stroke="{self.colours.plate}" stroke-width="3" paint-order="stroke" stroke-linejoin="round"'
        place = f'x="{number(x)}" y="{number(y)}" font-size="{number(size)}"'
        self._parts.append(f'<text {place} fill="{fill or self.colours.ink_3}"{extra}>{escape(clean(text))}</text>')

    def key(self, x: float, y: float, letter: str, colour: str) -> None:
        """The square with a pane's letter; `y` is the baseline of the text beside it."""
        self.rect(x, y - 13, 17, 17, colour)
        self.text(x + 8.5, y, letter, size=12, fill=self.colours.plate, anchor="middle", bold=True)

    def svg(self) -> str:
        """The picture as a whole document."""
        size = f'width="{number(self.width)}" height="{number(self.height)}" viewBox="0 0 {number(self.width)} {number(self.height)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family={quoteattr(SANS)}>'
        words = f"<title>{escape(clean(self._title))}</title>\n<desc>{escape(clean(self._description))}</desc>"
        sheet = f'<rect width="100%" height="100%" fill="{self.colours.plate}"/>'
        return "\n".join([head, words, sheet, *self._parts, "</svg>\n"])
