"""Writes requirements.lock and requirements-dev.lock from the environment that runs it: `python -m tools.lock [--check]`.

The closure of the names in requirements.in is walked by the metadata of what is installed, for every Python version and
platform the studio runs on; a package that only some of them need gets the marker that says which. A version for a package that
this platform does not need is asked of pip once.

It deliberately resolves nothing: what is installed, and therefore tested, is what is locked. Packages only torch's GPU builds
need are left to torch.
"""

import itertools
import json
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PLATFORMS = {"linux": ("Linux", "x86_64", "posix"), "darwin": ("Darwin", "arm64", "posix"), "win32": ("Windows", "AMD64", "nt")}
Target = tuple[str, str]
TARGETS: frozenset[Target] = frozenset(itertools.product(("3.11", "3.12", "3.13"), PLATFORMS))
LEFT_TO_TORCH = ("nvidia-", "cuda-", "triton")


def environment(target: Target) -> dict[str, str]:
    """The marker variables of one Python version on one platform."""
    version, platform = target
    system, machine, name = PLATFORMS[platform]
    return {
        "python_version": version, "python_full_version": f"{version}.0", "sys_platform": platform, "platform_system": system,
        "platform_machine": machine, "os_name": name, "implementation_name": "cpython", "platform_python_implementation": "CPython",
    }  # fmt: skip


def wanted(path: Path) -> list[tuple[Requirement, bool]]:
    """Requirements of an .in file, and whether each comes alone."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [(Requirement(line.split("#")[0].strip()), "# alone" in line) for line in lines]


def closure(roots: list[tuple[Requirement, bool]]) -> dict[str, frozenset[Target]]:
    """Every package the roots need, with the targets that need it."""
    needed: dict[str, frozenset[Target]] = {}
    expanded: set[tuple[str, frozenset[Target], frozenset[str]]] = set()
    pending = [(requirement, TARGETS, alone) for requirement, alone in roots]
    while pending:
        requirement, targets, alone = pending.pop()
        name = canonicalize_name(requirement.name)
        extras = frozenset(requirement.extras)
        if name.startswith(LEFT_TO_TORCH) or not targets or (name, targets, extras) in expanded:
            continue
        expanded.add((name, targets, extras))
        needed[name] = needed.get(name, frozenset()) | targets
        for text in [] if alone else requires(name):
            child = Requirement(text)
            pending.append((child, applies(child, targets, extras), False))
    return needed


def requires(name: str) -> list[str]:
    """What an installed package needs; nothing is known of one that this platform does not use."""
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []


def applies(requirement: Requirement, targets: frozenset[Target], extras: frozenset[str]) -> frozenset[Target]:
    """The targets on which a requirement counts, given the extras its parent was asked with."""
    marker = requirement.marker
    if marker is None:
        return targets
    return frozenset(t for t in targets if any(marker.evaluate({**environment(t), "extra": extra}) for extra in ("", *extras)))


def marker_for(name: str, targets: frozenset[Target]) -> str:
    """The shortest marker that is true on exactly these targets."""
    versions = [f'python_version {op} "{v}"' for op, v in ((">=", "3.13"), (">=", "3.12"), ("<", "3.12"), ("<", "3.13"))]
    platforms = [f'sys_platform {op} "{p}"' for op in ("==", "!=") for p in PLATFORMS]
    for text in ("", *versions, *platforms, *(f"{v} and {p}" for v in versions for p in platforms)):
        if applies(Requirement(f"{name}; {text}" if text else name), TARGETS, frozenset()) == targets:
            return f"; {text}" if text else ""
    raise SystemExit(f"No marker says where {name} is needed: {sorted(targets)}")


def version(name: str, targets: frozenset[Target], known: dict[str, str]) -> str:
    """The installed version without its build label; what the lock already says, or pip's answer, for packages not needed here."""
    try:
        return metadata.version(name).split("+")[0]
    except metadata.PackageNotFoundError:
        if name in known:
            return known[name]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--no-deps", "--only-binary=:all:",
                   "--python-version", max(targets)[0], "--target", folder, "--report", "-", name]  # fmt: skip
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return str(report["install"][0]["metadata"]["version"])


def locked(path: Path) -> dict[str, str]:
    """Name and version of each line of a lock."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return dict(line.split(";")[0].strip().split("==") for line in lines if line and not line.startswith("#"))


def render(needed: dict[str, frozenset[Target]], path: Path) -> str:
    """The text of a lock."""
    known = locked(path)
    lines = [f"{name}=={version(name, needed[name], known)}{marker_for(name, needed[name])}" for name in sorted(needed)]
    return "# Written by `python -m tools.lock` from the .in file of this name; install with --no-deps.\n" + "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write both locks, or with --check say whether they are what would be written."""
    runtime = closure(wanted(ROOT / "requirements.in"))
    both = closure(wanted(ROOT / "requirements.in") + wanted(ROOT / "requirements-dev.in"))
    dev = {name: targets for name, targets in both.items() if runtime.get(name) != targets}
    stale = []
    for path, needed in ((ROOT / "requirements.lock", runtime), (ROOT / "requirements-dev.lock", dev)):
        text = render(needed, path)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{'stale' if '--check' in arguments else 'written'}: {', '.join(stale) or 'nothing'}\n")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
