"""Acts out a script: words separated by blanks, "verb" or "verb:argument"; paths are relative to DIPTYCH_TOY_FOLDER.

    step, progress, preview:TEXT, produce:NAME, metric:NAME, nan, note:TEXT      events
    touch:FILE           make a file, so that a test knows the script came here
    wait:FILE            until the file is there, checking for a stop all the time
    idle:FILE            the same, yielding steps and never calling check()
    block:PIPE           read a named pipe: ignores everything but a signal
    hold:BYTES           take memory, and keep it until the run ends
    say:TEXT             write to standard output, by Python and by file descriptor
    child:FILE           start a child process that lives on, and write its number to the file
    keep                 from here on, hand over a partial artifact when stopped
    memory, torch_memory, cuda_memory, allocate:BYTES        run out of memory
    segfault, abort, kill, exit, raise, number, connect      end badly

Where: nowhere; it follows the studio's contract only.
It deliberately computes nothing.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from backends.contract import (
    Artifact,
    Cancelled,
    Context,
    Event,
    Metric,
    Note,
    NumericalError,
    Preview,
    Produced,
    Progress,
    ResolvedCheckpoint,
    Step,
)


class OutOfMemoryError(RuntimeError):
    """Named as torch names the one of CUDA."""


def _folder() -> Path:
    return Path(os.environ["DIPTYCH_TOY_FOLDER"])


def _act(verb: str, argument: str, check: Callable[[], None]) -> None:
    if verb == "touch":
        (_folder() / argument).touch()
    elif verb == "wait":
        while not (_folder() / argument).exists():
            check()
            time.sleep(0.001)
    elif verb == "block":
        with (_folder() / argument).open("rb") as pipe:
            pipe.read()
    elif verb == "say":
        sys.stdout.write(argument + "\n")
        sys.stdout.flush()
        os.write(1, argument.encode() + b"\n")
    elif verb == "child":
        started = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        (_folder() / (argument + ".new")).write_text(str(started.pid))
        (_folder() / (argument + ".new")).rename(_folder() / argument)
    elif verb == "connect":
        socket.create_connection((argument, 80), timeout=1)
    else:
        _end_badly(verb, argument)


def _end_badly(verb: str, argument: str) -> None:
    if verb == "memory":
        raise MemoryError
    if verb == "torch_memory":
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")
    if verb == "cuda_memory":
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
    if verb == "allocate":
        bytearray(int(argument))
    elif verb == "segfault":
        ctypes.string_at(0)
    elif verb == "abort":
        os.abort()
    elif verb == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif verb == "exit":
        raise SystemExit(3)
    elif verb == "raise":
        raise ValueError("the script said so")
    elif verb == "number":
        raise NumericalError("NaN at step 3.", "The logits overflowed.", "Lower the ratio.", field="ratio")
    else:
        raise ValueError(f"unknown verb {verb}")


def _text(name: str, text: str, partial: bool = False) -> Artifact:
    return Artifact(kind="text", name=name, media_type="text/plain", data=text.encode(), partial=partial)


class Scripted:
    def load(self, checkpoint: ResolvedCheckpoint, device: str, dtype: str) -> dict[str, Any]:
        for word in checkpoint.checkpoint.options["load"].split():
            verb, _, argument = word.partition(":")
            _act(verb, argument, lambda: None)
        return {"loaded_by": os.getpid()}

    def run(self, model: Any, inputs: Any, settings: Any, context: Context) -> Iterator[Event]:
        keep = False
        held: list[bytes] = []
        try:
            for index, word in enumerate(inputs.script.split()):
                verb, _, argument = word.partition(":")
                context.check()
                if verb == "keep":
                    keep = True
                elif verb == "hold":
                    held.append(b"x" * int(argument))
                elif verb == "idle":
                    while not (_folder() / argument).exists():
                        time.sleep(0.001)
                        yield Step(index=0, data={})
                elif verb in ("step", "progress", "preview", "produce", "metric", "nan", "note", "seed", "many"):
                    yield from _events(verb, argument, index, context)
                else:
                    _act(verb, argument, context.check)
        except Cancelled:
            if keep:
                yield Produced(artifact=_text("kept", "so far", partial=True))
            raise


def _events(verb: str, argument: str, index: int, context: Context) -> Iterator[Event]:
    if verb == "step":
        yield Step(index=index, data={"seed": context.seed})
    elif verb == "many":
        for number in range(int(argument)):
            context.check()
            yield Step(index=number, data={"number": number})
    elif verb == "progress":
        yield Progress(phase="decode", step=index, total=None)
    elif verb == "preview":
        yield Preview(artifact=_text("answer", argument))
    elif verb == "produce":
        yield Produced(artifact=_text(argument, f"{argument} of {context.seed}"))
    elif verb == "metric":
        yield Metric(name=argument, value=2.0, unit="of", label=argument, better="higher")
    elif verb == "nan":
        yield Metric(name="nothing", value=float("nan"), label="Nothing")
    else:
        yield Note(level="info", text=argument)


METHOD = Scripted()
