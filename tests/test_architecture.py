"""The shape of the code as tests: gates (ruff, mypy, import arrows), sizes, light cards, and what the lock must hold.

These rules are what keeps one method from leaking into another, and the web process free of numerical libraries.

It deliberately judges no behaviour; a rule that needs taste stays with the reader.
"""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from app.bench.studio import heavy_libraries_in_the_web_process

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("app", "backends", "storage", "ui")
FILE_LINES, FUNCTION_LINES, LOOP_LINES = 400, 40, 80
HEAVY = ("torch", "transformers", "diffusers", "peft", "scipy", "numpy", "pandas", "gradio", "sqlalchemy")


def python_files(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return sorted(path for path in found if "node_modules" not in path.parts)


SOURCES = [ROOT / "launch.py", *python_files(*PACKAGES, "tools")]
TESTS = python_files("tests")


def run(*command: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
    return subprocess.run([sys.executable, *command], cwd=ROOT, env=variables, capture_output=True, text=True, timeout=280)


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and length in lines of every function of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def allowed_lines(path: Path) -> int:
    """A paper's loop may be longer than other functions; so may a migration's tables and the one test that tells a whole story."""
    loop = "migrations" in path.parts or path.name in ("algorithm.py", "pocket.py") or path.is_relative_to(ROOT / "backends" / "parts")
    return LOOP_LINES if loop or path.is_relative_to(ROOT / "tests") else FUNCTION_LINES


def test_ruff_finds_nothing() -> None:
    result = run("-m", "ruff", "check", "--no-cache", ".")
    assert result.returncode == 0, result.stdout


def test_mypy_finds_nothing() -> None:
    result = run("-m", "mypy", "--no-error-summary", "--cache-dir", os.devnull)
    assert result.returncode == 0, result.stdout


def test_imports_point_one_way() -> None:
    result = run("-c", "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command(['--no-cache']))")
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_file_is_longer_than_its_budget() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES + TESTS}
    assert not {str(path.relative_to(ROOT)): lines for path, lines in lengths.items() if lines > FILE_LINES}


def test_the_launcher_stays_small() -> None:
    assert len((ROOT / "launch.py").read_text(encoding="utf-8").splitlines()) < 200


def test_no_function_is_longer_than_its_budget() -> None:
    lengths = {(path, name): lines for path in SOURCES + TESTS for name, lines in functions(path)}
    assert not {f"{path.relative_to(ROOT)}:{name}": lines for (path, name), lines in lengths.items() if lines > allowed_lines(path)}


def test_every_module_says_what_it_does_and_what_it_leaves_out() -> None:
    def complete(path: Path) -> bool:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        lines = [line for line in text.splitlines() if line.strip()]
        return len(lines) >= 3 and re.search(r"\b(not|no|never|nothing|deliberately)\b", text, re.IGNORECASE) is not None

    spoken = [path for path in SOURCES if path.name != "__init__.py" and path.stat().st_size]
    assert not [str(path.relative_to(ROOT)) for path in spoken if not complete(path)]


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert not [path for path in SOURCES if path.stem in ("utils", "helpers", "common", "misc", "util")]


def test_no_card_imports_a_heavy_library() -> None:
    cards = [path.relative_to(ROOT).with_suffix("") for path in sorted((ROOT / "backends").glob("*/*/card.py"))]
    assert cards, "no method has a card"
    for card in cards:
        module = ".".join(card.parts)
        script = f"import sys, {module}; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
        result = run("-c", script)
        assert result.returncode == 0, result.stderr
        assert not result.stdout.split(), f"{module} imports {result.stdout}"


def test_the_web_process_imports_no_numerical_library(tmp_path: Path) -> None:
    """A studio opened and its whole page built, in a process of its own."""
    assert heavy_libraries_in_the_web_process(tmp_path / "data") == 0


def test_the_launcher_uses_the_standard_library_alone() -> None:
    tree = ast.parse((ROOT / "launch.py").read_text(encoding="utf-8"))
    names = {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {(node.module or "").split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names <= set(sys.stdlib_module_names)


def imported_names(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").split(".")[0])
    return found


def requirement_names(name: str) -> set[str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return {canonicalize_name(re.split(r"[\[=<>~ #]", line)[0]) for line in lines if line and not line.startswith("#")}


OPTIONAL = {"ray"}
"""Imported only when the user asks for it, with a message that says how to get it."""


def test_everything_imported_is_required_by_name() -> None:
    sources = {name for path in SOURCES if path.name != "launch.py" and "tools" not in path.parts for name in imported_names(path)}
    foreign = sources - set(sys.stdlib_module_names) - set(PACKAGES) - OPTIONAL
    owners = metadata.packages_distributions()
    required = requirement_names("requirements.in")
    missing = {name for name in foreign if not any(canonicalize_name(owner) in required for owner in owners.get(name, [name]))}
    assert not missing


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_names_exact_versions_and_no_address(lock: str) -> None:
    lines = [line for line in (ROOT / lock).read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert len(lines) > 10
    assert not [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9a-z.]+(; [a-z_]+ [<>=!]+ \"[\w.]+\"( and .*)?)?", line)]


def test_the_locks_are_what_is_installed_and_tested() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#") and ";" not in line:
                package, version = line.split("==")
                assert metadata.version(package).split("+")[0] == version, line


READABLE = (".py", ".md", ".toml", ".txt", ".js", ".css", ".json", ".in", ".lock", "")


def tracked_text() -> Iterator[tuple[str, str]]:
    """Name and text of every text file under version control."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.is_file() and path.suffix in READABLE and path.stat().st_size < 2**20:
            yield name, path.read_text(encoding="utf-8")


def test_no_file_names_a_package_index_or_a_path_of_one_machine() -> None:
    hosts = ["py" + "pi.org", "python" + "hosted.org", "registry." + "npmjs", "deb." + "debian.org"]
    homes = re.compile(r"(?<![\w.])/(?:work|root|farm)/")
    assert not [name for name, text in tracked_text() if any(host in text for host in hosts)]
    assert not [name for name, text in tracked_text() if homes.search(text) and not name.startswith("tests/")]


def test_nothing_is_left_for_later() -> None:
    words = re.compile(r"\b(?:" + "TO" + "DO|FIX" + "ME|X" + "XX)\\b")
    assert not [name for name, text in tracked_text() if name.endswith((".py", ".js", ".css")) and words.search(text)]


def test_no_module_does_work_when_it_is_imported() -> None:
    """Top-level calls are allowed only to build constants: no opening, reading, connecting or spawning."""
    working = ("open", "print", "mkdir", "read_text", "read_bytes", "connect", "run", "Popen", "urlopen", "exec", "eval", "system")
    found = []
    for path in SOURCES:
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
                for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)):
                    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
                    if name in working:
                        found.append(f"{path.relative_to(ROOT)}:{call.lineno} {name}")
    assert not found
