"""A studio started as a user starts it, through the command line, on an empty data folder, with the toy method as a plug-in.

No proxy is set, every Python process in it is watched by `network_guard`, and the address is read from what it prints.

It deliberately shares nothing with this process but files.
"""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.toy_method.place import place_toy

ROOT = Path(__file__).resolve().parents[2]
GUARD = Path(__file__).resolve().parent / "network_guard"
START_SECONDS = 240


@dataclass(frozen=True)
class StudioProcess:
    """A running studio. `address` ends with a slash."""

    address: str
    data: Path
    plugins: Path
    network_log: Path

    @property
    def left_the_machine(self) -> list[str]:
        """Every attempt to reach another machine, by the server or a worker."""
        return self.network_log.read_text(encoding="utf-8").splitlines()

    def line(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another command of the command line on the same data."""
        command = [sys.executable, "-P", "-m", "ui.cli", *arguments, "--data", str(self.data), "--plugins", str(self.plugins)]
        return subprocess.run(command, cwd=ROOT, env=environment(self.network_log), capture_output=True, text=True, timeout=180)

    def line_of_python(self, program: str) -> str:
        """What a program in the studio's own environment prints."""
        command = [sys.executable, "-c", program]
        return subprocess.run(command, env=environment(self.network_log), capture_output=True, text=True, timeout=60, check=True).stdout

    def get(self, path: str) -> bytes:
        """What the server answers a program that is not a browser."""
        with urllib.request.urlopen(f"{self.address}{path}", timeout=60) as answer:
            return bytes(answer.read())


def environment(network_log: Path) -> dict[str, str]:
    """The environment of these tests without proxies, with the guard in front."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    path = os.pathsep.join((str(GUARD), str(ROOT)))
    return kept | {"PYTHONPATH": path, "DIPTYCH_TEST_NETWORK_LOG": str(network_log), "COLUMNS": "200", "NO_COLOR": "1"}


@contextmanager
def running_studio(folder: Path) -> Iterator[StudioProcess]:
    """A studio on `folder`, ended as a user ends it."""
    log = folder / "network.log"
    log.touch()
    plugins = place_toy(folder / "plugins")
    data = folder / "data"
    options = ["--port", "0", "--data", str(data), "--plugins", str(plugins), "--device", "cpu"]
    command = [sys.executable, "-P", "-m", "ui.cli", "studio", *options]
    with (folder / "errors.log").open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(command, cwd=ROOT, env=environment(log), stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            yield StudioProcess(_address(process, folder), data, plugins, log)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=120)
    complaints = (folder / "errors.log").read_text(encoding="utf-8")
    assert process.returncode == 0 and "Traceback" not in complaints, complaints


def _address(process: "subprocess.Popen[str]", folder: Path) -> str:
    assert process.stdout is not None
    first = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/", first)
    assert found, f"no address in {first!r}: " + (folder / "errors.log").read_text(encoding="utf-8")
    return found.group()
