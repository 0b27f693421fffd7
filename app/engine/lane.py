"""One lane of the engine: a thread that claims runs for its devices and carries them out, one at a time, in its worker.

What it does: claims from the store, sends the run to the worker, hands what comes back to a Keeper, and enforces stops and time limits: a
worker that ignores one is killed with everything it started. A worker that dies fails its run with a named reason, and a new
worker is started at once.
Where: every message and every wake-up arrives in one inbox, so nothing here polls while a run goes on.
What it does not do: it holds no queue of its own; the order is the store's.
"""

import logging
import queue
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from app.engine.active import Active, End, Shop, after_death, fault_of
from app.engine.jobs import Jobs
from app.engine.keeping import Keeper
from app.engine.process import Deliver, WorkerLink
from app.engine.protocol import LoadedModel, WorkerInfo
from app.engine.wire import Message
from app.engine.worker import WorkerOptions
from backends.contract import Fault
from storage.values import RunRow, RunState

logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""How often an idle lane looks into the queue without being told: another process may have added a run."""
GIVE_UP_STARTING = 3
"""Workers that died before they were ready, in a row, before an idle lane stops trying."""
Inbox = tuple[WorkerLink | None, Message, list[bytes]]


class Lane(threading.Thread):
    """See the module. `takes` are the device names it claims besides "auto"."""

    def __init__(self, shop: Shop, name: str, takes: tuple[str, ...]) -> None:
        super().__init__(name=f"lane-{name}", daemon=True)
        self._shop, self._lane, self._takes = shop, name, takes
        self._inbox: queue.SimpleQueue[Inbox] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._active: Active | None = None
        self._link: WorkerLink | None = None
        self._ready = False
        self._failed_starts = 0
        self._loaded: tuple[LoadedModel, ...] = ()
        self._closing = False
        self._jobs = Jobs(shop)
        self._unfinished: list[tuple[Active, End]] = []

    # called from other threads ------------------------------------------------------------------------------------

    def notify(self) -> None:
        """Look into the queue."""
        self._inbox.put((None, {"type": "wake"}, []))

    def stop(self, run_id: str | None, closing: bool = False) -> bool:
        """Stop the run in progress if it is this one (None: whichever); False if it is not."""
        with self._lock:
            active = self._active
            if active is None or run_id not in (None, active.run.id):
                return False
            if active.stop_at is None:
                active.stop_at, active.closing = time.monotonic(), closing
            if self._link is not None and active.sent:
                self._link.send({"type": "stop", "run": active.run.id})
        self.notify()
        return True

    def close(self) -> None:
        """End after the run in progress, which is stopped."""
        self._closing = True
        self.stop(None, closing=True)
        self.notify()

    def unload(self, method: str, checkpoint: str) -> None:
        """Drop weights once the worker is free."""
        with self._lock:
            if self._link is not None:
                self._link.send({"type": "unload", "method": method, "checkpoint": checkpoint})

    def running(self) -> str | None:
        """The id of the run in progress."""
        with self._lock:
            return self._active.run.id if self._active is not None else None

    def loaded(self) -> tuple[LoadedModel, ...]:
        """What the worker holds."""
        return self._loaded

    def worker(self) -> WorkerInfo | None:
        """The worker, if there is one."""
        with self._lock:
            if self._link is None:
                return None
            state: Literal["starting", "idle", "running"] = "running" if self._active else "idle" if self._ready else "starting"
            return WorkerInfo(device=self._lane, pid=self._link.pid, state=state)

    # the lane's own thread ----------------------------------------------------------------------------------------

    def run(self) -> None:
        """Claim and perform until closed."""
        while not self._closing:
            if self._failed_starts < GIVE_UP_STARTING:
                self._ensure_worker()
            try:
                self._end_unfinished()
                run = self._claim()
            except Exception:  # whatever the store does, the lane goes on and tries again
                logger.exception("no run could be claimed")
                self._idle(1.0)
                continue
            if run is None:
                self._idle(LOOK_SECONDS)
            else:
                self._perform(run)
        with self._lock:
            if self._link is not None:
                self._link.kill()

    def _claim(self) -> RunRow | None:
        # Under one lock with `stop` of all lanes' engine: a run is either still queued or already somebody's.
        with self._shop.claiming:
            run = self._shop.store.claim(self._takes)
            if run is None:
                return None
            keeper = Keeper(self._shop.store, run, self._shop.sign, self._shop.logs.begin(run.id), self._shop.engine)
            with self._lock:
                self._active = Active(run, keeper)
            return run

    def _idle(self, seconds: float) -> None:
        with suppress(queue.Empty):
            link, message, _ = self._inbox.get(timeout=seconds)
            self._bookkeeping(link, message)

    def _ensure_worker(self) -> WorkerLink:
        with self._lock:
            if self._link is not None:
                return self._link
            options = self._shop.options
            worker = WorkerOptions(
                parent=0,
                warm_modules=options.warm_modules,
                warm_ups=self._jobs.warm_ups() if options.warm_methods else (),
                threads=options.threads,
                idle_seconds=options.idle_minutes * 60,
                address_space=options.address_space,
            )
            deliver: Deliver = lambda link, message, blobs: self._inbox.put((link, message, blobs))  # noqa: E731
            self._ready, self._loaded = False, ()
            self._link = self._shop.spawn(worker, deliver)
            return self._link

    def _bookkeeping(self, link: WorkerLink | None, message: Message) -> None:
        """Messages about the worker itself, whether or not a run goes on."""
        if link is not self._link or link is None:
            return
        if message["type"] == "ready":
            self._ready, self._failed_starts = True, 0
        elif message["type"] == "models":
            self._loaded = tuple(LoadedModel.model_validate(one) for one in message["models"])
        elif message["type"] == "gone":
            self._failed_starts = 0 if self._ready else self._failed_starts + 1
            with self._lock:
                self._link = None
            logger.warning("a worker ended (%s); its last lines:\n%s", message["how"], link.log())

    def _perform(self, run: RunRow) -> None:
        active = self._active
        assert active is not None
        scratch = self._shop.data / "scratch" / run.id
        try:
            scratch.mkdir(parents=True, exist_ok=True)
            job = self._jobs.make(run, scratch)
            link = self._ensure_worker()
            with self._lock:
                link.send({"type": "run", "job": job.model_dump(mode="json")})
                active.sent = True
                if active.stop_at is not None:
                    link.send({"type": "stop", "run": run.id})
            end = self._follow(active, link)
        except Exception as error:  # a refusal with its reason, or a mistake of ours: either ends this run only
            end = End(RunState.FAILED, fault_of(error), {})
        self._finish(active, end)
        shutil.rmtree(scratch, ignore_errors=True)

    def _follow(self, active: Active, link: WorkerLink) -> End:
        """Listen until the run has ended, one way or another."""
        while True:
            try:
                source, message, blobs = self._inbox.get(timeout=self._patience(active))
            except queue.Empty:
                self._timers(active, link)
                continue
            if source is not link:
                continue
            end = self._hear(active, message, blobs)
            if end is not None:
                return end
            self._timers(active, link)

    def _patience(self, active: Active) -> float:
        moments = [active.keeper.due(), active.deadline if active.killed_for is None else None]
        if active.stop_at is not None and active.killed_for is None:
            moments.append(active.stop_at + self._shop.options.stop_grace)
        return max(0.0, min((moment for moment in moments if moment is not None), default=time.monotonic() + 1.0) - time.monotonic())

    def _timers(self, active: Active, link: WorkerLink) -> None:
        now = time.monotonic()
        self._guarded(active, active.keeper.flush)
        if active.killed_for is not None:
            return
        if active.stop_at is not None and now >= active.stop_at + self._shop.options.stop_grace:
            active.killed_for = "stop"
        elif active.deadline is not None and now >= active.deadline:
            active.killed_for = "deadline"
        if active.killed_for is not None:
            logger.warning("run %s ignored its %s; its worker is killed", active.run.id, active.killed_for)
            link.kill()

    def _hear(self, active: Active, message: Message, blobs: list[bytes]) -> End | None:
        """One message of the worker; the run's end if this is it."""
        kind = message["type"]
        if message.get("run", active.run.id) != active.run.id:
            return None
        if kind == "events":
            self._guarded(active, lambda: active.keeper.events(message["events"], blobs))
        elif kind == "loaded":
            self._guarded(active, lambda: self._loaded_with(active, message))
        elif kind == "began" and active.run.seconds_limit is not None:
            active.deadline = time.monotonic() + active.run.seconds_limit + self._shop.options.deadline_grace
        elif kind == "ended":
            fault = Fault.model_validate(message["fault"]) if message["fault"] else None
            return End(RunState(message["state"]), fault, message)
        else:
            self._bookkeeping(self._link, message)
            if kind == "gone":
                return End(*after_death(active, message), message)
        return None

    def _loaded_with(self, active: Active, message: Message) -> None:
        active.keeper.loaded(message)
        self._jobs.learn(message["fresh"])

    def _guarded(self, active: Active, work: Callable[[], None]) -> None:
        """Store something; if that fails (a full disk, a damaged key), the run is stopped and fails with that reason."""
        try:
            work()
        except Exception as error:
            logger.exception("run %s cannot be kept", active.run.id)
            active.keeper.close()
            active.store_fault = active.store_fault or fault_of(error)
            if self._link is not None:
                self._link.send({"type": "stop", "run": active.run.id})

    def _finish(self, active: Active, end: End) -> None:
        if end.state is RunState.CANCELLED and active.closing:
            end = End(RunState.INTERRUPTED, end.fault, end.message)
        if active.store_fault is not None:
            end = End(RunState.FAILED, active.store_fault, end.message)
        try:
            row = active.keeper.finish(end.state, end.fault, end.message)
        except Exception as error:
            logger.exception("the end of run %s cannot be written yet", active.run.id)
            active.keeper.close()
            self._unfinished.append((active, End(RunState.FAILED, active.store_fault or fault_of(error), end.message)))
            return
        finally:
            with self._lock:
                self._active = None
        self._told(row)

    def _end_unfinished(self) -> None:
        """Runs whose end could not be written: try again, before anything new is claimed."""
        while self._unfinished:
            active, end = self._unfinished[0]
            row = active.keeper.end(end.state, end.fault)
            del self._unfinished[0]
            self._told(row)

    def _told(self, row: RunRow) -> None:
        self._shop.logs.finish(row.id)
        self._shop.finished(row)
