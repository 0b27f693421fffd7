"""The engine of this machine: lanes that take runs from the store's queue and carry them out in worker processes.

What it does: closes what an earlier studio left behind, starts and ends the lanes, stops runs, answers what is going on, and lets
callers wait for a run.
Where: the queue's order and states are the store's; a run's life is in `app.engine.lane`.
What it does not do: GPUs beyond the first are not used side by side here, because the panes of a comparison must not run at once;
`app.engine.ray` spreads runs over many.
"""

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from app.checkpoint_files import ASSETS
from app.engine.active import Shop
from app.engine.devices import CLAIMABLE, Devices, probe
from app.engine.keeping import preview_as_partial, store_artifact
from app.engine.lane import Lane
from app.engine.process import Deliver, WorkerLink, WorkerProcess
from app.engine.protocol import DeviceInfo, EngineOptions, EngineStatus, EventPage, Sign
from app.engine.runlog import RunLogs
from app.engine.worker import WorkerOptions
from app.registry import Registry
from storage import errors as store_errors
from storage.store import Store
from storage.values import HistoryQuery, RunRow, RunState

logger = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 10.0


class LocalEngine:
    """See the module, and `app.engine.protocol.Engine` for what each function promises.

    `sign` makes the record of an artifact; `finish` is told of every run that has ended, from the engine's own thread.
    """

    def __init__(
        self,
        store: Store,
        registry: Registry,
        data: Path,
        assets: Path | None = None,
        finish: Callable[[RunRow], None] | None = None,
        sign: Sign | None = None,
        options: EngineOptions | None = None,
        devices: tuple[DeviceInfo, ...] | None = None,
    ) -> None:
        self._store, self._registry, self._data = store, registry, data.resolve()
        self._kind = "local"
        self._assets, self._finish, self._sign = (assets or ASSETS).resolve(), finish, sign
        self._options = options or EngineOptions()
        self._devices = Devices(devices or probe(), self._options.device)
        self._logs = RunLogs()
        self._changed = threading.Condition()
        self._claiming = threading.Lock()
        self._lanes: tuple[Lane, ...] = ()

    def start(self) -> None:
        """See Engine."""
        shutil.rmtree(self._data / "scratch", ignore_errors=True)
        (self._data / "scratch").mkdir(parents=True, exist_ok=True)
        self._recover()
        self._lanes = self._make_lanes()
        for lane in self._lanes:
            lane.start()

    def shutdown(self) -> None:
        """See Engine."""
        for lane in self._lanes:
            lane.close()
        deadline = time.monotonic() + SHUTDOWN_SECONDS
        for lane in self._lanes:
            lane.join(max(0.0, deadline - time.monotonic()))
        self._lanes = ()

    def notify(self) -> None:
        """See Engine."""
        for lane in self._lanes:
            lane.notify()

    def cancel(self, run_id: str) -> bool:
        """See Engine."""
        with self._claiming:
            cancelled = self._store.cancel_queued(run_id) or any(lane.stop(run_id) for lane in self._lanes)
        self._tell()
        return cancelled

    def cancel_all(self) -> int:
        """See Engine."""
        with self._claiming:
            count = self._store.cancel_all_queued() + sum(lane.stop(None) for lane in self._lanes)
        self._tell()
        return count

    def events(self, run_id: str, since: int = 0) -> EventPage:
        """See Engine."""
        return self._logs.page(run_id, since)

    def wait(self, run_id: str, seconds: float) -> RunRow:
        """See Engine."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                run = self._store.run(run_id)
                left = deadline - time.monotonic()
                if run.state.final or left <= 0:
                    return run
                self._changed.wait(min(left, 1.0))

    def status(self) -> EngineStatus:
        """See Engine."""
        memory = psutil.virtual_memory()
        main = self._devices.main
        loaded = tuple(model for lane in self._lanes for model in lane.loaded())
        used = memory.total - memory.available
        if main.key != "cpu":
            used = sum(model.resident_bytes for model in loaded if model.device == main.key)
        return EngineStatus(
            device=main.name,
            devices=self._devices.found,
            memory_used=used,
            memory_total=main.memory_total,
            running=next((run for lane in self._lanes if (run := lane.running()) is not None), None),
            loaded=loaded,
            workers=tuple(worker for lane in self._lanes if (worker := lane.worker()) is not None),
        )

    def unload(self, method: str, checkpoint: str) -> None:
        """See Engine."""
        for lane in self._lanes:
            lane.unload(method, checkpoint)

    def _make_lanes(self) -> tuple[Lane, ...]:
        shop = self._shop()
        return (Lane(shop, self._devices.main.key, CLAIMABLE),)

    def _shop(self) -> Shop:
        return Shop(
            store=self._store,
            registry=self._registry,
            data=self._data,
            assets=self._assets,
            options=self._options,
            devices=self._devices,
            sign=self._sign,
            spawn=self._spawn,
            logs=self._logs,
            finished=self._finished,
            engine=self._kind,
            claiming=self._claiming,
        )

    def _spawn(self, options: WorkerOptions, deliver: Deliver) -> WorkerLink:
        return WorkerProcess(options.model_copy(update={"parent": os.getpid()}), deliver, self._data / "scratch")

    def _finished(self, run: RunRow) -> None:
        self._tell()
        if self._finish is not None:
            self._finish(run)

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _recover(self) -> None:
        """Runs that were going on when the studio ended: their last preview becomes a partial artifact, also after a second crash."""
        self._store.recover()
        page = self._store.history(HistoryQuery(state=RunState.INTERRUPTED.value, limit=200))
        for run in (self._store.run(row.id) for row in page.runs):
            if run.preview is None:
                continue
            try:
                store_artifact(self._store, run, preview_as_partial(run.preview), self._sign, run.metrics, run.notes)
                self._store.set_preview(run.id, None)
            except store_errors.StoreError as error:
                logger.error("the last preview of run %s could not be kept: %s", run.id, error)
