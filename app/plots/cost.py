"""What a comparison cost: one band a measure, one bar a pane, each band on its own scale from zero, ratios in words.

A ratio wears the colour of the pane that did better, grey when the baseline did, so a loss is as visible as a gain.

It deliberately puts nothing on a common scale that has different units.
"""

from typing import NamedTuple

from app.plots.drawing import Drawing
from app.plots.palette import Palette

WIDTH = 760.0
_NAMES, _BARS, _WORDS = 20.0, 168.0, 604.0
_BAR, _GAP = 17.0, 13.0
_LONGEST = 300.0


class CostBar(NamedTuple):
    """One pane's value of a measure: `shown` with its unit, `spread` as text or ""."""

    letter: str
    place: int
    value: float
    shown: str
    spread: str
    words: str
    """The ratio to the baseline in words; "" for the baseline."""
    winner: int | None
    """Place of the pane that did better, None if neither."""


class CostBand(NamedTuple):
    label: str
    hint: str
    bars: tuple[CostBar, ...]


class CostPane(NamedTuple):
    letter: str
    place: int
    title: str
    note: str


def draw_costs(panes: list[CostPane], bands: list[CostBand], colours: Palette, title: str, protocol: str, footer: str) -> str:
    """The picture of a comparison's ledger."""
    head = 44.0 + 22.0 * len(panes)
    height = head + sum(len(band.bars) * _BAR + _GAP for band in bands) + 30
    said = "; ".join(f"{band.label}: " + ", ".join(f"{bar.letter} {bar.shown} {bar.words}".strip() for bar in band.bars) for band in bands)
    drawing = Drawing(WIDTH, height, colours, f"What it cost: {title}", said)
    drawing.text(20, 26, "What it cost", size=15, fill=colours.ink, bold=True)
    drawing.text(120, 26, protocol, size=11)
    for index, pane in enumerate(panes):
        y = 50.0 + 22 * index
        drawing.key(20, y, pane.letter, colours.pane(pane.place))
        drawing.text(45, y, pane.title, size=13, fill=colours.ink, bold=True)
        drawing.text(168, y, pane.note[:110], size=11, fill=colours.ink_2)
    y = head
    for band in bands:
        drawing.line(20, y - 4, WIDTH - 20, y - 4, colours.rule)
        y = _draw_band(drawing, band, y)
    drawing.text(20, height - 12, footer, size=9)
    return drawing.svg()


def _draw_band(drawing: Drawing, band: CostBand, top: float) -> float:
    colours = drawing.colours
    drawing.text(_NAMES, top + 13, band.label, size=12, fill=colours.ink)
    if len(band.bars) > 1:
        drawing.text(_NAMES, top + 27, band.hint, size=10)
    largest = max((abs(bar.value) for bar in band.bars), default=0.0) or 1.0
    for index, bar in enumerate(band.bars):
        y = top + index * _BAR
        length = max(2.0, _LONGEST * abs(bar.value) / largest)
        drawing.text(_BARS - 8, y + 13, bar.letter, size=11, anchor="end", bold=True, fill=colours.pane(bar.place))
        drawing.rect(_BARS, y + 7, length, 5, colours.pane(bar.place))
        spread = f" ± {bar.spread}" if bar.spread else ""
        drawing.text(_BARS + length + 8, y + 13, f"{bar.shown}{spread}", size=12, fill=colours.ink)
        if bar.words:
            colour = colours.ink_3 if bar.winner is None else colours.pane(bar.winner)
            drawing.text(_WORDS, y + 13, bar.words, size=12, fill=colour, bold=bar.winner is not None)
    return top + len(band.bars) * _BAR + _GAP
