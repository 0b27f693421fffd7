"""The engine's small parts: event logs, held models, devices, memory, the queue's rules."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine import queue, runtime
from app.engine.devices import Devices
from app.engine.held import HeldModels
from app.engine.memory import amount, needed_bytes, refuse_if_too_big
from app.engine.protocol import DeviceInfo
from app.engine.queue import QueueRefusal
from app.engine.runlog import RUNS_KEPT, STEPS_KEPT, WHOLE_KEPT, RunLog, RunLogs
from app.errors import DeviceMissing
from app.registry import Registry
from backends.contract import Card, Checkpoint, OutOfMemory
from storage.store import Store
from storage.values import NewRun, RunRow, RunState

TOYS = Path(__file__).parent / "toys"
CPU = DeviceInfo(key="cpu", name="processor", memory_total=1)
GPU = DeviceInfo(key="cuda:0", name="accelerator", memory_total=2)


@pytest.fixture
def card() -> Card:
    return Registry.discover((TOYS,)).card("scripted")


def step(index: int) -> dict[str, Any]:
    return {"type": "step", "index": index}


def preview(text: str) -> dict[str, Any]:
    return {"type": "preview", "artifact": {"data": text}}


def test_a_cursor_gives_every_event_once() -> None:
    log = RunLog()
    log.extend([step(0), step(1)])
    first = log.page(0)
    log.extend([step(2)])
    second = log.page(first.next)
    assert [event["index"] for event in first.events + second.events] == [0, 1, 2]
    assert log.page(second.next).events == ()


def test_only_the_latest_preview_is_kept() -> None:
    log = RunLog()
    log.extend([preview("a"), step(0), preview("b")])
    log.extend([preview("c")])
    assert [event for event in log.page(0).events if event["type"] == "preview"] == [preview("c")]
    assert log.page(0).next == 4


def test_a_log_is_bounded_and_a_late_reader_gets_the_newest() -> None:
    log = RunLog()
    for start in range(0, STEPS_KEPT + 500, 100):
        log.extend([step(start + index) for index in range(100)])
    page = log.page(0)
    assert len(page.events) == STEPS_KEPT and page.events[-1]["index"] == STEPS_KEPT + 499


def test_finished_runs_lose_their_steps_and_then_everything() -> None:
    logs = RunLogs()
    for index in range(RUNS_KEPT + 5):
        logs.begin(f"run {index}").extend([step(0), {"type": "note", "text": "kept"}])
        logs.finish(f"run {index}")
    last = RUNS_KEPT + 4
    assert len(logs.page(f"run {last}", 0).events) == 2
    assert [event["type"] for event in logs.page(f"run {last - WHOLE_KEPT}", 0).events] == ["note"]
    assert logs.page("run 0", 3).events == () and logs.page("run 0", 3).next == 3


def checkpoint(key: str, size: int = 0) -> Checkpoint:
    return Checkpoint(key=key, title=key, sources=(), memory_bytes=size)


def test_the_least_recently_used_model_leaves_first_and_the_wanted_one_never() -> None:
    held = HeldModels(idle_seconds=1000)
    keys = [("m", name, "cpu", "float32") for name in "abc"]
    for key in keys:
        held.load(key, checkpoint(key[1], 5), lambda: object())
    assert held.get(keys[0]) is not None
    needed = iter([False, False, True])
    held.make_room(keys[1], lambda: next(needed))
    assert [one["checkpoint"] for one in held.listed()] == ["b"]
    assert held.listed()[0]["resident_bytes"] >= 5


def test_models_are_dropped_by_age_and_by_name() -> None:
    held = HeldModels(idle_seconds=0.0)
    held.load(("m", "a", "cpu", "float32"), checkpoint("a"), lambda: object())
    assert held.drop_idle() and held.listed() == []
    kept = HeldModels(idle_seconds=1000)
    for name in "ab":
        kept.load(("m", name, "cpu", "float32"), checkpoint(name), lambda: object())
    kept.drop("m", "a")
    assert [one["checkpoint"] for one in kept.listed()] == ["b"]
    assert not kept.drop_idle()


def test_auto_means_the_first_gpu_and_a_method_without_gpu_gets_the_cpu(card: Card) -> None:
    devices = Devices((CPU, GPU))
    assert devices.main is GPU
    assert devices.choose("auto", card) == "cuda:0" and devices.choose("cuda", card) == "cuda:0" and devices.choose("cpu", card) == "cpu"
    assert devices.choose("auto", card.model_copy(update={"devices": ("cpu",)})) == "cpu"
    assert Devices((CPU, GPU), "cpu").choose("auto", card) == "cpu"


@pytest.mark.parametrize("asked", ["cuda", "cuda:0", "cuda:7", "tpu"])
def test_a_device_that_is_not_here_is_refused_at_its_control(card: Card, asked: str) -> None:
    with pytest.raises(DeviceMissing) as caught:
        Devices((CPU,)).choose(asked, card)
    assert caught.value.fault().field == "device" and caught.value.fault().suggestion == "auto"
    with pytest.raises(DeviceMissing):
        Devices((CPU,), asked)


def test_an_estimate_names_the_setting_and_the_largest_value_that_fits(card: Card) -> None:
    inputs, wanted = card.inputs(), card.settings(length=500)
    plain = card.checkpoint("plain")
    assert needed_bytes(card, plain, inputs, wanted, loaded=False) == 501_000_000
    refuse_if_too_big(card, plain, inputs, wanted, 501_000_000, loaded=False)
    with pytest.raises(OutOfMemory, match="501 MB") as caught:
        refuse_if_too_big(card, plain, inputs, wanted, 100_500_000, loaded=False)
    assert (caught.value.fault.field, caught.value.fault.suggestion) == ("length", 99)
    with pytest.raises(OutOfMemory, match="smaller checkpoint"):
        refuse_if_too_big(card, plain, inputs, wanted, 100, loaded=False)


def test_amounts_are_written_for_people() -> None:
    assert [amount(count) for count in (0, 999, 1500, 2_340_000, 16_000_000_000)] == ["0 B", "999 B", "1.5 kB", "2.34 MB", "16 GB"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), True),
        (type("OutOfMemoryError", (RuntimeError,), {})("x"), True),
        (ValueError("out of memory"), False),
        (RuntimeError("shapes differ"), False),
    ],
)
def test_running_out_of_memory_is_recognised(error: Exception, expected: bool) -> None:
    assert runtime.is_out_of_memory(error) is expected


def new_run() -> NewRun:
    return NewRun(
        id=secrets.token_hex(16), method="scripted", method_title="toy", tab="text", checkpoint="plain", inputs={}, settings={}, seed=1
    )


def test_what_makes_no_sense_is_refused_in_words(tmp_path: Path) -> None:
    with Store.open(None, tmp_path) as store:
        run = store.add_runs([new_run()])[0]
        with pytest.raises(QueueRefusal, match="queued"):
            queue.retry(store, run.id)
        store.claim(("cpu",))
        with pytest.raises(QueueRefusal, match="running"):
            queue.move(store, run.id, 1)
        store.finish(run.id, RunState.DONE)
        assert queue.retry(store, run.id).parents == (run.id,)


CHANGES = st.tuples(st.sampled_from(["add", "move", "pause", "resume", "claim", "clear", "retry"]), st.integers(0, 6), st.integers(-1, 8))


@pytest.fixture(scope="module")
def long_lived_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(None, tmp_path_factory.mktemp("queue")) as store:
        yield store


@settings(max_examples=20, deadline=None)
@given(st.lists(CHANGES, max_size=20))
def test_any_sequence_of_changes_leaves_the_queue_as_a_list_would_be(long_lived_store: Store, script: list[tuple[str, int, int]]) -> None:
    model = QueueModel(long_lived_store)
    for verb, which, place in script:
        getattr(model, verb)(which, place)
        assert [run.id for run in model.queued()] == model.waiting


class QueueModel:
    """The real queue beside a plain list; every change is made to both."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.waiting: list[str] = []
        self.ended: list[str] = []
        store.cancel_all_queued()
        store.set_paused(False)

    def queued(self) -> list[RunRow]:
        return [run for run in self.store.queue() if run.state is RunState.QUEUED]

    def add(self, which: int, place: int) -> None:
        self.waiting.append(self.store.add_runs([new_run()])[0].id)

    def move(self, which: int, place: int) -> None:
        if self.waiting:
            moved = self.waiting.pop(which % len(self.waiting))
            queue.move(self.store, moved, place)
            self.waiting.insert(min(max(place, 1) - 1, len(self.waiting)), moved)

    def pause(self, which: int, place: int) -> None:
        self.store.set_paused(True)
        assert self.store.paused

    def resume(self, which: int, place: int) -> None:
        self.store.set_paused(False)
        assert not self.store.paused

    def claim(self, which: int, place: int) -> None:
        claimed = self.store.claim(("cpu",))
        assert (claimed.id if claimed else None) == (self.waiting[0] if self.waiting and not self.store.paused else None)
        if claimed is not None:
            assert [run.id for run in self.store.queue() if run.state is RunState.RUNNING] == [claimed.id]
            self.store.finish(claimed.id, RunState.DONE)
            self.ended.append(self.waiting.pop(0))

    def clear(self, which: int, place: int) -> None:
        assert self.store.cancel_all_queued() == len(self.waiting)
        self.waiting.clear()

    def retry(self, which: int, place: int) -> None:
        if self.ended:
            self.waiting.append(queue.retry(self.store, self.ended[which % len(self.ended)]).id)
