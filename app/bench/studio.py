"""The studio's own figures: what it costs to run a method through it, and how fast it answers.

A run through the studio (request, queue, worker, storing, signing, reading back its final state) is held against the same call bare in
this process, taking turns; the call answers a few held-out questions besides its prompt, because a second's work differs by a tenth
from itself on a shared machine. What the studio adds to a single answer is reported in milliseconds, each run against its own time.
History is filled with 50,000 finished runs. The page's second start is timed from the launcher's first instruction to its first answer.
Nothing else should run on the machine meanwhile.

It deliberately measures with pocket checkpoints only: with large ones the studio's share vanishes.
"""

import os
import re
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from app.api import Studio
from app.engine.bare import BareMethod
from app.errors import ResourceError
from app.registry import Registry
from app.values import SubmitRequest
from backends.contract import BenchContext, Card, Claim
from storage.database import FILE_NAME
from storage.store import Store
from storage.values import HistoryQuery, NewRun, RunState

ROOT = Path(__file__).resolve().parents[2]
TURNS, ROWS = 9, 50_000
QUICK_TURNS, QUICK_ROWS = 3, 5_000
HELD_OUT = 8
PATIENCE_SECONDS = 300.0

CLAIMS = (
    Claim(name="overhead_ratio", op="<=", floor=1.05),
    Claim(name="submit_ms", op="<=", floor=200),
    Claim(name="first_preview_ms", op="<=", floor=1000),
    Claim(name="page_seconds", op="<=", floor=5),
    Claim(name="history_page_ms", op="<=", floor=200),
    Claim(name="web_process_imports_torch", op="==", floor=0, quick=True),
)

_WEB_PROCESS = """
import sys
from pathlib import Path
from app.api import Studio
from ui.server import ServerOptions, build_app
studio = Studio.open(Path(sys.argv[1]))
build_app(studio, ServerOptions(data=Path(sys.argv[1])))
print(sum(name in sys.modules for name in ("torch", "transformers", "diffusers")))
studio.close()
"""


def measure(context: BenchContext) -> dict[str, float]:
    """All figures."""
    figures = measure_overhead(context)
    context.say("starting the studio twice")
    figures["page_seconds"] = second_start_seconds(context.scratch / "page")
    rows = QUICK_ROWS if context.quick else ROWS
    context.say(f"filling History with {rows:,} runs")
    figures |= measure_history(context.scratch / "history", rows)
    figures["web_process_imports_torch"] = float(heavy_libraries_in_the_web_process(context.scratch / "web"))
    return figures


def measure_overhead(context: BenchContext) -> dict[str, float]:
    """The slowest of the methods' first examples, bare and through the studio by turns, then by itself through the studio."""
    registry = Registry.discover()
    turns = QUICK_TURNS if context.quick else TURNS
    studio = Studio.open(context.scratch / "overhead", device="cpu", assets=context.assets)
    try:
        card, bare = _slowest(registry, context)
        one = _inputs(card)
        many = one | ({"held_out": HELD_OUT} if "held_out" in card.inputs.model_fields else {})
        _through(studio, card, one)  # loads the model
        bare_seconds: list[float] = []
        through: list[dict[str, float]] = []
        for turn in range(turns):
            context.say(f"{card.title}, turn {turn + 1} of {turns}")
            began = time.perf_counter()
            bare.run(many, {}, card.examples[0].seed)
            bare_seconds.append(time.perf_counter() - began)
            through.append(_through(studio, card, many))
        single = [_through(studio, card, one) for _ in range(turns)]
    finally:
        studio.close()
    return {
        "overhead_ratio": _median(through, "studio") / statistics.median(bare_seconds),
        "bare_seconds": statistics.median(bare_seconds),
        "overhead_ms": 1000 * _median(single, "added"),
        "submit_ms": 1000 * _median(single, "submit"),
        "first_preview_ms": 1000 * _median(single, "preview"),
    }


def _median(runs: list[dict[str, float]], name: str) -> float:
    return statistics.median(run[name] for run in runs)


def _slowest(registry: Registry, context: BenchContext) -> tuple[Card, BareMethod]:
    found: list[tuple[float, Card, BareMethod]] = []
    for card in registry.cards:
        if card.checkpoints[0].pocket and card.examples:
            bare = BareMethod(registry.locate(card.key), card.checkpoints[0], threads=context.threads, assets=context.assets)
            found.append((bare.run(_inputs(card), {}, card.examples[0].seed).seconds, card, bare))
    if not found:
        raise ResourceError("No method has a pocket checkpoint and an example.", "There is nothing to measure with.", "Add a method.")
    _, card, bare = max(found, key=lambda one: one[0])
    return card, bare


def _inputs(card: Card) -> dict[str, Any]:
    return dict(card.examples[0].inputs)


def _through(studio: Studio, card: Card, inputs: dict[str, Any]) -> dict[str, float]:
    """One run through the studio: seconds until it is final, of those not the method's, until `submit` returned, until something shows."""
    if studio.engine is None:
        raise ResourceError("No engine is running.", "The studio was opened to read only.", "Open it with an engine.")
    began = time.perf_counter()
    run = studio.submit(SubmitRequest(method=card.key, inputs=inputs, seed=card.examples[0].seed))
    submitted = time.perf_counter() - began
    cursor, preview = 0, None
    while preview is None and time.perf_counter() - began < PATIENCE_SECONDS:
        page = studio.engine.events(run.id, cursor)
        cursor = page.next
        if any(event["type"] in ("step", "preview", "produced") for event in page.events):
            preview = time.perf_counter() - began
        elif studio.run(run.id).state.final:
            break
        time.sleep(0.002)
    ended = studio.engine.wait(run.id, PATIENCE_SECONDS)
    whole = time.perf_counter() - began
    if ended.state is not RunState.DONE or preview is None:
        raise ResourceError("A run of the bench did not finish.", str(ended.fault or ended.state.value), "Run the method by itself.")
    wall = next(metric.value for metric in ended.metrics if metric.name == "wall_seconds")
    return {"studio": whole, "added": whole - wall, "submit": submitted, "preview": preview}


def second_start_seconds(folder: Path) -> float:
    """From the launcher's start to the page's first answer, the second time."""
    return [_start_seconds(folder) for _ in range(2)][1]


def _start_seconds(folder: Path) -> float:
    command = [sys.executable, str(ROOT / "launch.py"), "--data", str(folder), "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    began = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            address = re.search(r"http://\S+", line)
            if address is None:
                raise ResourceError("The studio did not start.", line.strip() or "It said nothing.", "Start it by itself.")
            with urllib.request.urlopen(address.group(), timeout=PATIENCE_SECONDS) as answer:
                answer.read()
            return time.perf_counter() - began
        finally:
            process.send_signal(signal.SIGTERM)


def measure_history(folder: Path, rows: int) -> dict[str, float]:
    """The slowest of the pages a user asks for, each the median of nine."""
    folder.mkdir(parents=True)
    with Store.open(None, folder) as store:
        for start in range(0, rows, 1000):
            store.add_runs([_run(number) for number in range(start, min(start + 1000, rows))])
    with sqlite3.connect(folder / FILE_NAME) as connection:
        # Finishing them one by one would take minutes and leave the same rows.
        connection.execute("UPDATE runs SET state = 'done', place = NULL, started = created, finished = created, wall_seconds = 0.5")
    connection.close()
    with Store.open(None, folder) as store:
        last = store.history(HistoryQuery()).next_before
        queries = {
            "history_first_ms": HistoryQuery(),
            "history_next_ms": HistoryQuery(before=last),
            "history_filter_ms": HistoryQuery(tab="text", method="method_3"),
            "history_search_ms": HistoryQuery(text="kelvin"),
            "history_rare_word_ms": HistoryQuery(text=f"sample{rows // 2}"),
        }
        figures = {name: _milliseconds(partial(store.history, query)) for name, query in queries.items()}
    return {**figures, "history_rows": float(rows), "history_page_ms": max(figures.values())}


def _run(number: int) -> NewRun:
    """A run like those of the text tab; every seventh prompt has the word that is searched for."""
    prompt = f"Convert {number % 997}.25 mg of sample{number} to kg" + (" at 300 kelvin." if number % 7 == 0 else ".")
    inputs = {"prompt": prompt, "held_out": 0}
    settings = {"block_size": 16, "temperature": 0.0, "kv_cache": True}
    return NewRun(
        id=f"{number:032x}", method=f"method_{number % 5}", method_title=f"Method {number % 5}", tab="text", checkpoint="pocket",
        inputs=inputs, settings=settings, seed=number, title=prompt,
    )  # fmt: skip


def _milliseconds(call: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(TURNS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times)


def heavy_libraries_in_the_web_process(folder: Path) -> int:
    """How many of torch, transformers and diffusers a process has imported after opening a studio and building its page."""
    with tempfile.TemporaryDirectory() as elsewhere:
        command = [sys.executable, "-P", "-c", _WEB_PROCESS, str(folder)]
        result = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, check=False)
    if result.returncode:
        raise ResourceError("The page could not be built.", result.stderr.strip().splitlines()[-1], "Start the studio by itself.")
    return int(result.stdout.split()[-1])
