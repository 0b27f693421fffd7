"""The process that measures: `python -m app.bench.child`, with a `Task` as JSON on standard input.

It answers in JSON lines on standard output ({"say": text} while it works, {"measured": …} at the end). Whatever libraries print
goes to standard error.

It deliberately judges nothing; `app.bench.runner` does.
"""

import importlib
import json
import logging
import os
import sys
from types import ModuleType

from app.bench.runner import Measured, Task
from app.registry import load_claims
from backends.contract import BenchContext


def main() -> None:
    """Measure what standard input asks for."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    task = Task.model_validate_json(sys.stdin.read())

    def say(line: str) -> None:
        answers.write(json.dumps({"say": line}) + "\n")

    context = BenchContext(assets=task.assets, scratch=task.scratch, quick=task.quick, threads=task.threads, say=say)
    claims = _claims(task)
    figures = {name: float(value) for name, value in claims.measure(context).items()}
    measured = Measured(figures=figures, claims=tuple(claims.CLAIMS))
    answers.write(f'{{"measured": {measured.model_dump_json()}}}\n')
    answers.close()


def _claims(task: Task) -> ModuleType:
    if task.location is None:
        return importlib.import_module(f"app.bench.{task.target}")
    return load_claims(task.location)


if __name__ == "__main__":
    main()
