"""A byte of the database changed anywhere: it opens, or it is refused by name (anchor A11)."""

import shutil
from functools import partial
from pathlib import Path
from random import Random

import pytest

from storage.database import FILE_NAME
from storage.errors import Damaged, StoreError
from storage.store import Store
from storage.values import HistoryQuery, PaneSpec, RunState
from tests.storage.conftest import artifact, make_run, sign_plainly


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], str]:
    """A store with something in every table; its runs and its comparison."""
    folder = tmp_path_factory.mktemp("used")
    with Store.open(None, folder) as store:
        panes = (PaneSpec(pane="A", method="m", checkpoint="c", settings={}),)
        comparison = store.add_comparison(tab="text", title="t", inputs={}, seed=1, repeats=1, baseline="A", panes=panes)
        runs = store.add_runs([make_run(title=f"Run {number}", comparison=comparison.id, fingerprint="f" * 64) for number in range(12)])
        for run in runs[:8]:
            store.claim(["cpu"])
            store.add_artifact(run.id, artifact(run.id.encode()), sign_plainly)
            store.tag(run.id, ["tag"])
            store.finish(run.id, RunState.DONE)
        store.save_preset("m", "name", {"x": 1})
        store.save_draft("ann", "text", {"x": 1})
        store.add_checkpoint("key", "m", {"x": 1})
        store.remember_digest("/x", 1, 1, "0" * 64)
        store.set_paused(False)
    return folder, [run.id for run in runs], comparison.id


def use_everything(store: Store, runs: list[str], comparison: str) -> None:
    """Every question once, then some changes; each may be refused by name."""
    asks = [
        *(partial(store.run, run) for run in runs),
        *(partial(store.history, query) for query in (HistoryQuery(), HistoryQuery(text="run"), HistoryQuery(tag="tag"))),
        *(store.integrity, store.queue, store.recover, store.checkpoints, partial(getattr, store, "paused")),
        *(partial(store.runs, runs), partial(store.record, 3), lambda: list(store.records())),
        *(partial(store.comparison, comparison), partial(store.comparison_runs, comparison), partial(store.presets, "m")),
        *(partial(store.draft, "ann", "text"), partial(store.known_digest, "/x", 1, 1), partial(store.find_done, "f" * 64)),
        *(partial(store.typical_seconds, "countdown", "pocket"), partial(store.claim, ["cpu"]), partial(store.move, runs[-1], 1)),
        *(partial(store.retry, runs[0]), partial(store.annotate, runs[1], "note"), partial(store.add_runs, [make_run()])),
        *(partial(store.add_artifact, runs[0], artifact(b"new"), sign_plainly), partial(store.finish, runs[9], RunState.FAILED)),
        *(partial(store.delete_runs, runs[:3]), partial(store.save_preset, "m", "name", {}), partial(store.set_paused, True)),
        store.cancel_all_queued,
    ]
    for ask in asks:
        try:
            ask()
        except StoreError:
            continue


@pytest.mark.parametrize("portion", range(4))
def test_a_changed_byte_never_gives_another_exception(used: tuple[Path, list[str], str], tmp_path: Path, portion: int) -> None:
    original, runs, comparison = used
    random = Random(portion)
    size = (original / FILE_NAME).stat().st_size
    opened = 0
    for number in range(50):
        folder = Path(shutil.copytree(original, tmp_path / str(number)))
        place = random.randrange(100) if number % 10 == 0 else random.randrange(size)
        with (folder / FILE_NAME).open("rb+") as file:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ random.randrange(1, 256)]))
        try:
            with Store.open(None, folder) as store:
                opened += 1
                use_everything(store, runs, comparison)
        except StoreError as error:
            assert str(error)
        shutil.rmtree(folder)
    assert opened > 25


def test_a_truncated_database_is_refused_with_a_hint(used: tuple[Path, list[str], str], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(used[0], tmp_path / "cut"))
    data = (folder / FILE_NAME).read_bytes()
    (folder / FILE_NAME).write_bytes(data[: len(data) // 2])
    with pytest.raises(Damaged, match="backup"):
        Store.open(None, folder)
