"""From a field of a method to a control of the page: one table, keyed by the field's kind.

Every control is a Gradio component with the field's label for screen readers and a stable element id; scales, ticks,
default marks and messages are drawn around it by `web/js/controls.js` from the same FieldSpec.

It deliberately sets no limits on a component: a value out of range stays as typed, and the check says what is wrong.
"""

from collections.abc import Callable
from typing import Any

import gradio as gr
from gradio.components import Component

from backends.contract import FieldSpec

Builder = Callable[[FieldSpec, Any, dict[str, Any]], Component]
_SEGMENTS_UP_TO = 3
"""Choices of at most this many short words stand side by side; longer lists open."""


class NumberBox(gr.Number):  # type: ignore[misc]
    """Gradio's number box, which can also stand empty: its own page shows 0 for no value, and would send that 0 back."""

    def get_block_name(self) -> str:
        return "number"

    def preprocess(self, payload: Any) -> float | int | None:
        return None if payload in (None, "") else super().preprocess(payload)

    def postprocess(self, value: float | int | None) -> Any:
        return "" if value is None else super().postprocess(value)


def control(spec: FieldSpec, value: Any, *, elem_id: str, label: str = "", key: Any = None) -> Component:
    """The component for `spec` holding `value`."""
    shared = {"label": label or spec.label, "elem_id": elem_id, "key": key, "preserved_by_key": None, "interactive": True}
    return _BUILDERS[spec.kind](spec, value, shared)


def read(spec: FieldSpec, value: Any) -> Any:
    """What a component sent, as the field's model expects it: whole numbers as int, an empty optional as None."""
    if spec.kind in ("int", "float") and isinstance(value, float) and value.is_integer() and spec.kind == "int":
        return int(value)
    if spec.optional and value == "":
        return None
    return "" if spec.kind == "text" and value is None and not spec.optional else value


def _number(spec: FieldSpec, value: Any, shared: dict[str, Any]) -> Component:
    """A value box; with both limits the page draws its scale beside it."""
    ranged = spec.minimum is not None and spec.maximum is not None
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    classes = ["dp-field", "dial" if ranged and spec.group is not None else "num"]
    return NumberBox(number, step=spec.step or 1, placeholder="off" if spec.optional else "empty", elem_classes=classes, **shared)


def _switch(spec: FieldSpec, value: Any, shared: dict[str, Any]) -> Component:
    return gr.Checkbox(bool(value), elem_classes=["dp-field", "chk"], **shared)


def _choice(spec: FieldSpec, value: Any, shared: dict[str, Any]) -> Component:
    words = [(_word(choice), choice) for choice in spec.choices]
    short = len(words) <= _SEGMENTS_UP_TO and sum(len(word) for word, _ in words) <= 30
    chosen = value if value in spec.choices else None
    if short:
        return gr.Radio(words, value=chosen, elem_classes=["dp-field", "seg"], **shared)
    return gr.Dropdown(words, value=chosen, filterable=len(words) > 12, elem_classes=["dp-field", "sel"], **shared)


def _text(spec: FieldSpec, value: Any, shared: dict[str, Any]) -> Component:
    lines = 2 if spec.widget == "textarea" else 1
    return gr.Textbox(
        "" if value is None else str(value),
        lines=lines,
        max_lines=12 if lines > 1 else 1,
        elem_classes=["dp-field", spec.widget or "line"],
        submit_btn=False,
        **shared,
    )


def _file(spec: FieldSpec, value: Any, shared: dict[str, Any]) -> Component:
    """Uploads come as a path inside the page's own cache; the request carries it on as a file of the run."""
    classes = ["dp-field", "drop"]
    if spec.widget == "image":
        return gr.Image(value, type="filepath", sources=["upload", "clipboard"], elem_classes=classes, buttons=[], **shared)
    if spec.widget == "video":
        return gr.Video(value, sources=["upload"], elem_classes=classes, buttons=[], **shared)
    return gr.File(value, type="filepath", elem_classes=classes, **shared)


def _word(choice: Any) -> str:
    return str(choice).replace("_", " ")


_BUILDERS: dict[str, Builder] = {
    "int": _number,
    "float": _number,
    "bool": _switch,
    "choice": _choice,
    "text": _text,
    "file": _file,
}
