"""Phone width, dark mode, labels for screen readers, and that everything works within a strict content policy."""

import pytest

from tests.ui_views.conftest import Open

pytestmark = pytest.mark.browser

SCENES = ["pair", "three", "kept", "stopped", "sweep1", "sweep2", "thumbs", "long"]


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("dark", [False, True])
def test_every_scene_fits_a_phone(view: Open, name: str, dark: bool) -> None:
    page = view(name, width=390, height=844, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("name", SCENES)
def test_every_control_has_a_name(view: Open, name: str) -> None:
    page = view(name)
    assert page.evaluate("probe.nameless()") == []


def test_dark_and_light_use_different_inks_for_the_same_shade(view: Open) -> None:
    colour = "getComputedStyle(document.querySelector('i.p1')).backgroundColor"
    assert view("pair").evaluate(colour) != view("pair", dark=True).evaluate(colour)


def test_bars_of_a_timeline_change_with_the_theme_without_a_redraw(view: Open) -> None:
    page = view("pair")
    colour = "getComputedStyle(document.querySelector('svg.dp-timeline path.f3')).fill"
    before = page.evaluate(colour)
    page.evaluate("document.documentElement.classList.add('dark')")
    assert page.evaluate(colour) != before


def test_thumbnails_are_tiny_pictures_of_coloured_tokens(view: Open) -> None:
    page = view("thumbs")
    assert page.locator(".thumbs svg.dp-thumb").count() == 7
    shades = page.evaluate("[...document.querySelectorAll('.thumbs svg.dp-thumb')][0].querySelectorAll('path').length")
    assert shades >= 5
    assert page.locator(".dp-pair-thumb .th").count() == 2
