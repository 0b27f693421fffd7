"""One table from a field to a control: every kind of field has its component, its label, and keeps what was typed."""

from typing import Any

import gradio as gr
import pytest
from gradio.components import Component

from backends.contract import FieldSpec, Group
from ui.controls import NumberBox, control, read


def spec(kind: str, **fields: Any) -> FieldSpec:
    given = {"name": "x", "kind": kind, "default": None, "label": "A name", "effect": "what it does", "group": Group.SAMPLING}
    return FieldSpec.model_validate(given | fields)


KINDS = (
    (spec("int", default=4, minimum=1, maximum=64, step=1), 4, gr.Number, "dial"),
    (spec("float", default=0.5, minimum=0, maximum=1, step=0.05), 0.5, gr.Number, "dial"),
    (spec("int", default=None, minimum=1, maximum=64, optional=True), None, gr.Number, "dial"),
    (spec("int", default=0, group=None, minimum=0, maximum=400), 0, gr.Number, "num"),
    (spec("float", default=1.0), 1.0, gr.Number, "num"),
    (spec("bool", default=True), True, gr.Checkbox, "chk"),
    (spec("choice", default="a", choices=("a", "b")), "a", gr.Radio, "seg"),
    (spec("choice", default="one", choices=("one", "two", "three", "four")), "two", gr.Dropdown, "sel"),
    (spec("choice", default=1, choices=(1, 2)), 2, gr.Radio, "seg"),
    (spec("text", default="", widget="textarea", group=None), "words", gr.Textbox, "textarea"),
    (spec("text", default="", widget="line", group=None), "words", gr.Textbox, "line"),
    (spec("text", default="", group=None), "", gr.Textbox, "line"),
    (spec("file", default=None, widget="image", group=None), None, gr.Image, "drop"),
    (spec("file", default=None, widget="video", group=None), None, gr.Video, "drop"),
    (spec("file", default=None, widget="file", group=None), None, gr.File, "drop"),
)


@pytest.mark.parametrize(("field", "value", "component", "look"), KINDS)
def test_every_kind_of_field_has_its_component(field: FieldSpec, value: Any, component: type[Component], look: str) -> None:
    with gr.Blocks():
        built = control(field, value, elem_id="dp-text-A-set-x", label="A name, pane A")
    assert isinstance(built, component)
    assert built.label == "A name, pane A"
    assert built.elem_id == "dp-text-A-set-x"
    assert look in built.elem_classes
    assert built.value == ("" if isinstance(built, NumberBox) and value is None else value)


def test_every_kind_the_contract_knows_is_in_the_table() -> None:
    kinds = set(FieldSpec.model_fields["kind"].annotation.__args__)  # type: ignore[union-attr]
    assert kinds == {field.kind for field, _, _, _ in KINDS}


@pytest.mark.parametrize("typed", [-5, 0, 65, 1e9])
def test_a_number_out_of_range_reaches_the_check_as_it_was_typed(typed: float) -> None:
    field = spec("int", default=4, minimum=1, maximum=64, step=1)
    with gr.Blocks():
        built = control(field, 4, elem_id="x")
    assert read(field, built.preprocess(typed)) == typed


def test_a_value_that_is_no_number_leaves_the_box_empty_instead_of_failing() -> None:
    with gr.Blocks():
        built = control(spec("float", default=0.5, minimum=0, maximum=1), "half", elem_id="x")
    assert built.value == ""


def test_an_empty_number_box_is_sent_as_empty_text_because_gradio_would_show_nothing_as_zero() -> None:
    with gr.Blocks():
        built = control(spec("int", default=None, minimum=1, maximum=9, optional=True), None, elem_id="x", key="x")
    assert built.get_config()["value"] == "" and built.get_block_name() == "number"
    assert [built.preprocess(sent) for sent in ("", None, 3)] == [None, None, 3]


@pytest.mark.parametrize(
    ("field", "sent", "expected"),
    [
        (spec("int"), 3.0, 3),
        (spec("int"), 3.5, 3.5),
        (spec("float"), 3, 3),
        (spec("int", optional=True), "", None),
        (spec("text"), None, ""),
        (spec("text", optional=True), "", None),
        (spec("bool"), True, True),
    ],
)
def test_what_a_component_sends_becomes_what_the_field_expects(field: FieldSpec, sent: Any, expected: Any) -> None:
    got = read(field, sent)
    assert got == expected and type(got) is type(expected)


def test_a_choice_that_is_not_listed_shows_nothing() -> None:
    with gr.Blocks():
        built = control(spec("choice", choices=("a", "b")), "z", elem_id="x")
    assert built.value is None
