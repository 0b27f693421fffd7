"""Halves the time `import gradio` takes: its components are not made to rewrite their type stubs.

Gradio parses the source of each component class and compares it with the stub file beside it, every time it is imported. That
serves editors, not a running page, and is most of the work of a start. A test compares the classes with and without it.

It deliberately changes nothing else, and nothing at all in a Gradio that has no such step.
"""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

_MODULE, _STEP = "gradio.component_meta", "create_or_modify_pyi"


def install() -> None:
    """Leave the step out of a Gradio that is imported later in this process, and for components defined later where it is already."""
    if _MODULE in sys.modules:
        _leave_out(sys.modules[_MODULE])
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _leave_out(module: ModuleType) -> None:
    if hasattr(module, _STEP):
        setattr(module, _STEP, lambda *_: None)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module as the next finder does, and has it loaded without the step."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:  # fmt: skip
        if fullname != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """Another loader's module, with the step replaced by nothing."""

    def __init__(self, inner: importlib.abc.Loader) -> None:
        self._inner = inner

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        _leave_out(module)
