"""Plans of comparisons and sweeps."""

from app.compare import cells, fingerprint, new_id, run_order
from app.values import Axis
from storage.values import PaneSpec

PANES = tuple(PaneSpec(pane=name, method="m", checkpoint="c", settings={"k": 1}) for name in "AB")


def test_one_repeat_runs_each_pane_once_without_warm_up():
    assert run_order(PANES, 1) == [("A", 0, "run"), ("B", 0, "run")]


def test_repeats_take_turns_after_one_warm_up_each():
    order = run_order(PANES, 3)
    assert order[:2] == [("A", 0, "warmup"), ("B", 0, "warmup")]
    assert "".join(pane for pane, _, _ in order[2:]) == "ABABAB"


def test_a_sweep_has_one_cell_for_each_combination():
    found = cells(PANES[0], (Axis(field="x", values=(1, 2)), Axis(field="y", values=("a", "b", "c"))))
    assert [values for _, values in found] == [(1, "a"), (1, "b"), (1, "c"), (2, "a"), (2, "b"), (2, "c")]
    assert [pane.pane for pane, _ in found] == ["1", "2", "3", "4", "5", "6"]
    assert found[4][0].settings == {"k": 1, "x": 2, "y": "b"}


def test_the_fingerprint_changes_with_every_part_and_not_with_key_order():
    base = ("m", "c", {"a": 1, "b": 2}, {"s": 1}, 1, "cpu", "float32")
    assert fingerprint(*base) == fingerprint("m", "c", {"b": 2, "a": 1}, {"s": 1}, 1, "cpu", "float32")
    for index, changed in enumerate(("n", "d", {"a": 2}, {"s": 2}, 2, "cuda", "bfloat16")):
        assert fingerprint(*base[:index], changed, *base[index + 1 :]) != fingerprint(*base)


def test_ids_have_128_random_bits():
    ids = {new_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(len(name) == 32 and int(name, 16) >= 0 for name in ids)
