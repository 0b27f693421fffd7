"""The reliability figures: what was acknowledged stays, stops are obeyed, a killed worker fails one run, every output verifies.

The store's trials are `app.bench.reliability_store`'s (A1, A5, A6, A8, A9). The engine's run here through an open studio, with the first
method that has a pocket checkpoint: workers killed in the middle of a run (B6), runs stopped in the middle (B1), and at the end the
whole log and every output checked (C6, C8).

It deliberately repeats no test that the suite runs at the same size.
"""

import os
import signal
import time

from app.api import Studio
from app.bench.reliability_store import STORE_CLAIMS, measure_store
from app.errors import ResourceError
from app.values import SubmitRequest
from backends.contract import BenchContext, Card, Claim
from storage.values import HistoryQuery, RunRow, RunState

PATIENCE_SECONDS = 120.0
RUNS, QUICK_RUNS = 20, 3

CLAIMS = (
    *STORE_CLAIMS,
    Claim(name="worker_kill_faults", op="==", floor=0, quick=True),
    Claim(name="stop_faults", op="==", floor=0, quick=True),
    Claim(name="stop_seconds_most", op="<=", floor=2.5),
    Claim(name="outputs_that_do_not_verify", op="==", floor=0, quick=True),
    Claim(name="broken_links", op="==", floor=0, quick=True),
)


def measure(context: BenchContext) -> dict[str, float]:
    """All trials."""
    return measure_store(context) | measure_engine(context, QUICK_RUNS if context.quick else RUNS)


def measure_engine(context: BenchContext, rounds: int) -> dict[str, float]:
    """The trials that disturb runs: `rounds` kills and as many stops."""
    figures: dict[str, float] = {}
    studio = Studio.open(context.scratch / "engine", device="cpu", assets=context.assets)
    try:
        trial = _Trial(studio)
        context.say(f"killing {rounds} workers in the middle of a run")
        figures["workers_killed"] = float(rounds)
        figures["worker_kill_faults"] = float(sum(trial.kill_worker() for _ in range(rounds)))
        context.say(f"stopping {rounds} runs")
        stops = [trial.stop() for _ in range(rounds)]
        figures["stop_faults"] = float(sum(fault for fault, _ in stops))
        figures["stop_seconds_most"] = max(seconds for _, seconds in stops)
        figures |= trial.verify_everything()
    finally:
        studio.close()
    return figures


class _Trial:
    """Runs of one method that are disturbed."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        cards = [card for card in studio.registry.cards if card.checkpoints[0].pocket and card.examples]
        if not cards or studio.engine is None:
            raise ResourceError("There is nothing to try with.", "No method has a pocket checkpoint, or no engine runs.", "Add a method.")
        self._engine = studio.engine
        self._card: Card = cards[0]
        self._whole()

    def kill_worker(self) -> int:
        """Kill the worker in the middle of a run: that run fails with a reason and the next one works. How much of this went wrong."""
        run = self._begin()
        for worker in self._engine.status().workers:
            os.kill(worker.pid, signal.SIGKILL)
        ended = self._engine.wait(run.id, PATIENCE_SECONDS)
        failed = ended.state is RunState.FAILED and ended.fault is not None and ended.fault["kind"] == "WorkerCrashed"
        return int(not failed) + int(self._whole().state is not RunState.DONE)

    def stop(self) -> tuple[int, float]:
        """Stop a run in the middle: it ends as cancelled. Whether that went wrong, and the seconds it took."""
        run = self._begin()
        began = time.perf_counter()
        self._studio.cancel(run.id)
        ended = self._engine.wait(run.id, PATIENCE_SECONDS)
        return int(ended.state is not RunState.CANCELLED), time.perf_counter() - began

    def verify_everything(self) -> dict[str, float]:
        """Every output kept so far against its record, and the log as a whole."""
        runs = self._studio.history(HistoryQuery(limit=500)).runs
        outputs = [artifact for run in runs for artifact in self._studio.run(run.id).artifacts]
        bad = sum(not self._studio.verify(self._studio.artifact(output.id)[1], output.name).valid for output in outputs)
        report = self._studio.check_chain()
        found = {"outputs_verified": len(outputs), "outputs_that_do_not_verify": bad, "broken_links": int(not report.holds)}
        return {name: float(value) for name, value in found.items()}

    def _submit(self, held_out: int) -> RunRow:
        counts = {"held_out": held_out} if "held_out" in self._card.inputs.model_fields else {}
        return self._studio.submit(SubmitRequest(method=self._card.key, inputs=self._card.examples[0].inputs | counts))

    def _whole(self) -> RunRow:
        return self._engine.wait(self._submit(0).id, PATIENCE_SECONDS)

    def _begin(self) -> RunRow:
        """A long run, as soon as it has shown something."""
        run = self._submit(400)
        until = time.monotonic() + PATIENCE_SECONDS
        while not any(event["type"] in ("step", "preview") for event in self._engine.events(run.id, 0).events):
            if time.monotonic() > until:
                raise ResourceError("A run did not begin.", "Nothing was seen of it.", "Run the method by itself.")
            time.sleep(0.005)
        return run
