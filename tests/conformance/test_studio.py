"""Every method through an open studio: real workers, the real store, signed records, stops and replays."""

import time

import pytest

from app.api import Studio
from app.values import SubmitRequest
from backends.contract import Determinism
from storage.values import RunRow, RunState
from tests.conformance.subject import Subject

SECONDS = 120.0
STOP_SECONDS = 4.0
"""Two for the method, then its worker is killed; the rest is for a busy machine."""


def submit(studio: Studio, subject: Subject, seed: int = 1729) -> RunRow:
    request = SubmitRequest(method=subject.key, checkpoint=subject.small[0].key, inputs=subject.example(), seed=seed)
    return studio.submit(request)


def finished(studio: Studio, run: RunRow) -> RunRow:
    assert studio.engine is not None
    return studio.engine.wait(run.id, SECONDS)


def test_a_run_is_kept_with_records_that_verify(studio: Studio, subject: Subject) -> None:
    ended = finished(studio, submit(studio, subject))
    assert ended.state is RunState.DONE, ended.fault
    assert {artifact.kind for artifact in ended.artifacts} == set(subject.card.outputs)
    names = [metric.name for metric in ended.metrics]
    assert {"wall_seconds", "first_output_seconds", "peak_memory_bytes"} <= set(names)
    assert ended.checkpoint_digests and ended.environment
    for artifact in ended.artifacts:
        row, data = studio.artifact(artifact.id)
        report = studio.verify(data, row.name)
        assert report.valid, report.sentence
        assert report.settings == ended.settings and report.seed == ended.seed
    assert studio.check_chain().holds


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_replay_keeps_the_promise_of_the_card(studio: Studio, subject: Subject, seed: int) -> None:
    original = finished(studio, submit(studio, subject, seed))
    replay = finished(studio, studio.replay(original.id))
    verdict = studio.replay_verdict(replay.id)
    assert verdict.promised == subject.card.determinism.value
    assert verdict.kept is (None if subject.card.determinism is Determinism.NONE else True), verdict.sentence


def test_a_stop_while_loading_ends_the_run_and_the_next_one_works(studio: Studio, subject: Subject) -> None:
    studio.unload(subject.key, subject.small[0].key)
    run = submit(studio, subject)
    began = time.monotonic()
    assert studio.cancel(run.id)
    assert finished(studio, run).state is RunState.CANCELLED
    assert time.monotonic() - began < STOP_SECONDS
    assert finished(studio, submit(studio, subject)).state is RunState.DONE


def test_a_stop_in_the_middle_keeps_a_signed_partial_output(studio: Studio, subject: Subject) -> None:
    """A run may be over before the stop arrives; one of several tries must catch it in the middle."""
    assert studio.engine is not None
    for _ in range(8):
        run = submit(studio, subject)
        until = time.monotonic() + SECONDS
        while not any(event["type"] == "step" for event in studio.engine.events(run.id, 0).events):
            assert time.monotonic() < until and not studio.run(run.id).state.final, "no step was seen"
        began = time.monotonic()
        studio.cancel(run.id)
        ended = finished(studio, run)
        assert time.monotonic() - began < STOP_SECONDS
        if ended.state is RunState.CANCELLED:
            assert ended.artifacts and all(artifact.partial for artifact in ended.artifacts)
            row, data = studio.artifact(ended.artifacts[0].id)
            assert studio.verify(data, row.name).valid
            return
    raise AssertionError("the run was over before it could be stopped, eight times")
