"""A running studio for a module and a real Chromium, with an eye on errors and on every request the browser makes.

A test's browser context is a user of its own: drafts belong to it, history is everybody's.

It deliberately offers no shortcut into the studio's process.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.conftest import PATIENCE_MS
from tests.e2e.bench import Bench
from tests.e2e.process import StudioProcess, running_studio

NO_RUN = "0" * 32
"""An id that no run has."""


class Watcher:
    """What went wrong in browser contexts, and where their requests went."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.elsewhere: list[str] = []
        self.refused: set[str] = set()
        """Paths whose refusal a test asks for: the browser itself complains of the status."""

    def watch(self, context: BrowserContext, address: str) -> BrowserContext:
        own = urlsplit(address).netloc

        def requested(url: str) -> None:
            if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).netloc != own:
                self.elsewhere.append(url)

        context.set_default_timeout(PATIENCE_MS)
        context.on("request", lambda request: requested(request.url))
        context.on("weberror", lambda error: self.problems.append(str(error.error)))
        context.on("console", lambda message: self._said(message.type, message.text, message.location["url"]))
        return context

    def _said(self, kind: str, text: str, url: str) -> None:
        if kind == "error" and NO_RUN not in url and urlsplit(url).path not in self.refused:
            self.problems.append(text)

    def check(self) -> None:
        assert self.elsewhere == [], "a request left the studio"
        assert self.problems == [], "the page complained"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioProcess]:
    with running_studio(tmp_path_factory.mktemp("studio")) as running:
        yield running


@pytest.fixture(scope="module")
def watcher() -> Iterator[Watcher]:
    watching = Watcher()
    yield watching
    watching.check()


@pytest.fixture
def context(chromium: Browser, studio: StudioProcess) -> Iterator[BrowserContext]:
    """One user's browser; afterwards its pages must not have complained, nor asked another machine for anything."""
    watching = Watcher()
    opened = watching.watch(chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True), studio.address)
    yield opened
    opened.close()
    watching.check()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def bench(page: Page, studio: StudioProcess) -> Bench:
    """The text bench of a new user, drawn."""
    return Bench(page, studio.address).open_bench()


@pytest.fixture(scope="session")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: DIPTYCH_SCREENSHOTS, or a folder of this run."""
    named = os.environ.get("DIPTYCH_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
