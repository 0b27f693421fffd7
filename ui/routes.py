"""The page's own JSON routes under /studio: what runs send, summaries, single runs, artifacts and exports.

Reading is GET, changing is POST; the guard (`ui.security`) lets only the page and programs that are not browsers change
anything. Ids are 128 random bits; with accounts every route hands the caller's name on, and other people's rows do not exist.

It deliberately does no work itself: each route is one call of `app.api`.
"""

import json
from typing import Any

from fastapi import APIRouter, Request, Response

from app.api import Studio
from app.errors import UnknownRun, UploadRefused
from backends.contract import field_specs
from ui.answers import Answer
from ui.bench_state import cards_json
from ui.downloads import attachment, bundle
from ui.drafts import LETTERS
from ui.security import account_of
from ui.views.thumbnails import compact

_SHOWN_TYPES = ("text/", "application/json")
_SHOWN_BYTES = 32 * 2**20


def router(studio: Studio) -> APIRouter:
    """The routes for an open studio."""
    routes = APIRouter(prefix="/studio", default_response_class=Answer)
    _add_general(routes, studio)
    _add_following(routes, studio)
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


def summary_json(studio: Studio, comparison: str, account: str | None) -> dict[str, Any]:
    """A comparison summed up, or the cells of a sweep."""
    kind = studio.comparison(comparison, account).kind
    found = studio.sweep_summary(comparison, account) if kind == "sweep" else studio.summary(comparison, account)
    return found.model_dump(mode="json")


def _add_following(routes: APIRouter, studio: Studio) -> None:
    @routes.get("/watch")
    def watch(request: Request, comparison: str | None = None, runs: str = "", since: str = "") -> dict[str, Any]:
        ids = tuple(run for run in runs.split(",") if run)[:16]
        page = studio.watch(comparison, ids, cursors(since), account_of(request.scope))
        return page.model_dump(mode="json")

    @routes.get("/comparisons/{comparison_id}/summary")
    def summary(request: Request, comparison_id: str) -> dict[str, Any]:
        return summary_json(studio, comparison_id, account_of(request.scope))

    @routes.get("/beside")
    def beside(request: Request, runs: str) -> dict[str, Any]:
        ids = tuple(run for run in runs.split(",") if run)[: len(LETTERS)]
        if not ids:
            raise UnknownRun("No run was named.", "", "Tick one to four runs in History.")
        named = dict(zip(LETTERS, ids, strict=False))
        return studio.beside(named, LETTERS[0], account_of(request.scope)).model_dump(mode="json")


def _add_runs(routes: APIRouter, studio: Studio) -> None:
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


def _content(media_type: str, data: bytes) -> dict[str, Any]:
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
    return {"text/plain": ".txt", "application/json": ".json", "text/markdown": ".md", "image/png": ".png", "image/svg+xml": ".svg"}.get(
        kind, ""
    )
