"""Every registered method as a parameter: those of the project, and the toy in a temporary plug-in folder.

Tests that take `subject` run once a method.

It deliberately knows no method by name.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.api import Studio
from app.registry import Registry
from tests.conformance.subject import Subject
from tests.toy_method.place import place_toy

_FOLDER = tempfile.TemporaryDirectory(prefix="diptych-conformance-")
PLUGINS = place_toy(Path(_FOLDER.name) / "plugins")
REGISTRY = Registry.discover((PLUGINS,))
_SUBJECTS = {card.key: Subject(REGISTRY, card.key, Path(_FOLDER.name)) for card in REGISTRY.cards}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "subject" in metafunc.fixturenames:
        metafunc.parametrize("subject", [pytest.param(subject, id=key) for key, subject in _SUBJECTS.items()])


@pytest.fixture(scope="session")
def registry() -> Registry:
    return REGISTRY


@pytest.fixture(scope="session")
def plugins() -> Path:
    return PLUGINS


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One open studio with real workers."""
    opened = Studio.open(tmp_path_factory.mktemp("studio"), device="cpu", plugins=(PLUGINS,))
    yield opened
    opened.close()
