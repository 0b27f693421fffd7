"""A real Chromium on the harness of the viewers, with an eye on errors and on every request it makes.

Deliberately absent: the studio; whole-page tests are tests/e2e.
"""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.ui_views.server import serving

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def harness() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def view(chromium: Browser, harness: str) -> Iterator[Open]:
    """Opens a scene and waits until it is mounted; afterwards there must be no page error and no request elsewhere."""
    pages: list[Page] = []
    problems: list[str] = []
    requests: list[str] = []

    def open_scene(
        name: str, *, live: bool = False, dark: bool = False, width: int = 1280, height: int = 900, still: bool = False, script: str = ""
    ) -> Page:
        page = chromium.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce" if still else "no-preference")
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: requests.append(request.url))
        if script:
            page.add_init_script(script)
        page.goto(f"{harness}/harness/?scene={name}" + ("&theme=dark" if dark else "") + ("&live=1" if live else ""))
        page.wait_for_selector("html[data-ready]")
        page.evaluate("probe.frames()")
        pages.append(page)
        return page

    yield open_scene
    for page in pages:
        page.close()
    assert problems == []
    assert [url for url in requests if not url.startswith((harness, "data:"))] == []
