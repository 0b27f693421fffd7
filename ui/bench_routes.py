"""The JSON routes of the benches: what a tab's controls hold, what its panes show, and what is taken over into them.

Most buttons of a bench are Gradio's (`ui.bench_page`); these come from elsewhere on the page: "use these", the
baseline of the ledger, sweeps and presets. After such a change the page's script asks Gradio to lay the controls out again.

It deliberately does no work itself: each route changes a Draft or is one call of `app.api`.
"""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from app.api import Studio
from app.errors import UnknownMethod, UnknownRun
from app.values import Axis, SweepRequest
from storage.values import PaneSpec
from ui.answers import Answer
from ui.bench_state import BenchState, Shelf
from ui.drafts import LETTERS, Draft, Drafts, PaneDraft, defaults
from ui.routes import cursors, summary_json
from ui.security import account_of, owner_of


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class UseThese(_Body):
    """Settings taken over from a run, a comparison or a record into the controls."""

    panes: tuple[PaneSpec, ...] = Field(min_length=1, max_length=4)
    inputs: dict[str, Any] = Field(default_factory=dict)
    seed: int | None = None


class Baseline(_Body):
    pane: str


class SweepAsked(_Body):
    """Axes over the settings that stand in one pane now."""

    pane: str
    axes: tuple[Axis, ...] = Field(min_length=1, max_length=2)


class PresetAsked(_Body):
    pane: str
    name: str = Field(min_length=1, max_length=80)


def router(studio: Studio, drafts: Drafts) -> APIRouter:
    """The routes for an open studio."""
    routes = APIRouter(prefix="/studio/bench/{tab}", default_response_class=Answer)
    shelf = Shelf(studio)
    _add_reading(routes, studio, drafts, shelf)
    _add_taking_over(routes, studio, drafts)
    _add_asking(routes, studio, drafts)
    return routes


def _current(drafts: Drafts, request: Request, tab: str) -> Draft:
    if not drafts.cards(tab):
        raise UnknownMethod(f"There is no tab “{tab}” here.", "", "Open one of the tabs of the page.")
    return drafts.get(owner_of(request.scope), tab)


def _add_reading(routes: APIRouter, studio: Studio, drafts: Drafts, shelf: Shelf) -> None:
    @routes.get("")
    def bench(request: Request, tab: str, since: str = "") -> dict[str, Any]:
        status = studio.status()
        free = max(status.memory_total - status.memory_used, 0)
        state = BenchState(studio, drafts, shelf, account_of(request.scope)).build(_current(drafts, request, tab), cursors(since), free)
        return {"bench": state, "status": status.model_dump(mode="json")}

    @routes.get("/summary")
    def summary(request: Request, tab: str) -> dict[str, Any]:
        draft, account = _current(drafts, request, tab), account_of(request.scope)
        return summary_json(studio, draft.sweep, account) if draft.sweep else BenchState(studio, drafts, shelf, account).summary(draft)


def _add_taking_over(routes: APIRouter, studio: Studio, drafts: Drafts) -> None:
    @routes.post("/use")
    def use_these(request: Request, tab: str, body: UseThese) -> dict[str, int]:
        draft = _current(drafts, request, tab)
        for pane in body.panes:  # a record of another installation may name weights that are not here
            studio.models.find(studio.registry.card(pane.method), pane.checkpoint)
        panes = tuple(
            PaneDraft(method=pane.method, checkpoint=pane.checkpoint, settings=defaults(studio.registry.card(pane.method), pane.settings))
            for pane in body.panes
        )
        inputs = draft.inputs | {name: value for name, value in body.inputs.items() if name in draft.inputs}
        seed = draft.seed if body.seed is None else body.seed
        changed = draft.changed(
            panes=panes, inputs=inputs, seed=seed, baseline=LETTERS[0], comparison=None, alone={}, sweep=None, example=""
        )
        return {"revision": drafts.put(owner_of(request.scope), changed).revision}

    @routes.post("/baseline")
    def baseline(request: Request, tab: str, body: Baseline) -> dict[str, int]:
        draft = _current(drafts, request, tab)
        if body.pane not in draft.letters:
            raise UnknownRun(f"There is no pane {body.pane}.", "", "Choose a pane of this bench.")
        changed = draft.model_copy(update={"baseline": body.pane})  # the same runs, held against another pane
        return {"revision": drafts.put(owner_of(request.scope), changed).revision}


def _add_asking(routes: APIRouter, studio: Studio, drafts: Drafts) -> None:
    @routes.post("/plan")
    def plan(request: Request, tab: str, body: SweepAsked) -> dict[str, Any]:
        return studio.plan(_sweep(_current(drafts, request, tab), body, account_of(request.scope))).model_dump(mode="json")

    @routes.post("/sweep")
    def sweep(request: Request, tab: str, body: SweepAsked) -> dict[str, str]:
        draft = _current(drafts, request, tab)
        started = studio.sweep(_sweep(draft, body, account_of(request.scope)))
        drafts.put(owner_of(request.scope), draft.model_copy(update={"sweep": started.id}))
        return {"comparison": started.id}

    @routes.post("/leave-sweep")
    def leave_sweep(request: Request, tab: str) -> dict[str, int]:
        draft = _current(drafts, request, tab)
        return {"revision": drafts.put(owner_of(request.scope), draft.model_copy(update={"sweep": None})).revision}

    @routes.post("/preset")
    def preset(request: Request, tab: str, body: PresetAsked) -> dict[str, Any]:
        draft = _current(drafts, request, tab)
        if body.pane not in draft.letters:
            raise UnknownRun(f"There is no pane {body.pane}.", "", "Choose a pane of this bench.")
        pane = draft.pane(body.pane)
        saved = studio.save_preset(pane.method, body.name, pane.settings)
        return {"label": f"{saved.name}, v{saved.version}", "revision": drafts.put(owner_of(request.scope), draft.changed()).revision}


def _sweep(draft: Draft, body: SweepAsked, account: str | None) -> SweepRequest:
    if body.pane not in draft.letters:
        raise UnknownRun(f"There is no pane {body.pane}.", "", "Choose a pane of this bench.")
    pane = draft.pane(body.pane)
    spec = PaneSpec(pane="1", method=pane.method, checkpoint=pane.checkpoint, settings=pane.settings)
    return SweepRequest(tab=draft.tab, pane=spec, axes=body.axes, inputs=draft.inputs, seed=draft.seed, owner=account or "")
