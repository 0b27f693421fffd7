"""History: found again, starred, tagged, named, opened, compared, deleted. JSON for `web/js/history.js`.

Rows come in pages of fifty, newest first, by full-text search and filters; a row says what was set in a sentence and how
it ended.

It deliberately never changes a control of a bench: looking is free, and "use these" is its own button.
"""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from app.api import Studio
from app.errors import UnknownMethod
from app.summary import settings_sentence
from storage.values import HistoryQuery, RunRow
from ui.answers import Answer
from ui.security import account_of

_PAGE = 50


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Star(_Body):
    starred: bool


class Tags(_Body):
    tags: tuple[str, ...] = Field(max_length=20)


class Note(_Body):
    note: str = Field(max_length=10_000)


class Title(_Body):
    title: str = Field(max_length=200)


class Runs(_Body):
    runs: tuple[str, ...] = Field(min_length=1, max_length=500)


def router(studio: Studio) -> APIRouter:
    """The panel's routes."""
    routes = APIRouter(prefix="/studio", default_response_class=Answer)
    _add_finding(routes, studio)
    _add_marking(routes, studio)
    return routes


def _add_finding(routes: APIRouter, studio: Studio) -> None:
    @routes.get("/history")
    def history(
        request: Request,
        text: str = "",
        tab: str = "",
        method: str = "",
        state: str = "",
        starred: bool = False,
        tag: str = "",
        before: int | None = None,
    ) -> dict[str, Any]:
        query = HistoryQuery(
            text=text[:500],
            tab=tab,
            method=method,
            state=state,
            starred=starred,
            tag=tag,
            before=before,
            limit=_PAGE,
            owner=account_of(request.scope),
        )
        page = studio.history(query)
        return {
            "runs": [row_json(studio, run) for run in page.runs],
            "total": page.total,
            "next_before": page.next_before,
            "counts": page.counts,
        }


def _add_marking(routes: APIRouter, studio: Studio) -> None:
    @routes.post("/runs/{run_id}/star")
    def star(request: Request, run_id: str, body: Star) -> dict[str, bool]:
        studio.star(run_id, body.starred, account_of(request.scope))
        return {"starred": body.starred}

    @routes.post("/runs/{run_id}/tags")
    def tags(request: Request, run_id: str, body: Tags) -> dict[str, list[str]]:
        account = account_of(request.scope)
        studio.tag(run_id, body.tags, account)
        return {"tags": list(studio.run(run_id, account).tags)}

    @routes.post("/runs/{run_id}/note")
    def note(request: Request, run_id: str, body: Note) -> dict[str, str]:
        studio.annotate(run_id, body.note, account_of(request.scope))
        return {"note": body.note}

    @routes.post("/runs/{run_id}/title")
    def title(request: Request, run_id: str, body: Title) -> dict[str, str]:
        studio.rename(run_id, body.title, account_of(request.scope))
        return {"title": body.title}

    @routes.post("/history/delete")
    def delete(request: Request, body: Runs) -> dict[str, int]:
        studio.delete(body.runs, account_of(request.scope))
        return {"deleted": len(body.runs)}


def row_json(studio: Studio, run: RunRow) -> dict[str, Any]:
    """A run as History and Queue show it."""
    fields = {
        "id",
        "method",
        "method_title",
        "tab",
        "checkpoint",
        "seed",
        "title",
        "comparison",
        "pane",
        "repeat",
        "purpose",
        "state",
        "position",
        "created",
        "started",
        "finished",
        "fault",
        "partial",
        "starred",
        "tags",
        "note",
        "metrics",
        "sequence",
    }
    row = run.model_dump(mode="json", include=fields)
    signed = [artifact for artifact in run.artifacts if artifact.record is not None]
    return row | {
        "sentence": _sentence(studio, run),
        "artifacts": len(run.artifacts),
        "signed": len(signed),
        "digest": signed[0].digest if signed else "",
        "artifact": signed[0].id if signed else "",
    }


def _sentence(studio: Studio, run: RunRow) -> str:
    try:
        return settings_sentence(studio.registry.card(run.method), run.settings)
    except UnknownMethod:  # a plug-in that is gone: its runs stay
        return "made by a method that is not installed now"
