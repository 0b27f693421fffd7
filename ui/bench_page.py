"""The bench of one tab: shared inputs on top, panes and settings below, and what their buttons do.

Shared inputs are laid out once; panes are rendered when the tab is opened and whenever the draft's structure changes.
Handlers turn the controls into a Draft, pass it through one function of `ui.drafts`, and call `app.api`; they return at once,
and outputs reach the page through `/studio/watch`.

It deliberately shows no output and no message: `web/js` draws both from the studio's JSON.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import gradio as gr
from gradio.components import Component

from app.api import Studio
from app.errors import RequestRefused, StudioError
from app.values import CompareRequest, SubmitRequest
from backends.contract import FieldSpec, Tab, field_specs
from storage.values import PaneSpec
from ui.controls import NumberBox, control, read
from ui.drafts import Draft, Drafts, add_pane, examples, first_draft, use_example
from ui.panes import RenderedPanes, render_panes
from ui.security import owner_of

Session = tuple[str, int]
"""Owner and revision: what a render is keyed by."""
Change = Callable[[Draft], Draft]
_PRIVATE: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}


class BenchPage:
    """One tab's bench; `build` lays it out inside the open gr.Tab."""

    def __init__(self, tab: Tab, studio: Studio, drafts: Drafts) -> None:
        self.tab = tab.value
        self._studio = studio
        self._drafts = drafts
        self._cards = drafts.cards(self.tab)
        self._start = first_draft(tab, self._cards)
        specs = {spec.name: spec for card in self._cards for spec in field_specs(card.inputs)}
        self._inputs: tuple[FieldSpec, ...] = tuple(specs.values())

    # layout -------------------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Lay out the bench; panes follow by render."""
        self._session = gr.State(("", -1))
        self._revision = gr.Textbox("", label="Revision of the bench", elem_id=self._id("revision"), elem_classes=["dp-off"])
        with gr.Column(elem_id=f"dp-bench-{self.tab}", elem_classes=["plate", "bench"]):
            self._build_shared()
            gr.render(inputs=[self._session], triggers=[self._revision.change], queue=False, show_progress="hidden")(self._render)
        self.refresh.click(self._open, None, self._open_outputs(), **_PRIVATE)

    def _build_shared(self) -> None:
        with gr.Row(elem_classes=["shared"]):
            with gr.Column(elem_classes=["shared-in"], min_width=0):
                self._input_components = [self._shared_input(spec) for spec in self._inputs if spec.widget != "" or spec.kind == "text"]
            with gr.Column(elem_classes=["shared-run"], min_width=0):
                with gr.Row(elem_classes=["acts"]):
                    self._number_components = [
                        self._shared_input(spec) for spec in self._inputs if spec.widget == "" and spec.kind != "text"
                    ]
                    self.seed = self._shared_number("seed", "Seed", self._start.seed)
                    self.repeats = self._shared_number("repeats", "Repeats", self._start.repeats)
                    with gr.Row(elem_classes=["stick"]):
                        self.run = gr.Button("Run all", variant="primary", elem_id=self._id("run"), elem_classes=["btn", "go"], min_width=0)
                        self.stop = gr.Button("Stop", elem_id=self._id("stop"), elem_classes=["btn", "stop"], min_width=0)
                with gr.Row(elem_classes=["acts", "acts2"]):
                    self.example = gr.Dropdown(
                        [(f"Example: {example.title}", key) for key, (_, example) in examples(self._cards).items()],
                        value=self._start.example or None,
                        label="Example",
                        container=False,
                        filterable=False,
                        min_width=0,
                        interactive=True,
                        elem_id=self._id("example"),
                        elem_classes=["sel", "small"],
                        visible=bool(examples(self._cards)),
                    )
                    self.sweep = gr.Button("Sweep…", elem_id=self._id("sweep"), elem_classes=["btn", "sm"], min_width=0)
                    self.more = gr.Button("Add pane", elem_id=self._id("add"), elem_classes=["btn", "sm"], min_width=0)
                    self.refresh = gr.Button("Draw again", elem_id=self._id("refresh"), elem_classes=["dp-off"], min_width=0)

    def _shared_input(self, spec: FieldSpec) -> Component:
        component = control(spec, self._start.inputs.get(spec.name, spec.default), elem_id=self._id("in", spec.name))
        self._saves(component, lambda draft, value: draft.model_copy(update={"inputs": draft.inputs | {spec.name: read(spec, value)}}))
        return component

    def _shared_number(self, name: str, label: str, value: Any) -> Component:
        component = NumberBox(value, label=label, step=1, elem_id=self._id(name), elem_classes=["dp-field", "num", name], min_width=0)
        self._saves(component, lambda draft, value: draft.model_copy(update={name: _whole(value)}))
        return component

    def _id(self, *parts: str) -> str:
        return "-".join(("dp", self.tab, *parts))

    @property
    def _shared(self) -> list[Component]:
        """The shared components in the order of `_shared_values`."""
        return [*self._input_components, *self._number_components, self.seed, self.repeats]

    @property
    def _shared_specs(self) -> list[FieldSpec]:
        wide = [spec for spec in self._inputs if spec.widget != "" or spec.kind == "text"]
        return wide + [spec for spec in self._inputs if spec not in wide]

    # opening ------------------------------------------------------------------------------------------------------

    def opens_with(self, trigger: Callable[..., Any]) -> None:
        """Fill the bench from the owner's draft when `trigger` (a load or a select) happens."""
        trigger(self._open, None, self._open_outputs(), **_PRIVATE)

    def _open_outputs(self) -> list[Any]:
        return [self._session, self._revision, *self._shared, self.example]

    def _open(self, request: gr.Request) -> list[Any]:
        owner = _owner(request)
        return self._shown(owner, self._drafts.get(owner, self.tab))

    def _shown(self, owner: str, draft: Draft) -> list[Any]:
        values = [draft.inputs.get(spec.name, spec.default) for spec in self._shared_specs]
        return [(owner, draft.revision), str(draft.revision), *values, draft.seed, draft.repeats, draft.example or None]

    def _render(self, session: Session) -> None:
        owner, revision = session
        if revision < 0:
            return
        draft = self._drafts.get(owner, self.tab)
        panes = render_panes(draft, self._cards, self._drafts, self._studio.models.added)
        self._wire(panes)

    # wiring -------------------------------------------------------------------------------------------------------

    def _wire(self, panes: RenderedPanes) -> None:
        """Give the buttons their work; every handler reads all controls, so that nothing typed a moment ago is lost.

        Each listener has a key: where the same panes are laid out again, one from before still reaches the listener of now.
        """
        everything = [*self._shared, *panes.components]

        def on(trigger: Callable[..., Any], work: Callable[[str, Draft], Draft], *name: str) -> None:
            def handle(request: gr.Request, *values: Any) -> list[Any]:
                owner = _owner(request)
                draft = self._collect(self._drafts.get(owner, self.tab), panes, values)
                return self._shown(owner, self._drafts.put(owner, work(owner, draft)))

            trigger(handle, everything, self._open_outputs(), key=panes.key("on", *name), **_PRIVATE)

        on(self.run.click, self._run_all, "run")
        on(self.stop.click, self._stop, "stop")
        on(self.more.click, lambda _, draft: add_pane(draft), "add")
        for letter, button in panes.run_buttons.items():
            on(button.click, partial(self._run_pane, letter), "run", letter)
        for button, change in panes.changes:
            on(button.click, partial(_changed, change), "change", str(button.elem_id))
        for component, save in panes.saved:
            self._saves(component, save, panes.key("save", str(component.elem_id)))
        for dropdown, choose in panes.choices:
            self._chooses(dropdown, choose, everything, panes)
        self._chooses(self.example, lambda draft, key: use_example(draft, key, self._cards) if key else draft, everything, panes)

    def _saves(self, component: Component, save: Callable[[Draft, Any], Draft], key: tuple[str, ...] | None = None) -> None:
        """Keep a control's value as soon as it changes."""

        def handle(request: gr.Request, value: Any) -> None:
            owner = _owner(request)
            before = self._drafts.get(owner, self.tab)
            after = save(before, value)
            if after != before:
                self._drafts.put(owner, after)

        # "input" is what the user does; "change" would also fire when a draft fills the controls.
        trigger = getattr(component, "input", None) or getattr(component, "change")  # noqa: B009
        trigger(handle, [component], None, trigger_mode="always_last", key=key, **_PRIVATE)

    def _chooses(
        self, dropdown: Component, choose: Callable[[Draft, Any], Draft], everything: list[Component], panes: RenderedPanes
    ) -> None:
        """A list whose choice changes the bench's structure."""

        def handle(request: gr.Request, choice: Any, *values: Any) -> list[Any]:
            owner = _owner(request)
            draft = self._collect(self._drafts.get(owner, self.tab), panes, values)
            return self._shown(owner, self._drafts.put(owner, choose(draft, choice)))

        trigger = getattr(dropdown, "input")  # noqa: B009
        key = panes.key("choose", str(dropdown.elem_id))
        trigger(handle, [dropdown, *everything], self._open_outputs(), key=key, **_PRIVATE)

    def _collect(self, draft: Draft, panes: RenderedPanes, values: tuple[Any, ...]) -> Draft:
        """The draft with what stands in all controls now; controls of panes that meanwhile changed elsewhere are left out."""
        shared, rest = values[: len(self._shared)], values[len(self._shared) :]
        inputs = {spec.name: read(spec, value) for spec, value in zip(self._shared_specs, shared, strict=False)}
        draft = draft.model_copy(update={"inputs": draft.inputs | inputs, "seed": _whole(shared[-2]), "repeats": _whole(shared[-1])})
        return panes.collect(draft, rest)

    # work ---------------------------------------------------------------------------------------------------------

    def _run_all(self, owner: str, draft: Draft) -> Draft:
        if self._drafts.faults(draft):
            return draft
        request = CompareRequest(
            tab=self.tab,
            panes=tuple(
                PaneSpec(pane=letter, method=pane.method, checkpoint=pane.checkpoint, settings=pane.settings)
                for letter, pane in zip(draft.letters, draft.panes, strict=True)
            ),
            inputs=draft.inputs,
            seed=draft.seed,
            repeats=draft.repeats,
            baseline=draft.baseline,
            owner=_account(owner),
        )
        return self._asked(draft, lambda: {"comparison": self._studio.compare(request).id, "alone": {}, "sweep": None})

    def _run_pane(self, letter: str, owner: str, draft: Draft) -> Draft:
        if any(found.pane in (None, letter) for found in self._drafts.faults(draft)):
            return draft
        pane = draft.pane(letter)
        known = {spec.name for spec in field_specs(self._studio.registry.card(pane.method).inputs)}
        request = SubmitRequest(
            method=pane.method,
            checkpoint=pane.checkpoint,
            inputs={name: value for name, value in draft.inputs.items() if name in known},
            settings=pane.settings,
            seed=draft.seed,
            owner=_account(owner),
        )
        return self._asked(draft, lambda: {"alone": draft.alone | {letter: self._studio.submit(request).id}})

    def _asked(self, draft: Draft, ask: Callable[[], dict[str, Any]]) -> Draft:
        """The draft after a request to the studio; what the studio refuses is shown at the controls by the next check."""
        try:
            return draft.model_copy(update={**ask(), "refused": None})
        except RequestRefused:
            return draft
        except StudioError as error:
            return draft.model_copy(update={"refused": error.fault()})

    def _stop(self, owner: str, draft: Draft) -> Draft:
        account = _account(owner) or None
        for comparison in (draft.comparison, draft.sweep):
            if comparison:
                self._studio.cancel_comparison(comparison, account)
        for run in draft.alone.values():
            if "/" not in run:
                self._studio.cancel(run, account)
        return draft


def _changed(change: Change, owner: str, draft: Draft) -> Draft:
    """A change of the bench that does not depend on who asks."""
    return change(draft)


def _owner(request: gr.Request) -> str:
    """The owner the guard put on this request."""
    return owner_of(request.request.scope) if request.request is not None else ""


def _account(owner: str) -> str:
    """The account name for rows of the store; without accounts runs belong to everybody at this machine."""
    return owner.removeprefix("account:") if owner.startswith("account:") else ""


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
