"""The page's own JSON routes under /studio: the bench, what runs send, summaries, artifacts and exports.

Reading is GET, changing is POST; the guard (`ui.security`) lets only the page and programs that are not browsers change
anything. Ids are 128 random bits; with accounts every route hands the caller's name on, and other people's rows do not exist.

It deliberately does no work itself: each route is one call of `app.api`.
"""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from app.api import Studio
from app.errors import UnknownMethod, UnknownRun, UploadRefused
from app.values import Axis, SweepRequest
from backends.contract import field_specs
from storage.values import PaneSpec
from ui.bench_state import BenchState, cards_json
from ui.downloads import attachment, bundle
from ui.drafts import LETTERS, Draft, Drafts, PaneDraft, defaults
from ui.security import account_of, owner_of
from ui.views.thumbnails import compact

_SHOWN_TYPES = ("text/", "application/json")
_SHOWN_BYTES = 32 * 2**20


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
    routes = APIRouter(prefix="/studio")
    _add_general(routes, studio)
    _add_bench(routes, studio, drafts)
    _add_runs(routes, studio)
    _add_files(routes, studio)
    return routes


def cursors(text: str) -> dict[str, int]:
    """`RUN:N,RUN:N` as a mapping; what is not that is ignored."""
    pairs = (part.rpartition(":") for part in text.split(",") if part)
    return {run: int(count) for run, _, count in pairs if run and count.isdigit() and len(count) < 10}


def _add_general(routes: APIRouter, studio: Studio) -> None:
    @routes.get("/health")
    def health() -> dict[str, bool]:
        return {"ok": True}

    @routes.get("/cards")
    def cards() -> dict[str, Any]:
        problems = [problem.model_dump() for problem in studio.registry.problems]
        return {"tabs": [tab.value for tab in studio.registry.tabs], "cards": cards_json(studio), "problems": problems}

    @routes.get("/status")
    def status() -> dict[str, Any]:
        return studio.status().model_dump(mode="json")


def _add_bench(routes: APIRouter, studio: Studio, drafts: Drafts) -> None:
    def current(request: Request, tab: str) -> Draft:
        if not drafts.cards(tab):
            raise UnknownMethod(f"There is no tab “{tab}” here.", "", "Open one of the tabs of the page.")
        return drafts.get(owner_of(request.scope), tab)

    @routes.get("/bench/{tab}")
    def bench(request: Request, tab: str, since: str = "") -> dict[str, Any]:
        state = BenchState(studio, drafts, account_of(request.scope)).build(current(request, tab), cursors(since))
        return {"bench": state, "status": studio.status().model_dump(mode="json")}

    @routes.get("/bench/{tab}/summary")
    def summary(request: Request, tab: str) -> dict[str, Any]:
        draft, account = current(request, tab), account_of(request.scope)
        if draft.comparison and not draft.alone:
            return _summary(studio, draft.comparison, account)
        shown = BenchState(studio, drafts, account).shown_runs(draft)
        return studio.beside(shown, draft.baseline, account).model_dump(mode="json")

    @routes.post("/bench/{tab}/use")
    def use_these(request: Request, tab: str, body: UseThese) -> dict[str, int]:
        draft = current(request, tab)
        panes = tuple(
            PaneDraft(method=pane.method, checkpoint=pane.checkpoint, settings=defaults(studio.registry.card(pane.method), pane.settings))
            for pane in body.panes
        )
        inputs = draft.inputs | {name: value for name, value in body.inputs.items() if name in draft.inputs}
        seed = draft.seed if body.seed is None else body.seed
        changed = draft.changed(panes=panes, inputs=inputs, seed=seed, baseline=LETTERS[0], comparison=None, alone={}, example="")
        return {"revision": drafts.put(owner_of(request.scope), changed).revision}

    @routes.post("/bench/{tab}/baseline")
    def baseline(request: Request, tab: str, body: Baseline) -> dict[str, int]:
        draft = current(request, tab)
        alone = {letter: f"{draft.comparison}/{letter}" for letter in draft.letters if draft.comparison} | draft.alone
        # Costs are measured, not remeasured: the same runs are shown against another pane.
        changed = draft.model_copy(update={"baseline": body.pane if body.pane in draft.letters else draft.baseline, "alone": alone})
        return {"revision": drafts.put(owner_of(request.scope), changed).revision}

    @routes.post("/bench/{tab}/plan")
    def plan(request: Request, tab: str, body: SweepAsked) -> dict[str, Any]:
        return studio.plan(_sweep(current(request, tab), body, account_of(request.scope))).model_dump(mode="json")

    @routes.post("/bench/{tab}/sweep")
    def sweep(request: Request, tab: str, body: SweepAsked) -> dict[str, str]:
        draft = current(request, tab)
        started = studio.sweep(_sweep(draft, body, account_of(request.scope)))
        drafts.put(owner_of(request.scope), draft.model_copy(update={"comparison": started.id, "alone": {}}))
        return {"comparison": started.id}

    @routes.post("/bench/{tab}/leave-sweep")
    def leave_sweep(request: Request, tab: str) -> dict[str, int]:
        draft = current(request, tab)
        return {"revision": drafts.put(owner_of(request.scope), draft.model_copy(update={"comparison": None})).revision}

    @routes.post("/bench/{tab}/preset")
    def preset(request: Request, tab: str, body: PresetAsked) -> dict[str, Any]:
        draft = current(request, tab)
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


def _summary(studio: Studio, comparison: str, account: str | None) -> dict[str, Any]:
    kind = studio.comparison(comparison, account).kind
    found = studio.sweep_summary(comparison, account) if kind == "sweep" else studio.summary(comparison, account)
    return found.model_dump(mode="json")


def _add_runs(routes: APIRouter, studio: Studio) -> None:
    @routes.get("/watch")
    def watch(request: Request, comparison: str | None = None, runs: str = "", since: str = "") -> dict[str, Any]:
        ids = tuple(run for run in runs.split(",") if run)[:16]
        page = studio.watch(comparison, ids, cursors(since), account_of(request.scope))
        return page.model_dump(mode="json")

    @routes.get("/comparisons/{comparison_id}/summary")
    def summary(request: Request, comparison_id: str) -> dict[str, Any]:
        return _summary(studio, comparison_id, account_of(request.scope))

    @routes.get("/beside")
    def beside(request: Request, runs: str) -> dict[str, Any]:
        ids = tuple(run for run in runs.split(",") if run)[: len(LETTERS)]
        if not ids:
            raise UnknownRun("No run was named.", "", "Tick one to four runs in History.")
        named = dict(zip(LETTERS, ids, strict=False))
        return studio.beside(named, LETTERS[0], account_of(request.scope)).model_dump(mode="json")

    @routes.get("/runs/{run_id}")
    def run(request: Request, run_id: str) -> dict[str, Any]:
        row = studio.run(run_id, account_of(request.scope))
        card = next((card for card in studio.registry.cards if card.key == row.method), None)
        labels = {spec.name: spec.label for spec in field_specs(card.settings)} if card else {}
        return row.model_dump(mode="json", exclude={"preview"}) | {"labels": labels}

    @routes.get("/runs/{run_id}/thumb")
    def thumb(request: Request, run_id: str) -> dict[str, Any]:
        row = studio.run(run_id, account_of(request.scope))
        for artifact in sorted(row.artifacts, key=lambda one: one.media_type != "application/json"):
            if artifact.media_type.startswith(_SHOWN_TYPES) and artifact.bytes <= _SHOWN_BYTES:
                content = _content(artifact.media_type, studio.artifact(artifact.id)[1])
                small = compact(artifact.kind, content.get("json", content.get("text")))
                if small is not None:
                    return {"kind": artifact.kind, "data": small}
        return {"kind": "", "data": None}

    @routes.post("/runs/{run_id}/cancel")
    def cancel(request: Request, run_id: str) -> dict[str, bool]:
        return {"stopped": studio.cancel(run_id, account_of(request.scope))}

    @routes.post("/runs/{run_id}/replay")
    def replay(request: Request, run_id: str) -> dict[str, str]:
        return {"run": studio.replay(run_id, account_of(request.scope)).id}

    @routes.get("/runs/{run_id}/replay")
    def replay_verdict(request: Request, run_id: str) -> dict[str, Any]:
        account = account_of(request.scope)
        row = studio.run(run_id, account)
        if not row.state.final:
            return {"state": row.state.value, "verdict": None}
        return {"state": row.state.value, "verdict": studio.replay_verdict(run_id, account).model_dump(mode="json")}


def _add_files(routes: APIRouter, studio: Studio) -> None:
    @routes.get("/artifacts/{artifact_id}")
    def artifact(request: Request, artifact_id: str) -> Response:
        row, data = studio.artifact(artifact_id, account_of(request.scope))
        return attachment(data, f"{row.name}-{row.digest[:8]}{_extension(row.media_type)}", row.media_type)

    @routes.get("/artifacts/{artifact_id}/json")
    def artifact_json(request: Request, artifact_id: str) -> dict[str, Any]:
        row, data = studio.artifact(artifact_id, account_of(request.scope))
        if not row.media_type.startswith(_SHOWN_TYPES) or len(data) > _SHOWN_BYTES:
            raise UploadRefused("This artifact is not text the page can show.", f"It is {row.media_type}.", "Export it instead.")
        return _content(row.media_type, data)

    @routes.get("/formats/{target_id}")
    def formats(request: Request, target_id: str) -> list[dict[str, Any]]:
        return [one.model_dump(mode="json") for one in studio.export_formats(target_id, account_of(request.scope))]

    @routes.get("/export")
    def export(request: Request, target: str, format: str) -> Response:
        files = studio.export(target, format, account_of(request.scope))
        return bundle(files, files[0].name if files else target)


def _content(media_type: str, data: bytes) -> Mapping[str, Any]:
    """An artifact for the page's script: parsed JSON, or text."""
    text = data.decode("utf-8", "replace")
    if media_type.startswith("application/json"):
        try:
            return {"json": json.loads(text)}
        except ValueError:
            return {"text": text}
    return {"text": text}


def _extension(media_type: str) -> str:
    kind = media_type.partition(";")[0]
    return {"text/plain": ".txt", "application/json": ".json", "text/markdown": ".md", "image/png": ".png", "image/svg+xml": ".svg"}.get(kind, "")
