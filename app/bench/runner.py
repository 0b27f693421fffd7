"""Runs a bench in a child process and judges what it measured.

A method's figures come from the `measure` function of its claims; those of the studio and of its reliability from
`app.bench.studio` and `app.bench.reliability`, which have the same shape. The child starts fresh, so that nothing the caller did
before (threads, caches, loaded weights) is in the numbers.

It deliberately treats a figure that was claimed and not measured as a claim that does not hold.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
from pydantic import BaseModel, ConfigDict

from app.engine.runtime import package_versions, processor_name
from app.errors import WorkerCrashed
from app.registry import MethodLocation, Registry
from backends.contract import Claim, Verdict

Say = Callable[[str], None]
TARGETS = ("studio", "reliability")
ROOT = Path(__file__).resolve().parents[2]


class Task(BaseModel):
    """What the child is asked to measure, as JSON on its standard input. `location` is None for the studio's own targets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str
    location: MethodLocation | None
    assets: Path
    scratch: Path
    quick: bool
    threads: int


class Measured(BaseModel):
    """What the child found: figures, and the claims about them."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    figures: dict[str, float]
    claims: tuple[Claim, ...]


def bench_all(registry: Registry, targets: Sequence[str], quick: bool, say: Say) -> Iterator[Verdict]:
    """Measure each target in turn; nothing else should run on the machine meanwhile."""
    for target in targets:
        location = None if target in TARGETS else registry.locate(target)
        yield bench(target, location, quick, say)


def bench(target: str, location: MethodLocation | None, quick: bool, say: Say, threads: int = 1) -> Verdict:
    """Measure one target. With `quick` only the claims marked so are judged, on the smaller size."""
    with tempfile.TemporaryDirectory(prefix="diptych-bench-") as scratch:
        task = Task(target=target, location=location, assets=ROOT / "assets", scratch=Path(scratch), quick=quick, threads=threads)
        measured = _measure(task, say)
    judged = [claim for claim in measured.claims if claim.quick or not quick]
    results = tuple(claim.judge(measured.figures.get(claim.name, float("nan"))) for claim in judged)
    return Verdict(method=target, figures=measured.figures, claims=results, machine=machine(threads))


def machine(threads: int) -> dict[str, Any]:
    """Where it was measured. Names neither the host nor a person."""
    return {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.machine()}",
        "threads": threads,
        "packages": package_versions(),
    }


def _measure(task: Task, say: Say) -> Measured:
    """Start the child, pass its lines on, and take its last word."""
    paths = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": str(task.threads), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-P", "-m", "app.bench.child"]
    tail: deque[str] = deque(maxlen=12)
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        if child.stdin is None or child.stdout is None:
            raise WorkerCrashed("The bench could not be started.", "Its process has no pipes.", "Try again.")
        child.stdin.write(task.model_dump_json())
        child.stdin.close()
        measured = None
        for line in child.stdout:
            message = json.loads(line)
            if "say" in message:
                tail.append(message["say"])
                say(message["say"])
            else:
                measured = Measured.model_validate(message["measured"])
    if measured is None:
        last = tail[-1] if tail else "nothing"
        raise WorkerCrashed(f"The bench of {task.target} ended with code {child.returncode}.", f"It last said: {last}",
                            "Its own messages above say why.")  # fmt: skip
    return measured
