"""How exports speak of a run: its settings with labels, its metrics with units, its footer line.

Labels, units and defaults come from the method's card, so exports and page use the same words.

It deliberately works for a method that is no longer installed: then names stand in for labels.
"""

from typing import Any

from app.errors import UnknownMethod
from app.plots.scale import with_unit
from app.provenance.environment import STUDIO_VERSION
from app.provenance.statement import Promise
from app.registry import Registry
from backends.contract import Card, FieldSpec, field_specs
from storage.values import MetricRow, RunRow


def card_of(registry: Registry, run: RunRow) -> Card | None:
    """The card of the run's method, None if the method is not installed any more."""
    try:
        return registry.card(run.method)
    except UnknownMethod:
        return None


def promise_of(registry: Registry, run: RunRow) -> Promise:
    """What the run's method promises about repeating."""
    card = card_of(registry, run)
    return Promise.of(card) if card else Promise()


def specs_of(registry: Registry, run: RunRow) -> dict[str, FieldSpec]:
    """The run's settings fields by name."""
    card = card_of(registry, run)
    return {spec.name: spec for spec in field_specs(card.settings)} if card else {}


def label_of(registry: Registry, run: RunRow, field: str) -> str:
    """What the page calls a settings field."""
    spec = specs_of(registry, run).get(field)
    return spec.label if spec else field.replace("_", " ")


def settings_of(registry: Registry, run: RunRow) -> list[tuple[str, str]]:
    """(label, value with unit) of every setting."""
    specs = specs_of(registry, run)
    return [(label_of(registry, run, name), _value(value, specs.get(name))) for name, value in run.settings.items()]


def _value(value: Any, spec: FieldSpec | None) -> str:
    if value is None or isinstance(value, bool):
        return "on" if value else "off"
    unit = f" {spec.unit}" if spec and spec.unit else ""
    return f"{value}{unit}"


def changed_settings(registry: Registry, run: RunRow) -> str:
    """The settings away from their default, in one line; "" when none is."""
    specs = specs_of(registry, run)
    changed = [
        f"{specs[name].label.lower()} {_value(value, specs[name])}"
        for name, value in run.settings.items()
        if name in specs and value != specs[name].default
    ]
    return ", ".join(changed)


def shown(metric: MetricRow) -> str:
    """A metric's value with its unit."""
    return with_unit(metric.value, metric.unit, metric.sample_size)


def metric_values(run: RunRow) -> dict[str, dict[str, Any]]:
    """The metrics as JSON."""
    return {found.name: found.model_dump(mode="json", include={"label", "value", "unit", "sample_size"}) for found in run.metrics}


def footer(*parts: str) -> str:
    """The small line at the foot of a picture: enough to find the record of what it shows."""
    return " · ".join((f"Diptych {STUDIO_VERSION}", *parts))
