"""The queue: single steps, and random scripts against a model of it (reliability anchors B9, A6)."""

import threading
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test

from storage.errors import NotFound
from storage.store import Store
from storage.values import RunRow, RunState
from tests.storage.conftest import make_run


def titles(store: Store) -> list[str]:
    return [run.title for run in store.queue() if run.state is RunState.QUEUED]


@pytest.fixture
def five(store: Store) -> list[RunRow]:
    return store.add_runs([make_run(title=str(number)) for number in range(5)])


def test_the_first_run_is_claimed_first(store: Store, five: list[RunRow]) -> None:
    claimed = store.claim(["cpu"])
    assert claimed is not None
    assert (claimed.id, claimed.state, claimed.position) == (five[0].id, RunState.RUNNING, None)
    assert [run.id for run in store.queue()] == [run.id for run in five]
    assert [run.position for run in store.queue()] == [None, 1, 2, 3, 4]


def test_a_run_for_another_device_is_left_for_it(store: Store) -> None:
    store.add_runs([make_run(title="cuda", device="cuda:1"), make_run(title="any")])
    claimed = [store.claim(["cpu"]), store.claim(["cpu"]), store.claim(["cuda:0", "cuda:1"])]
    assert [run and run.title for run in claimed] == ["any", None, "cuda"]


def test_no_device_claims_nothing(store: Store, five: list[RunRow]) -> None:
    assert store.claim([]) is None


def test_a_paused_queue_gives_nothing_and_stays_paused_over_a_restart(address: str | None, folder: Path) -> None:
    with Store.open(address, folder) as store:
        store.add_runs([make_run()])
        assert not store.paused
        store.set_paused(True)
        assert store.claim(["cpu"]) is None
    with Store.open(address, folder) as store:
        assert store.paused
        store.set_paused(False)
        assert store.claim(["cpu"]) is not None


@pytest.mark.parametrize(
    ("moved", "to", "order"), [(4, 1, "40123"), (0, 5, "12340"), (2, 2, "02134"), (1, 99, "02341"), (3, -7, "30124"), (2, 3, "01234")]
)
def test_moving_puts_a_run_at_the_position_asked_for(store: Store, five: list[RunRow], moved: int, to: int, order: str) -> None:
    store.move(five[moved].id, to)
    assert "".join(titles(store)) == order
    assert store.run(five[moved].id).position == order.index(str(moved)) + 1


def test_moving_a_run_that_is_not_queued_changes_nothing(store: Store, five: list[RunRow]) -> None:
    store.claim(["cpu"])
    store.move(five[0].id, 3)
    assert titles(store) == ["1", "2", "3", "4"]
    with pytest.raises(NotFound):
        store.move("0" * 32, 1)


def test_a_retry_is_the_same_request_at_the_end_of_the_queue(store: Store, five: list[RunRow]) -> None:
    store.claim(["cpu"])
    store.finish(five[0].id, RunState.FAILED)
    again = store.retry(five[0].id)
    assert again.parents == (five[0].id,)
    assert (again.inputs, again.settings, again.seed, again.title) == (five[0].inputs, five[0].settings, five[0].seed, "0")
    assert titles(store) == ["1", "2", "3", "4", "0"]
    assert store.run(five[0].id).state is RunState.FAILED


def test_only_a_waiting_run_can_be_cancelled_here(store: Store, five: list[RunRow]) -> None:
    store.claim(["cpu"])
    assert not store.cancel_queued(five[0].id)
    assert store.cancel_queued(five[1].id)
    assert not store.cancel_queued(five[1].id)
    assert store.run(five[1].id).state is RunState.CANCELLED
    assert titles(store) == ["2", "3", "4"]


def test_cancelling_all_leaves_the_running_one(store: Store, five: list[RunRow]) -> None:
    store.claim(["cpu"])
    assert store.cancel_all_queued() == 4
    assert [run.id for run in store.queue()] == [five[0].id]


def test_no_run_is_claimed_twice(store: Store) -> None:
    added = store.add_runs([make_run() for _ in range(40)])
    claimed: list[str] = []
    start = threading.Barrier(8)

    def take() -> None:
        start.wait()
        while (run := store.claim(["cpu"])) is not None:
            claimed.append(run.id)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == sorted(run.id for run in added)


def test_a_thousand_queued_runs_are_moved_and_cancelled_like_a_list(store: Store) -> None:
    random = Random(3)
    model = [run.id for run in store.add_runs([make_run() for _ in range(1000)])]
    for _ in range(60):
        chosen = random.choice(model)
        if random.random() < 0.7:
            to = random.randint(1, len(model))
            model.remove(chosen)
            model.insert(to - 1, chosen)
            store.move(chosen, to)
        else:
            model.remove(chosen)
            assert store.cancel_queued(chosen)
    assert [run.id for run in store.queue()] == model
    assert [run.position for run in store.queue()] == list(range(1, len(model) + 1))


class QueueScript(RuleBasedStateMachine):
    """Any order of adding, moving, claiming, finishing, cancelling, retrying, pausing and restarting equals lists in memory."""

    known = Bundle("known")
    folder: Path
    address: str | None

    def __init__(self) -> None:
        super().__init__()
        self.store = Store.open(self.address, self.folder)
        self.store.set_paused(False)
        self.store.cancel_all_queued()
        self.store.recover()
        self.waiting: list[str] = []
        self.running: list[str] = []
        self.ended: dict[str, RunState] = {}
        self.paused = False

    def teardown(self) -> None:
        self.store.close()

    @rule(target=known)
    def add(self) -> str:
        (run,) = self.store.add_runs([make_run()])
        self.waiting.append(run.id)
        return run.id

    @rule(run=known, to=st.integers(-2, 12))
    def move(self, run: str, to: int) -> None:
        self.store.move(run, to)
        if run in self.waiting:
            self.waiting.remove(run)
            self.waiting.insert(max(to, 1) - 1, run)

    @rule()
    def claim(self) -> None:
        claimed = self.store.claim(["cpu"])
        if self.paused or not self.waiting:
            assert claimed is None
        else:
            assert claimed is not None
            self.running.append(self.waiting.pop(0))
            assert claimed.id == self.running[-1]

    @rule(run=known, state=st.sampled_from([state for state in RunState if state.final]))
    def finish(self, run: str, state: RunState) -> None:
        kept = self.ended.setdefault(run, state)
        for group in (self.waiting, self.running):
            if run in group:
                group.remove(run)
        assert self.store.finish(run, state).state is kept

    @rule(run=known)
    def cancel(self, run: str) -> None:
        assert self.store.cancel_queued(run) == (run in self.waiting)
        if run in self.waiting:
            self.waiting.remove(run)
            self.ended[run] = RunState.CANCELLED

    @rule()
    def cancel_all(self) -> None:
        assert self.store.cancel_all_queued() == len(self.waiting)
        self.ended.update(dict.fromkeys(self.waiting, RunState.CANCELLED))
        self.waiting = []

    @rule(target=known, run=known)
    def retry(self, run: str) -> str:
        again = self.store.retry(run)
        self.waiting.append(again.id)
        return again.id

    @rule(run=consumes(known))
    def delete(self, run: str) -> None:
        assert self.store.delete_runs([run]) == (run not in self.running)
        if run in self.waiting:
            self.waiting.remove(run)
        self.ended.pop(run, None)

    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:
        self.store.set_paused(paused)
        self.paused = paused

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = Store.open(self.address, self.folder)
        assert [run.id for run in self.store.recover()] == sorted(self.running, key=lambda run: self.store.run(run).sequence)
        self.ended.update(dict.fromkeys(self.running, RunState.INTERRUPTED))
        self.running = []

    @invariant()
    def the_queue_is_the_model(self) -> None:
        queue = self.store.queue()
        assert [run.id for run in queue if run.state is RunState.QUEUED] == self.waiting
        assert [run.position for run in queue if run.state is RunState.QUEUED] == list(range(1, len(self.waiting) + 1))
        assert {run.id for run in queue if run.state is RunState.RUNNING} == set(self.running)
        assert self.store.paused == self.paused

    @invariant()
    def ended_runs_keep_their_state(self) -> None:
        assert {run.id: run.state for run in self.store.runs(list(self.ended))} == self.ended


def test_any_script_leaves_the_queue_like_its_model(address: str | None, folder: Path) -> None:
    machine = type("Script", (QueueScript,), {"folder": folder, "address": address})
    scripts = 50 if address is None else 8
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=scripts, stateful_step_count=20, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        ),
    )
