"""Nothing a model or a user writes may run; everything must be shown as it is."""

import pytest

from tests.ui_views.conftest import Open
from tests.ui_views.hostile import HOSTILE

pytestmark = pytest.mark.browser

CANARY = "window.fired = []; window.canary = (which) => window.fired.push(which);"


def test_no_payload_fires_in_any_viewer(view: Open) -> None:
    page = view("hostile", script=CANARY)
    page.evaluate("['A', 'B'].forEach((pane) => probe.pointAtEach(pane, 3))")
    page.focus("[data-pane=A] .out")
    for _ in range(len(HOSTILE)):
        page.keyboard.press("ArrowRight")
    page.click("text=Map")
    for pane in ("cell0", "cell11", "cell12"):
        page.click(f".c[data-pane={pane}]")
    page.click("text=Tokens per pass")
    page.evaluate("document.querySelectorAll('a, button, details, input').forEach((each) => each.dispatchEvent(new Event('focus')))")
    page.evaluate("probe.frames()")
    assert page.evaluate("window.fired") == []


def test_no_payload_becomes_an_element_or_an_attribute_that_acts(view: Open) -> None:
    page = view("hostile", script=CANARY)
    page.focus("[data-pane=B] .out")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("probe.foreignElements()") == [[], []]


def test_every_token_keeps_its_characters_exactly(view: Open) -> None:
    page = view("hostile", script=CANARY)
    shown = page.evaluate("probe.codeUnits()")
    wanted = [[int.from_bytes(pair, "little") for pair in _pairs(text)] for text in HOSTILE]
    assert shown == wanted


def _pairs(text: str) -> list[bytes]:
    """UTF-16 code units, lone surrogates included."""
    data = text.encode("utf-16-le", "surrogatepass")
    return [data[index : index + 2] for index in range(0, len(data), 2)]


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\x00", "NUL"),
        ("\u202e", "RLO"),
        ("\ud800", "U+D800"),
        ("\udc00", "U+DC00"),
        ("\ufeff", "BOM"),
        ("\x1b", "ESC"),
        ("\u200b", "ZWSP"),
    ],
)
def test_a_character_nobody_can_see_gets_a_mark_with_its_name(view: Open, character: str, name: str) -> None:
    page = view("hostile", script=CANARY)
    marks = page.evaluate("(code) => probe.marksOf(code)", ord(character))
    assert marks
    assert all(mark == [name, True] for mark in marks)


def test_an_override_reorders_nothing_outside_its_token(view: Open) -> None:
    page = view("hostile", script=CANARY)
    before, inside, after = page.evaluate("probe.aroundOverride()")
    assert (before[0], before[1]) < (inside[0], inside[1]) or before[0] < inside[0]
    assert (inside[2], inside[3]) < (after[0] + 0.5, after[1]) or inside[2] < after[0]


@pytest.mark.parametrize("width", [390, 1280])
def test_hostile_text_does_not_break_the_layout(view: Open, width: int) -> None:
    page = view("hostile", script=CANARY, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    backgrounds = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert backgrounds != "rgb(255, 0, 0)"


def test_spoken_text_names_unseen_characters_and_cuts_in_the_middle(view: Open) -> None:
    page = view("pair")
    script = "(text) => probe.spoken(text, 20)"
    assert page.evaluate(script, "a\u202eb\x00c") == "a[RLO]b[NUL]c"
    assert len(page.evaluate(script, "x" * 100)) <= 20
