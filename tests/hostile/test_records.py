"""C8: whatever way an artifact came into the studio, there is a signed record of it, and one of everything taken out.

The database is read by itself, past the studio's code, once every way was used.

It deliberately counts artifacts, not routes: a way that makes one without a record is found wherever it is.
"""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.api import Studio
from app.values import Axis, CompareRequest, SubmitRequest, SweepRequest
from storage.values import ComparisonRow, PaneSpec, RunRow, RunState
from tests.hostile.conftest import SECONDS
from tests.hostile.requests import get, post
from tests.toy_method.place import place_toy
from tests.ui.conftest import PORT
from ui.server import ServerOptions, build_app

ROOT = Path(__file__).resolve().parents[2]
PROMPT = "Festina lente, sed festina"
QUICK = {"pause": 0.0, "batch": 8}


@dataclass
class Used:
    """A data folder in which every way to an artifact was used, and the runs each way made."""

    data: Path
    plugins: Path
    ways: dict[str, tuple[str, ...]] = field(default_factory=dict)
    comparisons: tuple[ComparisonRow, ...] = ()


def finished(studio: Studio, *runs: RunRow) -> tuple[str, ...]:
    assert studio.engine is not None
    for run in runs:
        ended = studio.engine.wait(run.id, SECONDS)
        assert ended.state in (RunState.DONE, RunState.CANCELLED), (ended.state, ended.fault)
    return tuple(run.id for run in runs)


def slow(studio: Studio) -> RunRow:
    """A run that has made something and goes on."""
    run = studio.submit(SubmitRequest(method="toy_rotation", inputs={"prompt": PROMPT * 20}, settings={"pause": 0.5}))
    until = time.monotonic() + SECONDS
    while studio.run(run.id).preview is None:
        assert time.monotonic() < until and not studio.run(run.id).state.final
    return run


def by_http(studio: Studio) -> tuple[str, ...]:
    app = build_app(studio, ServerOptions(port=PORT))
    answer = post(app, "/studio/api/runs", {"method": "toy_rotation", "inputs": {"prompt": PROMPT}, "settings": QUICK})
    found = finished(studio, studio.run(json.loads(answer.body)["id"]))
    assert get(app, f"/studio/export?target={found[0]}&format=txt").status == 200
    return found


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    folder = tmp_path_factory.mktemp("records")
    used = Used(folder / "data", place_toy(folder / "plugins"))
    pane = PaneSpec(pane="A", method="toy_rotation", checkpoint="alphabet", settings=QUICK)
    studio = Studio.open(used.data, device="cpu", plugins=(used.plugins,))
    try:
        used.ways["api"] = finished(studio, studio.submit(SubmitRequest(method="toy_rotation", inputs={"prompt": PROMPT}, settings=QUICK)))
        used.ways["http"] = by_http(studio)
        both = (pane, pane.model_copy(update={"pane": "B"}))
        compared = studio.compare(CompareRequest(tab="text", panes=both, inputs={"prompt": PROMPT}, repeats=2))
        used.ways["comparison"] = finished(studio, *studio.store.comparison_runs(compared.id))
        swept = studio.sweep(SweepRequest(tab="text", pane=pane, axes=(Axis(field="shift", values=(7, 8)),), inputs={"prompt": PROMPT}))
        used.ways["sweep"] = finished(studio, *studio.store.comparison_runs(swept.id))
        used.ways["replay"] = finished(studio, studio.replay(used.ways["api"][0]))
        used.ways["retry"] = finished(studio, studio.retry(used.ways["api"][0]))
        stopped = slow(studio)
        studio.cancel(stopped.id)
        used.ways["stopped"] = finished(studio, stopped)
        used.ways["interrupted"] = (slow(studio).id,)
        used.comparisons = (compared, swept)
    finally:
        studio.close()
    command = [sys.executable, "-P", "-m", "ui.cli", "run", "toy_rotation", "-p", PROMPT, "--set", "pause=0", "--json"]
    place = ["--data", str(used.data), "--plugins", str(used.plugins), "--device", "cpu"]
    told = subprocess.run([*command, *place], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    used.ways["command line"] = (json.loads(told.stdout)["run"]["id"],)
    yield used


@pytest.fixture(scope="module")
def reader(used: Used) -> Iterator[Studio]:
    opened = Studio.open(used.data, engine="none", plugins=(used.plugins,))
    yield opened
    opened.close()


WAYS = ("api", "http", "comparison", "sweep", "replay", "retry", "stopped", "interrupted", "command line")


@pytest.mark.parametrize("way", WAYS)
def test_this_way_makes_artifacts_each_with_a_record_that_verifies(reader: Studio, used: Used, way: str) -> None:
    for run in map(reader.run, used.ways[way]):
        assert run.artifacts, (way, run.state, run.fault)
        assert run.partial == (way in ("stopped", "interrupted"))
        for artifact in run.artifacts:
            assert artifact.record is not None
            _, data = reader.artifact(artifact.id)
            report = reader.verify(data, artifact.name)
            assert report.verdict == "signed here", report.sentence
    assert (reader.run(used.ways[way][0]).state is RunState.DONE) == (way not in ("stopped", "interrupted"))


def test_no_artifact_in_the_database_is_without_a_record(used: Used, reader: Studio) -> None:
    with sqlite3.connect(f"file:{used.data / 'diptych.sqlite3'}?mode=ro", uri=True) as database:
        without = database.execute("select count(*) from artifacts where record is null").fetchone()[0]
        (count,) = database.execute("select count(*) from artifacts").fetchone()
    assert without == 0
    assert count == sum(len(reader.run(run).artifacts) for runs in used.ways.values() for run in runs)
    assert reader.check_chain().holds


def test_everything_taken_out_has_a_record_beside_it(reader: Studio, used: Used) -> None:
    targets = [used.ways["api"][0], used.ways["stopped"][0], *(comparison.id for comparison in used.comparisons)]
    for target in targets:
        offered = reader.export_formats(target)
        assert offered
        for form in offered:
            if "timeline" in form.key:  # drawn from traces, which the toy does not make
                continue
            files = reader.export(target, form.key)
            names = [file.name for file in files]
            assert names[1:] == [f"{names[0]}.intoto.json"], (form.key, names)
            assert reader.verify(files[0].data, names[0], files[1].data).verdict == "signed here", form.key
    assert reader.check_chain().holds
