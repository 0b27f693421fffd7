"""The command line as a user meets it: real processes, a real data folder, real workers; the toy method is what runs."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from storage.store import Store
from tests.toy_method.place import place_toy
from ui.cli import hoisted
from ui.cli_options import assignments, value

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-P", "-m", "ui.cli"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", "NO_COLOR": "1"}


class Line:
    """A command line on one data folder, with the toy as a plug-in."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.plugins = place_toy(folder / "plugins")
        self.options = ["--data", str(self.data), "--plugins", str(self.plugins), "--device", "cpu"]

    def __call__(self, *arguments: str, expect: int = 0, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
        command = [*COMMAND, *arguments, *self.options]
        result = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
        assert result.returncode == expect, result.stdout + result.stderr
        assert "Traceback" not in result.stderr, result.stderr
        return result

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [*COMMAND, *arguments, *self.options]
        heard = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731 - a shell's background job would pass on a deaf ear
        return subprocess.Popen(
            command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard
        )  # fmt: skip


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Line:
    return Line(tmp_path_factory.mktemp("line"))


@pytest.fixture(scope="module")
def made(line: Line) -> dict[str, object]:
    """One finished run, as `run --json` tells it."""
    return json.loads(line("run", "toy_rotation", "-p", "Festina lente", "--set", "shift=13", "--seed", "7", "--json").stdout)


@pytest.fixture(scope="module")
def exported(line: Line, made: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run's text with its record beside it."""
    folder = tmp_path_factory.mktemp("exported")
    written = line("export", made["run"]["id"], "txt", "-o", str(folder)).stdout.split("\n")
    return next(Path(name) for name in written if name.endswith(".txt"))


def test_a_run_keeps_its_output_and_says_what_it_cost(made: dict[str, object]) -> None:
    run = made["run"]
    assert run["state"] == "done" and run["seed"] == 7 and run["settings"]["shift"] == 13
    assert [output["text"] for output in made["outputs"]] == ["Srfgvan yragr"]
    assert all(output["record"] for output in made["outputs"]), "every output has a signed record"
    assert "wall_seconds" in [metric["name"] for metric in run["metrics"]]


def test_without_inputs_the_first_example_runs(line: Line) -> None:
    assert "Ihvwlqd ohqwh" in line("run", "toy_rotation").stdout


def test_inputs_can_come_from_a_file(line: Line, tmp_path: Path) -> None:
    (tmp_path / "inputs.json").write_text('{"prompt": "abc"}', encoding="utf-8")
    assert "def" in line("run", "toy_rotation", "--inputs", "@inputs.json", folder=tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "toy_rotation", "-p", "a", "--set", "shift=99"], "shift"),
        (["run", "toy_rotation", "-p", "a", "--set", "shoft=9"], "shoft"),
        (["run", "toy_rotation", "-p", "a", "--set", "nonsense"], "name=value"),
        (["run", "toy_rotation", "-p", "  "], "The prompt is empty"),
        (["run", "toy_rotation", "--inputs", "{not json"], "cannot be read"),
        (["run", "toy_rotation", "--inputs", "[1]"], "JSON object"),
        (["run", "toy_rotation", "-p", "a", "--checkpoint", "none"], "alphabet"),
        (["run", "no_such_method"], "toy_rotation"),
        (["compare", "toy_rotation"], "two to four"),
        (["export", "0" * 32, "txt"], "History"),
        (["pull", "toy_rotation", "none"], "alphabet"),
        (["bench", "nothing"], "reliability"),
        (["run", "toy_rotation", "--no-such-option"], "no-such-option"),
        (["studio", "--listen", "0.0.0.0"], "--auth"),
        (["studio", "--auth", "name-without-password"], "NAME:PASSWORD"),
        (["verify", "no-such-file"], "cannot be read"),
    ],
)
def test_a_wrong_request_is_answered_in_words(line: Line, arguments: list[str], says: str) -> None:
    assert says in line(*arguments, expect=2).stderr


def test_errors_are_json_where_json_was_asked_for(line: Line) -> None:
    told = json.loads(line("run", "toy_rotation", "-p", "a", "--set", "shift=99", "--json", expect=2).stdout)
    assert told["errors"][0]["field"] == "shift" and told["errors"][0]["suggestion"] == 25


def test_compare_prints_costs_and_the_verdict(line: Line) -> None:
    said = line("compare", "toy_rotation", "toy_rotation:batch=4", "-p", "Festina lente").stdout
    assert "fewer" in said, "a quarter of the steps"
    assert "Equal, as promised" in said
    summary = json.loads(line("compare", "toy_rotation", "toy_rotation@alphabet:shift=4,batch=2", "--repeats", "2", "--json").stdout)
    assert [len(pane["runs"]) for pane in summary["panes"]] == [2, 2]
    assert summary["verdicts"]["B"]["kind"] == "different"


def test_formats_are_listed_without_one(line: Line, made: dict[str, object]) -> None:
    assert "txt" in line("export", made["run"]["id"]).stdout
    assert "There are:" in line("export", made["run"]["id"], "docx", expect=2).stderr


def test_nothing_is_overwritten(line: Line, made: dict[str, object], exported: Path) -> None:
    before = exported.read_bytes()
    assert "already there" in line("export", made["run"]["id"], "txt", "-o", str(exported.parent), expect=1).stderr
    assert exported.read_bytes() == before


def test_an_exported_file_verifies(line: Line, exported: Path) -> None:
    assert "signed here" in line("verify", exported.name, folder=exported.parent).stdout
    report = json.loads(line("verify", str(exported), "--json").stdout)
    assert report["valid"] and report["settings"]["shift"] == 13 and report["seed"] == 7


def test_a_changed_file_does_not_verify(line: Line, exported: Path, tmp_path: Path) -> None:
    changed = tmp_path / exported.name
    changed.write_bytes(exported.read_bytes() + b" ")
    shutil.copy(f"{exported}.intoto.json", tmp_path)
    assert "file changed" in line("verify", str(changed), expect=1).stdout


def test_a_colleague_without_the_database_can_verify(exported: Path, tmp_path: Path) -> None:
    command = [*COMMAND, "verify", str(exported), "--json", "--data", str(tmp_path / "other")]
    result = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert json.loads(result.stdout)["verdict"] == "signed by another key"
    assert not (tmp_path / "other" / "diptych.sqlite3").exists()


def test_a_file_without_a_record_does_not_verify(line: Line, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("nobody signed this", encoding="utf-8")
    assert "no record" in line("verify", str(tmp_path / "letter.txt"), expect=1).stdout


def test_the_doctor_names_what_is_here_and_how_to_get_the_rest(line: Line) -> None:
    found = json.loads(line("doctor", "--json").stdout)
    checks = {(check["area"], check["name"]): check for check in found["checks"]}
    assert found["well"]
    assert checks["devices", "cpu"]["here"] and checks["engines", "local"]["here"] and checks["methods", "toy_rotation"]["here"]
    assert "synchronous full" in checks["store", "database"]["found"] and "journal_mode wal" in checks["store", "database"]["found"]
    assert all(check["get"] for check in found["checks"] if not check["here"])
    assert "toy_rotation" in line("doctor").stdout


def test_pull_lists_what_there_is(line: Line) -> None:
    assert re.search(r"alphabet .* here .* public domain", line("pull", "toy_rotation").stdout)
    assert "already here" in line("pull", "toy_rotation", "alphabet").stdout


def test_ctrl_c_stops_a_run_and_keeps_what_there_is(line: Line) -> None:
    with line.start("run", "toy_rotation", "-p", "Festina lente " * 20, "--set", "pause=0.5", "--json") as process:
        wait_for_a_running_run(line)
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors
    told = json.loads(said)
    assert told["run"]["state"] == "cancelled"
    assert [output["partial"] for output in told["outputs"]] == [True]
    assert told["outputs"][0]["record"]


def wait_for_a_running_run(line: Line) -> None:
    """Until the store holds a preview: the run has produced something."""
    with Store.open(None, line.data) as store:
        until = time.monotonic() + 90
        while not any(store.run(run.id).preview for run in store.queue()):
            assert time.monotonic() < until, "no run has produced anything"
            time.sleep(0.02)


def test_the_studio_serves_on_loopback_until_it_is_told_to_stop(line: Line) -> None:
    with line.start("--port", "0") as process:
        assert process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
        assert address, "the address is printed"
        with urllib.request.urlopen(address.group(), timeout=30) as answer:
            assert answer.status == 200
        assert "already open" in line("run", "toy_rotation", expect=1).stderr, "two engines on one data folder disturb each other"
        assert json.loads(line("doctor", "--json").stdout)["well"], "reading is fine"
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_bench_judges_the_claims(line: Line, tmp_path: Path) -> None:
    document = json.loads(line("bench", "toy_rotation", "--json").stdout)
    assert document["method"] == "toy_rotation" and document["machine"]["cores"]
    assert document["figures"]["step_ratio"] == 8
    assert all(claim["holds"] for claim in document["claims"]) and {"name", "value", "op", "floor"} <= document["claims"][0].keys()
    assert "holds" in line("bench", "toy_rotation", "--quick").stdout


def test_bench_fails_when_a_claim_does_not_hold(tmp_path: Path) -> None:
    other = Line(tmp_path)
    claims = other.plugins / "toy_rotation" / "claims.py"
    claims.write_text(claims.read_text(encoding="utf-8").replace("floor=7.5", "floor=99"), encoding="utf-8")
    assert "does not hold" in other("bench", "toy_rotation", expect=1).stdout


def test_a_bench_that_breaks_is_an_error_in_words(tmp_path: Path) -> None:
    other = Line(tmp_path)
    claims = other.plugins / "toy_rotation" / "claims.py"
    claims.write_text(
        claims.read_text(encoding="utf-8").replace("    context.say(", "    raise SystemExit(3)\n    context.say("), encoding="utf-8"
    )
    assert "ended with code 3" in other("bench", "toy_rotation", expect=1).stderr


def test_global_options_may_follow_the_command() -> None:
    assert hoisted(["run", "x", "--data", "d", "--port=1", "-p", "--"]) == ["--data", "d", "--port=1", "run", "x", "-p", "--"]
    assert hoisted(["verify", "--", "--data"]) == ["verify", "--", "--data"]


def test_values_are_json_where_they_can_be() -> None:
    found = assignments(["a=true", "b=0.5", "c=null", "d=keep", "e=", "f=x=y"])
    assert found == {"a": True, "b": 0.5, "c": None, "d": "keep", "e": "", "f": "x=y"}
    assert value("1e3") == 1000.0
