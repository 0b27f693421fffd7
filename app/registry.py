"""Finds methods: the project's own folders, installed packages, and plug-in folders; and imports their parts where they run.

A method is a folder with `card.py`. `Registry.discover` imports the cards only; `load_method` and `load_claims` import the rest and are
called in workers and benches. A plug-in that does not import is a Problem with its reason, and the others work.

It deliberately loads no weights and never imports a numerical library: cards must not, and a test holds them to it.
"""

import hashlib
import importlib
import importlib.util
import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from pydantic import BaseModel, ConfigDict

import backends
from app.errors import UnknownMethod
from backends.contract import Card, Method, Tab

logger = logging.getLogger(__name__)

PLUGIN_PACKAGE = "diptych_plugins"
ENTRY_POINTS = "diptych.methods"
PLUGINS_VARIABLE = "DIPTYCH_PLUGINS"


class MethodLocation(BaseModel):
    """Where a method's package is, as plain JSON, so that another process can import it. `folder` is set for plug-in folders."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    package: str
    folder: str = ""


class Problem(BaseModel):
    """A method that could not be taken in, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    where: str
    why: str


@dataclass(frozen=True)
class _Found:
    card: Card
    location: MethodLocation


class Registry:
    """The methods of this installation; see `discover`."""

    def __init__(self, found: tuple[_Found, ...], problems: tuple[Problem, ...]) -> None:
        order = {tab: place for place, tab in enumerate(Tab)}
        ordered = sorted(found, key=lambda one: (order[one.card.tab], one.card.order, one.card.key))
        self._found = {one.card.key: one for one in ordered}
        self.problems = problems

    @classmethod
    def discover(cls, plugins: tuple[Path, ...] = ()) -> "Registry":
        """Read every card: own methods first, then installed packages, then plug-in folders (also those of DIPTYCH_PLUGINS)."""
        found: dict[str, _Found] = {}
        problems: list[Problem] = []
        named = tuple(Path(part) for part in os.environ.get(PLUGINS_VARIABLE, "").split(os.pathsep) if part)
        places = [*_own(), *_installed(), *_in_folders((*plugins, *named), problems)]
        for where, location in places:
            try:
                card = load_card(location)
            except (Exception, SystemExit) as error:  # a plug-in may fail in any way; the studio must open all the same
                logger.warning("the method at %s was left out: %s", where, error)
                problems.append(Problem(where=where, why=f"{type(error).__name__}: {error}"))
                continue
            first = found.setdefault(card.key, _Found(card, location))
            if first.location != location:
                problems.append(Problem(where=where, why=f"The key “{card.key}” is already taken by {first.location.package}."))
        return cls(tuple(found.values()), tuple(problems))

    @property
    def cards(self) -> tuple[Card, ...]:
        """All cards in page order: by tab, then order, then key."""
        return tuple(one.card for one in self._found.values())

    @property
    def tabs(self) -> tuple[Tab, ...]:
        """The tabs that have a method, in page order."""
        return tuple(tab for tab in Tab if any(card.tab is tab for card in self.cards))

    def card(self, key: str) -> Card:
        """The card of method `key`; UnknownMethod if there is none."""
        return self._one(key).card

    def locate(self, key: str) -> MethodLocation:
        """Where the method `key` is imported from; UnknownMethod if there is none."""
        return self._one(key).location

    def _one(self, key: str) -> _Found:
        found = self._found.get(key)
        if found is None:
            known = ", ".join(self._found) or "none"
            next_step = "Check the name, or add its plug-in folder."
            raise UnknownMethod(f"There is no method “{key}”.", f"Known here: {known}.", next_step, field="method")
        return found


def load_card(location: MethodLocation) -> Card:
    """Import `card.py` and return its CARD; TypeError if it is not one."""
    card = _part(location, "card").__dict__.get("CARD")
    if not isinstance(card, Card):
        raise TypeError(f"{location.package}.card has no CARD made by backends.contract.Card")
    return card


def load_method(location: MethodLocation) -> Method:
    """Import `method.py` and return its METHOD. Only for workers and benches: this is where numerical libraries come in."""
    method = _part(location, "method").__dict__.get("METHOD")
    if method is None or not callable(getattr(method, "load", None)) or not callable(getattr(method, "run", None)):
        raise TypeError(f"{location.package}.method has no METHOD with load and run")
    return method  # type: ignore[no-any-return]  # checked by its two functions: a Protocol cannot be tested for more


def load_claims(location: MethodLocation) -> ModuleType:
    """Import `claims.py`: CLAIMS, BAD_INPUTS, measure and published."""
    return _part(location, "claims")


def code_digest(location: MethodLocation) -> str:
    """SHA-256 over the names and bytes of the Python files of the method's folder: which code ran, also for plug-ins."""
    module = _part(location, "card")
    folder = Path(module.__file__ or "").parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _own() -> Iterator[tuple[str, MethodLocation]]:
    for root in backends.__path__:
        for tab in Tab:
            for path in sorted((Path(root) / tab.value).glob("*/card.py")):
                package = f"{backends.__name__}.{tab.value}.{path.parent.name}"
                yield package, MethodLocation(package=package)


def _installed() -> Iterator[tuple[str, MethodLocation]]:
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda one: one.name):
        yield f"{ENTRY_POINTS}:{point.name}", MethodLocation(package=point.value)


def _in_folders(folders: tuple[Path, ...], problems: list[Problem]) -> Iterator[tuple[str, MethodLocation]]:
    taken: dict[str, Path] = {}
    for folder in dict.fromkeys(path.expanduser().resolve() for path in folders):
        if not folder.is_dir():
            problems.append(Problem(where=str(folder), why="This plug-in folder does not exist."))
            continue
        for path in sorted(folder.glob("*/card.py")):
            name = path.parent.name
            if not name.isidentifier():
                problems.append(Problem(where=str(path.parent), why="The folder's name must be letters, digits and underscores."))
            elif name in taken:
                problems.append(Problem(where=str(path.parent), why=f"A plug-in folder of this name was already taken from {taken[name]}."))
            else:
                taken[name] = folder
                yield str(path.parent), MethodLocation(package=f"{PLUGIN_PACKAGE}.{name}", folder=str(path.parent))


def _part(location: MethodLocation, name: str) -> ModuleType:
    if location.folder:
        _bind_plugin(location)
    return importlib.import_module(f"{location.package}.{name}")


def _bind_plugin(location: MethodLocation) -> None:
    """Make the folder importable as its package. A package of that name bound to another folder gives way with all its parts."""
    known = sys.modules.get(location.package)
    if known is not None and list(getattr(known, "__path__", ())) == [location.folder]:
        return
    for name in [name for name in sys.modules if name == location.package or name.startswith(location.package + ".")]:
        del sys.modules[name]
    if PLUGIN_PACKAGE not in sys.modules:
        sys.modules[PLUGIN_PACKAGE] = importlib.util.module_from_spec(_package_spec(PLUGIN_PACKAGE, []))
    start = Path(location.folder) / "__init__.py"
    spec = _package_spec(location.package, [location.folder])
    if start.is_file():
        spec = importlib.util.spec_from_file_location(location.package, start, submodule_search_locations=[location.folder]) or spec
    package = importlib.util.module_from_spec(spec)
    sys.modules[location.package] = package
    if spec.loader is not None:
        try:
            spec.loader.exec_module(package)
        except BaseException:
            del sys.modules[location.package]
            raise


def _package_spec(name: str, search: list[str]) -> ModuleSpec:
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = search
    return spec
