"""Presets, drafts, added checkpoints and known digests, on both databases."""

import pytest

from storage.errors import NotFound
from storage.store import Store


def test_the_same_name_again_is_a_new_version(store: Store) -> None:
    saved = [store.save_preset("m", "fast", {"steps": steps}) for steps in (1, 2)]
    other = store.save_preset("n", "fast", {})
    assert [preset.version for preset in saved] == [1, 2]
    assert other.version == 1
    assert store.presets("m") == tuple(saved)
    assert store.presets("none") == ()


def test_one_version_of_a_preset_is_deleted(store: Store) -> None:
    first, second = (store.save_preset("m", "fast", {}) for _ in range(2))
    store.delete_preset(first.id)
    assert store.presets("m") == (second,)
    for id in (first.id, "no id"):
        with pytest.raises(NotFound):
            store.delete_preset(id)


def test_a_draft_belongs_to_one_owner_and_tab(store: Store) -> None:
    store.save_draft("ann", "text", {"prompt": "\ud800"})
    store.save_draft("ann", "text", {"prompt": "newer"})
    store.save_draft("bob", "text", {})
    assert store.draft("ann", "text") == {"prompt": "newer"}
    assert store.draft("bob", "text") == {}
    assert store.draft("ann", "image") is None


def test_added_checkpoints_are_listed_by_method_and_forgotten(store: Store) -> None:
    first = store.add_checkpoint("folder-1", "m", {"title": "Mine"})
    second = store.add_checkpoint("folder-2", "n", {})
    assert store.checkpoints() == (first, second)
    assert store.checkpoints("n") == (second,)
    again = store.add_checkpoint("folder-1", "m", {"title": "Other"})
    assert store.checkpoints("m") == (again,)
    store.remove_checkpoint("folder-1")
    assert store.checkpoints("m") == ()
    with pytest.raises(NotFound):
        store.remove_checkpoint("folder-1")


def test_a_digest_is_known_while_size_and_time_stay(store: Store) -> None:
    store.remember_digest("/weights/model.safetensors", 10**12, 1_700_000_000_123_456_789, "a" * 64)
    store.remember_digest("/weights/model.safetensors", 10**12, 1_700_000_000_123_456_790, "b" * 64)
    assert store.known_digest("/weights/model.safetensors", 10**12, 1_700_000_000_123_456_790) == "b" * 64
    assert store.known_digest("/weights/model.safetensors", 10**12, 1_700_000_000_123_456_789) is None
    assert store.known_digest("/weights/model.safetensors", 10, 1_700_000_000_123_456_790) is None
    assert store.known_digest("/other", 10**12, 1_700_000_000_123_456_790) is None
