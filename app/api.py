"""The studio's public functions: everything a page, the command line or an HTTP client may do.

`Studio` is opened once a process and holds store, registry, keys and engine. Every function returns at once; work happens
in the engine, and callers follow it with `watch`.

It deliberately knows neither gradio nor torch, and formats nothing for a screen.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
from pydantic import BaseModel

from app import compare as plans
from app.checkpoints import pull as pull_files
from app.engine import open_engine
from app.engine import queue as queue_rules
from app.engine.alone import hold, unwritable
from app.engine.protocol import Engine
from app.errors import RequestRefused, ResourceError, UnknownRun
from app.library import Library, store_faults
from app.models import Models
from app.provenance.keys import Keys
from app.registry import Registry
from app.summary import beside, summarise, summarise_sweep
from app.validation import parse, shared_part
from app.values import (
    CompareRequest,
    ComparisonSummary,
    ModelRow,
    Plan,
    StudioStatus,
    SubmitRequest,
    SweepRequest,
    SweepSummary,
    WatchPage,
)
from app.watching import waiting_seconds, watch
from backends.contract import Card, Checkpoint, Fault, field_specs
from storage.store import Store
from storage.values import ComparisonRow, NewRun, PaneSpec, RunRow, RunState


class Studio(Library):
    """An open studio. Close it when done: workers stop, the store is flushed."""

    def __init__(
        self, store: Store, registry: Registry, keys: Keys, engine: Engine | None, assets: Path, device: str, held: ExitStack
    ) -> None:  # fmt: skip
        self.store = store
        self.registry = registry
        self.keys = keys
        self.engine = engine
        self.assets = assets
        self.device = device
        self.models = Models(store, registry, engine, assets)
        self._held = held

    @classmethod
    def open(
        cls,
        data: Path,
        *,
        database: str | None = None,
        engine: str = "local",
        device: str = "auto",
        plugins: tuple[Path, ...] = (),
        assets: Path | None = None,
    ) -> "Studio":
        """Open (and, at first, make) the data folder; `engine` is "local", "ray", a "ray://" address or "none" (read only).

        ResourceError if another engine works on this folder, or nothing can be written to it.
        """
        try:
            data.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(data, error) from error
        with ExitStack() as held:
            if engine != "none":
                held.callback(hold(data).release)
            with store_faults():
                store = Store.open(database, data)
            held.callback(store.close)
            registry = Registry.discover(plugins)
            keys = Keys.open(data)
            folder = assets or Path(__file__).resolve().parent.parent / "assets"
            running = None if engine == "none" else open_engine(engine, store, registry, keys, data, folder, device)
            if running is not None:
                running.start()
            return cls(store, registry, keys, running, folder, device, held.pop_all())

    def close(self) -> None:
        """Stop the engine (a running run becomes interrupted) and close the store."""
        if self.engine is not None:
            self.engine.shutdown()
        self._held.close()

    # asking for work ----------------------------------------------------------------------------------------------

    def check(self, method: str, checkpoint: str, inputs: dict[str, Any], settings: dict[str, Any]) -> tuple[Fault, ...]:
        """What is wrong with a request, each fault at its control; empty if nothing is."""
        card = self.registry.card(method)
        parsed = parse(card, self.models.find(card, checkpoint), shared_part(card, inputs), settings)
        return _faults(parsed)

    def submit(self, request: SubmitRequest) -> RunRow:
        """Queue one run; RequestRefused names every control that is wrong."""
        run = self._new_run(request)
        return self._enqueue([run])[0]

    def compare(self, request: CompareRequest) -> ComparisonRow:
        """Queue all panes, warm-ups and repeats of a comparison."""
        templates = {pane.pane: self._pane_run(request, pane) for pane in request.panes}
        first = next(iter(templates.values()))
        comparison = self._add_comparison(request, "panes", request.panes, templates, request.repeats, first.title)
        order = plans.run_order(request.panes, request.repeats)
        self._enqueue([plans.in_comparison(templates[pane], comparison, pane, repeat, purpose) for pane, repeat, purpose in order])
        return comparison

    def plan(self, request: SweepRequest) -> Plan:
        """What a sweep would do, before it is asked for."""
        runs = [self._pane_run(request, pane) for pane, _ in plans.cells(request.pane, request.axes)]
        missing = [run for run in runs if self.store.find_done(run.fingerprint) is None]
        typical = self.store.typical_seconds(request.pane.method, request.pane.checkpoint)
        return Plan(
            cells=len(runs),
            already_here=len(runs) - len(missing),
            seconds=None if typical is None else typical * len(missing),
            bytes=None,
        )

    def sweep(self, request: SweepRequest) -> ComparisonRow:
        """Queue the cells of a sweep that are not here yet."""
        cells = plans.cells(request.pane, request.axes)
        templates = {pane.pane: self._pane_run(request, pane) for pane, _ in cells}
        panes = tuple(pane for pane, _ in cells)
        comparison = self._add_comparison(request, "sweep", panes, templates, 1, next(iter(templates.values())).title)
        missing = {pane: run for pane, run in templates.items() if self.store.find_done(run.fingerprint) is None}
        self._enqueue([plans.in_comparison(run, comparison, pane, 0, "sweep") for pane, run in missing.items()])
        return comparison

    def replay(self, run_id: str, owner: str | None = None) -> RunRow:
        """Queue the same run again; `replay_verdict` compares the two when it is done."""
        original = self.run(run_id, owner)
        self.registry.card(original.method)
        fields = {name: getattr(original, name) for name in NewRun.model_fields}
        copy = {"id": plans.new_id(), "purpose": "replay", "parents": (original.id,), "comparison": None, "pane": None, "repeat": 0}
        return self._enqueue([NewRun(**(fields | copy))])[0]

    # following work -----------------------------------------------------------------------------------------------

    def watch(self, comparison: str | None, runs: tuple[str, ...], since: Mapping[str, int], owner: str | None = None) -> WatchPage:
        """States and new events of a comparison's runs, or of the single runs named."""
        if comparison is not None:
            self.comparison(comparison, owner)
            with store_faults():
                found = self.store.comparison_runs(comparison)
        else:
            found = tuple(self.run(run, owner) for run in runs)
        return watch(self.store, self.engine, comparison, found, since)

    def summary(self, comparison_id: str, owner: str | None = None) -> ComparisonSummary:
        """Panes, ledger, verdicts and settings of a comparison."""
        comparison = self.comparison(comparison_id, owner)
        runs = self.store.comparison_runs(comparison_id)
        return summarise(comparison, runs, self.registry, self.models.added(), self.store.read_artifact)

    def beside(self, runs: Mapping[str, str], baseline: str, owner: str | None = None) -> ComparisonSummary:
        """Any finished or running runs (pane letter -> run id) summed up side by side."""
        named = {letter: self.run(run_id, owner) for letter, run_id in runs.items()}
        if not named:
            raise UnknownRun("No run was named.", next_step="Tick one to four runs in History.")
        letter = baseline if baseline in named else next(iter(named))
        return beside(named, letter, self.registry, self.models.added(), self.store.read_artifact)

    def sweep_summary(self, comparison_id: str, owner: str | None = None) -> SweepSummary:
        """Cells of a sweep, done ones found by their fingerprint wherever they were computed."""
        comparison = self.comparison(comparison_id, owner)
        own = {run.pane or "": run for run in self.store.comparison_runs(comparison_id)}
        found = {
            pane.pane: own.get(pane.pane) or self.store.find_done(self._cell_fingerprint(comparison, pane)) for pane in comparison.panes
        }
        present = {pane: run for pane, run in found.items() if run is not None}
        waits = waiting_seconds(self.store, self.store.queue())
        open_cells = [run for run in present.values() if not run.state.final]
        typical = self.store.typical_seconds(comparison.panes[0].method, comparison.panes[0].checkpoint)
        left = None if typical is None else typical * len(open_cells) + min((waits.get(run.id) or 0.0 for run in open_cells), default=0.0)
        return summarise_sweep(comparison, present, self.registry.card(comparison.panes[0].method), left)

    def status(self) -> StudioStatus:
        """Device, memory and queue for the header."""
        queue = self.store.queue()
        memory = psutil.virtual_memory()
        engine = self.engine.status() if self.engine is not None else None
        return StudioStatus(
            device=engine.device if engine else "no engine",
            memory_used=engine.memory_used if engine else memory.total - memory.available,
            memory_total=engine.memory_total if engine else memory.total,
            running=sum(run.state is RunState.RUNNING for run in queue),
            waiting=sum(run.state is RunState.QUEUED for run in queue),
            paused=self.store.paused,
        )

    # the queue ----------------------------------------------------------------------------------------------------

    def queue(self) -> tuple[RunRow, ...]:
        """Running first, then waiting runs in their order."""
        return self.store.queue()

    def pause(self, paused: bool) -> None:
        """Start no further run (the running one goes on), or start again."""
        self.store.set_paused(paused)
        self._wake()

    def move(self, run_id: str, to: int, owner: str | None = None) -> None:
        """Move a waiting run to place `to` (1 is next)."""
        self.run(run_id, owner)
        with store_faults():
            queue_rules.move(self.store, run_id, to)

    def retry(self, run_id: str, owner: str | None = None) -> RunRow:
        """Queue a finished run's request again as a new run."""
        self.run(run_id, owner)
        with store_faults():
            row = queue_rules.retry(self.store, run_id)
        self._wake()
        return row

    def cancel(self, run_id: str, owner: str | None = None) -> bool:
        """Stop a running run within one step, or take a waiting one out of the queue. False if it had ended."""
        self.run(run_id, owner)
        if self.store.cancel_queued(run_id):
            return True
        return self.engine is not None and self.engine.cancel(run_id)

    def cancel_comparison(self, comparison_id: str, owner: str | None = None) -> int:
        """Stop every run of a comparison; returns how many were still open."""
        self.comparison(comparison_id, owner)
        open_runs = [run for run in self.store.comparison_runs(comparison_id) if not run.state.final]
        # Waiting runs first, so that none of them starts when the running one ends.
        ordered = sorted(open_runs, key=lambda run: run.state is RunState.RUNNING)
        return sum(self.cancel(run.id, owner) for run in ordered)

    def cancel_all(self) -> int:
        """Empty the queue and stop what runs."""
        stopped = self.store.cancel_all_queued()
        running = [run for run in self.store.queue() if run.state is RunState.RUNNING]
        return stopped + sum(self.cancel(run.id) for run in running)

    # checkpoints --------------------------------------------------------------------------------------------------

    def model_rows(self) -> tuple[ModelRow, ...]:
        """The Models panel."""
        return self.models.rows(psutil.virtual_memory().available)

    def pull(self, method: str, checkpoint: str, progress: Callable[[int, int], None], accept_licence: bool) -> None:
        """Download a checkpoint's files (resumes); refuses until the licence is accepted. Blocks; call it in a thread."""
        pull_files(self.models.find(self.registry.card(method), checkpoint), progress, accept_licence)

    def unload(self, method: str, checkpoint: str) -> None:
        """Free the memory of a loaded model."""
        if self.engine is not None:
            self.engine.unload(method, checkpoint)

    # inside -------------------------------------------------------------------------------------------------------

    def _pane_run(self, request: CompareRequest | SweepRequest, pane: PaneSpec) -> NewRun:
        card = self.registry.card(pane.method)
        single = SubmitRequest(
            method=pane.method,
            checkpoint=pane.checkpoint,
            inputs=shared_part(card, request.inputs),
            settings=pane.settings,
            seed=request.seed,
            title=request.title,
            owner=request.owner,
            device=request.device,
        )
        return self._new_run(single)

    def _new_run(self, request: SubmitRequest) -> NewRun:
        card = self.registry.card(request.method)
        checkpoint = self.models.find(card, request.checkpoint)
        parsed = parse(card, checkpoint, request.inputs, request.settings)
        if faults := _faults(parsed):
            raise RequestRefused(faults)
        inputs, settings = (part.model_dump(mode="json") for part in parsed if isinstance(part, BaseModel))
        device = self.device if request.device == "auto" else request.device
        return NewRun(
            id=plans.new_id(),
            method=card.key,
            method_title=card.title,
            tab=card.tab.value,
            checkpoint=checkpoint.key,
            inputs=inputs,
            settings=settings,
            seed=request.seed,
            device=device,
            dtype=checkpoint.dtype,
            title=request.title or _title(card, inputs),
            owner=request.owner,
            seconds_limit=request.seconds_limit,
            fingerprint=plans.fingerprint(card.key, checkpoint.key, inputs, settings, request.seed, device, checkpoint.dtype),
        )

    def _add_comparison(
        self,
        request: CompareRequest | SweepRequest,
        kind: str,
        panes: tuple[PaneSpec, ...],
        templates: dict[str, NewRun],
        repeats: int,
        title: str,
    ) -> ComparisonRow:
        resolved = tuple(
            pane.model_copy(update={"settings": templates[pane.pane].settings, "checkpoint": templates[pane.pane].checkpoint})
            for pane in panes
        )
        baseline = getattr(request, "baseline", "") or panes[0].pane
        if baseline not in templates:
            raise RequestRefused((Fault(kind="InputError", what=f"There is no pane {baseline} to compare with.", field="baseline"),))
        axes = tuple(axis.model_dump(mode="json") for axis in getattr(request, "axes", ()))
        with store_faults():
            return self.store.add_comparison(
                id=plans.new_id(), tab=request.tab, title=title, kind=kind, inputs=request.inputs, seed=request.seed,
                repeats=repeats, baseline=baseline, panes=resolved, axes=axes, owner=request.owner,
            )  # fmt: skip

    def _cell_fingerprint(self, comparison: ComparisonRow, pane: PaneSpec) -> str:
        card = self.registry.card(pane.method)
        checkpoint: Checkpoint = self.models.find(card, pane.checkpoint)
        inputs = card.inputs.model_validate(shared_part(card, comparison.inputs)).model_dump(mode="json")
        settings = card.settings.model_validate(pane.settings).model_dump(mode="json")
        return plans.fingerprint(card.key, checkpoint.key, inputs, settings, comparison.seed, self.device, checkpoint.dtype)

    def _enqueue(self, runs: list[NewRun]) -> list[RunRow]:
        if self.engine is None:
            raise ResourceError("No engine is running.", "This studio was opened to read only.", "Open it with an engine.")
        with store_faults():
            rows = self.store.add_runs(runs)
        self._wake()
        return rows

    def _wake(self) -> None:
        if self.engine is not None:
            self.engine.notify()


def _faults(parsed: tuple[Any, ...]) -> tuple[Fault, ...]:
    return tuple(part for part in parsed if isinstance(part, Fault))


def _title(card: Card, inputs: dict[str, Any]) -> str:
    """The first words of the first text input; the method's title if there is none."""
    texts = (str(inputs[spec.name]) for spec in field_specs(card.inputs) if spec.kind == "text" and inputs.get(spec.name))
    words = " ".join(next(texts, "").split())
    return (words[:77] + "…" if len(words) > 78 else words) or card.title
