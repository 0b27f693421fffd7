"""The chart kit: well-formed SVG without anything that runs, round ticks, labels that do not cover each other, true rasters."""

import io
import itertools
import math
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from app.plots.cost import CostBand, CostBar, CostPane, draw_costs
from app.plots.drawing import Drawing
from app.plots.palette import DARK, LIGHT
from app.plots.raster import rasterise
from app.plots.scale import Scale, short, ticks, with_unit
from app.plots.timeline import PassMark, Timeline, draw_timelines
from app.plots.tradeoff import Axis, Point, draw_tradeoff

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {f"{SVG}{name}" for name in ("svg", "title", "desc", "rect", "path", "circle", "text")}


def plain(passes: int = 64, block_size: int = 16, title: str = "Autoregressive") -> Timeline:
    return Timeline(title, "", "A", 0, block_size, passes, tuple(PassMark(n + 1, 0.03 * (n + 1), (n,)) for n in range(passes)))


def fast() -> Timeline:
    """Sixteen passes of four, blocks overlapping by half."""
    marks = tuple(PassMark(n + 1, 0.04 * (n + 1), tuple({2 * n, 2 * n + 1, 32 + 2 * n, 33 + 2 * n})) for n in range(16))
    return Timeline("D2F", "blocks of 16", "B", 1, 16, 64, marks)


def points(count: int = 8) -> list[Point]:
    return [Point(40 + 6 * n, 38 - n * n / 4, f"{0.99 - n / 20:g}", "") for n in range(count)]


def tradeoff(cells: list[Point], lines: str = "") -> str:
    return draw_tradeoff(cells, Axis("Speed, tokens/s", ""), Axis("Right", "", 40.0), "commit", lines, LIGHT, "Title", "note", "foot")


def texts(picture: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(picture).iter(f"{SVG}text")]


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_text_gives_well_formed_svg_with_nothing_that_runs(text):
    drawing = Drawing(100, 50, LIGHT, text, text)
    drawing.text(1, 2, text)
    root = ElementTree.fromstring(drawing.svg())
    assert {node.tag for node in root.iter()} <= ALLOWED
    assert not [name for node in root.iter() for name in node.attrib if name.startswith("on") or "href" in name]


def test_every_picture_has_a_title_a_description_and_only_shapes():
    bars = (CostBar("A", 0, 1.9, "1.9 s", "0.1", "", None), CostBar("B", 1, 0.6, "0.6 s", "", "3.1× faster", 1))
    costs = draw_costs([CostPane("A", 0, "AR", ""), CostPane("B", 1, "D2F", "")], [CostBand("Wall time", "", bars)], DARK, "t", "p", "f")
    for picture in (draw_timelines([plain(), fast()], LIGHT, "foot"), costs, tradeoff(points())):
        root = ElementTree.fromstring(picture)
        assert {node.tag for node in root.iter()} <= ALLOWED
        assert root.findtext(f"{SVG}title") and root.findtext(f"{SVG}desc")
        assert "IBM Plex Sans" in root.get("font-family", "")


@settings(deadline=None)
@given(st.floats(-1e9, 1e9), st.floats(0, 1e9), st.integers(3, 9))
def test_ticks_are_evenly_spaced_and_enclose_the_data(low, span, about):
    found = ticks(low, low + span, about)
    slack = 1e-6 * (found[1] - found[0])
    assert found[0] <= low + slack and found[-1] >= low + span - slack
    assert 2 <= len(found) <= 3 * about
    gaps = [two - one for one, two in itertools.pairwise(found)]
    assert max(gaps) == pytest.approx(min(gaps), rel=1e-3, abs=1e-6 * max(1.0, abs(low)))


def test_ticks_refuse_what_has_no_range():
    for low, high in ((math.nan, 1.0), (2.0, 1.0), (0.0, math.inf)):
        with pytest.raises(ValueError, match="no ticks"):
            ticks(low, high)


@pytest.mark.parametrize(
    ("value", "unit", "of", "shown"),
    [
        (1.9234, "s", None, "1.92 s"), (0.0312, "s", None, "0.0312 s"), (64, "passes", None, "64 passes"), (36, "of", 40, "36 of 40"),
        (1_500_000, "B", None, "1.5 MB"), (999, "B", None, "999 B"), (105.37, "tokens/s", None, "105 tokens/s"), (0, "s", None, "0 s"),
        (12_345, "", None, "12\u2009345"), (-0.5, "", None, "-0.5"), (math.nan, "s", None, "– s"), (0.00001234, "s", None, "1.2e-05 s"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_people_read_them(value, unit, of, shown):
    assert with_unit(value, unit, of) == shown


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_short_number_keeps_at_least_two_digits(value):
    again = float(short(value).replace("\u2009", ""))
    assert again == pytest.approx(value, rel=0.05, abs=1e-30)


def test_a_scale_without_a_range_lies_in_the_middle():
    assert Scale(3, 3, 10, 20)(3) == 15


def test_a_decoder_that_is_done_early_leaves_white_space_and_says_what_it_saved():
    shown = texts(draw_timelines([plain(), fast()], LIGHT, "foot"))
    assert "Done at pass 16." in shown and "48 passes fewer than the longest here." in shown
    assert not [text for text in texts(draw_timelines([plain()], LIGHT, "foot")) if text.startswith("Done")]


def test_a_bar_stands_for_each_pass_that_commits_in_a_block():
    bars = [node for node in ElementTree.fromstring(draw_timelines([fast()], LIGHT, "foot")).iter(f"{SVG}rect") if node.get("stroke")]
    assert len(bars) == 16 * 2  # each pass commits in two blocks


def test_colour_tells_the_order_of_passes():
    picture = ElementTree.fromstring(draw_timelines([plain()], LIGHT, "foot"))
    fills = [node.get("fill") for node in picture.iter(f"{SVG}rect") if node.get("stroke")]
    assert list(dict.fromkeys(fills)) == list(LIGHT.sequence)


def test_brass_marks_ends_only_where_blocks_overlap():
    assert LIGHT.brass not in draw_timelines([plain()], LIGHT, "foot") and LIGHT.brass in draw_timelines([fast()], LIGHT, "foot")


@pytest.mark.parametrize("tokens", [0, 1, 7, 3000])
def test_timelines_of_any_length_draw(tokens):
    timeline = plain(tokens) if tokens else Timeline("Empty", "", "", 0, 16, 0, ())
    root = ElementTree.fromstring(draw_timelines([timeline], LIGHT, "foot"))
    assert float(root.get("height", "0")) < 900
    places = [float(node.get(name, "0")) for node in root.iter(f"{SVG}rect") for name in ("x", "y") if node.get("x")]
    assert all(0 <= place <= 900 for place in places)


def test_each_cell_is_labelled_and_no_label_covers_another_or_a_mark():
    cells = points()
    root = ElementTree.fromstring(tradeoff(cells))
    labels = [node for node in root.iter(f"{SVG}text") if node.get("stroke")]
    assert [node.text for node in labels] == [cell.label for cell in cells]
    boxes = [(float(node.get("x", "")), float(node.get("y", "")), len(node.text or "") * 6.2) for node in labels]
    for index, (x, y, wide) in enumerate(boxes):
        for other_x, other_y, other_wide in boxes[index + 1 :]:
            assert x + wide < other_x or other_x + other_wide < x or abs(y - other_y) > 10
        for mark in root.iter(f"{SVG}circle"):
            right, down = float(mark.get("cx", "")), float(mark.get("cy", ""))
            assert not (x < right < x + wide and y - 9 < down < y)


def test_a_count_never_gets_an_axis_beyond_what_is_possible():
    cells = [Point(1, 39, "a", ""), Point(2, 40, "b", "")]
    heights = [text for text in texts(tradeoff(cells)) if re.fullmatch(r"[\d.]+", text)]
    assert "40" in heights and not [text for text in heights if float(text) > 40]


def test_a_second_axis_gives_lines_with_a_legend():
    cells = [Point(n, 30 + n, f"{n}", line) for line in ("8", "16") for n in (1, 2)]
    picture = tradeoff(cells, "block size")
    shown = texts(picture)
    assert "labels: commit; colours: block size" in shown and "8" in shown and "16" in shown


def test_one_cell_alone_draws():
    assert "0.99" in texts(tradeoff(points(1)))


def test_a_raster_has_the_size_and_the_resolution_asked_for():
    drawing = Drawing(96, 48, LIGHT, "t", "d")
    drawing.text(4, 30, "Wall time", size=16, fill=LIGHT.ink)
    for dpi in (96, 192, 300):
        picture = Image.open(io.BytesIO(rasterise(drawing.svg(), dpi)))
        picture.load()
        assert picture.size == (dpi, dpi // 2) and round(picture.info["dpi"][0]) == dpi


def test_text_is_drawn_in_the_typeface_of_the_page():
    """Bold and mono differ from regular, so all three files are found; nothing of it depends on fonts of this machine."""
    shapes = set()
    for bold, mono in ((False, False), (True, False), (False, True)):
        drawing = Drawing(200, 40, LIGHT, "t", "d")
        drawing.text(4, 30, "Wall time ≥ 3.1×", size=16, fill=LIGHT.ink, bold=bold, mono=mono)
        picture = Image.open(io.BytesIO(rasterise(drawing.svg(), 96))).convert("L")
        assert picture.getextrema()[0] < 80
        shapes.add(picture.tobytes())
    assert len(shapes) == 3


@pytest.mark.parametrize("dpi", [0, 10, 5000])
def test_an_absurd_resolution_is_refused(dpi):
    with pytest.raises(ValueError, match="dpi"):
        rasterise("<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>", dpi)
