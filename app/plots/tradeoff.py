"""The trade-off of a sweep: quality against speed, one mark a cell, labelled by the value that was swept.

Cells of one line differ only in the first axis; a second axis gives further lines in the colours of order. Labels are put
where they cover neither marks nor each other.

It deliberately fits no curve: between two cells nothing was measured.
"""

from typing import NamedTuple

from app.plots.drawing import Drawing, text_width
from app.plots.palette import Palette
from app.plots.scale import Scale, short, ticks

WIDTH, HEIGHT = 760.0, 440.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 70.0, 32.0, 94.0, 366.0
_RADIUS = 5.0
_PLACES = ((0, -11), (0, 19), (9, 4), (-9, 4), (9, -9), (-9, -9), (9, 16), (-9, 16), (0, -24), (0, 32))


class Point(NamedTuple):
    """One cell: `label` is the swept value, `line` the value of a second axis ("" without one)."""

    x: float
    y: float
    label: str
    line: str


class Axis(NamedTuple):
    label: str
    better: str
    """"higher is better", "lower is better" or ""."""
    ceiling: float | None = None
    """The largest value possible, such as the number of questions."""


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "_Box") -> bool:
        return self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom


def draw_tradeoff(
    points: list[Point], across: Axis, up: Axis, swept: str, lines: str, colours: Palette, title: str, note: str, footer: str
) -> str:  # fmt: skip
    """The picture of a sweep. `swept` names what the labels are, `lines` the second axis ("" without one)."""
    said = "; ".join(f"{_named(point, swept, lines)}: {short(point.x)}, {short(point.y)}" for point in points)
    drawing = Drawing(WIDTH, HEIGHT, colours, f"{up.label} against {across.label}: {title}", said)
    drawing.text(20, 26, title, size=15, fill=colours.ink, bold=True)
    drawing.text(20, 44, note, size=11, fill=colours.ink_2)
    x_axis, y_axis = _axes(drawing, points, across, up)
    placed = [(x_axis(point.x), y_axis(point.y)) for point in points]
    groups = list(dict.fromkeys(point.line for point in points))
    for group in groups:
        drawing.path([at for at, point in zip(placed, points, strict=True) if point.line == group], colours.edge, dashed=True)
    marks = [_Box(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS) for x, y in placed]
    taken: list[_Box] = []
    for index, ((x, y), point) in enumerate(zip(placed, points, strict=True)):
        drawing.circle(x, y, _RADIUS, _colour(colours, point, points, groups), stroke=colours.ink, thickness=1.2)
        taken.append(_label(drawing, point.label, x, y, [*marks[:index], *marks[index + 1 :], *taken]))
    _legend(drawing, swept, lines, groups, points)
    drawing.text(20, HEIGHT - 10, footer, size=9)
    return drawing.svg()


def _named(point: Point, swept: str, lines: str) -> str:
    return f"{swept} {point.label}, {lines} {point.line}" if lines else f"{swept} {point.label}"


def _axes(drawing: Drawing, points: list[Point], across: Axis, up: Axis) -> tuple[Scale, Scale]:
    colours = drawing.colours
    horizontal = ticks(min(point.x for point in points), max(point.x for point in points), 6)
    vertical = ticks(min(point.y for point in points), max(point.y for point in points), 5)
    if up.ceiling is not None:
        vertical = [value for value in vertical if value <= up.ceiling] + ([up.ceiling] if vertical[-1] > up.ceiling else [])
    if len(vertical) < 2:
        vertical = [vertical[0] - 1, vertical[0]]
    x_axis = Scale(horizontal[0], horizontal[-1], _LEFT, WIDTH - _RIGHT)
    y_axis = Scale(vertical[0], vertical[-1], _BOTTOM, _TOP)
    for value in vertical:
        drawing.line(_LEFT, y_axis(value), WIDTH - _RIGHT, y_axis(value), colours.rule)
        drawing.text(_LEFT - 10, y_axis(value) + 4, short(value), anchor="end")
    for value in horizontal:
        drawing.line(x_axis(value), _BOTTOM, x_axis(value), _BOTTOM + 4, colours.edge)
        drawing.text(x_axis(value), _BOTTOM + 18, short(value), anchor="middle")
    drawing.text(_LEFT - 50, _TOP - 24, ", ".join(part for part in (up.label, up.better) if part))
    drawing.text(WIDTH - _RIGHT, _BOTTOM + 36, ", ".join(part for part in (across.label, across.better) if part), anchor="end")
    return x_axis, y_axis


def _colour(colours: Palette, point: Point, points: list[Point], groups: list[str]) -> str:
    """By the second axis if there is one, else by the order of the swept values; the palest is left to the paper."""
    order = groups if len(groups) > 1 else list(dict.fromkeys(found.label for found in points))
    place = order.index(point.line if len(groups) > 1 else point.label)
    return colours.sequence[2 + round(place * (len(colours.sequence) - 3) / max(1, len(order) - 1))]


def _label(drawing: Drawing, text: str, x: float, y: float, obstacles: list[_Box]) -> _Box:
    """Write `text` beside a mark at the first free place; returns what it covers."""
    wide = text_width(text, 11)
    boxes = [_box(x + right, y + down, wide, right) for right, down in _PLACES]
    inside = [box for box in boxes if box.left > _LEFT - 40 and box.right < WIDTH and box.bottom < _BOTTOM + 2] or boxes
    chosen = min(inside, key=lambda box: sum(box.meets(other) for other in obstacles))
    drawing.text(chosen.left + 1, chosen.bottom - 2, text, fill=drawing.colours.ink, bold=True, halo=True)
    return chosen


def _box(x: float, y: float, wide: float, right: float) -> _Box:
    left = x - wide / 2 if right == 0 else x if right > 0 else x - wide
    return _Box(left - 1, y - 9, left + wide + 1, y + 2)


def _legend(drawing: Drawing, swept: str, lines: str, groups: list[str], points: list[Point]) -> None:
    colours, x, y = drawing.colours, _LEFT, _BOTTOM + 36
    if len(groups) < 2:
        drawing.text(x, y, f"labels: {swept}")
        return
    drawing.text(x, y, f"labels: {swept}; colours: {lines}")
    x += text_width(f"labels: {swept}; colours: {lines}", 11) + 14
    for group in groups[:7]:
        sample = next(point for point in points if point.line == group)
        drawing.circle(x, y - 4, 4.5, _colour(colours, sample, points, groups), stroke=colours.ink, thickness=0.8)
        drawing.text(x + 9, y, group)
        x += 24 + text_width(group, 11)
