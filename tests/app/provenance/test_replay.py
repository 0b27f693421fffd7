"""Replay verdicts: equal, within tolerance with the largest difference, or different with the first difference."""

import io
import json

import pytest
from PIL import Image

from app.provenance.differences import difference
from app.provenance.replay import compare_runs
from backends.contract import Card, Checkpoint, Determinism, Inputs, Paper, Settings, Source, Tab
from storage.values import RunState


def card(determinism: Determinism, tolerance: float = 0.0) -> Card:
    source = Source(kind="pocket", location="d2f")
    return Card(
        key="d2f", title="D2F", tab=Tab.TEXT, summary="", paper=Paper(title="", authors="", year=2025), licence="", inputs=Inputs,
        settings=Settings, checkpoints=(Checkpoint(key="pocket", title="Pocket", sources=(source,)),), outputs=("text",),
        determinism=determinism, tolerance=tolerance,
    )  # fmt: skip


EXACT, NEAR, NOTHING = card(Determinism.BIT_EXACT), card(Determinism.TOLERANCE, 1e-3), card(Determinism.NONE)


@pytest.fixture
def replayed(store, add_run, add_artifact):
    """Two runs of one request with the artifacts given for each, compared against a card."""

    def run_twice(first, second, against, media_type="text/plain", **changes):
        rows = []
        for artifacts, more in ((first, {}), (second, changes)):
            run = add_run(**more)
            for name, data in artifacts.items():
                add_artifact(run, data, name=name, media_type=media_type)
            rows.append(store.finish(run.id, RunState.DONE))
        return compare_runs(rows[0], rows[1], against, store.read_artifact)

    return run_twice


def trace(**changes) -> bytes:
    committed = [{"position": 0, "token": 5, "text": " is", "confidence": 0.97}]
    one = {"index": 1, "seconds": 0.031, "rows": 64, "committed": committed}
    return json.dumps({"positions": 1, "passes": [one | changes], "text": " is"}).encode()


def test_equal_bytes_are_equal_as_promised(replayed):
    verdict = replayed({"answer": b"ten"}, {"answer": b"ten"}, EXACT)
    assert (verdict.verdict, verdict.kept, verdict.sentence) == ("equal", True, "Replayed: equal, as promised.")


def test_a_text_names_its_first_difference(replayed):
    verdict = replayed({"answer": b"Ten is nine plus one."}, {"answer": b"Ten equals nine plus one."}, EXACT)
    assert (verdict.verdict, verdict.kept) == ("different", False)
    assert "character 5 (word 2)" in verdict.sentence and "“is nine" in verdict.sentence and "“equals" in verdict.sentence


def test_measured_times_in_a_trace_are_not_a_difference(replayed):
    verdict = replayed({"trace": trace()}, {"trace": trace(seconds=0.7)}, EXACT, "application/json")
    assert (verdict.verdict, verdict.kept) == ("equal", True)


def test_numbers_within_tolerance_state_the_largest_difference(replayed):
    other = [{"position": 0, "token": 5, "text": " is", "confidence": 0.9704}]
    verdict = replayed({"trace": trace()}, {"trace": trace(committed=other)}, NEAR, "application/json")
    assert (verdict.verdict, verdict.kept) == ("within tolerance", True)
    assert verdict.largest == pytest.approx(4e-4) and "0.0004" in verdict.sentence


def test_numbers_beyond_tolerance_are_different(replayed):
    other = [{"position": 0, "token": 5, "text": " is", "confidence": 0.95}]
    verdict = replayed({"trace": trace()}, {"trace": trace(committed=other)}, NEAR, "application/json")
    assert (verdict.verdict, verdict.kept) == ("different", False) and "passes[0].committed[0].confidence" in verdict.sentence


def test_a_tolerance_does_not_excuse_an_exact_method(replayed):
    other = [{"position": 0, "token": 5, "text": " is", "confidence": 0.9700001}]
    verdict = replayed({"trace": trace()}, {"trace": trace(committed=other)}, EXACT, "application/json")
    assert (verdict.verdict, verdict.kept) == ("different", False)


def test_another_token_text_is_different_whatever_the_tolerance(replayed):
    other = [{"position": 0, "token": 5, "text": " equals", "confidence": 0.97}]
    verdict = replayed({"trace": trace()}, {"trace": trace(committed=other)}, NEAR, "application/json")
    assert verdict.verdict == "different" and "' is' then, ' equals' now" in verdict.sentence


def test_a_method_that_promises_nothing_keeps_and_breaks_nothing(replayed):
    verdict = replayed({"answer": b"a"}, {"answer": b"b"}, NOTHING)
    assert (verdict.verdict, verdict.kept) == ("different", None) and "Nothing was promised" in verdict.sentence
    assert replayed({"answer": b"a"}, {"answer": b"a"}, NOTHING).sentence.endswith("nothing promised it.")


def test_missing_and_additional_artifacts_are_differences(replayed):
    assert "missing" in replayed({"answer": b"a", "trace": b"t"}, {"answer": b"a"}, EXACT).sentence
    assert "was not there before" in replayed({"answer": b"a"}, {"answer": b"a", "trace": b"t"}, EXACT).sentence


@pytest.mark.parametrize("changes", [{"seed": 2}, {"settings": {"block_size": 8}}, {"inputs": {"prompt": "?"}}, {"method": "mdlm"}])
def test_another_request_is_not_a_replay(replayed, changes):
    verdict = replayed({"answer": b"a"}, {"answer": b"a"}, EXACT, **changes)
    assert (verdict.verdict, verdict.kept) == ("not comparable", None) and "not a replay" in verdict.sentence


def test_an_unfinished_replay_is_not_comparable(store, add_run, add_artifact):
    first = add_run()
    add_artifact(first, b"a")
    first = store.finish(first.id, RunState.DONE)
    verdict = compare_runs(first, add_run(), EXACT, store.read_artifact)
    assert verdict.verdict == "not comparable" and "running" in verdict.sentence


def _picture(shade: int, size: int = 4) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (size, size), shade).save(buffer, "PNG")
    return buffer.getvalue()


def test_pictures_are_compared_by_their_pixels():
    assert difference(_picture(100), _picture(102), "image/png").largest == pytest.approx(2 / 255)
    assert "4 × 4 then, 5 × 5 now" in difference(_picture(100), _picture(100, 5), "image/png").first


def test_a_picture_packed_otherwise_is_equal():
    loose = io.BytesIO()
    Image.open(io.BytesIO(_picture(7))).save(loose, "PNG", compress_level=0)
    assert difference(_picture(7), loose.getvalue(), "image/png").equal


@pytest.mark.parametrize(
    ("one", "two", "media_type", "says"),
    [
        (b"\x00\x01\x02", b"\x00\x01\x03", "application/octet-stream", "byte 3: 02 then, 03 now"),
        (b"abc", b"abcd", "text/plain", "“end” then, “d” now"),
        (b"\xff", b"\xfe", "text/plain", "byte 1"),
        (b'{"a":1}', b'{"a":true}', "application/json", "a: 1 then, True now"),
        (b'{"a":[1,2]}', b'{"a":[1]}', "application/json", "a[1]: 2 then, absent now"),
        (b"{", b"{}", "application/json", "character 2"),
        (b"not a png", b"not a PNG", "image/png", "byte 7"),
    ],
)
def test_the_first_difference_is_named_by_media_type(one, two, media_type, says):
    assert says in difference(one, two, media_type).first
