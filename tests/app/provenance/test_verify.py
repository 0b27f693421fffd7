"""Files against their records: every flipped bit is found, no sound file is doubted, and a stripped file is found again."""

import hashlib
import io
import json
import os
import random
import sqlite3

import pytest
from PIL import Image

from app.provenance.embed import embed, extract, json_bytes
from app.provenance.envelope import open_envelope
from app.provenance.statement import EXPORT, Material, Promise, sign_export
from app.provenance.verify import SIDECAR, verify_bytes, verify_file

FLIPS = 1000


def _picture(form: str) -> bytes:
    chance = random.Random(5)
    picture = Image.frombytes("RGB", (24, 24), bytes(chance.randrange(256) for _ in range(24 * 24 * 3)))
    buffer = io.BytesIO()
    picture.save(buffer, form)
    return buffer.getvalue()


def _bytes(size: int) -> bytes:
    return random.Random(size).randbytes(size)


FILES = {
    "txt": b"Ten, nine, eight.\n",
    "md": b"# Title\n\n| a | b |\n",
    "csv": b"position,token\r\n0,1\r\n",
    "json": json_bytes({"text": "ünïcode", "metrics": {"wall_seconds": 0.25, "passes": 15}, "rows": list(range(20))}),
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">\n<rect width="9" height="9"/>\n</svg>\n',
    "png": _picture("PNG"),
    "jpg": _picture("JPEG"),
    "webp": _picture("WEBP"),
    "glb": b"glTF" + _bytes(600),
    "mp4": b"\0\0\0\x18ftypisom" + _bytes(900),
}
INSIDE = ("json", "svg", "png")


@pytest.fixture
def exported(store, keys, add_run):
    """Signs a file as an export: (record of the file, file with its record inside or None)."""
    run = add_run()

    def sign(form: str, data: bytes) -> bytes:
        return store.add_record(run.id, sign_export(f"file.{form}", data, form, ((run, _promise()),), (), keys)).envelope

    return sign


def _promise():
    return Promise(determinism="bit_exact")


def _flipped(data: bytes, chance: random.Random) -> bytes:
    altered = bytearray(data)
    altered[chance.randrange(len(altered))] ^= 1 << chance.randrange(8)
    return bytes(altered)


@pytest.mark.parametrize("form", FILES)
def test_a_flipped_bit_of_the_file_is_found(form, exported, keys):
    data, chance = FILES[form], random.Random(form)
    record = exported(form, data)
    assert verify_bytes(data, "x", record, keys).verdict == "signed here"
    for _ in range(FLIPS):
        report = verify_bytes(_flipped(data, chance), "x", record, keys)
        assert (report.verdict, report.valid) == ("file changed", False)


@pytest.mark.parametrize("form", INSIDE)
def test_a_flipped_bit_of_a_file_that_carries_its_record_is_found(form, exported, keys):
    whole, chance = embed(FILES[form], exported(form, FILES[form])), random.Random(form)
    report = verify_bytes(whole, "x", None, keys)
    assert (report.verdict, report.found) == ("signed here", "inside the file")
    for _ in range(FLIPS):
        assert not verify_bytes(_flipped(whole, chance), "x", None, keys).valid


@pytest.mark.parametrize("form", INSIDE)
def test_cutting_the_record_out_gives_back_exactly_the_covered_bytes(form, exported, keys):
    record = exported(form, FILES[form])
    found = extract(embed(FILES[form], record))
    assert found is not None and found.covered == FILES[form]
    assert open_envelope(found.record, keys) == open_envelope(record, keys)


@pytest.mark.parametrize("form", INSIDE)
def test_appended_bytes_and_a_second_record_are_refused(form, exported, keys):
    record = exported(form, FILES[form])
    whole = embed(FILES[form], record)
    assert not verify_bytes(whole + b"\n", "x", None, keys).valid
    if form != "json":  # a JSON object cannot hold the name twice
        assert not verify_bytes(embed(whole, record), "x", None, keys).valid


def test_an_embedded_record_keeps_the_picture_readable(exported):
    whole = embed(FILES["png"], exported("png", FILES["png"]))
    again = Image.open(io.BytesIO(whole))
    again.load()
    assert again.tobytes() == Image.open(io.BytesIO(FILES["png"])).tobytes()


def test_swapped_and_stale_sidecars_are_found(store, keys, add_run, add_artifact):
    run = add_run()
    files = [f"answer {number}".encode() for number in range(20)]
    records = [store.record_for_artifact(add_artifact(run, data, name=f"a{number}").id).envelope for number, data in enumerate(files)]
    pairs = [(one, two) for one in range(20) for two in range(20) if one != two][:200]
    for one, two in pairs:
        assert verify_bytes(files[one], "x", records[two], keys, store).verdict == "file changed"
    assert verify_bytes(files[3] + b", edited", "x", records[3], keys, store).verdict == "file changed"


def test_two_hundred_untouched_files_verify_on_another_machine(store, keys, elsewhere, add_run, add_artifact, tmp_path):
    run, chance = add_run(), random.Random(6)
    folder = tmp_path / "carried"
    folder.mkdir()
    for number in range(200):
        data = chance.randbytes(chance.randrange(1, 2000))
        record = store.record_for_artifact(add_artifact(run, data, name=f"a{number}").id).envelope
        (folder / f"{number}.bin").write_bytes(data)
        (folder / f"{number}.bin{SIDECAR}").write_bytes(record)
    for number in range(200):
        report = verify_file(folder / f"{number}.bin", None, elsewhere)
        assert (report.verdict, report.valid, report.key) == ("signed by another key", True, keys.public_id), report
        assert report.settings["block_size"] == 16 and report.seed == 1729


def test_a_key_met_before_is_said_to_be(signed, keys, elsewhere):
    assert "never met" in verify_bytes(*_first(signed), elsewhere).sentence
    elsewhere.meet(keys.public)
    assert "met before" in verify_bytes(*_first(signed), elsewhere).sentence


def _first(signed):
    return signed[0], "x", signed[1]


@pytest.mark.parametrize("form", FILES)
def test_a_file_stripped_of_its_record_is_found_in_the_store(form, store, keys, exported, add_artifact):
    data = FILES[form]
    record = exported(form, data)
    whole = embed(data, record) if form in INSIDE else data
    stripped = extract(whole).covered if form in INSIDE else whole
    report = verify_bytes(stripped, f"renamed.{form}", None, keys, store)
    assert (report.verdict, report.found, report.method) == ("signed here", "history", "d2f")
    assert verify_bytes(stripped, "x", None, keys).verdict == "no record"


def test_an_artifact_is_found_by_digest_with_its_settings(store, keys, add_run, add_artifact):
    artifact = add_artifact(add_run(), b"an answer")
    report = verify_bytes(b"an answer", "from-a-mail.txt", None, keys, store)
    assert (report.verdict, report.found, report.artifact) == ("signed here", "history", artifact.id)
    assert report.inputs == {"prompt": "Count to ten.", "held_out": 0} and report.checkpoint == "pocket"
    assert report.determinism == "bit_exact" and "record 1" in report.chain


def test_a_digest_only_mentioned_in_a_record_is_not_covered_by_it(store, keys, add_run):
    run = add_run()
    material = Material(name="source", digest=hashlib.sha256(b"source").hexdigest())
    store.add_record(run.id, sign_export("x.csv", b"derived", "csv", ((run, _promise()),), (material,), keys))
    assert verify_bytes(b"source", "x", None, keys, store).verdict == "no record"
    assert verify_bytes(b"derived", "x", None, keys, store).verdict == "signed here"


def test_a_record_dropped_alone_says_so_and_names_its_run(signed, keys, store):
    report = verify_bytes(signed[1], "answer.txt.intoto.json", None, keys, store)
    assert (report.verdict, report.valid, report.method) == ("record only", False, "d2f")
    assert "history" in report.sentence


def test_a_record_that_is_not_in_its_place_in_the_log_is_refused(signed, keys, store, tmp_path):
    with sqlite3.connect(tmp_path / "data" / "diptych.sqlite3") as database:
        database.execute("DELETE FROM records")
    report = verify_bytes(signed[0], "x", signed[1], keys, store)
    assert (report.verdict, report.valid) == ("chain broken", False)
    assert verify_bytes(signed[0], "x", signed[1], keys).verdict == "signed here"  # without the log nothing more can be said


def test_what_is_covered_and_what_is_not_is_said(signed, keys):
    report = verify_bytes(*_first(signed), keys)
    assert any("3 settings" in line for line in report.covers) and any("1 package version," in line for line in report.covers)
    assert any("who sat" in line for line in report.does_not_prove)


ODD = [b"", b"{", b"{}", b'{"payloadType":1}', b"\x89PNG\r\n\x1a\n", b"<svg></svg>", b"[" * 50_000, os.urandom(64)]


@pytest.mark.parametrize("data", ODD, ids=range(len(ODD)))
def test_any_bytes_get_a_report(data, keys, store):
    assert verify_bytes(data, "x", None, keys, store).verdict in ("no record", "not a record")
    assert verify_bytes(b"x", "x", data, keys, store).verdict == "not a record"


def test_an_export_record_describes_every_run(store, keys, add_run, finish):
    one = add_run()
    finish(one)
    two = add_run(method="autoregressive", method_title="Autoregressive")
    record = store.add_record(None, sign_export("c.csv", b"c", "csv", ((one, _promise()), (two, _promise())), (), keys)).envelope
    report = verify_bytes(b"c", "c.csv", record, keys, store)
    assert [run.method for run in report.runs] == ["d2f", "autoregressive"]
    assert report.statement is not None and report.statement["predicateType"] == EXPORT
    assert json.loads(report.model_dump_json())["verdict"] == "signed here"
