"""The block timeline of text decoders: passes across, blocks down, a bar for the tokens each pass commits in a block.

All traces of one picture share one scale, so a decoder that is done early leaves white space: the white is the saving.
The colour of a bar is its pass, as in the text view.

It deliberately draws no token text: that is the text view's.
"""

from collections import Counter
from typing import NamedTuple

from app.plots.drawing import Drawing
from app.plots.palette import Palette
from app.plots.scale import Scale, short

WIDTH = 760.0
_LEFT, _RIGHT, _TOP = 76.0, 24.0, 58.0
_ROW, _SHORTEST_ROW, _TALLEST = 21.0, 4.0, 620.0
_AXIS = 46.0
_LABEL_EVERY = 12.0
"""Labels of blocks stand at least this far apart."""


class PassMark(NamedTuple):
    """One pass: its number, wall seconds at its end, and the positions it committed."""

    number: int
    seconds: float
    positions: tuple[int, ...]


class Timeline(NamedTuple):
    """One decoder's trace. `letter` is its pane, "" when it stands alone; `place` its colour."""

    title: str
    note: str
    letter: str
    place: int
    block_size: int
    positions: int
    passes: tuple[PassMark, ...]


def draw_timelines(timelines: list[Timeline], colours: Palette, footer: str) -> str:
    """One picture of all `timelines`, one below the other on one scale of passes."""
    last = max((mark.number for timeline in timelines for mark in timeline.passes), default=1)
    heights = [_TOP + _row(timeline) * _blocks(timeline) + _AXIS for timeline in timelines]
    names = ", ".join(timeline.title for timeline in timelines)
    drawing = Drawing(WIDTH, sum(heights) + 22, colours, f"Block timeline: {names}", " ".join(_summary(found) for found in timelines))
    across = Scale(0, last, _LEFT, WIDTH - _RIGHT)
    top = 0.0
    for timeline, height in zip(timelines, heights, strict=True):
        _draw(drawing, timeline, top, across, last)
        top += height
    drawing.text(20, top + 8, footer, size=9)
    return drawing.svg()


def _blocks(timeline: Timeline) -> int:
    return max(1, -(-timeline.positions // max(1, timeline.block_size)))


def _row(timeline: Timeline) -> float:
    return min(_ROW, max(_SHORTEST_ROW, _TALLEST / _blocks(timeline)))


def _summary(timeline: Timeline) -> str:
    most = max((len(mark.positions) for mark in timeline.passes), default=0)
    seconds = timeline.passes[-1].seconds if timeline.passes else 0.0
    counts = f"{timeline.positions} tokens in {len(timeline.passes)} passes, up to {most} in one pass, {short(seconds)} s."
    return f"{timeline.title}: {counts}"


def _draw(drawing: Drawing, timeline: Timeline, top: float, across: Scale, last: int) -> None:
    colours = drawing.colours
    left = 20.0
    if timeline.letter:
        drawing.key(left, top + 26, timeline.letter, colours.pane(timeline.place))
        left += 25
    drawing.text(left, top + 26, timeline.title, size=15, fill=colours.ink, bold=True)
    drawing.text(20, top + 44, timeline.note or _summary(timeline).partition(": ")[2], size=11, fill=colours.ink_2)
    row, counts = _row(timeline), _by_block(timeline)
    most = max((max(block.values()) for block in counts if block), default=1)
    overlapping = _overlap(counts)
    for index, block in enumerate(counts):
        y = top + _TOP + row * (index + 1) - 2
        if index % max(1, round(_LABEL_EVERY / row)) == 0:
            drawing.text(20, y - 1, f"block {index + 1}", size=min(11.0, row + 5))
            drawing.line(_LEFT, y, WIDTH - _RIGHT, y, colours.rule)
        if block:
            _draw_block(drawing, block, most, y, row, across, timeline.passes[-1].number)
        if block and overlapping:
            end = across(max(block))
            drawing.line(end, y - min(row - 3, 17.5), end, y + 0.5, colours.brass, thickness=2)
    _draw_axis(drawing, timeline, top + _TOP + row * _blocks(timeline), across, last)


def _by_block(timeline: Timeline) -> list[Counter[int]]:
    """For each block: pass -> tokens it committed there."""
    size = max(1, timeline.block_size)
    counts: list[Counter[int]] = [Counter() for _ in range(_blocks(timeline))]
    for mark in timeline.passes:
        for position in mark.positions:
            if 0 <= position < timeline.positions:
                counts[position // size][mark.number] += 1
    return counts


def _overlap(counts: list[Counter[int]]) -> bool:
    """Whether some block begins before the one above it has ended."""
    ends = 0
    for block in counts:
        if block and min(block) <= ends:
            return True
        ends = max(block, default=ends)
    return False


def _draw_block(drawing: Drawing, counts: Counter[int], most: int, y: float, row: float, across: Scale, done: int) -> None:
    colours, room = drawing.colours, row - 5.5 if row > 12 else row - 1.5
    drawing.rect(across(min(counts) - 1), y - room, across(max(counts)) - across(min(counts) - 1), room, colours.sunk)
    step = min(3.0, (room - 0.5) / most)
    wide = across(1) - across(0)
    for index, count in sorted(counts.items()):
        height = min(room, 0.5 + step * count)
        outline = colours.ink_2 if wide > 3 else ""
        bar = max(0.6, wide - (1 if wide > 3 else 0))
        drawing.rect(across(index - 1), y - height, bar, height, colours.ordered((index - 1) / done), stroke=outline, thickness=0.4)


def _draw_axis(drawing: Drawing, timeline: Timeline, y: float, across: Scale, last: int) -> None:
    colours = drawing.colours
    done = timeline.passes[-1].number if timeline.passes else 0
    drawing.text(20, y + 12, "pass")
    bands = len(colours.sequence)
    for band, colour in enumerate(colours.sequence):
        start, end = done * band / bands, done * (band + 1) / bands
        if end > start:
            drawing.rect(across(start), y + 5, across(end) - across(start), 6, colour)
    marks = [index for index in _round_passes(last) if abs(across(index) - across(done)) > 24]
    for index in marks:
        drawing.text(across(index - 0.5), y + 26, short(index), anchor="middle")
    if done:
        drawing.text(across(done - 0.5), y + 26, short(done), anchor="middle", fill=colours.ink, bold=True)
    if 0 < done <= 0.75 * last:
        saved = last - done
        said = f"{saved} {'pass' if saved == 1 else 'passes'} fewer than the longest here."
        drawing.text(across(done) + 14, y - 28, f"Done at pass {done}.", fill=colours.ink, bold=True, halo=True)
        drawing.text(across(done) + 14, y - 8, said, fill=colours.ink_2, halo=True)


def _round_passes(last: int) -> list[int]:
    """1 and four round passes up to `last`."""
    quarter = max(1, last // 4)
    return sorted({1, *range(quarter, last + 1, quarter)})
