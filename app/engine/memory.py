"""Whether a run will fit, asked before anything is loaded, and which setting to lower when it will not.

What it does: adds a checkpoint's resident bytes to the card's own estimate for the settings, compares with what is free, and finds
the setting whose lowest value saves most, with the largest value that would fit.
Where: checkpoint memory and estimates come from the method's card.
What it does not do: it measures nothing (`app.engine.runtime` does) and knows no device.
"""

from typing import Any

from backends.contract import Card, Checkpoint, FieldSpec, Group, OutOfMemory, field_specs


def needed_bytes(card: Card, checkpoint: Checkpoint, inputs: Any, settings: Any, loaded: bool) -> int:
    """Bytes a run will take on top of what is held: weights unless they are loaded, and the card's estimate for the rest."""
    weights = 0 if loaded else checkpoint.memory_bytes or checkpoint.bytes
    return weights + _estimate(card, checkpoint, inputs, settings)


def refuse_if_too_big(card: Card, checkpoint: Checkpoint, inputs: Any, settings: Any, free: int, loaded: bool) -> None:
    """Raise OutOfMemory, naming a setting to lower, if the run needs more than `free` bytes."""
    needed = needed_bytes(card, checkpoint, inputs, settings, loaded)
    if needed <= free:
        return
    weights = needed - _estimate(card, checkpoint, inputs, settings)
    why = f"It needs about {amount(needed)}, and {amount(free)} are free."
    raise out_of_memory("This run would not fit into memory.", why, card, checkpoint, inputs, settings, free - weights)


def out_of_memory(what: str, why: str, card: Card, checkpoint: Checkpoint, inputs: Any, settings: Any, budget: int | None) -> OutOfMemory:
    """The error with a next step: the setting to lower and, where the estimate can tell, the value that fits in `budget` bytes."""
    lever = _lever(card, checkpoint, inputs, settings)
    if lever is None:
        return OutOfMemory(what, why, "Choose a smaller checkpoint, or close other programs.")
    now = getattr(settings, lever.name)
    fitting = _fitting(card, checkpoint, inputs, settings, lever, budget)
    if fitting is None or fitting >= now:  # the estimate knows no better: halve the way to the lowest value
        fitting = lever.minimum + (now - lever.minimum) / 2 if lever.minimum is not None else now
        fitting = int(fitting) if lever.kind == "int" else round(fitting, 6)
    next_step = f"Lower “{lever.label}” from {now} to {fitting}, or choose a smaller checkpoint."
    return OutOfMemory(what, why, next_step, field=lever.name, suggestion=fitting)


def _estimate(card: Card, checkpoint: Checkpoint, inputs: Any, settings: Any) -> int:
    return card.estimate(inputs, settings, checkpoint).bytes if card.estimate is not None else 0


def _lever(card: Card, checkpoint: Checkpoint, inputs: Any, settings: Any) -> FieldSpec | None:
    """The numeric setting that saves most at its lowest value; without an estimate, the first one that sizes the output."""
    numeric = [spec for spec in field_specs(card.settings) if spec.kind in ("int", "float") and spec.minimum is not None]
    numeric = [spec for spec in numeric if (now := getattr(settings, spec.name)) is not None and now > (spec.minimum or 0)]
    if not numeric:
        return None
    if card.estimate is None:
        return next((spec for spec in numeric if spec.group is Group.OUTPUT), numeric[0])
    at_lowest = {spec.name: _with(card, checkpoint, inputs, settings, spec, spec.minimum or 0) for spec in numeric}
    best = min(numeric, key=lambda spec: at_lowest[spec.name])
    return best if at_lowest[best.name] < _estimate(card, checkpoint, inputs, settings) else None


def _with(card: Card, checkpoint: Checkpoint, inputs: Any, settings: Any, spec: FieldSpec, value: float) -> int:
    typed = int(value) if spec.kind == "int" else value
    return _estimate(card, checkpoint, inputs, settings.model_copy(update={spec.name: typed}))


def _fitting(card: Card, checkpoint: Checkpoint, inputs: Any, settings: Any, spec: FieldSpec, budget: int | None) -> float | int | None:
    """The largest value on the setting's own grid whose estimate fits; None if none does or there is nothing to ask."""
    if card.estimate is None or budget is None:
        return None
    lowest = spec.minimum or 0
    step = spec.step or (1 if spec.kind == "int" else (float(getattr(settings, spec.name)) - lowest) / 100)
    below, above = 0, int((getattr(settings, spec.name) - lowest) / step)
    if _with(card, checkpoint, inputs, settings, spec, lowest) > budget:
        return None
    while below < above:  # the estimate grows with the setting: it was chosen for that
        middle = (below + above + 1) // 2
        if _with(card, checkpoint, inputs, settings, spec, lowest + middle * step) <= budget:
            below = middle
        else:
            above = middle - 1
    value = lowest + below * step
    return int(value) if spec.kind == "int" else round(value, 6)


def amount(count: int) -> str:
    """Bytes in words, with three digits at most."""
    value = float(max(0, count))
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"
