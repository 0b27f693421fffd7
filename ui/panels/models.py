"""Models: which checkpoints are here, what can be pulled, what they need; and adding folders. JSON for `web/js/models.js`.

A pull starts only after licence, bytes and memory were shown and accepted; it runs in a thread of this process and can be
followed and asked for again (it resumes).

It deliberately looks up no size on a network: what the card says is shown, and measured once files are here.
"""

import logging
import threading
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from app.api import Studio
from app.errors import StudioError
from backends.contract import Fault, MethodError
from ui.answers import Answer

logger = logging.getLogger(__name__)


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Which(_Body):
    method: str
    checkpoint: str


class Pull(Which):
    accept_licence: bool = False


class Folder(_Body):
    method: str
    name: str = Field(min_length=1, max_length=80)
    folders: dict[str, str]


@dataclass
class _Transfer:
    """How far one pull is."""

    done: int = 0
    total: int = 0
    ended: bool = False
    fault: Fault | None = None


class Transfers:
    """Pulls going on, by method and checkpoint; at most one of each at a time."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], _Transfer] = {}

    def start(self, method: str, checkpoint: str, accept_licence: bool) -> None:
        """Begin or resume a pull."""
        key = (method, checkpoint)
        with self._lock:
            if (running := self._known.get(key)) and not running.ended:
                return
            transfer = self._known[key] = _Transfer()
        threading.Thread(target=self._work, args=(key, transfer, accept_licence), name="pull", daemon=True).start()

    def _work(self, key: tuple[str, str], transfer: _Transfer, accept_licence: bool) -> None:
        def progress(done: int, total: int) -> None:
            transfer.done, transfer.total = done, total

        try:
            self._studio.pull(*key, progress, accept_licence)
        except StudioError as error:
            transfer.fault = error.fault()
        except MethodError as error:
            transfer.fault = error.fault
        except Exception as error:  # the thread's boundary: whatever the network library raised is worded for the page
            logger.exception("pulling %s for %s failed", *reversed(key))
            transfer.fault = Fault(
                kind="CheckpointError", what="The download did not finish.", why=str(error)[:300], next_step="Resume it later."
            )
        finally:
            transfer.ended = True

    def json(self) -> list[dict[str, Any]]:
        """Every pull of this session."""
        with self._lock:
            return [
                {"method": method, "checkpoint": checkpoint, "done": one.done, "total": one.total, "ended": one.ended,
                 "fault": one.fault.model_dump(mode="json") if one.fault else None}
                for (method, checkpoint), one in self._known.items()
            ]  # fmt: skip


def router(studio: Studio) -> APIRouter:
    """The panel's routes."""
    routes = APIRouter(prefix="/studio", default_response_class=Answer)
    transfers = Transfers(studio)

    @routes.get("/models")
    def models() -> dict[str, Any]:
        status = studio.status()
        roles = {card.key: {"title": card.title, "roles": card.folder_roles} for card in studio.registry.cards if card.folder_roles}
        rows = [row.model_dump(mode="json") for row in studio.model_rows()]
        free = max(status.memory_total - status.memory_used, 0)
        return {"models": rows, "transfers": transfers.json(), "memory_free": free, "memory_total": status.memory_total, "roles": roles}

    @routes.post("/models/pull")
    def pull(body: Pull) -> dict[str, bool]:
        transfers.start(body.method, body.checkpoint, body.accept_licence)
        return {"started": True}

    @routes.post("/models/unload")
    def unload(body: Which) -> dict[str, bool]:
        studio.unload(body.method, body.checkpoint)
        return {"unloaded": True}

    @routes.post("/models/folder")
    def folder(body: Folder) -> dict[str, str]:
        return {"checkpoint": studio.models.add_folder(body.method, body.name, body.folders).key}

    @routes.post("/models/forget")
    def forget(body: Which) -> dict[str, bool]:
        studio.models.forget(body.checkpoint)
        return {"forgotten": True}

    return routes
