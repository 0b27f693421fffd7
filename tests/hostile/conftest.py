"""A studio with a real engine, store and keys, the toy method as a plug-in, and its whole application, open to everybody or with accounts.

It deliberately runs no browser: tests/e2e does.
"""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI

from app.api import Studio
from app.values import SubmitRequest
from storage.values import RunRow
from tests.toy_method.place import place_toy
from tests.ui.conftest import PORT
from ui.server import ServerOptions, build_app

SECONDS = 240.0
"""For a run, worker included, on a busy machine."""


@pytest.fixture(scope="package")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    folder = tmp_path_factory.mktemp("hostile")
    opened = Studio.open(folder / "data", device="cpu", plugins=(place_toy(folder / "plugins"),))
    yield opened
    opened.close()


@pytest.fixture(scope="package")
def app(studio: Studio) -> FastAPI:
    """Open to everybody at this machine."""
    return build_app(studio, ServerOptions(port=PORT))


@pytest.fixture(scope="package")
def shared(studio: Studio) -> FastAPI:
    """The same studio with two accounts, ada and bob; the password of both is "secret"."""
    return build_app(studio, ServerOptions(port=PORT, auth=(("ada", "secret"), ("bob", "secret"))))


def run_toy(studio: Studio, prompt: str, owner: str = "", **settings: object) -> RunRow:
    """A finished run of the toy."""
    given = {"shift": 0, "pause": 0.0, "batch": 8} | settings
    run = studio.submit(SubmitRequest(method="toy_rotation", inputs={"prompt": prompt}, settings=given, owner=owner))
    assert studio.engine is not None
    return studio.engine.wait(run.id, SECONDS)
