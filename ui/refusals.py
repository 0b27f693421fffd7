"""How this server says no: every error under /studio is a fault in words, with the control it belongs to where there is one.

The studio's and a method's own errors say what, why and the next step themselves; what the web framework refuses before a route
is reached (a body that is no JSON, a value of the wrong type, an unknown path) is worded here.

It deliberately never tells a traceback: those go to the program's log.
"""

import logging
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from app.errors import AccessError, ResourceError, StudioError, UnknownCheckpoint, UnknownMethod, UnknownRun
from backends.contract import Fault, MethodError
from ui.answers import Answer

logger = logging.getLogger(__name__)

_SHOWN_FAULTS = 50
_READABLE = "Send UTF-8 JSON, nested less than a few hundred levels deep, with media type application/json."


def router() -> APIRouter:
    """Whatever under /studio no other route answers; to be included last."""
    routes = APIRouter(prefix="/studio")

    @routes.api_route("/{rest:path}", methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
    def nothing(rest: str) -> Answer:
        raise HTTPException(404, "There is nothing at this path")

    return routes


def word(app: FastAPI) -> None:
    """Install the handlers."""
    for kind, handler in (
        (StudioError, _of_the_studio), (MethodError, _of_the_studio), (RequestValidationError, _of_a_value), (HTTPException, _of_a_request),
        (KeyError, _of_an_old_control), (Exception, _unexpected),
    ):  # fmt: skip
        app.add_exception_handler(kind, handler)


async def _of_the_studio(request: Request, error: Exception) -> Answer:
    fault = error.fault() if isinstance(error, StudioError) else error.fault if isinstance(error, MethodError) else None
    missing = isinstance(error, UnknownRun | UnknownMethod | UnknownCheckpoint)
    status = 404 if missing else 503 if isinstance(error, ResourceError) else 403 if isinstance(error, AccessError) else 422
    body = fault.model_dump(mode="json") if fault else {"what": "The studio met an error of its own."}
    faults = [one.model_dump(mode="json") for one in getattr(error, "faults", ())]
    return Answer(body | ({"faults": faults} if faults else {}), status)


async def _of_a_value(request: Request, error: Exception) -> Answer:
    details = error.errors() if isinstance(error, RequestValidationError) else []
    faults = [_value_fault(detail) for detail in details[:_SHOWN_FAULTS]]
    first = faults[0] if faults else {"what": "The request is malformed."}
    return Answer(first | {"faults": faults}, 422)


def _value_fault(detail: dict[str, Any]) -> dict[str, Any]:
    field = ".".join(map(str, detail["loc"][1:]))
    if detail["type"] == "json_invalid":
        what, next_step, field = f"The body is not JSON: {detail['ctx']['error']} at character {field}.", _READABLE, ""
    else:
        what, next_step = f"{field or 'The request'}: {detail['msg']}.", "See the field's type and range."
    return Fault(kind="InputError", what=what, next_step=next_step, field=field or None).model_dump(mode="json")


async def _of_a_request(request: Request, error: Exception) -> Answer:
    """What the framework gave up on: a body it could not read, an unknown path, a method a path does not have."""
    assert isinstance(error, HTTPException)
    unread = error.status_code == 400
    what = "The body of the request could not be read." if unread else f"{request.method} {request.url.path}: {error.detail}."
    fault = Fault(kind="InputError", what=what, next_step=_READABLE if unread else "See the page or the methods of the HTTP interface.")
    return Answer(fault.model_dump(mode="json"), error.status_code, headers=dict(error.headers or {}))


async def _of_an_old_control(request: Request, error: Exception) -> Answer:
    """A control that was replaced a moment ago: Gradio no longer has its listener, and the page shows the new one."""
    if request.url.path != "/gradio_api/run/predict" or _raiser(error) != "get_fn":
        raise error
    fault = Fault(kind="InputError", what="This control was just laid out anew.", next_step="Use the one that is shown now.")
    return Answer(fault.model_dump(mode="json"), 409)


def _raiser(error: BaseException) -> str:
    """The name of the function that raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_name if trace is not None else ""


async def _unexpected(request: Request, error: Exception) -> Answer:
    logger.exception("%s %s failed", request.method, request.url.path, exc_info=error)
    fault = Fault(
        kind="Unexpected", what="The studio met an error of its own.", why=type(error).__name__,
        next_step="Try again; the log of the program has the details.",
    )  # fmt: skip
    return Answer(fault.model_dump(mode="json"), 500)
