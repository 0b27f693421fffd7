"""The panes of a bench and their settings, laid out from a Draft: heads, output slots, hinges, and one row a setting.

Rows stand once for all panes: the name in the hinge column, a control on each wing; a pane whose method lacks the setting
shows a dash. Slots are empty columns that `web/js` fills with views, verdict, ledger and labels.

It deliberately attaches no listener: `RenderedPanes` says what was built, and `ui.bench_page` gives it its work.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import gradio as gr
from gradio.components import Component

from backends.contract import Card, Checkpoint, FieldSpec, Group, field_specs
from ui.controls import control, read
from ui.drafts import Draft, Drafts, copy_pane, remove_pane, set_method, swap_panes, use_preset

Change = Callable[[Draft], Draft]
Save = Callable[[Draft, Any], Draft]


@dataclass
class RenderedPanes:
    """What a render laid out. `fields` runs parallel to `components`: (letter, method, field) of each control."""

    layout: tuple[str, ...]
    """The tab, and the method of each pane: what the order of the controls follows from."""
    components: list[Component] = field(default_factory=list)
    fields: list[tuple[str, str, FieldSpec]] = field(default_factory=list)
    run_buttons: dict[str, gr.Button] = field(default_factory=dict)
    changes: list[tuple[gr.Button, Change]] = field(default_factory=list)
    choices: list[tuple[Component, Save]] = field(default_factory=list)
    saved: list[tuple[Component, Save]] = field(default_factory=list)

    def key(self, *parts: str) -> tuple[str, ...]:
        """The key of a listener, the same whenever the same panes are laid out."""
        return (*self.layout, *parts)

    def collect(self, draft: Draft, values: tuple[Any, ...]) -> Draft:
        """`draft` with the controls' values; a control whose pane now holds another method says nothing."""
        panes = list(draft.panes)
        for (letter, method, spec), value in zip(self.fields, values, strict=False):
            if letter in draft.letters and (pane := panes[draft.letters.index(letter)]).method == method:
                settings = pane.settings | {spec.name: read(spec, value)}
                panes[draft.letters.index(letter)] = pane.model_copy(update={"settings": settings})
        return draft.model_copy(update={"panes": tuple(panes)})


class _Layout:
    """Lays out one draft; element ids are `dp-<tab>-<letter>-<part>`."""

    def __init__(self, draft: Draft, cards: tuple[Card, ...], drafts: Drafts, added: Callable[[str], dict[str, Checkpoint]]) -> None:
        self.draft = draft
        self.cards = {card.key: card for card in cards}
        self.drafts = drafts
        self.added = added
        self.out = RenderedPanes((draft.tab, *(pane.method for pane in draft.panes)))

    def id(self, *parts: str) -> str:
        return "-".join(("dp", self.draft.tab, *parts))

    def slot(self, *parts: str, classes: tuple[str, ...] = ()) -> None:
        """An empty column the page's script fills."""
        gr.Column(elem_id=self.id(*parts), elem_classes=["dp-slot", *classes], min_width=0, key=self.key("slot", *parts))

    def key(self, *parts: str) -> tuple[str, ...]:
        return (self.draft.tab, str(len(self.draft.panes)), *parts)

    def card(self, letter: str) -> Card:
        return self.cards[self.draft.pane(letter).method]

    # panes --------------------------------------------------------------------------------------------------------

    def panes(self) -> None:
        letters = self.draft.letters
        self.slot("sweepview", classes=("dp-sweep-slot",))
        with gr.Column(elem_classes=["dp-panes", f"n{len(letters)}"], elem_id=self.id("panes"), min_width=0, key=self.key("panes")):
            for place, letter in enumerate(letters):
                if place:
                    self.slot("hinge", letter, classes=("dp-hingebox", f"at-{letter}"))
                classes = ["dp-pane", f"at-{letter}", "l" if place == 0 else "r"]
                with gr.Column(elem_classes=classes, elem_id=self.id("pane", letter), min_width=0, key=self.key("pane", letter)):
                    self.pane_head(letter)
                    self.slot("out", letter, classes=("dp-out",))

    def pane_head(self, letter: str) -> None:
        pane, card = self.draft.pane(letter), self.card(letter)
        checkpoints = (*card.checkpoints, *self.added(card.key).values())
        with gr.Row(elem_classes=["ph"], key=self.key("head", letter)):
            self.slot("key", letter, classes=("dp-letter",))
            method = gr.Dropdown(
                [(one.title, one.key) for one in self.cards.values()],
                value=pane.method,
                label=f"Method of pane {letter}",
                container=False,
                interactive=True,
                filterable=False,
                min_width=0,
                elem_id=self.id(letter, "method"),
                elem_classes=["q", "name"],
                key=self.key("method", letter),
                preserved_by_key=None,
            )
            self.slot("mark", letter, classes=("dp-mark-slot",))
            run = gr.Button(
                "Run pane", size="sm", min_width=0, elem_id=self.id(letter, "run"), elem_classes=["btn", "sm"], key=self.key("run", letter)
            )
        with gr.Row(elem_classes=["why"], key=self.key("why", letter)):
            checkpoint = gr.Dropdown(
                [(one.title, one.key) for one in checkpoints],
                value=pane.checkpoint,
                label=f"Checkpoint of pane {letter}",
                container=False,
                interactive=True,
                filterable=False,
                min_width=0,
                elem_id=self.id(letter, "checkpoint"),
                elem_classes=["q"],
                key=self.key("checkpoint", letter, card.key),
                preserved_by_key=None,
            )
            self.slot("does", letter, classes=("dp-does",))
        self.out.run_buttons[letter] = run
        self.out.choices.append((method, lambda draft, key: set_method(draft, letter, self.cards[key]) if key in self.cards else draft))
        self.out.choices.append((checkpoint, partial(_set_checkpoint, letter)))

    # settings -----------------------------------------------------------------------------------------------------

    def settings(self) -> None:
        self.slot("replay", classes=("dp-replay-slot",))
        self.slot("foot", classes=("dp-foot-slot",))
        self.slot("verdict", classes=("dp-verdict-slot",))
        self.slot("cost", classes=("dp-cost",))
        letters = self.draft.letters
        with gr.Column(
            elem_classes=["dp-settings", f"n{len(letters)}"], elem_id=self.id("settings"), min_width=0, key=self.key("settings")
        ):
            self.settings_head()
            for group in Group:
                rows = self.rows(group)
                if not rows:
                    continue
                self.slot("group", group.value.replace(" ", "-"), classes=("dp-group",))
                for name in rows:
                    self.row(group, name)
            self.slot("same", classes=("dp-same",))

    def settings_head(self) -> None:
        letters = self.draft.letters
        with gr.Row(elem_classes=["head", "dp-set-head"], key=self.key("sethead")):
            self.slot("sethead", classes=("dp-sethead",))
            for letter in letters:
                self.preset_list(letter)
            for source, target in pairwise(letters):
                self.change(f"Copy {source} to {target}", f"copy-{target}", partial(_copy, source, target))
            if len(letters) == 2:
                self.change("Swap", "swap", partial(_swap, "A", "B"))
            if len(letters) > 1:
                for letter in letters:
                    self.change(f"Remove {letter}", f"remove-{letter}", partial(_remove, letter), classes=("dp-off",))

    def preset_list(self, letter: str) -> None:
        """Presets of the pane's method; hidden when there is nothing to choose."""
        known = self.drafts.presets(self.card(letter))
        chosen = next((key for key, _, settings in known if settings.items() <= self.draft.pane(letter).settings.items()), None)
        dropdown = gr.Dropdown(
            [(f"{letter}: own values", ""), *((f"{letter}: {label}", key) for key, label, _ in known)],
            value=chosen or "",
            label=f"Preset of pane {letter}",
            container=False,
            interactive=True,
            filterable=False,
            min_width=0,
            elem_id=self.id(letter, "preset"),
            elem_classes=["sel", "small", "preset"],
            visible=bool(known),
            key=self.key("preset", letter, self.draft.pane(letter).method),
            preserved_by_key=None,
        )
        settings = {key: values for key, _, values in known}
        card = self.card(letter)
        self.out.choices.append((dropdown, lambda draft, key: use_preset(draft, letter, card, settings[key]) if key in settings else draft))

    def change(self, words: str, part: str, change: Change, classes: tuple[str, ...] = ()) -> None:
        button = gr.Button(
            words, size="sm", min_width=0, elem_id=self.id(part), elem_classes=["btn", "sm", *classes], key=self.key("button", part)
        )
        self.out.changes.append((button, change))

    def rows(self, group: Group) -> list[str]:
        """The fields of a group over all panes, in declaration order, each once."""
        names = [spec.name for letter in self.draft.letters for spec in field_specs(self.card(letter).settings) if spec.group is group]
        return list(dict.fromkeys(names))

    def row(self, group: Group, name: str) -> None:
        with gr.Row(elem_classes=["set", f"of-{group.value.replace(' ', '-')}"], elem_id=self.id("row", name), key=self.key("row", name)):
            for place, letter in enumerate(self.draft.letters):
                if place == 1:
                    self.slot("name", name, classes=("mid",))
                self.cell(letter, name)
            if len(self.draft.letters) == 1:
                self.slot("name", name, classes=("mid",))

    def cell(self, letter: str, name: str) -> None:
        card = self.card(letter)
        spec = next((spec for spec in field_specs(card.settings) if spec.name == name), None)
        with gr.Column(
            elem_classes=["cell", f"at-{letter}"], min_width=0, key=self.key("cell", letter, self.draft.pane(letter).method, name)
        ):
            if spec is None:
                self.slot("none", letter, name, classes=("na",))
                return
            component = control(
                spec,
                self.draft.pane(letter).settings.get(name, spec.default),
                elem_id=self.id(letter, "set", name),
                label=f"{spec.label}, pane {letter}",
                key=self.key("set", letter, card.key, name),
            )
            self.slot("fault", letter, name, classes=("dp-fault",))
        self.out.components.append(component)
        self.out.fields.append((letter, card.key, spec))
        self.out.saved.append((component, partial(_set_field, letter, card.key, spec)))


def render_panes(draft: Draft, cards: tuple[Card, ...], drafts: Drafts, added: Callable[[str], dict[str, Checkpoint]]) -> RenderedPanes:
    """Lay out panes, verdict, costs and settings of `draft` where the render stands."""
    layout = _Layout(draft, cards, drafts, added)
    layout.panes()
    layout.settings()
    gr.Column(elem_id=layout.id("laid", str(draft.revision)), elem_classes=["dp-off"], min_width=0)  # tells when this draft stands there
    return layout.out


def _copy(source: str, target: str, draft: Draft) -> Draft:
    return copy_pane(draft, source, target)


def _swap(one: str, other: str, draft: Draft) -> Draft:
    return swap_panes(draft, one, other)


def _remove(letter: str, draft: Draft) -> Draft:
    return remove_pane(draft, letter)


def _set_checkpoint(letter: str, draft: Draft, key: Any) -> Draft:
    return draft.with_pane(letter, draft.pane(letter).model_copy(update={"checkpoint": str(key)})) if key else draft


def _set_field(letter: str, method: str, spec: FieldSpec, draft: Draft, value: Any) -> Draft:
    """Keep one control's value without drawing the controls again."""
    if letter not in draft.letters or draft.pane(letter).method != method:
        return draft
    place, pane = draft.letters.index(letter), draft.pane(letter)
    changed = pane.model_copy(update={"settings": pane.settings | {spec.name: read(spec, value)}})
    return draft.model_copy(update={"panes": (*draft.panes[:place], changed, *draft.panes[place + 1 :])})
