"""The HTTP names of `app.api`, for scripts: methods, runs, comparisons and sweeps as JSON.

Requests are the models of `app.values`; a wrong value answers 422 with a fault for each control. Programs that are not
browsers need no header; with accounts they sign in by Basic authorization.

It deliberately offers nothing the page could not do, and takes no file path.
"""

from typing import Any

from fastapi import APIRouter, Request

from app.api import Studio
from app.values import CompareRequest, SubmitRequest, SweepRequest
from ui.answers import Answer
from ui.bench_state import cards_json
from ui.security import account_of


def router(studio: Studio) -> APIRouter:
    """The routes for an open studio."""
    routes = APIRouter(prefix="/studio/api", default_response_class=Answer)

    @routes.get("/methods")
    def methods() -> list[dict[str, Any]]:
        return cards_json(studio)

    @routes.post("/runs")
    def submit(request: Request, body: SubmitRequest) -> dict[str, Any]:
        owned = body.model_copy(update={"owner": account_of(request.scope) or ""})
        return studio.submit(owned).model_dump(mode="json", exclude={"preview"})

    @routes.post("/comparisons")
    def compare(request: Request, body: CompareRequest) -> dict[str, Any]:
        owned = body.model_copy(update={"owner": account_of(request.scope) or ""})
        return studio.compare(owned).model_dump(mode="json")

    @routes.post("/sweeps")
    def sweep(request: Request, body: SweepRequest) -> dict[str, Any]:
        owned = body.model_copy(update={"owner": account_of(request.scope) or ""})
        return studio.sweep(owned).model_dump(mode="json")

    @routes.post("/comparisons/{comparison_id}/cancel")
    def cancel(request: Request, comparison_id: str) -> dict[str, int]:
        return {"stopped": studio.cancel_comparison(comparison_id, account_of(request.scope))}

    return routes
