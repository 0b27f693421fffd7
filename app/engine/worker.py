"""A worker: the process that loads a method and runs it, one run at a time. Start it as `python -m app.engine.worker OPTIONS`.

What it does: reads commands (run, stop, unload, exit) and reports events, results and what it holds loaded. A reader thread sets a
run's stop flag while the main thread computes; `Outbox` sends events in batches. Wall time is the method's own: from the first step of
its generator to its end, loading excluded, measured here.
Where: the messages are described at `_Job` (run) and at the `_report` calls; `app.engine.wire` frames them.
What it does not do: it never opens the store, signs nothing, and keeps no result.
"""

import contextlib
import faulthandler
import logging
import os
import queue
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import BaseModel, ConfigDict, ValidationError

from app.checkpoint_files import FileMark, digests
from app.checkpoints import resolve
from app.engine import guard, runtime
from app.engine.held import HeldModels, Key
from app.engine.memory import needed_bytes, out_of_memory, refuse_if_too_big
from app.engine.wire import Message, Outbox, read_message
from app.errors import StudioError
from app.registry import MethodLocation, code_digest, load_card, load_method
from backends.contract import (
    Cancelled,
    Card,
    Checkpoint,
    Context,
    Event,
    Fault,
    MethodError,
    Preview,
    Produced,
    Progress,
    ResolvedCheckpoint,
    Step,
)

logger = logging.getLogger(__name__)


class WarmUp(BaseModel):
    """A method and a small checkpoint that an idle worker loads ahead."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    location: MethodLocation
    checkpoint: Checkpoint
    device: str
    assets: Path


class WorkerOptions(BaseModel):
    """What the engine gives a worker on its command line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    parent: int
    warm_modules: tuple[str, ...] = ()
    warm_ups: tuple[WarmUp, ...] = ()
    threads: int | None = None
    idle_seconds: float = 900.0
    address_space: int | None = None


class Job(BaseModel):
    """The run command: everything a run needs, as plain JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    location: MethodLocation
    checkpoint: Checkpoint
    inputs: dict[str, Any]
    settings: dict[str, Any]
    seed: int
    device: str
    dtype: str
    seconds_limit: float | None = None
    scratch: Path
    assets: Path
    cache: Path | None = None
    threads: int | None = None
    known: dict[str, FileMark] = {}


class _Clock:
    """Times of one run: `at` since it was taken up, `wall` of the method alone, `first_output` since the method began."""

    def __init__(self) -> None:
        self.taken = time.perf_counter()
        self.began: float | None = None
        self.first_output: float | None = None
        self.wall: float | None = None

    def at(self) -> float:
        return time.perf_counter() - self.taken


class Worker:
    """The loop; see the module."""

    def __init__(self, commands: BinaryIO, reports: BinaryIO, options: WorkerOptions) -> None:
        self._commands = commands
        self._outbox = Outbox(reports)
        self._options = options
        self._held = HeldModels(options.idle_seconds)
        self._inbox: queue.Queue[Message] = queue.Queue()
        self._stops: dict[str, threading.Event] = {}

    def serve(self) -> None:
        """Work until told to exit or the studio is gone."""
        threading.Thread(target=self._read_commands, name="commands", daemon=True).start()
        runtime.import_modules(self._options.warm_modules)
        self._report({"type": "ready", "pid": os.getpid(), "devices": runtime.cuda_devices()})
        cold = list(self._options.warm_ups)
        while True:
            if cold and self._inbox.empty():
                self._warm(cold.pop(0))
                continue
            try:
                message = self._inbox.get(timeout=max(1.0, self._options.idle_seconds / 10))
            except queue.Empty:
                if self._held.drop_idle():
                    self._report_models()
                continue
            if message["type"] == "run":
                self._run(Job.model_validate(message["job"]))
            elif message["type"] == "unload":
                self._held.drop(message["method"], message["checkpoint"])
                self._report_models()
            elif message["type"] == "exit":
                return

    def _warm(self, ahead: WarmUp) -> None:
        """Import a method and load its small checkpoint: the libraries it takes along are what costs seconds."""
        try:
            method, card = load_method(ahead.location), load_card(ahead.location)
            resolved = resolve(ahead.checkpoint, ahead.assets)
            runtime.configure(runtime.threads_for(ahead.checkpoint.pocket, self._options.threads))
            key = model_key(card, ahead.checkpoint, ahead.device, ahead.checkpoint.dtype)
            self._held.load(key, ahead.checkpoint, lambda: method.load(resolved, ahead.device, ahead.checkpoint.dtype))
            self._report_models()
        except (Exception, SystemExit) as error:  # it will be reported when somebody runs the method
            logger.info("%s could not be loaded ahead: %s", ahead.location.package, error)

    def _read_commands(self) -> None:
        """Commands in order; stop takes effect at once. When the studio is gone, so is this process."""
        while True:
            received = read_message(self._commands)
            if received is None:
                os._exit(0)
            message, _ = received
            if message["type"] == "stop":
                self._stop_flag(message["run"]).set()
            else:
                if message["type"] == "run":
                    self._stop_flag(message["job"]["run"])
                self._inbox.put(message)

    def _stop_flag(self, run: str) -> threading.Event:
        return self._stops.setdefault(run, threading.Event())

    def _report(self, message: Message) -> None:
        self._outbox.send(message)

    def _report_models(self) -> None:
        self._report({"type": "models", "models": self._held.listed()})

    def _run(self, job: Job) -> None:
        clock = _Clock()
        self._outbox.begin(job.run)
        job.scratch.mkdir(parents=True, exist_ok=True)
        state, fault, peak, unforeseen = self._attempt(job, clock)
        shutil.rmtree(job.scratch, ignore_errors=True)
        self._report(
            {
                "type": "ended",
                "run": job.run,
                "state": state,
                "fault": fault.model_dump(mode="json") if fault else None,
                "wall_seconds": clock.wall,
                "first_output_seconds": clock.first_output,
                "peak_memory_bytes": peak,
            }
        )
        self._stops.pop(job.run, None)
        if unforeseen:
            self._held.drop()  # after memory ran out, or a mistake in a method, models may be in any state
        self._report_models()

    def _attempt(self, job: Job, clock: _Clock) -> tuple[str, Fault | None, int, bool]:
        """Final state, fault, peak memory, and whether it failed in a way nobody foresaw."""
        try:
            performance = _Performance(job, clock, self._stop_flag(job.run), self._outbox, self._held)
            performance.load()
            return "done", None, performance.run(), False
        except Cancelled:
            return "cancelled", None, 0, False
        except (Exception, SystemExit) as error:  # whatever a method raises ends its run, not the worker
            foreseen = isinstance(error, MethodError | StudioError | ValidationError) and not runtime.is_out_of_memory(error)
            if not foreseen:
                logger.error("run failed:\n%s", "".join(traceback.format_exception(error)))
                traceback.clear_frames(error.__traceback__)
            return "failed", _fault_of(error, job), 0, not foreseen


class _Performance:
    """One run: its model, then its events."""

    def __init__(self, job: Job, clock: _Clock, stop: threading.Event, outbox: Outbox, held: HeldModels) -> None:
        self._job, self._clock, self._stop, self._outbox, self._held = job, clock, stop, outbox, held
        self._card: Card = load_card(job.location)
        self._inputs = self._card.inputs.model_validate(job.inputs)
        self._settings = self._card.settings.model_validate(job.settings)
        self._threads = runtime.threads_for(job.checkpoint.pocket, job.threads)
        self._model: Any = None

    def load(self) -> None:
        """The model, from those held or from its files; refuses before loading when it will not fit."""
        job, began = self._job, time.perf_counter()
        self._check_stop()
        self._send(Progress(phase="load", step=0, total=1))
        resolved, fresh = self._resolve()
        key = model_key(self._card, job.checkpoint, job.device, job.dtype)
        self._model = self._held.get(key)
        reused = self._model is not None
        self._make_room(key, reused)
        method = load_method(job.location)
        runtime.configure(self._threads)
        if not reused:
            self._model = self._held.load(key, job.checkpoint, lambda: method.load(resolved, job.device, job.dtype))
        self._method = method
        self._send(Progress(phase="load", step=1, total=1))
        self._outbox.send(
            {
                "type": "loaded",
                "run": job.run,
                "load_seconds": 0.0 if reused else time.perf_counter() - began,
                "digests": resolved.digests,
                "fresh": fresh,
                "environment": {
                    **runtime.environment(job.device, job.dtype, self._threads),
                    "code": {"method": code_digest(job.location)},
                },
            }
        )
        self._check_stop()

    def _resolve(self) -> tuple[ResolvedCheckpoint, dict[str, FileMark]]:
        resolved = resolve(self._job.checkpoint, self._job.assets, self._job.cache)
        found, fresh = digests(resolved, self._job.known)
        return resolved.model_copy(update={"digests": found}), fresh

    def _make_room(self, key: Key, reused: bool) -> None:
        job, facts = self._job, (self._card, self._job.checkpoint, self._inputs, self._settings)
        needed = needed_bytes(*facts, loaded=reused)
        self._held.make_room(key, lambda: runtime.free_memory(job.device) >= needed)
        refuse_if_too_big(*facts, free=runtime.free_memory(job.device), loaded=reused)

    def run(self) -> int:
        """Send the method's events until it ends; the peak memory in bytes."""
        job, clock = self._job, self._clock
        context = Context(
            seed=job.seed, device=job.device, scratch=job.scratch, dtype=job.dtype, seconds_limit=job.seconds_limit, stop=self._stop
        )
        self._outbox.send({"type": "began", "run": job.run})
        peak = runtime.PeakMemory(job.device)
        clock.began = time.perf_counter()
        try:
            self._forward(iter(self._method.run(self._model, self._inputs, self._settings, context)))
            runtime.finish_device_work(job.device)
        finally:
            clock.wall = time.perf_counter() - clock.began
        return peak.read()

    def _forward(self, events: Iterator[Event]) -> None:
        clock, obeyed = self._clock, False
        event = next(events, None)
        while event is not None:
            if clock.first_output is None and isinstance(event, Step | Preview | Produced):
                clock.first_output = time.perf_counter() - (clock.began or 0.0)
            self._send(event)
            if self._stop.is_set() and not obeyed and not isinstance(event, Produced) and hasattr(events, "throw"):
                # A method that yields without calling check() is stopped where it yields; it may still hand over partial artifacts.
                obeyed = True
                with contextlib.suppress(StopIteration):
                    event = events.throw(Cancelled())
                    continue
                break
            event = next(events, None)
        if obeyed:
            raise Cancelled

    def _send(self, event: Event) -> None:
        self._outbox.event(self._clock.at(), event)

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise Cancelled


def model_key(card: Card, checkpoint: Checkpoint, device: str, dtype: str) -> Key:
    """What makes two runs share a loaded model."""
    return (card.key, checkpoint.model_dump_json(), device, dtype)


def _fault_of(error: BaseException, job: Job) -> Fault:
    """An exception as a value, in words: known errors speak for themselves, memory names a setting, the rest is unforeseen."""
    if runtime.is_out_of_memory(error):
        return _memory_fault(job)
    if isinstance(error, MethodError):
        return error.fault
    if isinstance(error, StudioError):
        return error.fault()
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        what = f"“{field}” cannot be used: {first['msg']}."
        return Fault(kind="SettingError", what=what, next_step="Change it and run again.", field=field)
    return Fault(
        kind="UnexpectedError",
        what=f"The method stopped with {type(error).__name__}: {str(error)[:500] or 'no message'}",
        why="This is a mistake in the method, not in what you asked for.",
        next_step="Run it with other settings, and tell the method's authors.",
    )


def _memory_fault(job: Job) -> Fault:
    card = load_card(job.location)
    settings = card.settings.model_validate(job.settings)
    inputs = card.inputs.model_validate(job.inputs)
    free = runtime.free_memory(job.device)
    error = out_of_memory(
        "Memory ran out during this run.", "Everything it held was given back.", card, job.checkpoint, inputs, settings, free
    )
    return error.fault


def main() -> None:
    """Set the process up and serve."""
    options = WorkerOptions.model_validate_json(sys.argv[1])
    guard.die_with_parent(options.parent)
    commands, reports = guard.private_streams()
    faulthandler.enable()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    guard.volunteer_for_the_kernel()
    guard.limit_address_space(options.address_space)
    guard.stay_on_this_machine()
    Worker(commands, reports, options).serve()


if __name__ == "__main__":
    main()
