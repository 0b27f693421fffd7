"""What runs give: artifacts with records, metrics, notes, events; and what a second watcher sees. Real workers throughout."""

import base64
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.engine.bare import run_bare
from app.engine.guard import worker_environment
from app.provenance.chain import check_chain
from app.provenance.verify import verify_bytes
from app.registry import Registry
from storage.values import RunState

from .conftest import Bench, until, write_weights


def test_a_run_gives_artifacts_metrics_and_notes(bench: Bench) -> None:
    bench.engine()
    run = bench.run("step preview:draft metric:right note:careful nan produce:answer produce:trace")
    assert run.state is RunState.DONE and run.fault is None and not run.partial and run.preview is None
    assert [artifact.name for artifact in run.artifacts] == ["answer", "trace"]
    assert bench.text(run, "answer") == "answer of 7"
    metrics = {metric.name: metric for metric in run.metrics}
    assert metrics["right"].value == 2.0 and metrics["right"].better == "higher"
    assert 0 < metrics["first_output_seconds"].value <= metrics["wall_seconds"].value
    assert metrics["peak_memory_bytes"].value > 1_000_000 and metrics["load_seconds"].value > 0
    assert [note["text"] for note in run.notes] == ["careful", "Nothing was not a number and is left out."]
    assert run.environment["device"] == "cpu" and run.environment["threads"] == 1 and run.environment["code"]["method"]
    assert list(run.checkpoint_digests) == ["base/model.safetensors"]
    assert [row.id for row in bench.finished] == [run.id]


def test_every_artifact_is_signed_with_the_measurements_of_its_run(bench: Bench) -> None:
    bench.engine()
    run = bench.run("produce:answer produce:trace")
    assert [artifact.record for artifact in run.artifacts] == [1, 2]
    assert check_chain(bench.store, bench.keys).holds
    for artifact in run.artifacts:
        record = bench.store.record_for_artifact(artifact.id)
        report = verify_bytes(bench.store.read_artifact(artifact.id), artifact.name, record.envelope, bench.keys, bench.store)
        assert report.verdict == "signed here"
        predicate = json.loads(base64.b64decode(json.loads(record.envelope)["payload"]))["predicate"]
        assert {"wall_seconds", "load_seconds"} <= {metric["name"] for metric in predicate["metrics"]}
        assert predicate["checkpoint"]["digests"] == run.checkpoint_digests
        assert predicate["environment"]["engine"] == "local"


def test_a_replay_names_the_records_of_the_run_it_repeats(bench: Bench) -> None:
    bench.engine()
    first = bench.run("produce:answer")
    again = bench.store.retry(first.id)
    bench.running.notify()
    second = bench.running.wait(again.id, 60)
    record = bench.store.record_for_artifact(second.artifacts[0].id)
    predicate = json.loads(base64.b64decode(json.loads(record.envelope)["payload"]))["predicate"]
    assert predicate["parents"] == [bench.store.record_for_artifact(first.artifacts[0].id).digest]


def test_events_carry_load_steps_and_what_was_produced_in_order(bench: Bench) -> None:
    engine = bench.engine()
    run = bench.run("step progress preview:draft note:careful metric:right produce:answer")
    page = engine.events(run.id, 0)
    kinds = [event["type"] for event in page.events]
    assert kinds == ["progress", "progress", "step", "progress", "preview", "note", "metric", "produced"]
    assert [event["phase"] for event in page.events[:2]] == ["load", "load"]
    assert base64.b64decode(page.events[4]["artifact"]["data"]) == b"draft"
    assert page.events[-1]["artifact"]["id"] == run.artifacts[0].id
    moments = [event["at"] for event in page.events]
    assert moments == sorted(moments)
    assert engine.events(run.id, page.next).events == ()


def test_events_come_while_the_run_goes_on(bench: Bench) -> None:
    engine = bench.engine()
    run = bench.submit("step preview:draft wait:go step")
    until(lambda: any(event["type"] == "preview" for event in engine.events(run).events))
    until(lambda: bench.store.run(run).preview is not None)
    assert engine.status().running == run
    cursor = engine.events(run).next
    bench.allow("go")
    assert engine.wait(run, 60).state is RunState.DONE
    assert [event["type"] for event in engine.events(run, cursor).events] == ["step"]


def test_nothing_a_method_writes_to_standard_output_disturbs_the_wire(bench: Bench) -> None:
    bench.engine()
    run = bench.run('say:{"type":"ended","blobs":[]} say:noise produce:answer')
    assert run.state is RunState.DONE and bench.text(run, "answer") == "answer of 7"


def test_the_second_run_finds_the_model_loaded(bench: Bench) -> None:
    engine = bench.engine()
    bench.run("step")
    again = bench.run("step")
    assert next(metric.value for metric in again.metrics if metric.name == "load_seconds") == 0.0
    assert [(model.method, model.checkpoint) for model in engine.status().loaded] == [("scripted", "plain")]
    engine.unload("scripted", "plain")
    until(lambda: engine.status().loaded == ())
    assert next(metric.value for metric in bench.run("step").metrics if metric.name == "load_seconds") > 0


def test_weights_unused_for_long_are_dropped(bench: Bench) -> None:
    engine = bench.engine(idle_minutes=0.001)
    bench.run("step")
    until(lambda: engine.status().loaded == ())


def test_files_are_hashed_once_and_again_when_they_change(bench: Bench) -> None:
    engine = bench.engine()
    weights = bench.assets / "pocket" / "toy" / "model.safetensors"
    first = bench.run("step").checkpoint_digests
    state = weights.stat()
    assert bench.store.known_digest(str(weights), state.st_size, state.st_mtime_ns) == first["base/model.safetensors"]
    write_weights(weights, b"\x01" * 32)
    assert bench.run("step").checkpoint_digests != first
    assert engine.status().workers[0].state == "idle"


def test_a_closed_page_loses_nothing_and_another_one_can_stop_the_run(bench: Bench) -> None:
    engine = bench.engine()
    for number in range(4):
        unwatched = bench.submit(f"step produce:answer{number}")
        assert engine.wait(unwatched, 60).artifacts[0].name == f"answer{number}"
        run = bench.submit(f"preview:draft{number} touch:here{number} wait:never")
        bench.reached(f"here{number}")
        until(lambda run=run: bench.store.run(run).preview is not None)
        stopper = threading.Thread(target=engine.cancel, args=(run,))
        stopper.start()
        stopper.join()
        ended = engine.wait(run, 5)
        assert ended.state is RunState.CANCELLED
        assert bench.text(ended, "answer") == f"draft{number}"


def test_the_same_request_twice_at_once_is_carried_out_twice_and_equally(bench: Bench) -> None:
    engine = bench.engine()
    for _ in range(10):
        with ThreadPoolExecutor(2) as pool:
            runs = list(pool.map(bench.submit, ["metric:right produce:answer"] * 2))
        ended = [engine.wait(run, 60) for run in runs]
        assert [run.state for run in ended] == [RunState.DONE, RunState.DONE]
        assert len({run.artifacts[0].digest for run in ended}) == 1
        assert len({run.artifacts[0].record for run in ended}) == 2
    assert check_chain(bench.store, bench.keys).holds


def test_a_paused_queue_starts_nothing_and_order_is_kept(bench: Bench) -> None:
    engine = bench.engine()
    bench.store.set_paused(True)
    runs = [bench.submit(f"produce:number{number}") for number in range(3)]
    bench.store.move(runs[2], 1)
    assert engine.wait(runs[2], 0.3).state is RunState.QUEUED
    bench.store.set_paused(False)
    engine.notify()
    for run in runs:
        assert engine.wait(run, 60).state is RunState.DONE
    assert [row.id for row in bench.finished] == [runs[2], runs[0], runs[1]]


def test_cancel_all_empties_the_queue_and_stops_the_run(bench: Bench) -> None:
    engine = bench.engine()
    first = bench.submit("touch:here wait:never")
    waiting = [bench.submit("step") for _ in range(3)]
    bench.reached("here")
    assert engine.cancel_all() == 4
    assert {engine.wait(run, 10).state for run in (first, *waiting)} == {RunState.CANCELLED}
    assert not engine.cancel(first)


def test_a_run_through_the_studio_and_a_bare_one_give_the_same(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.engine()
    script = "step preview:draft metric:right produce:answer"
    studio = bench.run(script)
    card = bench.registry.card("scripted")
    bare = run_bare(bench.registry.locate("scripted"), card.checkpoint("plain"), {"script": script}, {"length": 10}, 7, assets=bench.assets)
    assert [artifact.data.decode() for artifact in bare.artifacts] == [bench.text(studio, "answer")]
    assert bare.events == 4 and 0 < (bare.first_output_seconds or 0) <= bare.seconds


def test_a_method_cannot_reach_the_network(bench: Bench) -> None:
    bench.engine()
    run = bench.run("connect:203.0.113.7")
    assert run.state is RunState.FAILED and run.fault is not None and "stay on this machine" in run.fault["what"]
    local = bench.run("connect:127.0.0.1")
    assert local.fault is not None and "ConnectionRefusedError" in local.fault["what"]


def test_scratch_folders_are_removed(bench: Bench) -> None:
    bench.engine()
    bench.run("step")
    until(lambda: list((Path(bench.data) / "scratch").iterdir()) == [])


def test_an_idle_worker_loads_pocket_checkpoints_ahead(bench: Bench) -> None:
    bench.registry = Registry(tuple(one for one in bench.registry._found.values() if one.location.folder), ())
    engine = bench.engine(warm_methods=True)
    until(lambda: [(model.method, model.checkpoint) for model in engine.status().loaded] == [("scripted", "plain")])
    run = bench.run("produce:answer")
    assert run.state is RunState.DONE
    assert next(metric.value for metric in run.metrics if metric.name == "load_seconds") == 0.0


def test_a_checkpoint_that_cannot_be_loaded_ahead_disturbs_nobody(bench: Bench) -> None:
    write_weights(bench.assets / "pocket" / "toy" / "model.safetensors")
    (bench.assets / "pocket" / "toy" / "model.safetensors").write_bytes(b"damaged")
    bench.registry = Registry(tuple(one for one in bench.registry._found.values() if one.location.folder), ())
    bench.engine(warm_methods=True)
    run = bench.run("step")
    assert run.fault is not None and run.fault["kind"] == "CheckpointError"


def test_a_worker_gets_no_token_and_no_network_of_the_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    environment = worker_environment(tmp_path)
    assert "HF_TOKEN" not in environment
    assert environment["HF_HUB_OFFLINE"] == environment["TRANSFORMERS_OFFLINE"] == "1"
