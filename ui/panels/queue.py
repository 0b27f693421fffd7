"""The queue: what runs, what waits, and in which order. JSON for `web/js/queue.js`.

Order, pause and retry live in the store and survive a restart; this only shows and passes on.

It deliberately holds no timer: the page asks while it looks.
"""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from app.api import Studio
from app.watching import waiting_seconds
from storage.values import RunState
from ui.answers import Answer
from ui.panels.history import row_json
from ui.security import account_of


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Place(_Body):
    to: int = Field(ge=1)


class Paused(_Body):
    paused: bool


def router(studio: Studio) -> APIRouter:
    """The panel's routes."""
    routes = APIRouter(prefix="/studio", default_response_class=Answer)

    @routes.get("/queue")
    def queue(request: Request) -> dict[str, Any]:
        account = account_of(request.scope)
        rows = studio.queue()
        waits = waiting_seconds(studio.store, rows)
        shown = [row for row in rows if account is None or row.owner in ("", account)]
        jobs = [
            row_json(studio, row)
            | {"eta_seconds": waits.get(row.id), "typical_seconds": studio.store.typical_seconds(row.method, row.checkpoint)}
            for row in shown
        ]
        running = [row for row in shown if row.state is RunState.RUNNING]
        progress = {row.id: _progress(studio, row.id, account) for row in running}
        return {"jobs": jobs, "progress": progress, "paused": studio.store.paused}

    @routes.post("/queue/pause")
    def pause(body: Paused) -> dict[str, bool]:
        studio.pause(body.paused)
        return {"paused": body.paused}

    @routes.post("/queue/stop")
    def stop_all() -> dict[str, int]:
        return {"stopped": studio.cancel_all()}

    @routes.post("/runs/{run_id}/move")
    def move(request: Request, run_id: str, body: Place) -> dict[str, bool]:
        studio.move(run_id, body.to, account_of(request.scope))
        return {"moved": True}

    @routes.post("/runs/{run_id}/retry")
    def retry(request: Request, run_id: str) -> dict[str, str]:
        return {"run": studio.retry(run_id, account_of(request.scope)).id}

    return routes


def _progress(studio: Studio, run_id: str, account: str | None) -> dict[str, Any] | None:
    """The last progress event of a running run, with its time."""
    events = studio.watch(None, (run_id,), {}, account).runs[0].events
    last = next((event for event in reversed(events) if event.get("type") == "progress"), None)
    return None if last is None else {"step": last["step"], "total": last["total"], "phase": last["phase"], "at": last.get("at")}
