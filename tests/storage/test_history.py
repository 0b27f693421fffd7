"""History on both databases: search, filters, pages, counts, what users write on runs; and its speed at 50,000 runs."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bench.many_runs import fill_history
from storage import search
from storage.store import Store
from storage.values import HistoryQuery, RunRow, RunState
from tests.storage.conftest import artifact, make_run, sign_plainly


def found(store: Store, **query: object) -> list[str]:
    return [run.title for run in store.history(HistoryQuery(**query)).runs]


@pytest.fixture
def some(store: Store) -> list[RunRow]:
    return store.add_runs(
        [
            make_run(title="haiku", inputs={"prompt": "An old silent pond, größer"}, owner="ann"),
            make_run(title="story", tab="image", method="arpg", method_title="Parallel Decoding", settings={"guidance_scale": 2.5}),
            make_run(title="proof", tab="code", inputs={"files": [{"name": "lemma.dfy"}]}, owner="bob"),
        ]
    )


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("", ["proof", "story", "haiku"]),
        ("  ", ["proof", "story", "haiku"]),
        ("haiku", ["haiku"]),
        ("SILENT pond", ["haiku"]),
        ("pond proof", []),
        ("sil", ["haiku"]),
        ("lent", []),
        ("grosser", ["haiku"]),
        ("GRÖSSER", ["haiku"]),
        ("guidance scale", ["story"]),
        ("guidance_scale", ["story"]),
        ("2.5", ["story"]),
        ("parallel arpg", ["story"]),
        ("lemma.dfy", ["proof"]),
        ('"old" OR proof*', []),
        ("NOT haiku", []),
        ("' & | ! :* \\ \" ( )", []),
        ("words:haiku", []),
        ("\x00\ud800 haiku", ["haiku"]),
    ],
)
def test_search_finds_runs_by_the_beginnings_of_all_words(store: Store, some: list[RunRow], text: str, titles: list[str]) -> None:
    page = store.history(HistoryQuery(text=text))
    assert [run.title for run in page.runs] == titles
    assert page.total == page.counts["all"] == len(titles)


@pytest.mark.parametrize("script", ["中文生成", "日本語のテスト", "한국어 시험", "Ελληνικά", "हिन्दी", "العربية"])
def test_search_finds_words_of_any_script(store: Store, script: str) -> None:
    store.add_runs([make_run(title=script), make_run(title="other")])
    assert found(store, text=script) == [script]
    assert found(store, text=script[:2]) == [script]


def test_ideographs_are_found_in_the_middle(store: Store) -> None:
    store.add_runs([make_run(title="中文生成")])
    assert found(store, text="生成") == ["中文生成"]


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None, database=None)
def test_words_need_no_escaping_in_either_query_language(sentence: str) -> None:
    for word in search.words(sentence):
        assert word.isalnum()
        assert list(search.words(word)) == [word]


def test_filters_narrow_the_page_and_the_total(store: Store, some: list[RunRow]) -> None:
    store.finish(some[0].id, RunState.FAILED)
    store.finish(some[1].id, RunState.CANCELLED, partial=True)
    store.star(some[2].id, True)
    assert found(store, tab="image") == ["story"]
    assert found(store, method="arpg") == ["story"]
    assert found(store, state="failed") == ["haiku"]
    assert found(store, state="partial") == ["story"]
    assert found(store, state="no such state") == []
    assert found(store, starred=True) == ["proof"]
    assert found(store, owner="ann") == ["haiku"]
    assert found(store, owner="") == ["story"]
    assert found(store, owner="nobody") == []
    assert store.history(HistoryQuery(tab="image")).total == 1


def test_each_chip_counts_as_if_it_alone_were_chosen(store: Store, some: list[RunRow]) -> None:
    store.finish(some[0].id, RunState.FAILED, partial=True)
    store.star(some[1].id, True)
    everything = {"all": 3, "text": 1, "image": 1, "code": 1, "starred": 1, "partial": 1, "failed": 1}
    assert store.history(HistoryQuery()).counts == everything
    assert store.history(HistoryQuery(tab="image", starred=True)).counts == everything
    assert store.history(HistoryQuery(owner="ann")).counts == {"all": 1, "text": 1, "starred": 0, "partial": 1, "failed": 1}


def test_pages_follow_one_another_without_gap_or_repeat(store: Store) -> None:
    store.add_runs([make_run(title=str(number)) for number in range(23)])
    pages: list[Sequence[RunRow]] = []
    before = None
    while True:
        page = store.history(HistoryQuery(limit=5, before=before))
        pages.append(page.runs)
        assert page.total == 23
        store.add_runs([make_run(title="new")]) if before is None else None
        store.delete_runs([run.id for run in store.queue() if run.title == "new"])
        if (before := page.next_before) is None:
            break
    assert [run.title for page in pages for run in page] == [str(number) for number in range(22, -1, -1)]
    assert [len(page) for page in pages] == [5, 5, 5, 5, 3]


def test_the_last_full_page_has_no_next(store: Store) -> None:
    store.add_runs([make_run() for _ in range(4)])
    assert store.history(HistoryQuery(limit=4)).next_before is None
    assert store.history(HistoryQuery(before=10**30, limit=4)).total == 4


def test_warmups_and_repeats_are_not_listed_unless_asked_for(store: Store) -> None:
    store.add_runs([make_run(title="warm", purpose="warmup"), make_run(title="first"), make_run(title="second", repeat=1)])
    assert found(store) == ["first"]
    assert found(store, all_repeats=True) == ["second", "first"]


def test_one_cell_stands_for_a_sweep(store: Store) -> None:
    sweep = store.add_comparison(tab="text", title="", inputs={}, seed=1, repeats=1, baseline="A", panes=(), kind="sweep")
    cells = [make_run(title=str(number), purpose="sweep", comparison=sweep.id) for number in range(4)]
    first, *_ = store.add_runs(cells[:2])
    store.add_runs(cells[2:])
    assert found(store) == ["0"]
    assert len(found(store, all_repeats=True)) == 4
    store.delete_runs([first.id])
    assert found(store) == ["1"]


def test_a_comparison_goes_with_its_last_run(store: Store) -> None:
    added = store.add_comparison(tab="text", title="", inputs={}, seed=1, repeats=1, baseline="A", panes=())
    first, second = store.add_runs([make_run(comparison=added.id), make_run(comparison=added.id)])
    store.delete_runs([first.id])
    assert len(store.comparison_runs(added.id)) == 1
    store.delete_runs([second.id])
    assert store.integrity() == []


def test_what_users_write_is_kept_and_found(store: Store, some: list[RunRow]) -> None:
    run = some[1]
    store.tag(run.id, ["for the paper", "best", "best"])
    store.annotate(run.id, "Look at the third verse.")
    store.rename(run.id, "ballad")
    store.star(run.id, True)
    read = store.run(run.id)
    assert (read.tags, read.note, read.title, read.starred) == (("for the paper", "best"), "Look at the third verse.", "ballad", True)
    for text in ("paper", "third verse", "ballad", "arpg"):
        assert found(store, text=text) == ["ballad"]
    assert found(store, text="story") == []
    assert found(store, tag="best") == ["ballad"]
    assert found(store, tag="bes") == []
    store.tag(run.id, [])
    store.star(run.id, False)
    assert found(store, tag="best") == found(store, starred=True) == found(store, text="paper") == []


def test_deleted_runs_are_found_no_more(store: Store, some: list[RunRow]) -> None:
    store.tag(some[0].id, ["t"])
    store.delete_runs([some[0].id])
    assert found(store, text="haiku") == found(store, tag="t") == []


def test_a_page_has_artifacts_and_positions(store: Store, some: list[RunRow]) -> None:
    kept = store.add_artifact(some[0].id, artifact(), sign_plainly)
    page = store.history(HistoryQuery()).runs
    assert [run.position for run in page] == [3, 2, 1]
    assert page[2].artifacts == (kept,)


def test_the_first_page_of_fifty_thousand_runs_takes_less_than_200_ms(folder: Path) -> None:
    queries = [
        HistoryQuery(),
        HistoryQuery(text="story"),
        HistoryQuery(text="word1"),
        HistoryQuery(text="word1 story", tab="image", owner="ann"),
        HistoryQuery(owner="ann", starred=True),
        HistoryQuery(before=100),
    ]
    with Store.open(None, folder) as store:
        fill_history(store, 50_000)
        assert store.history(queries[1]).total == 50_000
        for query in queries:
            assert min(_seconds(store, query) for _ in range(5)) < 0.2, query


def _seconds(store: Store, query: HistoryQuery) -> float:
    """Of the processor: what other programs take meanwhile is not the store's."""
    begun = time.process_time()
    store.history(query)
    return time.process_time() - begun
