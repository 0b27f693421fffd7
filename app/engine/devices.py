"""The devices of this machine, and which one a run gets.

What it does: finds GPUs without importing torch here (a short-lived child asks torch, and only where a GPU's driver is present), and
chooses a run's device from what it asks for and what its method can use.
Where: device names are torch's: "cpu", "cuda:0"; "auto" is the studio's word for the main device.
What it does not do: it measures no free memory on GPUs; workers do.
"""

import json
import logging
import shutil
import subprocess
import sys
from pathlib import Path

import psutil

from app.engine.guard import worker_environment
from app.engine.protocol import DeviceInfo
from app.engine.runtime import cuda_devices, import_modules, processor_name
from app.errors import DeviceMissing
from backends.contract import Card

logger = logging.getLogger(__name__)

PROBE_SECONDS = 60.0
CLAIMABLE = ("cpu", "cuda", *(f"cuda:{index}" for index in range(16)))
"""Every device name a run may carry; those that are not here are claimed too, and refused with a reason."""


class Devices:
    """What is here. `main` is what "auto" means."""

    def __init__(self, found: tuple[DeviceInfo, ...], wanted: str = "auto") -> None:
        self.found = found
        keys = {device.key for device in found}
        self.main = next((device for device in found if device.key.startswith("cuda")), found[0])
        if wanted not in ("auto", ""):
            key = "cuda:0" if wanted == "cuda" else wanted
            if key not in keys:
                raise _missing(wanted, found)
            self.main = next(device for device in found if device.key == key)

    def choose(self, asked: str, card: Card) -> str:
        """The device key for a run; DeviceMissing if it asks for one that is not here or that its method cannot use."""
        here = [device.key for device in self.found if device.key.split(":")[0] in card.devices]
        if not here:
            why = f"{card.title} runs on {' or '.join(_words(kind) for kind in card.devices)} only, and this machine has none."
            raise DeviceMissing(f"{card.title} cannot run here.", why, "Use a machine that has one, or another method.", field="device")
        if asked in ("auto", ""):
            return self.main.key if self.main.key in here else here[0]
        key = next((key for key in here if key == asked or key.split(":")[0] == asked), None)
        if key is None:
            raise _missing(asked, tuple(device for device in self.found if device.key in here))
        return key


def _missing(asked: str, found: tuple[DeviceInfo, ...]) -> DeviceMissing:
    return DeviceMissing(
        f"The device “{asked}” is not available.",
        f"There is {', '.join(device.key for device in found)}.",
        "Pick one of these, or “auto”.",
        field="device",
        suggestion="auto",
    )


def _words(kind: str) -> str:
    return {"cpu": "the CPU", "cuda": "an NVIDIA GPU"}.get(kind, kind)


def probe() -> tuple[DeviceInfo, ...]:
    """The CPU and the GPUs torch can use. Takes milliseconds without a GPU, and seconds with one."""
    cpu = DeviceInfo(key="cpu", name=processor_name(), memory_total=psutil.virtual_memory().total)
    if not Path("/proc/driver/nvidia/version").exists() and shutil.which("nvidia-smi") is None:
        return (cpu,)
    try:
        answer = subprocess.run(
            [sys.executable, "-P", "-m", "app.engine.devices"],
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=True,
            env=worker_environment(Path(__file__).resolve().parents[2]),
        )
        gpus = tuple(DeviceInfo.model_validate(one) for one in json.loads(answer.stdout))
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        logger.warning("the GPUs could not be asked for: %s", error)
        return (cpu,)
    return (cpu, *gpus)


if __name__ == "__main__":
    import_modules(("torch",))
    sys.stdout.write(json.dumps(cuda_devices()))
