"""How a run must behave: its events, its end after a stop, what it repeats, and what it refuses."""

import json
import math

import pytest

from app.provenance.differences import difference
from backends.contract import Artifact, Cancelled, Determinism, Fault, MethodError, field_specs
from tests.conformance.subject import Ended, Subject, levels, pairwise

KINDS = ("SettingError", "InputError", "CheckpointError", "NumericalError", "OutOfMemory", "DeadlineExceeded")
STOP_SECONDS = 2.0


@pytest.fixture(scope="module")
def finished() -> dict[str, Ended]:
    """One finished run of each method, made when first asked for."""
    return {}


def whole(subject: Subject, finished: dict[str, Ended]) -> Ended:
    if subject.key not in finished:
        finished[subject.key] = subject.run()
    return finished[subject.key]


def test_the_example_runs_and_produces_what_the_card_says(subject: Subject, finished: dict[str, Ended]) -> None:
    ended = whole(subject, finished)
    assert ended.error is None
    produced = [event.artifact for event in ended.of("produced")]
    assert {artifact.kind for artifact in produced} == set(subject.card.outputs)
    assert len({artifact.name for artifact in produced}) == len(produced), "two artifacts of one name"
    for artifact in produced:
        assert artifact.data and "/" in artifact.media_type and not artifact.partial
        json.dumps(artifact.facts, allow_nan=False)


def test_progress_never_goes_back(subject: Subject, finished: dict[str, Ended]) -> None:
    last: dict[str, int] = {}
    progress = whole(subject, finished).of("progress")
    assert progress, "no progress was reported"
    for event in progress:
        assert event.step >= last.get(event.phase, 0), f"{event.phase} went back"
        assert event.total is None or event.step <= event.total
        last[event.phase] = event.step


def test_steps_count_up_and_travel_as_json(subject: Subject, finished: dict[str, Ended]) -> None:
    indices = [event.index for event in whole(subject, finished).of("step")]
    assert indices == sorted(set(indices))
    for event in whole(subject, finished).of("step"):
        json.dumps(event.data, allow_nan=False)


def test_metrics_are_finite_numbers_with_units(subject: Subject, finished: dict[str, Ended]) -> None:
    metrics = whole(subject, finished).of("metric")
    assert metrics
    assert len({metric.name for metric in metrics}) == len(metrics), "a metric was reported twice"
    for metric in metrics:
        assert math.isfinite(metric.value), metric.name
        assert metric.unit or metric.sample_size, f"{metric.name} has no unit"
        assert metric.label, metric.name


def test_previews_are_of_the_kinds_that_are_kept(subject: Subject, finished: dict[str, Ended]) -> None:
    for artifact in whole(subject, finished).previews:
        assert artifact.kind in subject.card.outputs and artifact.partial


@pytest.mark.parametrize("phase", ["before the first step", "first step", "middle", "last step"])
def test_a_stop_ends_the_run_and_keeps_what_there_is(subject: Subject, phase: str, finished: dict[str, Ended]) -> None:
    events = whole(subject, finished).events
    steps = [place for place, event in enumerate(events, start=1) if event.type in ("step", "progress")]
    after = {"before the first step": 0, "first step": steps[0], "middle": steps[len(steps) // 2], "last step": steps[-1]}[phase]
    ended = subject.run(stop_after=after)
    assert ended.seconds_after_stop < STOP_SECONDS
    if phase != "last step":
        assert isinstance(ended.error, Cancelled)
        assert not [artifact for artifact in ended.artifacts.values() if not artifact.partial], "a stopped run is never whole"
    if phase == "middle":
        kept = [*ended.artifacts.values(), *ended.previews]
        assert kept, "nothing was kept of half a run"
        assert {artifact.kind for artifact in kept} <= set(subject.card.outputs)


def test_a_stopped_run_leaves_the_model_as_it_was(subject: Subject, finished: dict[str, Ended]) -> None:
    steps = len(whole(subject, finished).events)
    subject.run(stop_after=max(1, steps // 2))
    assert_repeats(subject, whole(subject, finished), subject.run())


def test_a_time_limit_is_obeyed(subject: Subject) -> None:
    ended = subject.run(limit=1e-6)
    assert isinstance(ended.error, MethodError)
    assert ended.error.fault.kind == "DeadlineExceeded"
    assert ended.seconds < STOP_SECONDS


def assert_repeats(subject: Subject, one: Ended, two: Ended) -> None:
    """Two runs of one request differ by no more than the card allows; measured times apart."""
    if subject.card.determinism is Determinism.NONE:
        return
    assert one.artifacts.keys() == two.artifacts.keys()
    for name, artifact in one.artifacts.items():
        found = difference(artifact.data, two.artifacts[name].data, artifact.media_type)
        allowed = subject.card.tolerance if subject.card.determinism is Determinism.TOLERANCE else 0.0
        assert found.equal or (not found.first and found.largest <= allowed), f"{name}: {found}"


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_request_repeats_as_promised(subject: Subject, threads: int, finished: dict[str, Ended]) -> None:
    """Five repeats in all, on one and on two threads; the order of a sum may differ between the two, what is made may not."""
    base = whole(subject, finished) if threads == 1 else subject.run(threads=threads)
    for _ in range(2 if threads == 1 else 1):
        assert_repeats(subject, base, subject.run(threads=threads))
    if subject.card.determinism is Determinism.BIT_EXACT:
        assert outputs(base) == outputs(whole(subject, finished))


def outputs(ended: Ended) -> dict[str, object]:
    """What a promise of equal output is about: bytes, or the tokens a trace shows (what follows the end is not shown)."""
    return {name: _content(artifact) for name, artifact in ended.artifacts.items()}


def _content(artifact: Artifact) -> object:
    if artifact.kind != "decoding_trace":
        return artifact.data
    trace = json.loads(artifact.data)
    committed = (token for one in trace["passes"] for token in one["committed"])
    return trace["text"], sorted((token["position"], token["token"]) for token in committed if token["position"] < trace["positions"])


def test_settings_that_promise_equal_output_keep_it(subject: Subject) -> None:
    for spec in (spec for spec in field_specs(subject.card.settings) if spec.equal_output):
        compared = 0
        for value in levels(spec)[1:]:
            for number in range(len(subject.card.examples)):
                inputs = subject.example(number)
                if isinstance(subject.parse(inputs, {spec.name: value})[0], Fault):
                    continue
                base, other = subject.run(inputs, {}), subject.run(inputs, {spec.name: value})
                assert outputs(base) == outputs(other), f"{spec.name}={value} changed the output of {inputs}"
                compared += 1
        assert compared, f"{spec.name} promises equal output and could not be compared"


def assert_worded(fault: Fault) -> None:
    assert fault.kind in KINDS, fault
    assert fault.what and (fault.next_step or fault.why), fault


def finishes_or_is_refused(subject: Subject, inputs: dict[str, object], settings: dict[str, object]) -> bool:
    """True if the run finished; a typed refusal is fine, anything else is not."""
    parsed = subject.parse(inputs, settings)
    if isinstance(parsed[0], Fault):
        for fault in parsed:
            assert_worded(fault)
        return False
    ended = subject.run(inputs, settings, limit=1.5)
    assert ended.seconds < 1.5 + STOP_SECONDS, settings
    if ended.error is not None:
        assert isinstance(ended.error, MethodError), settings
        assert_worded(ended.error.fault)
    return ended.error is None


def test_every_pair_of_extreme_settings_finishes_or_is_refused_in_words(subject: Subject) -> None:
    rows = list(pairwise(field_specs(subject.card.settings)))
    for settings in rows:
        finishes_or_is_refused(subject, subject.example(), settings)


def test_every_single_setting_at_its_ends_finishes_or_is_refused_in_words(subject: Subject) -> None:
    finished = [
        finishes_or_is_refused(subject, subject.example(), {spec.name: value})
        for spec in field_specs(subject.card.settings)
        for value in levels(spec)
    ]
    assert any(finished)


def test_inputs_at_their_ends_finish_or_are_refused_in_words(subject: Subject) -> None:
    for spec in field_specs(subject.card.inputs):
        for value in levels(spec):
            finishes_or_is_refused(subject, subject.example() | {spec.name: value}, {})


def test_bad_inputs_are_refused_at_their_control(subject: Subject) -> None:
    assert subject.claims.BAD_INPUTS
    for bad in subject.claims.BAD_INPUTS:
        checkpoint = subject.card.checkpoint(bad.checkpoint) if bad.checkpoint else subject.small[0]
        parsed = subject.parse(bad.inputs, bad.settings, checkpoint)
        if not isinstance(parsed[0], Fault):
            error = subject.run(bad.inputs, bad.settings, checkpoint=checkpoint).error
            assert isinstance(error, MethodError), f"{bad.name}: {error!r}"
            parsed = (error.fault,)
        told = [(fault.kind, fault.field) for fault in parsed]
        assert (bad.error, bad.field) in told, f"{bad.name}: {told}"
        assert any(bad.says in fault.sentence() for fault in parsed), f"{bad.name}: {[fault.sentence() for fault in parsed]}"
        for fault in parsed:
            assert_worded(fault)
