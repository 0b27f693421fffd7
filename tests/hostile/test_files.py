"""D1: cut and altered files of every type the studio reads, through Verify and the loaders: a typed answer each time, soon.

The originals are real: exported by a real studio from a real run, weights and configs of real checkpoints.

It deliberately trusts no answer of "signed here" to a file that is not the original, byte for byte.
"""

import io
import json
import random
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi import FastAPI

from app.api import Studio
from app.values import CompareRequest
from backends.contract import CheckpointError
from backends.parts.loading import read_config, read_header
from storage.values import PaneSpec
from tests.hostile.conftest import SECONDS, run_toy
from tests.hostile.requests import check_worded, get, shuffled, upload
from tests.toy_method.place import place_toy

COUNT = 500
LONGEST_SECONDS = 10.0
KINDS = ("txt", "md", "json", "csv", "svg", "png", "intoto.json")
SOUND = ("signed here", "signed by another key")


@pytest.fixture(scope="module")
def exports(studio: Studio) -> dict[str, tuple[bytes, bytes]]:
    """Kind -> a file as it was exported, and its record."""
    studio.cancel_all()
    studio.pause(False)
    run = run_toy(studio, "Festina lente", shift=4)
    panes = tuple(
        PaneSpec(pane=letter, method="toy_rotation", checkpoint="alphabet", settings={"pause": 0.0, "batch": size})
        for letter, size in (("A", 1), ("B", 4))
    )
    comparison = studio.compare(CompareRequest(tab="text", panes=panes, inputs={"prompt": "Festina lente"}))
    assert studio.engine is not None
    for one in studio.store.comparison_runs(comparison.id):
        studio.engine.wait(one.id, SECONDS)
    found = {}
    for kind, target in (
        ("txt", run.id),
        ("md", run.id),
        ("json", run.id),
        ("csv", run.id),
        ("svg", comparison.id),
        ("png", comparison.id),
    ):
        file, record = studio.export(target, kind)
        found[kind] = (file.data, record.data)
    return found | {"intoto.json": (found["txt"][1], found["txt"][1])}


def altered(data: bytes, chance: random.Random) -> bytes:
    """Cut, flipped, doubled, filled or mixed; now and then nothing or noise."""
    kind = chance.randrange(8)
    place = chance.randrange(len(data))
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[place:]
    if kind == 2:
        return data[:place] + data[chance.randrange(len(data)) :]
    if kind == 3:
        return data[:place] + chance.randbytes(chance.randrange(1, 64)) + data[place:]
    if kind == 4:
        return data[:place] + bytes(chance.randrange(1, 4096)) + data[place + 8 :]
    if kind == 5:
        return chance.choice((b"", b"\x00", chance.randbytes(200), data * 3, data[::-1]))
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 20))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


@pytest.mark.parametrize("kind", KINDS)
def test_five_hundred_altered_files_are_each_answered_and_none_is_called_sound(
    studio: Studio, exports: dict[str, tuple[bytes, bytes]], kind: str
) -> None:
    data, record = exports[kind]
    text = exports["txt"][0]
    for chance in shuffled(KINDS.index(kind), COUNT):
        changed = altered(data, chance)
        began = time.monotonic()
        if kind == "intoto.json":
            report = studio.verify(text, "answer.txt", changed)
            studio.verify(changed, "answer.txt.intoto.json", None)
        else:
            report = studio.verify(changed, f"altered.{kind}", chance.choice((record, None)))
        assert time.monotonic() - began < LONGEST_SECONDS
        assert report.sentence
        if changed != data and report.valid:
            # A record may be laid out anew around the same signed bytes; a file may not.
            assert kind == "intoto.json" and json.loads(changed) == json.loads(data), report.verdict


def test_the_originals_themselves_are_sound(studio: Studio, exports: dict[str, tuple[bytes, bytes]]) -> None:
    """The other tests would prove nothing if nothing were."""
    for kind, (data, record) in exports.items():
        if kind != "intoto.json":
            assert studio.verify(data, f"x.{kind}", record).verdict == "signed here", kind
            assert studio.verify(data, f"x.{kind}", None).valid, kind


@pytest.mark.parametrize("kind", KINDS)
def test_altered_files_over_http_are_answered_in_words(app: FastAPI, exports: dict[str, tuple[bytes, bytes]], kind: str) -> None:
    data, record = exports[kind]
    for chance in shuffled(100 + KINDS.index(kind), 40):
        files = [(f"x.{chance.choice(KINDS)}", altered(data, chance)), (f"x.{kind}.intoto.json", altered(record, chance))]
        check_worded(upload(app, files[: chance.choice((1, 2))]), kind)


def test_altered_archives_are_answered_in_words(app: FastAPI, exports: dict[str, tuple[bytes, bytes]]) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.txt", exports["txt"][0])
        archive.writestr("x.txt.intoto.json", exports["txt"][1])
    check_worded(upload(app, [("x.zip", packed.getvalue())]), "whole")
    for chance in shuffled(200, 300):
        check_worded(upload(app, [("x.zip", altered(packed.getvalue(), chance))]), "altered")


HOSTILE_JSON = {
    "a long number": b'{"payloadType": ' + b"9" * 10_000 + b"}",
    "a long number in an export": b'{"diptych_record": {"payloadType": 1}, "x": ' + b"9" * 10_000 + b"}",
    "deep": b'{"payloadType": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep and open": b'{"payloadType": ' + b"[" * 200_000,
    "not a number": b'{"payloadType": NaN}',
    "a huge double": b'{"payloadType": 1e999}',
    "a name twice": b'{"payloadType": 1, "payloadType": 2}',
    "surrogates": b'{"payloadType": "\\ud800", "payload": "\\ud800", "signatures": []}',
    "null inside": b'{"payloadType": null, "payload": null, "signatures": null}',
    "wrong inside": b'{"payloadType": "application/vnd.in-toto+json", "payload": 1, "signatures": [{"keyid": 1, "sig": 1}]}',
    "an empty name": b'{"": "payloadType"}',
    "a list": b'["payloadType"]',
}


@pytest.mark.parametrize("name", sorted(HOSTILE_JSON))
def test_json_that_nobody_wrote_is_answered_in_words(app: FastAPI, studio: Studio, name: str) -> None:
    data = HOSTILE_JSON[name]
    for files in ([("x.json", data)], [("x.txt", b"text"), ("x.txt.intoto.json", data)], [("x.intoto.json", data)]):
        answer = upload(app, files)
        check_worded(answer, name)
        assert not json.loads(answer.body)["reports"][0]["valid"]


def hostile_pictures() -> dict[str, bytes]:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg">%s</svg>'
    laughs = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 12))
    png = b"\x89PNG\r\n\x1a\n"
    return {
        "billion laughs": b'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY l0 "lol">' + laughs + b"]>" + svg % b"<text>&l11;</text>",
        "outside entity": b'<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + svg % b"<text>&x;</text>",
        "outside address": svg % b'<image href="http://192.0.2.1/x.png"/><metadata id="diptych-record">eyJ9</metadata>\n',
        "c2pa mark without a manifest": svg % b"<metadata><c2pa:manifest>AAAA</c2pa:manifest></metadata>",
        "many records": svg % (b'<metadata id="diptych-record">x</metadata>\n' * 20_000),
        "huge chunk length": png + b"\xff\xff\xff\xfftEXtdiptych-record\x00{}",
        "50,000 by 50,000": png + b"\x00\x00\x00\rIHDR\x00\x00\xc3\x50\x00\x00\xc3\x50\x08\x06\x00\x00\x00\x00\x00\x00\x00",
        "text chunks": png + b"\x00\x00\x00\x10tEXtdiptych-record\x00x\x00\x00\x00\x00" * 50_000,
        "c2pa chunk": png + b"\x00\x00\x00\x20caBXjumbc2pa" + bytes(40),
    }


@pytest.mark.parametrize("name", sorted(hostile_pictures()))
def test_a_hostile_picture_is_answered_soon_and_never_decoded(app: FastAPI, name: str) -> None:
    began = time.monotonic()
    answer = upload(app, [("x", hostile_pictures()[name])])
    check_worded(answer, name)
    assert time.monotonic() - began < LONGEST_SECONDS
    assert not json.loads(answer.body)["reports"][0]["valid"]
    assert "root:" not in answer.text


def test_a_large_file_without_a_record_is_answered_soon(app: FastAPI) -> None:
    began = time.monotonic()
    check_worded(upload(app, [("x.bin", b"diptych-record" * 4_000_000)]), "large")
    check_worded(upload(app, [("x.json", b'{"payloadType":"' + b"a" * 40_000_000 + b'"}')]), "large")
    assert time.monotonic() - began < LONGEST_SECONDS


# checkpoints ----------------------------------------------------------------------------------------------------------


def tried(read: Callable[[Path], object], path: Path, data: bytes) -> bool:
    """Whether the loader took it; anything but a CheckpointError is a crash."""
    path.write_bytes(data)
    began = time.monotonic()
    try:
        read(path)
        return True
    except CheckpointError as error:
        assert error.fault.what
        return False
    finally:
        assert time.monotonic() - began < LONGEST_SECONDS


def test_five_hundred_altered_weight_files_are_read_or_refused_in_words(tmp_path: Path) -> None:
    place_toy(tmp_path / "plugins")
    original = (tmp_path / "plugins" / "toy_rotation" / "weights" / "model.safetensors").read_bytes()
    assert tried(read_header, tmp_path / "x.safetensors", original)
    for chance in shuffled(300, COUNT):
        changed = altered(original, chance)
        if tried(read_header, tmp_path / "x.safetensors", changed):
            assert len(changed) == len(original), "what cannot be the weights was taken for them"


@pytest.mark.parametrize("name", ["llada", "autoregressive"])
def test_five_hundred_altered_configs_are_read_or_refused_in_words(assets: Path, tmp_path: Path, name: str) -> None:
    original = (assets / "pocket" / name / "config.json").read_bytes()
    known = [json.loads(original)["model_type"]]

    def read(path: Path) -> object:
        return read_config(path.parent, known)

    assert tried(read, tmp_path / "config.json", original)
    for chance in shuffled(301, COUNT):
        tried(read, tmp_path / "config.json", altered(original, chance))


def test_a_checkpoint_whose_weights_were_altered_fails_its_run_in_words_and_the_next_one_works(
    studio: Studio, app: FastAPI, tmp_path: Path
) -> None:
    """Through a worker, as a user would meet it."""
    folder = place_toy(tmp_path / "plugins") / "toy_rotation" / "weights"
    checkpoint = studio.models.add_folder("toy_rotation", "altered", {"base": str(folder)})
    original = (folder / "model.safetensors").read_bytes()
    for chance in shuffled(302, 6):
        (folder / "model.safetensors").write_bytes(altered(original, chance)[: len(original) - 1])
        run = json.loads(
            post_run(app, checkpoint.key),
        )
        assert studio.engine is not None
        ended = studio.engine.wait(run["id"], SECONDS)
        assert ended.state == "failed" and ended.fault and ended.fault["what"], ended.state
    assert run_toy(studio, "abc").state == "done"
    assert get(app, "/studio/models").status == 200


def post_run(app: FastAPI, checkpoint: str) -> bytes:
    from tests.hostile.requests import post

    return post(app, "/studio/api/runs", {"method": "toy_rotation", "checkpoint": checkpoint, "inputs": {"prompt": "abc"}}).body
