"""What stands in the controls: every button of the bench as a function, faults at their controls, and what survives a restart."""

from pathlib import Path

import pytest

from app.api import Studio
from backends.contract import Card, Tab
from ui.drafts import (
    LETTERS,
    Draft,
    Drafts,
    add_pane,
    copy_pane,
    examples,
    first_draft,
    fresh_pane,
    remove_pane,
    set_method,
    swap_panes,
    use_example,
    use_preset,
)


@pytest.fixture
def cards(studio: Studio) -> tuple[Card, ...]:
    return Drafts(studio).cards("text")


@pytest.fixture
def toy(studio: Studio) -> Card:
    return studio.registry.card("toy_rotation")


@pytest.fixture
def bench(toy: Card) -> Draft:
    return Draft(tab="text", inputs={"prompt": "abc", "held_out": 0}, panes=(fresh_pane(toy, {"batch": 1}), fresh_pane(toy, {"batch": 4})))


def test_a_fresh_tab_opens_with_a_methods_example_beside_its_baseline(cards: tuple[Card, ...]) -> None:
    draft = first_draft(Tab.TEXT, cards)
    card, example = next(iter(examples(cards).values()))
    assert card.baseline and draft.inputs["prompt"] == example.inputs["prompt"] and len(draft.panes) >= 2
    assert draft.seed == example.seed and draft.repeats == example.repeats


def test_every_example_of_every_method_fills_the_bench_without_a_fault(studio: Studio, cards: tuple[Card, ...]) -> None:
    drafts = Drafts(studio)
    for key, (card, example) in examples(cards).items():
        draft = use_example(None, key, cards)
        assert not drafts.faults(draft), (card.key, example.title)
        for letter, wanted in zip(draft.letters, example.checkpoints, strict=False):
            assert draft.pane(letter).checkpoint == wanted


def test_a_pane_added_is_a_copy_of_the_last_and_four_are_the_limit(bench: Draft) -> None:
    for count in (3, 4, 4):
        bench = add_pane(bench)
        assert len(bench.panes) == count
    assert bench.panes[3] == bench.panes[1]
    assert bench.letters == LETTERS


def test_removing_a_pane_moves_the_others_up_and_keeps_their_outputs(bench: Draft) -> None:
    three = add_pane(bench).model_copy(update={"comparison": "c" * 32, "baseline": "C"})
    two = remove_pane(three, "B")
    assert two.panes == (three.panes[0], three.panes[2])
    assert two.baseline == "B" and two.comparison is None
    assert two.alone == {"A": f"{'c' * 32}/A", "B": f"{'c' * 32}/C"}
    assert len(remove_pane(remove_pane(two, "A"), "A").panes) == 1


def test_copying_makes_the_panes_equal_and_draws_them_again(bench: Draft) -> None:
    copied = copy_pane(bench, "A", "B")
    assert copied.pane("B") == copied.pane("A") == bench.pane("A")
    assert copied.revision > bench.revision


def test_swapping_twice_is_the_bench_as_it_was(bench: Draft) -> None:
    shown = bench.model_copy(update={"alone": {"A": "a" * 32, "B": "b" * 32}})
    once = swap_panes(shown, "A", "B")
    assert (once.pane("A"), once.pane("B")) == (shown.pane("B"), shown.pane("A"))
    assert once.alone == {"A": "b" * 32, "B": "a" * 32}
    twice = swap_panes(once, "A", "B")
    assert twice.panes == shown.panes and twice.alone == shown.alone


def test_another_method_keeps_settings_that_mean_the_same_and_fit(studio: Studio, cards: tuple[Card, ...]) -> None:
    draft = first_draft(Tab.TEXT, cards)
    one = draft.pane("A")
    changed = draft.with_pane("A", one.model_copy(update={"settings": one.settings | {"temperature": 0.7}}))
    other = next(card for card in cards if card.key not in (one.method, "toy_rotation"))
    after = set_method(changed, "A", other).pane("A")
    assert after.method == other.key
    assert set(after.settings) == {name for name in after.settings if name in other.settings.model_fields}
    if "temperature" in after.settings and "temperature" in one.settings:
        assert after.settings["temperature"] == 0.7


def test_a_preset_changes_only_what_it_names(bench: Draft, toy: Card) -> None:
    after = use_preset(bench, "B", toy, {"shift": 13}).pane("B")
    assert after.settings["shift"] == 13 and after.settings["batch"] == 4


def test_faults_stand_at_their_controls_and_shared_ones_once(studio: Studio, bench: Draft, toy: Card) -> None:
    wrong = bench.with_pane("B", fresh_pane(toy, {"shift": 99})).model_copy(update={"seed": -1, "repeats": 2.5})
    faults = {(found.pane, found.fault.field): found.fault for found in Drafts(studio).faults(wrong)}
    assert faults[("B", "shift")].suggestion == 25
    assert ("A", "shift") not in faults
    assert faults[(None, "seed")].suggestion == 0
    assert "whole number" in faults[(None, "repeats")].what
    empty = bench.model_copy(update={"inputs": bench.inputs | {"prompt": ""}})
    assert [found.pane for found in Drafts(studio).faults(empty) if found.fault.field == "prompt"] == [None]


def test_a_draft_survives_a_restart_and_belongs_to_its_owner(tmp_path: Path, studio: Studio, bench: Draft) -> None:
    drafts = Drafts(studio)
    drafts.put("owner-1", bench.model_copy(update={"seed": 42}))
    again = Drafts(studio)
    assert again.get("owner-1", "text").seed == 42
    assert again.get("owner-1", "text").panes == bench.panes
    assert again.get("owner-2", "text").seed != 42


def test_a_draft_of_a_method_that_is_gone_gives_way_to_the_example(studio: Studio, bench: Draft) -> None:
    data = bench.model_dump(mode="json")
    data["panes"][0]["method"] = "gone"
    studio.save_draft("owner-3", "text", data)
    assert Drafts(studio).get("owner-3", "text").panes[0].method != "gone"


def test_fields_a_method_lost_or_gained_are_mended_in_a_kept_draft(studio: Studio, bench: Draft, toy: Card) -> None:
    data = bench.model_dump(mode="json")
    data["panes"][0]["settings"] = {"shift": 7, "from_an_older_version": 1}
    studio.save_draft("owner-4", "text", data)
    kept = Drafts(studio).get("owner-4", "text").panes[0].settings
    assert kept["shift"] == 7 and set(kept) == set(toy.settings.model_fields)


def test_own_presets_stand_behind_the_built_in_ones_with_their_version(studio: Studio, toy: Card) -> None:
    drafts = Drafts(studio)
    studio.save_preset("toy_rotation", "mine", {"shift": 1})
    studio.save_preset("toy_rotation", "mine", {"shift": 2})
    labels = [label for _, label, _ in drafts.presets(toy)]
    assert labels[0] == "Thirteen"
    assert "mine, v2" in labels
