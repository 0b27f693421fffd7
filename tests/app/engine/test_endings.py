"""Runs that end before they are done: stopped, killed, crashed, out of memory, out of time, refused. Real workers throughout.

Times are judged by the quickest of several attempts, because other tests may keep the machine busy.
"""

import time

import psutil
import pytest

from app.engine.protocol import EngineOptions
from app.errors import DeviceMissing
from storage.values import RunRow, RunState

from .conftest import Bench, until


def fault(run: RunRow) -> dict[str, object]:
    assert run.fault is not None
    return run.fault


def stop(bench: Bench, script: str, mark: str = "here", **fields: object) -> tuple[RunRow, float]:
    """Stop a run once it has reached its mark; the run and how long it took to end."""
    run = bench.submit(script, **fields)
    bench.reached(mark)
    (bench.scripts / mark).unlink()
    asked = time.monotonic()
    assert bench.running.cancel(run)
    return bench.running.wait(run, 30), time.monotonic() - asked


@pytest.mark.parametrize(
    "script",
    ["touch:here wait:never", "step preview:draft touch:here wait:never", "produce:answer touch:here wait:never", "touch:here idle:never"],
    ids=["start", "decode", "export", "yields without checking"],
)
def test_a_run_stops_within_a_step(bench: Bench, script: str) -> None:
    bench.engine()
    bench.run("step")
    worker = bench.running.status().workers[0].pid
    seconds: list[float] = []
    for _ in range(3):
        run, took = stop(bench, script)
        assert run.state is RunState.CANCELLED and run.fault is None
        seconds.append(took)
    assert min(seconds) < 0.5
    assert bench.running.status().workers[0].pid == worker
    assert bench.run("step").state is RunState.DONE


def test_a_load_that_ignores_a_stop_is_killed(bench: Bench) -> None:
    bench.engine(stop_grace=0.3)
    bench.pipe()
    for _ in range(2):
        run, seconds = stop(bench, "step", "loading", checkpoint="load_ignores")
        assert run.state is RunState.CANCELLED and seconds < 5.0


def test_a_stop_during_loading_takes_effect_when_the_model_is_there(bench: Bench) -> None:
    bench.engine(stop_grace=60.0)
    run_id = bench.submit("step", checkpoint="load_waits")
    bench.reached("loading")
    assert bench.running.cancel(run_id)
    bench.allow("go")
    run = bench.running.wait(run_id, 60)
    assert run.state is RunState.CANCELLED and [metric.name for metric in run.metrics] == ["load_seconds"]
    assert "step" not in [event["type"] for event in bench.running.events(run_id).events]


def test_what_was_made_before_a_stop_stays_and_is_signed(bench: Bench) -> None:
    bench.engine()
    run, _ = stop(bench, "produce:first preview:draft touch:here wait:never")
    assert [(artifact.name, artifact.partial) for artifact in run.artifacts] == [("first", False), ("answer", True)]
    assert run.partial and all(artifact.record for artifact in run.artifacts)
    kept, _ = stop(bench, "keep preview:draft touch:here wait:never")
    assert {artifact.name: artifact.partial for artifact in kept.artifacts} == {"kept": True, "answer": True}


def test_memory_comes_back_after_a_stop(bench: Bench) -> None:
    bench.engine()
    bench.run("hold:200000000")
    worker = psutil.Process(bench.running.status().workers[0].pid)
    before = worker.memory_info().rss
    run, _ = stop(bench, "hold:200000000 touch:here wait:never")
    assert run.state is RunState.CANCELLED
    until(lambda: worker.memory_info().rss <= before * 1.05, 5)


def test_a_run_that_ignores_a_stop_is_killed_and_its_last_preview_kept(bench: Bench) -> None:
    bench.engine()
    bench.pipe()
    run, seconds = stop(bench, "preview:draft touch:here block:pipe")
    assert run.state is RunState.CANCELLED and run.partial
    assert EngineOptions().stop_grace <= seconds <= 5.0
    assert bench.text(run, "answer") == "draft"
    assert bench.run("step").state is RunState.DONE


def test_a_killed_worker_takes_its_children_along(bench: Bench) -> None:
    bench.engine(stop_grace=0.1)
    bench.pipe()
    for number in range(3):
        run, _ = stop(bench, f"child:pid{number} touch:here block:pipe")
        child = int((bench.scripts / f"pid{number}").read_text())
        assert run.state is RunState.CANCELLED
        until(lambda child=child: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)


@pytest.mark.parametrize(("verb", "name"), [("segfault", "SIGSEGV"), ("abort", "SIGABRT"), ("kill", "SIGKILL")])
def test_a_crash_fails_one_run_with_the_signals_name_and_the_next_works(bench: Bench, verb: str, name: str) -> None:
    bench.engine()
    seconds: list[float] = []
    for _ in range(5):
        run = bench.run(f"preview:draft produce:first {verb}")
        assert run.state is RunState.FAILED and fault(run)["kind"] == "WorkerCrashed" and name in str(fault(run)["what"])
        assert "first" in {artifact.name for artifact in run.artifacts}
        began = time.monotonic()
        assert bench.run("step").state is RunState.DONE
        seconds.append(time.monotonic() - began)
    assert min(seconds) <= 3.0


def test_a_crash_while_loading_is_the_runs_alone(bench: Bench) -> None:
    bench.engine()
    assert fault(bench.run("step", checkpoint="load_crashes"))["kind"] == "WorkerCrashed"
    assert fault(bench.run("step", checkpoint="load_raises"))["kind"] == "UnexpectedError"
    assert bench.run("step").state is RunState.DONE


@pytest.mark.parametrize("verb", ["memory", "torch_memory", "cuda_memory"])
def test_running_out_of_memory_at_any_point_names_a_setting_and_the_next_run_works(bench: Bench, verb: str) -> None:
    bench.engine()
    points = [
        "",
        "step",
        "preview:draft",
        "produce:answer",
        "metric:right",
        "note:careful",
        "step step",
        "many:50",
        "hold:1000000",
        "progress",
    ]
    for before in points:
        run = bench.run(f"{before} {verb}")
        assert run.state is RunState.FAILED and fault(run)["kind"] == "OutOfMemory"
        assert fault(run)["field"] == "length" and "Lower “Length” from 10 to 5" in str(fault(run)["next_step"])
        assert bench.run("produce:answer").state is RunState.DONE
    assert fault(bench.run("step", checkpoint="load_runs_out"))["kind"] == "OutOfMemory"
    assert bench.run("step").state is RunState.DONE


def test_an_oversize_request_is_refused_by_its_estimate_before_loading(bench: Bench) -> None:
    engine = bench.engine(address_space=2 * 2**30)
    bench.run("step")
    worker = engine.status().workers[0].pid
    for _ in range(5):
        run = bench.run("step", settings={"length": 1_000_000})
        assert fault(run)["kind"] == "OutOfMemory" and fault(run)["field"] == "length"
        suggestion = fault(run)["suggestion"]
        assert isinstance(suggestion, int) and 1 <= suggestion < 2_200
        assert "step" not in [event["type"] for event in engine.events(run.id).events]
    assert bench.run("step", settings={"length": suggestion - 100}).state is RunState.DONE
    assert engine.status().workers[0].pid == worker


def test_an_allocation_beyond_the_address_space_fails_the_run_only(bench: Bench) -> None:
    engine = bench.engine(address_space=2 * 2**30)
    bench.run("step")
    worker = engine.status().workers[0].pid
    for _ in range(5):
        assert fault(bench.run("allocate:8000000000"))["kind"] == "OutOfMemory"
        assert bench.run("step").state is RunState.DONE
    assert engine.status().workers[0].pid == worker


@pytest.mark.parametrize("script", ["preview:draft wait:never", "preview:draft block:pipe"], ids=["checks", "ignores"])
def test_a_run_past_its_time_limit_is_ended_within_a_second(bench: Bench, script: str) -> None:
    bench.engine()
    bench.pipe()
    seconds: list[float] = []
    for _ in range(3):
        bench.run("step")
        run = bench.run(script, seconds_limit=0.3)
        assert run.started is not None and run.finished is not None
        seconds.append((run.finished - run.started).total_seconds())
        assert run.state is RunState.FAILED and fault(run)["kind"] == "DeadlineExceeded"
        assert bench.text(run, "answer") == "draft"
    assert min(seconds) <= 1.3


def test_a_time_limit_does_not_count_loading(bench: Bench) -> None:
    bench.engine()
    run_id = bench.submit("step", checkpoint="load_waits", seconds_limit=0.05)
    bench.reached("loading")
    assert bench.running.wait(run_id, 0.3).state is RunState.RUNNING
    bench.allow("go")
    assert bench.running.wait(run_id, 60).state is RunState.DONE


def test_a_gpu_asked_for_without_one_is_refused_before_anything_is_loaded(bench: Bench) -> None:
    engine = bench.engine()
    asked = [bench.run("step", device=device) for device in ("cuda", "cuda:0", "cuda:3")]
    asked.append(bench.run(method="gpu_only", inputs={}, settings={}))
    for run in asked:
        assert run.state is RunState.FAILED and fault(run)["kind"] == "DeviceMissing" and fault(run)["field"] == "device"
        assert engine.events(run.id).events == ()
    assert engine.status().loaded == ()
    with pytest.raises(DeviceMissing):
        bench.engine(device="cuda")


@pytest.mark.parametrize(
    ("script", "fields", "kind", "field"),
    [
        ("raise", {}, "UnexpectedError", None),
        ("exit", {}, "UnexpectedError", None),
        ("number", {}, "NumericalError", "ratio"),
        ("step", {"settings": {"length": 0}}, "SettingError", "length"),
        ("step", {"checkpoint": "missing"}, "CheckpointError", None),
        ("step", {"checkpoint": "nothing"}, "UnknownCheckpoint", "checkpoint"),
        ("step", {"method": "nothing"}, "UnknownMethod", "method"),
    ],
)
def test_every_failure_says_what_why_and_what_next(
    bench: Bench, script: str, fields: dict[str, object], kind: str, field: str | None
) -> None:
    bench.engine()
    run = bench.run(script, **fields)
    assert run.state is RunState.FAILED
    assert (fault(run)["kind"], fault(run)["field"]) == (kind, field)
    assert fault(run)["what"] and fault(run)["next_step"] and "Traceback" not in str(fault(run))
