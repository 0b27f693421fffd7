"""Inputs and settings as pydantic models whose fields describe their own control.

`setting` and `input_field` put label, effect, range, group and the paper's symbol into the field, and `field_specs` reads
them back as plain values for the page, the command line and sweeps. Ranges are enforced by pydantic alone.

It deliberately builds no component: `ui.controls` maps a FieldSpec to one.
"""

from enum import StrEnum
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo


class Group(StrEnum):
    """The five groups of settings every pane shows in this order."""

    GUIDANCE = "guidance"
    CACHING = "caching"
    PARALLEL_DECODING = "parallel decoding"
    SAMPLING = "sampling"
    OUTPUT = "output"


class Inputs(BaseModel):
    """What the panes of one comparison share. Subclass per tab; build fields with `input_field`."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Settings(BaseModel):
    """What one pane sets for its method. Subclass per method; build fields with `setting`."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FieldSpec(BaseModel):
    """One control in plain values. `choices` is set for Literal fields; `minimum`/`maximum` for numbers."""

    model_config = ConfigDict(frozen=True)

    name: str
    kind: Literal["bool", "int", "float", "text", "choice", "file"]
    default: Any
    label: str
    effect: str
    group: Group | None = None
    symbol: str = ""
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    choices: tuple[Any, ...] = ()
    optional: bool = False
    """None is allowed and means "off"."""
    equal_output: bool = False
    """Changing only this field promises the same output: the page checks it and shows a badge."""
    widget: str = ""
    max_length: int | None = None


def setting(
    default: Any,
    *,
    label: str,
    effect: str,
    group: Group,
    symbol: str = "",
    unit: str = "",
    ge: float | None = None,
    le: float | None = None,
    step: float | None = None,
    equal_output: bool = False,
) -> Any:
    """A settings field. `effect` is one line: what moving it does to speed and quality. Numbers need `ge` and `le`."""
    extra: dict[str, Any] = {"group": group.value, "symbol": symbol, "unit": unit, "step": step, "equal_output": equal_output}
    return Field(default, ge=ge, le=le, title=label, description=effect, json_schema_extra=extra)


def input_field(default: Any, *, label: str, effect: str, widget: str = "", max_length: int | None = None,
                ge: float | None = None, le: float | None = None, step: float | None = None) -> Any:  # fmt: skip
    """A shared-input field. `widget` is "textarea", "line", "number", "image", "file", …; empty picks one by type."""
    extra: dict[str, Any] = {"widget": widget, "step": step}
    return Field(default, max_length=max_length, ge=ge, le=le, title=label, description=effect, json_schema_extra=extra)


def field_specs(model: type[BaseModel]) -> tuple[FieldSpec, ...]:
    """The controls of `model`, in declaration order."""
    return tuple(_spec(name, info) for name, info in model.model_fields.items())


def _spec(name: str, info: FieldInfo) -> FieldSpec:
    extra: dict[str, Any] = dict(info.json_schema_extra) if isinstance(info.json_schema_extra, dict) else {}
    annotation, optional = _without_none(info.annotation)
    limits = {key: getattr(part, key) for part in info.metadata for key in ("ge", "le", "max_length") if hasattr(part, key)}
    return FieldSpec(
        name=name,
        kind=_kind(annotation, str(extra.get("widget", ""))),
        default=info.get_default(call_default_factory=True),
        label=info.title or name.replace("_", " "),
        effect=info.description or "",
        group=Group(extra["group"]) if extra.get("group") else None,
        symbol=str(extra.get("symbol", "")),
        unit=str(extra.get("unit", "")),
        minimum=limits.get("ge"),
        maximum=limits.get("le"),
        step=extra.get("step"),
        choices=get_args(annotation) if get_origin(annotation) is Literal else (),
        optional=optional,
        equal_output=bool(extra.get("equal_output", False)),
        widget=str(extra.get("widget", "")),
        max_length=limits.get("max_length"),
    )


def _without_none(annotation: Any) -> tuple[Any, bool]:
    arguments = [part for part in get_args(annotation) if part is not type(None)]
    if get_origin(annotation) is not Literal and len(arguments) == 1 and type(None) in get_args(annotation):
        return arguments[0], True
    return annotation, False


def _kind(annotation: Any, widget: str) -> Literal["bool", "int", "float", "text", "choice", "file"]:
    if get_origin(annotation) is Literal:
        return "choice"
    if annotation is bool:
        return "bool"
    if annotation is int:
        return "int"
    if annotation is float:
        return "float"
    return "file" if widget in ("image", "file", "video") else "text"
