"""What a worker process does to itself before it touches a method: ties its life to the studio's, and cuts itself off.

What it does: dies with its parent, is the first the kernel takes when memory runs out, keeps its two message streams to itself, limits
its address space when asked, goes offline, and refuses connections that leave this machine.
Where: prctl(2) PR_SET_PDEATHSIG, proc(5) oom_score_adj, dup(2), PEP 578 audit hooks.
What it does not do: this is no sandbox. The audit hook stops Python code and libraries that use its sockets; native code could connect all
the same. Code a model wrote runs in `backends.parts.sandbox` only.
"""

import ctypes
import ipaddress
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any, BinaryIO

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "PYTHONHASHSEED": "0",
}
"""The environment a worker gets on top: no hub, no telemetry, and what deterministic kernels ask for."""
WITHHELD = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "DIPTYCH_AUTH", "DIPTYCH_DATABASE")
"""Never handed to a worker: it has no use for them."""
_PR_SET_PDEATHSIG = 1


def worker_environment(root: Path) -> dict[str, str]:
    """The environment of a worker that imports the studio from `root`."""
    kept = {name: value for name, value in os.environ.items() if name not in WITHHELD}
    return {**kept, **OFFLINE, "PYTHONPATH": str(root)}


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process when the thread that started it ends; elsewhere than Linux the closed pipe does it."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # the studio ended before the line above


def volunteer_for_the_kernel() -> None:
    """If the machine runs out of memory, this process goes and the studio stays."""
    try:
        Path("/proc/self/oom_score_adj").write_text("800")
    except OSError:
        return


def limit_address_space(limit: int | None) -> None:
    """Set a hard limit on the address space, if there is one to set."""
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def private_streams() -> tuple[BinaryIO, BinaryIO]:
    """Take standard input and output for the engine's messages; what anybody prints goes to standard error, the worker's log."""
    commands = os.fdopen(os.dup(0), "rb")
    reports = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return commands, reports


def stay_on_this_machine() -> None:
    """Refuse, from now on, connections and name look-ups that lead anywhere but to this machine. Cannot be undone."""
    sys.addaudithook(_refuse_leaving)


def _refuse_leaving(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        address = arguments[1]
        if isinstance(address, tuple) and not _local(str(address[0])):
            raise PermissionError(f"a method may not connect to {address[0]}: runs stay on this machine")
    elif event in ("socket.getaddrinfo", "socket.gethostbyname") and arguments[0] is not None and not _local(_text(arguments[0])):
        raise PermissionError(f"a method may not look up {_text(arguments[0])}: runs stay on this machine")


def _text(host: Any) -> str:
    return host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)


def _local(host: str) -> bool:
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host.split("%", 1)[0]).is_loopback
    except ValueError:
        return False
