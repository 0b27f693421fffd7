"""Turns what a page, a script or an HTTP client sent into typed inputs and settings, or into faults at their controls.

Ranges live in the fields themselves; this module only words pydantic's findings and names the nearest legal value.

It deliberately checks nothing that needs a model: methods do that themselves while they run.
"""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from backends.contract import Card, Checkpoint, Fault, FieldSpec, Inputs, MethodError, Settings, field_specs

Model = TypeVar("Model", bound=BaseModel)
Fields = dict[str, Any]


def parse(card: Card, checkpoint: Checkpoint, inputs: Fields, settings: Fields) -> tuple[Inputs, Settings] | tuple[Fault, ...]:
    """Typed inputs and settings of `card`, or every fault found (a fault names its control in `field`)."""
    parsed_inputs, input_faults = _parse_model(card.inputs, inputs, "InputError")
    parsed_settings, setting_faults = _parse_model(card.settings, settings, "SettingError")
    faults = (*input_faults, *setting_faults)
    if faults or parsed_inputs is None or parsed_settings is None:
        return faults
    if card.check is not None:
        try:
            card.check(parsed_inputs, parsed_settings, checkpoint)
        except MethodError as error:
            return (error.fault,)
    return parsed_inputs, parsed_settings


def shared_part(card: Card, inputs: dict[str, Any]) -> dict[str, Any]:
    """The part of a comparison's shared inputs that `card` declares: panes of one tab may declare different fields."""
    return {name: value for name, value in inputs.items() if name in card.inputs.model_fields}


def _parse_model(model: type[Model], data: dict[str, Any], kind: str) -> tuple[Model | None, tuple[Fault, ...]]:
    specs = {spec.name: spec for spec in field_specs(model)}
    try:
        return model.model_validate(data), ()
    except ValidationError as error:
        return None, tuple(_fault(detail, specs, kind) for detail in error.errors(include_url=False))
    except MethodError as error:  # a validator that knows its control raises the contract's own error
        return None, (error.fault,)


def _fault(detail: ErrorDetails, specs: dict[str, FieldSpec], kind: str) -> Fault:
    name = str(detail["loc"][0]) if detail["loc"] else None
    spec = specs.get(name) if name else None
    if spec is None:
        known = ", ".join(specs)
        what = f"There is no field “{name}” here." if name else f"{detail['msg']}."
        return Fault(kind=kind, what=what, next_step=f"Known fields: {known}." if name else "", field=name)
    what, why, next_step = _what(detail, spec), _why(detail), _next_step(spec)
    return Fault(kind=kind, what=what, why=why, next_step=next_step, field=name, suggestion=_nearest(detail, spec))


def _what(detail: ErrorDetails, spec: FieldSpec) -> str:
    problem = detail["type"]
    if problem in ("greater_than_equal", "less_than_equal"):
        return f"{spec.label} must lie between {_number(spec.minimum)} and {_number(spec.maximum)}."
    if problem == "literal_error":
        return f"{spec.label} must be one of {', '.join(map(str, spec.choices))}."
    if problem == "string_too_long":
        return f"{spec.label} may hold at most {spec.max_length:,} characters."
    if problem in ("int_parsing", "int_from_float", "int_type"):
        return f"{spec.label} must be a whole number."
    if problem in ("float_parsing", "float_type", "finite_number"):
        return f"{spec.label} must be a number."
    return f"{spec.label}: {detail['msg'].removeprefix('Value error, ')}."


def _why(detail: ErrorDetails) -> str:
    given = detail.get("input")
    if isinstance(given, str) and len(given) > 60:
        return f"It has {len(given):,}."
    return f"It is {given!r}." if isinstance(given, int | float | str) else ""


def _next_step(spec: FieldSpec) -> str:
    return "Choose a value in the range." if spec.kind in ("int", "float") else ""


def _nearest(detail: ErrorDetails, spec: FieldSpec) -> Any:
    given = detail.get("input")
    if spec.kind not in ("int", "float") or isinstance(given, bool) or not isinstance(given, int | float):
        return spec.default if spec.kind in ("int", "float", "choice", "bool") else None
    if given != given:  # NaN has no nearest value
        return spec.default
    low, high = spec.minimum, spec.maximum
    nearest = min(max(given, low if low is not None else given), high if high is not None else given)
    return round(nearest) if spec.kind == "int" else float(nearest)


def _number(value: float | None) -> str:
    return "any number" if value is None else f"{value:g}"
