"""What stands in a tab's controls, kept on the server so that a refresh, a crash or a second browser tab restores it.

A Draft is a frozen value; every button of the bench (add, copy, swap, remove, example, preset, use these) is a function from
one draft to the next. `Drafts` keeps the current one per owner and tab and writes each change through `app.api`.

It deliberately keeps values as they were typed, wrong ones included: the check words what is wrong, at its control.
"""

import threading
from collections import OrderedDict
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from app.api import Studio
from app.errors import StudioError
from backends.contract import Card, Example, Fault, Preset, Tab, field_specs

LETTERS = ("A", "B", "C", "D")
_KEPT_IN_MEMORY = 1000


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PaneDraft(_Value):
    """One pane: `settings` has a value for each field of the method."""

    method: str
    checkpoint: str
    settings: dict[str, Any]


class Draft(_Value):
    """The bench of one tab. `panes` stand under A, B, C, D in this order."""

    tab: str
    inputs: dict[str, Any]
    seed: Any = 1729
    repeats: Any = 1
    baseline: str = "A"
    panes: tuple[PaneDraft, ...]
    example: str = ""
    comparison: str | None = None
    """The comparison whose runs the panes show."""
    sweep: str | None = None
    """A sweep that stands in place of the panes."""
    alone: dict[str, str] = {}
    """Panes that show a run of their own instead: letter -> run id, or "comparison/letter" after panes moved."""
    refused: Fault | None = None
    """What the studio answered to the last Run, if it did not take it."""
    revision: int = 0
    """Grows when the controls must be drawn again."""

    @property
    def letters(self) -> tuple[str, ...]:
        return LETTERS[: len(self.panes)]

    def pane(self, letter: str) -> PaneDraft:
        """The pane under `letter`; KeyError if there is none."""
        if letter not in self.letters:
            raise KeyError(letter)
        return self.panes[self.letters.index(letter)]

    def with_pane(self, letter: str, pane: PaneDraft) -> "Draft":
        """The same bench with another pane under `letter`."""
        place = self.letters.index(letter)
        return self.changed(panes=(*self.panes[:place], pane, *self.panes[place + 1 :]))

    def changed(self, **fields: Any) -> "Draft":
        """A copy with other fields and the next revision."""
        return self.model_copy(update={"revision": self.revision + 1, **fields})


class PaneFault(_Value):
    """A fault and the pane whose control it belongs to; None: a shared control."""

    pane: str | None
    fault: Fault


def defaults(card: Card, settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """A value for every setting of `card`: the given ones where it has them, its defaults elsewhere."""
    given = settings or {}
    return {spec.name: given.get(spec.name, spec.default) for spec in field_specs(card.settings)}


def fresh_pane(card: Card, settings: dict[str, Any] | None = None, checkpoint: str = "") -> PaneDraft:
    """A pane with `card` at its defaults."""
    known = {one.key for one in card.checkpoints}
    chosen = checkpoint if checkpoint in known else card.checkpoints[0].key
    return PaneDraft(method=card.key, checkpoint=chosen, settings=defaults(card, settings))


# the buttons of the bench ---------------------------------------------------------------------------------------------


def add_pane(draft: Draft) -> Draft:
    """One more pane, a copy of the last; four are the limit."""
    return draft if len(draft.panes) >= len(LETTERS) else draft.changed(panes=(*draft.panes, draft.panes[-1]))


def remove_pane(draft: Draft, letter: str) -> Draft:
    """Take a pane away; those behind it move up, and one always stays."""
    if len(draft.panes) == 1 or letter not in draft.letters:
        return draft
    place = draft.letters.index(letter)
    left = [one for one in draft.letters if one != letter]
    moved = dict(zip(left, LETTERS, strict=False))
    baseline = moved.get(draft.baseline, "A")
    return _show_alone(draft, moved).changed(panes=(*draft.panes[:place], *draft.panes[place + 1 :]), baseline=baseline)


def copy_pane(draft: Draft, source: str, target: str) -> Draft:
    """Make `target` equal to `source`, so that one thing can be changed."""
    return draft.with_pane(target, draft.pane(source))


def swap_panes(draft: Draft, one: str, other: str) -> Draft:
    """Exchange two panes; the outputs they show move along."""
    first, second = draft.pane(one), draft.pane(other)
    moved = {letter: letter for letter in draft.letters} | {one: other, other: one}
    return _show_alone(draft, moved).with_pane(one, second).with_pane(other, first)


def set_method(draft: Draft, letter: str, card: Card) -> Draft:
    """Another method in a pane; settings of the same name and meaning stay."""
    kept = {name: value for name, value in draft.pane(letter).settings.items() if _same_field(name, value, card)}
    return draft.with_pane(letter, fresh_pane(card, kept))


def use_preset(draft: Draft, letter: str, card: Card, settings: dict[str, Any]) -> Draft:
    """A preset's values in a pane; fields it does not name stay."""
    pane = draft.pane(letter)
    return draft.with_pane(letter, pane.model_copy(update={"settings": defaults(card, pane.settings | settings)}))


def _same_field(name: str, value: Any, card: Card) -> bool:
    spec = next((spec for spec in field_specs(card.settings) if spec.name == name), None)
    if spec is None:
        return False
    if spec.kind in ("int", "float"):
        in_range = isinstance(value, int | float) and (spec.minimum is None or value >= spec.minimum)
        return in_range and (spec.maximum is None or value <= spec.maximum)
    return value in spec.choices if spec.kind == "choice" else isinstance(value, type(spec.default))


def _show_alone(draft: Draft, moved: dict[str, str]) -> Draft:
    """Keep showing the runs on the bench after panes moved; resolved lazily from "comparison/letter"."""
    shown = {letter: draft.alone.get(letter) or (f"{draft.comparison}/{letter}" if draft.comparison else "") for letter in draft.letters}
    alone = {new: shown[old] for old, new in moved.items() if shown.get(old)}
    return draft.changed(comparison=None, alone=alone)


# where a bench starts -------------------------------------------------------------------------------------------------


def examples(cards: tuple[Card, ...]) -> dict[str, tuple[Card, Example]]:
    """Every example of a tab by its key, methods with a baseline first: the first one fills a new bench."""
    ranked = sorted(cards, key=lambda card: not card.baseline)
    return {f"{card.key}/{number}": (card, example) for card in ranked for number, example in enumerate(card.examples)}


def use_example(draft: Draft | None, key: str, cards: tuple[Card, ...]) -> Draft:
    """The bench with an example filled in."""
    card, example = examples(cards)[key]
    by_key = {one.key: one for one in cards}
    wanted = example.panes or tuple((method, {}) for method in (card.baseline, card.key) if method)
    checkpoints = (*example.checkpoints, *[""] * len(wanted))
    panes = tuple(
        fresh_pane(by_key[method], settings, checkpoint)
        for (method, settings), checkpoint in zip(wanted, checkpoints, strict=False)
        if method in by_key
    )
    inputs = {spec.name: example.inputs.get(spec.name, spec.default) for one in cards for spec in field_specs(one.inputs)}
    base = draft or Draft(tab=card.tab.value, inputs={}, panes=panes[:1] or (fresh_pane(card),))
    return base.changed(
        inputs=inputs,
        seed=example.seed,
        repeats=example.repeats,
        baseline="A",
        panes=(panes or base.panes)[:4],
        example=key,
        comparison=None,
        alone={},
    )


def first_draft(tab: Tab, cards: tuple[Card, ...]) -> Draft:
    """What a tab holds before anybody touched it: its first example, or its methods beside their baseline."""
    known = examples(cards)
    if known:
        return use_example(None, next(iter(known)), cards)
    challenger = next((card for card in cards if card.baseline), cards[0])
    base = next((card for card in cards if card.key == challenger.baseline), cards[-1] if len(cards) > 1 else cards[0])
    inputs = {spec.name: spec.default for card in cards for spec in field_specs(card.inputs)}
    return Draft(tab=tab.value, inputs=inputs, panes=(fresh_pane(base), fresh_pane(challenger)))


class Drafts:
    """The current draft of each owner and tab; every change is stored at once."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._lock = threading.Lock()
        self._current: OrderedDict[tuple[str, str], Draft] = OrderedDict()
        self._checked: OrderedDict[int, tuple[Draft, tuple[PaneFault, ...]]] = OrderedDict()

    def cards(self, tab: str) -> tuple[Card, ...]:
        """The methods of a tab, in page order."""
        return tuple(card for card in self._studio.registry.cards if card.tab.value == tab)

    def get(self, owner: str, tab: str) -> Draft:
        """The owner's draft of `tab`: kept, stored, or the tab's first example."""
        key = (owner, tab)
        with self._lock:
            draft = self._current.get(key) or self._stored(owner, tab) or first_draft(Tab(tab), self.cards(tab))
            self._keep(key, draft)
            return draft

    def put(self, owner: str, draft: Draft) -> Draft:
        """Make `draft` the owner's current one and store it."""
        with self._lock:
            self._keep((owner, draft.tab), draft)
        self._studio.save_draft(owner, draft.tab, draft.model_dump(mode="json"))
        return draft

    def faults(self, draft: Draft) -> tuple[PaneFault, ...]:
        """What is wrong in the controls; the same draft is checked once however often it is asked about."""
        with self._lock:
            known = self._checked.get(id(draft))
        if known is not None and known[0] is draft:
            return known[1]
        found = self._check(draft)
        with self._lock:
            self._checked[id(draft)] = (draft, found)
            if len(self._checked) > _KEPT_IN_MEMORY:
                self._checked.popitem(last=False)
        return found

    def _check(self, draft: Draft) -> tuple[PaneFault, ...]:
        """Every fault at its control; one of a shared input is said once, not once a pane."""
        found: dict[tuple[str | None, str | None, str], PaneFault] = {}
        for letter in draft.letters:
            pane = draft.pane(letter)
            card = self._studio.registry.card(pane.method)
            shared = {spec.name for spec in field_specs(card.inputs)}
            for fault in self._pane_faults(pane, draft.inputs):
                place = None if fault.field in shared else letter
                found.setdefault((place, fault.field, fault.what), PaneFault(pane=place, fault=fault))
        for name, low, high in (("seed", 0, 2**63 - 1), ("repeats", 1, 50)):
            wrong = _number_fault(name, getattr(draft, name), low, high)
            if wrong is not None:
                found[(None, name, wrong.what)] = PaneFault(pane=None, fault=wrong)
        return tuple(found.values())

    def _pane_faults(self, pane: PaneDraft, inputs: dict[str, Any]) -> tuple[Fault, ...]:
        try:
            return self._studio.check(pane.method, pane.checkpoint, inputs, pane.settings)
        except StudioError as error:  # a checkpoint that was forgotten since
            return (error.fault(),)

    def presets(self, card: Card) -> tuple[tuple[str, str, dict[str, Any]], ...]:
        """(key, label, settings) of the built-in presets of `card`, then the user's own."""
        built_in: tuple[Preset, ...] = card.presets
        own = self._studio.presets(card.key)
        return (
            *((f"builtin/{preset.name}", preset.name, preset.settings) for preset in built_in),
            *((row.id, f"{row.name}, v{row.version}", row.settings) for row in own),
        )

    def _stored(self, owner: str, tab: str) -> Draft | None:
        data = self._studio.draft(owner, tab)
        if data is None:
            return None
        try:
            draft = Draft.model_validate(data)
            panes = tuple(self._current_pane(pane) for pane in draft.panes)
        except (ValidationError, StudioError):  # written by another version, or its method is gone: start afresh
            return None
        known = {spec.name for card in self.cards(tab) for spec in field_specs(card.inputs)}
        return draft.model_copy(update={"panes": panes, "inputs": {name: draft.inputs[name] for name in draft.inputs if name in known}})

    def _current_pane(self, pane: PaneDraft) -> PaneDraft:
        """The pane with exactly the fields its method has today."""
        card = self._studio.registry.card(pane.method)
        self._studio.models.find(card, pane.checkpoint)
        return pane.model_copy(update={"settings": defaults(card, pane.settings)})

    def _keep(self, key: tuple[str, str], draft: Draft) -> None:
        self._current[key] = draft
        self._current.move_to_end(key)
        if len(self._current) > _KEPT_IN_MEMORY:
            self._current.popitem(last=False)


def _number_fault(name: str, value: Any, low: int, high: int) -> Fault | None:
    label = name.capitalize()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return Fault(kind="InputError", what=f"{label} must be a whole number.", field=name, suggestion=low)
    if not low <= value <= high:
        nearest = min(max(value, low), high)
        return Fault(kind="InputError", what=f"{label} must lie between {low} and {high:,}.", field=name, suggestion=nearest)
    return None
