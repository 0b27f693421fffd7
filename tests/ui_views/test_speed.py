"""A text of 2,000 tokens stays smooth: each pass costs less than one frame of processor time."""

import statistics
from collections.abc import Callable

import pytest
from playwright.sync_api import CDPSession, Page

from tests.ui_views.conftest import Open

pytestmark = pytest.mark.browser

FRAME_MS = 16.0
FEED = """async ([letter, index]) => {
    harness.feed(letter, index, 1);
    await probe.frames();
}"""
SCRUB = """async ([, value]) => {
    const slider = document.querySelector(".dp-replay input");
    slider.value = value;
    slider.dispatchEvent(new Event("input"));
    await probe.frames();
}"""


def processor_ms(page: Page) -> Callable[[], float]:
    """Reads the processor time of the page's main thread in ms; other load on the machine does not count."""
    session: CDPSession = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1000 * float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))

    return read


def costs(page: Page, script: str, arguments: list[tuple[str, int]]) -> list[float]:
    read = processor_ms(page)
    found = []
    for letter, value in arguments:
        before = read()
        page.evaluate(script, [letter, value])
        found.append(read() - before)
    return found


def test_a_late_pass_of_a_long_autoregressive_text_fits_a_frame(view: Open) -> None:
    page = view("long", live=True)
    page.evaluate("harness.feed('A', 0, 1900)")
    spent = costs(page, FEED, [("A", index) for index in range(1900, 1960)])
    assert statistics.median(spent) < FRAME_MS, spent


def test_every_pass_of_a_long_diffusion_text_fits_a_frame(view: Open) -> None:
    page = view("long", live=True)
    spent = costs(page, FEED, [("B", index) for index in range(0, 250, 3)])
    assert statistics.median(spent) < FRAME_MS, spent


def test_scrubbing_a_long_replay_fits_a_frame(view: Open) -> None:
    page = view("long")
    spent = costs(page, SCRUB, [("", value) for value in range(0, 1000, 13)])
    assert statistics.median(spent) < FRAME_MS, spent
