"""The version a record names: never a path, and honest about files that differ from the commit."""

import subprocess
import tomllib
from pathlib import Path

import pytest

from app.provenance import environment

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def at(monkeypatch):
    """The code version of the code below a folder."""

    def version_at(folder: Path) -> environment.CodeVersion:
        monkeypatch.setattr(environment, "_ROOT", folder)
        return environment.code_version.__wrapped__()

    return version_at


def _git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=e")
    return subprocess.run(["git", "-C", str(folder), *identity, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def test_the_version_is_that_of_the_package():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == environment.STUDIO_VERSION


def test_outside_a_checkout_only_the_version_is_named(at, tmp_path):
    assert at(tmp_path) == environment.CodeVersion(version=environment.STUDIO_VERSION)


def test_in_a_checkout_the_commit_is_named_and_changed_files_are_admitted(at, tmp_path):
    _git(tmp_path, "init", "-q")
    (tmp_path / "code.py").write_text("one = 1\n")
    _git(tmp_path, "add", "code.py")
    _git(tmp_path, "commit", "-qm", "First")
    clean = at(tmp_path)
    assert (clean.commit, clean.dirty) == (_git(tmp_path, "rev-parse", "HEAD"), False)
    (tmp_path / "code.py").write_text("one = 2\n")
    assert at(tmp_path).dirty is True


def test_without_git_nothing_is_guessed(at, tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", "")
    found = at(tmp_path)
    assert (found.commit, found.dirty) == (None, None)
