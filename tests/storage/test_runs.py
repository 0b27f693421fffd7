"""Runs and comparisons through the public store, on both databases."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from storage.errors import Conflict, NotFound, Unavailable
from storage.store import Store
from storage.values import MetricRow, NewRun, PaneSpec, RunState
from tests.storage.conftest import artifact, make_run, sign_plainly


def wall_seconds(value: float) -> MetricRow:
    return MetricRow(name="wall_seconds", value=value, unit="s", label="Time", better="lower")


def test_added_runs_are_queued_in_the_order_given(store: Store) -> None:
    added = store.add_runs([make_run(title=str(number)) for number in range(3)])
    assert [run.position for run in added] == [1, 2, 3]
    assert [run.state for run in added] == [RunState.QUEUED] * 3
    assert store.queue() == tuple(added)


def test_a_run_is_read_back_exactly_as_added(store: Store) -> None:
    request = make_run(
        inputs={"prompt": "x", "depth": [1, {"y": None}]}, seed=2**64 - 1, seconds_limit=1.5, owner="ann", parents=("a", "b")
    )
    (added,) = store.add_runs([request])
    read = store.run(request.id)
    assert read == added
    assert NewRun(**{name: getattr(read, name) for name in NewRun.model_fields}) == request


def test_one_bad_run_keeps_all_out(store: Store) -> None:
    (known,) = store.add_runs([make_run()])
    with pytest.raises(Conflict):
        store.add_runs([make_run(), make_run(id=known.id)])
    assert len(store.queue()) == 1


def test_runs_are_given_in_the_order_asked_for(store: Store) -> None:
    added = store.add_runs([make_run() for _ in range(3)])
    asked = [added[2].id, added[0].id]
    assert [run.id for run in store.runs(asked)] == asked


@pytest.mark.parametrize("id", ["", "0" * 32, "no id", "\x00", "\ud800", "' OR 1=1 --", "0" * 4000])
def test_an_id_that_is_not_here_is_not_found(store: Store, id: str) -> None:
    for ask in (store.run, store.comparison, store.comparison_runs, store.artifact, store.read_artifact, store.record_for_artifact):
        with pytest.raises(NotFound):
            ask(id)
    with pytest.raises(NotFound):
        store.runs([id])
    with pytest.raises(NotFound):
        store.star(id, True)
    assert store.find_digest(id) == store.records_by_digest(id) == ()
    assert store.find_done(id) is None


def test_finishing_keeps_state_metrics_notes_and_fault(store: Store) -> None:
    (run,) = store.add_runs([make_run()])
    store.claim(["cpu"])
    store.set_environment(run.id, {"device": "cpu", "threads": 1}, {"model": "0" * 64})
    done = store.finish(
        run.id, RunState.FAILED, {"kind": "InputError", "what": "Bad."}, True, [wall_seconds(2.5)], [{"level": "info", "text": "n"}]
    )
    assert done == store.run(run.id)
    assert (done.state, done.partial, done.position) == (RunState.FAILED, True, None)
    assert done.fault == {"kind": "InputError", "what": "Bad."}
    assert done.metrics == (wall_seconds(2.5),)
    assert done.notes == ({"level": "info", "text": "n"},)
    assert done.environment == {"device": "cpu", "threads": 1}
    assert done.checkpoint_digests == {"model": "0" * 64}
    assert done.started is not None and done.finished is not None


def test_the_first_final_state_stays(store: Store) -> None:
    (run,) = store.add_runs([make_run()])
    store.cancel_queued(run.id)
    assert store.finish(run.id, RunState.DONE).state is RunState.CANCELLED


def test_a_state_that_is_not_final_is_refused(store: Store) -> None:
    (run,) = store.add_runs([make_run()])
    with pytest.raises(ValueError, match="not a final state"):
        store.finish(run.id, RunState.RUNNING)


def test_a_preview_is_kept_until_the_run_ends(store: Store) -> None:
    (run,) = store.add_runs([make_run()])
    store.claim(["cpu"])
    store.set_preview(run.id, {"kind": "text", "data": "aGFsZg=="})
    assert store.run(run.id).preview == {"kind": "text", "data": "aGFsZg=="}
    assert store.finish(run.id, RunState.DONE).preview is None


def test_lists_leave_the_preview_out(store: Store) -> None:
    (run,) = store.add_runs([make_run()])
    store.set_preview(run.id, {"data": "x" * 1000})
    assert [row.preview for row in store.queue()] == [None]


def test_a_failed_sweep_cell_is_not_found_as_done(store: Store) -> None:
    first, second, third, warm = store.add_runs(
        [make_run(fingerprint="f" * 64) for _ in range(3)] + [make_run(fingerprint="f" * 64, purpose="warmup")]
    )
    assert store.find_done("f" * 64) is None
    store.finish(first.id, RunState.DONE)
    store.finish(second.id, RunState.DONE)
    store.finish(third.id, RunState.FAILED)
    store.finish(warm.id, RunState.DONE)
    found = store.find_done("f" * 64)
    assert found is not None and found.id == second.id


def test_typical_seconds_is_the_median_of_the_latest_twenty(store: Store) -> None:
    assert store.typical_seconds("countdown", "pocket") is None
    runs = store.add_runs([make_run() for _ in range(30)])
    for number, run in enumerate(runs):
        store.finish(run.id, RunState.DONE, metrics=[wall_seconds(1000.0 if number < 10 else number)])
    other, failed, warm = store.add_runs([make_run(checkpoint="other"), make_run(), make_run(purpose="warmup")])
    store.finish(other.id, RunState.DONE, metrics=[wall_seconds(1e6)])
    store.finish(failed.id, RunState.FAILED, metrics=[wall_seconds(1e6)])
    store.finish(warm.id, RunState.DONE, metrics=[wall_seconds(1e6)])
    assert store.typical_seconds("countdown", "pocket") == 19.5


def test_a_comparison_is_read_back_with_its_runs(store: Store) -> None:
    panes = (PaneSpec(pane="A", method="m", checkpoint="c", settings={"x": 1}), PaneSpec(pane="B", method="m", checkpoint="c", settings={}))
    added = store.add_comparison(
        tab="text",
        title="Both",
        inputs={"prompt": "p"},
        seed=3,
        repeats=2,
        baseline="A",
        panes=panes,
        kind="sweep",
        axes=({"field": "x", "values": [1]},),
    )
    assert store.comparison(added.id) == added
    runs = store.add_runs([make_run(comparison=added.id, pane=pane) for pane in "ABA"])
    assert store.comparison_runs(added.id) == tuple(runs)


def test_a_comparison_and_its_runs_come_together_or_not_at_all(store: Store) -> None:
    (known,) = store.add_runs([make_run()])
    fields = {"tab": "text", "title": "", "inputs": {}, "seed": 1, "repeats": 1, "baseline": "A", "panes": ()}
    with pytest.raises(Conflict):
        store.add_comparison(id="c" * 32, runs=[make_run(comparison="c" * 32), make_run(id=known.id)], **fields)
    with pytest.raises(NotFound):
        store.comparison("c" * 32)


def test_a_run_of_an_unknown_comparison_is_refused(store: Store) -> None:
    with pytest.raises(Conflict):
        store.add_runs([make_run(comparison="d" * 32)])


@pytest.mark.parametrize(
    "text",
    ["\x00 and \ud800", "\\0000 stays", "\u202eright to left", "line\nbreak\r\n\ttab", "🧪" * 50, "".join(map(chr, range(1, 0x3000)))],
    ids=range(6),
)
def test_any_text_is_kept_faithfully(store: Store, text: str) -> None:
    key = text[:200]  # what is indexed is short: the app sees to it
    (run,) = store.add_runs(
        [make_run(title=text, inputs={"prompt": text, text: 1}, settings={"s": text}, owner=key, pane=text, method=key)]
    )
    store.annotate(run.id, text)
    store.tag(run.id, [key, "other"])
    kept = store.add_artifact(run.id, artifact(name=text, facts={text: text}), sign_plainly)
    read = store.run(run.id)
    assert (read.title, read.inputs, read.settings) == (text, {"prompt": text, text: 1}, {"s": text})
    assert (read.owner, read.pane, read.method, read.note, read.tags) == (key, text, key, text, (key, "other"))
    assert read.artifacts == (kept,)
    assert kept.name == text


def test_a_prompt_of_ten_megabytes_is_kept(store: Store) -> None:
    prompt = "All the words there are. " * 400_000
    (run,) = store.add_runs([make_run(inputs={"prompt": prompt})])
    assert store.run(run.id).inputs["prompt"] == prompt


def test_a_clock_that_jumps_changes_no_order(address: str | None, folder: Path) -> None:
    times = iter([0, -3600, 31_536_000, -7200, 5, -86_400, 1, 2, 3, 4, 5])
    start = datetime(2030, 1, 1, tzinfo=UTC)
    clock = lambda: start + timedelta(seconds=next(times))  # noqa: E731
    with Store.open(address, folder, clock=clock) as store:
        runs = [store.add_runs([make_run(title=str(number))])[0] for number in range(5)]
        assert [run.title for run in store.queue()] == ["0", "1", "2", "3", "4"]
        assert [run.sequence for run in runs] == sorted(run.sequence for run in runs)
        claimed = store.claim(["cpu"])
        assert claimed is not None and claimed.title == "0"


def test_a_clock_set_back_during_a_run_gives_no_negative_duration(address: str | None, folder: Path) -> None:
    times = iter([0, 10, -3600])
    with Store.open(address, folder, clock=lambda: datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=next(times))) as store:
        (run,) = store.add_runs([make_run()])
        store.claim(["cpu"])
        store.finish(run.id, RunState.DONE)
        assert store.typical_seconds("countdown", "pocket") is None


def test_a_closed_store_says_so(address: str | None, folder: Path) -> None:
    store = Store.open(address, folder)
    store.close()
    store.close()
    with pytest.raises(Unavailable, match="closed"):
        store.queue()
    with pytest.raises(Unavailable, match="closed"):
        store.add_runs([make_run()])
