"""The numerical library as seen from a worker: threads, determinism, devices, memory.

What it does: sets up torch for a run and reads its counters, when torch is there; measures the process otherwise.
Where: Linux keeps a process's high-water mark in /proc (VmHWM, reset by writing 5 to clear_refs).
What it does not do: it never imports torch by itself; the name comes from the engine's options or the method. A web process that
imports this module stays light.
"""

import gc
import importlib
import importlib.util
import os
import platform
import resource
import sys
from ctypes import CDLL
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

RECORDED_PACKAGES = ("torch", "transformers", "safetensors", "tokenizers", "peft", "numpy", "scipy", "pydantic", "gguf")


def import_modules(names: tuple[str, ...]) -> None:
    """Import what a run will need; a name that is not installed is left to the method that wants it."""
    for name in names:
        if importlib.util.find_spec(name) is not None:
            importlib.import_module(name)


def torch_module() -> Any | None:
    """Torch if something in this process has imported it."""
    return sys.modules.get("torch")


def configure(threads: int) -> None:
    """Threads and deterministic kernels, from the thread that will compute (OpenMP keeps the count by thread)."""
    torch = torch_module()
    if torch is None:
        return
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
    if not torch.are_deterministic_algorithms_enabled():
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = False
        torch.backends.cudnn.benchmark = False


def threads_for(pocket: bool, asked: int | None) -> int:
    """Computing threads of a run: as asked, otherwise 1 for pocket checkpoints and the physical cores for the rest."""
    return asked or (1 if pocket else psutil.cpu_count(logical=False) or os.cpu_count() or 1)


def cuda_devices() -> list[dict[str, Any]]:
    """The GPUs that torch can use, as key, name and bytes."""
    torch = torch_module()
    if torch is None or not torch.cuda.is_available():
        return []
    properties = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    return [{"key": f"cuda:{index}", "name": one.name, "memory_total": one.total_memory} for index, one in enumerate(properties)]


def free_memory(device: str) -> int:
    """Bytes a run on `device` can still take: the machine's, the container's and the address-space limit's, whichever is least."""
    torch = torch_module()
    if device.startswith("cuda") and torch is not None:
        free, _ = torch.cuda.mem_get_info(device)
        return int(free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))
    free = int(psutil.virtual_memory().available)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        free = min(free, limit - int(psutil.Process().memory_info().vms))
    return max(0, min(free, _container_free() or free))


def _container_free() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        return None if limit == "max" else max(0, int(limit) - int((folder / "memory.current").read_text()))
    except (OSError, ValueError):
        return None


def resident_bytes(device: str) -> int:
    """Bytes held now: torch's allocations on a GPU, the process's resident set otherwise."""
    torch = torch_module()
    if device.startswith("cuda") and torch is not None:
        return int(torch.cuda.memory_allocated(device))
    return int(psutil.Process().memory_info().rss)


class PeakMemory:
    """The high-water mark between its making and `read`."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._reset = False
        torch = torch_module()
        if device.startswith("cuda") and torch is not None:
            torch.cuda.reset_peak_memory_stats(device)
            return
        try:
            Path("/proc/self/clear_refs").write_text("5")
            self._reset = True
        except OSError:
            self._reset = False

    def read(self) -> int:
        """Bytes: of this run where the mark could be reset, of the process's whole life where the system cannot do that."""
        torch = torch_module()
        if self._device.startswith("cuda") and torch is not None:
            return int(torch.cuda.max_memory_allocated(self._device))
        if self._reset:
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        scale = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def finish_device_work(device: str) -> None:
    """Wait for kernels that still run, so that a clock read afterwards is true."""
    torch = torch_module()
    if device.startswith("cuda") and torch is not None:
        torch.cuda.synchronize(device)


def give_memory_back() -> None:
    """Collect what was dropped and hand free pages back to the system and the device."""
    gc.collect()
    torch = torch_module()
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
    if sys.platform == "linux":
        trim = getattr(CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception means that memory ran out; torch says so in three ways."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    words = str(error).lower()
    signs = ("can't allocate memory", "not enough memory", "out of memory")
    return isinstance(error, RuntimeError) and any(sign in words for sign in signs)


def environment(device: str, dtype: str, threads: int) -> dict[str, Any]:
    """What a record says about the machine and the software. Names neither the host nor a person."""
    torch = torch_module()
    name = processor_name()
    if device.startswith("cuda") and torch is not None:
        name = torch.cuda.get_device_name(device)
    return {
        "device": device,
        "device_name": name,
        "dtype": dtype,
        "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
        "packages": package_versions(),
    }


def package_versions() -> dict[str, str]:
    """Versions of the packages that shape results, as installed."""
    found = {"python": platform.python_version()}
    for name in RECORDED_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def processor_name() -> str:
    """The processor's model in words."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
