"""Content credentials in every format that takes them: intact, changed, foreign, absent; and no network."""

import io
import socket
import stat
import struct

import pytest
from PIL import Image

from app.errors import ProvenanceError
from app.plots.drawing import Drawing
from app.plots.palette import LIGHT
from app.provenance.credentials import SIGNABLE, add_credentials, read_credentials

RECORD = "ab" * 32


def _image(form: str) -> bytes:
    buffer = io.BytesIO()
    Image.linear_gradient("L").resize((40, 40)).convert("RGB").save(buffer, form)
    return buffer.getvalue()


def _box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", 8 + len(body)) + kind + body


def _film() -> bytes:
    """The least an MP4 can be: file type, movie header, media data."""
    header = _box(b"mvhd", bytes(12) + struct.pack(">II", 1000, 0) + bytes(80))
    return _box(b"ftyp", b"isom" + bytes(4) + b"isommp41") + _box(b"moov", header) + _box(b"mdat", bytes(range(200)))


def _drawing() -> bytes:
    drawing = Drawing(40, 40, LIGHT, "t", "d")
    drawing.text(2, 20, "Wall time")
    return drawing.svg().encode()


FILES = {
    "image/png": _image("PNG"), "image/jpeg": _image("JPEG"), "image/webp": _image("WEBP"), "application/pdf": _image("PDF"),
    "image/svg+xml": _drawing(), "video/mp4": _film(),
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refused(*_arguments, **_options):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)


def test_every_format_promised_is_tried_here():
    assert set(FILES) == set(SIGNABLE)


@pytest.mark.parametrize("media_type", FILES)
def test_credentials_hold_and_name_the_record(media_type, keys):
    signed = add_credentials(FILES[media_type], media_type, "picture", RECORD, keys)
    found = read_credentials(signed, keys)
    assert found is not None and (found.intact, found.here, found.record, found.faults) == (True, True, RECORD, ())
    assert "not on a public trust list" in found.sentence


@pytest.mark.parametrize("media_type", FILES)
def test_a_changed_file_is_found(media_type, keys):
    signed = add_credentials(FILES[media_type], media_type, "picture", RECORD, keys)
    tail = FILES[media_type][-40:-20]
    at = signed.rfind(tail) if signed.count(tail) else len(signed) // 2
    altered = bytearray(signed)
    altered[at + 10] ^= 1
    found = read_credentials(bytes(altered), keys)
    assert found is None or not found.intact


def test_another_installation_sees_them_intact_and_of_unknown_signer(keys, elsewhere):
    found = read_credentials(add_credentials(FILES["image/png"], "image/png", "x", RECORD, keys), elsewhere)
    assert found is not None and (found.intact, found.here) == (True, False)


def test_files_without_credentials_have_none(keys):
    for data in (*FILES.values(), b"", b"plain text about c2pa", b"<svg>c2pa</svg>"):
        assert read_credentials(data, keys) is None


def test_a_broken_manifest_is_reported_and_nothing_raises(keys):
    signed = add_credentials(FILES["image/png"], "image/png", "x", RECORD, keys)
    at = signed.index(b"c2pa")
    for cut in (at, at + 30, at + 500):
        found = read_credentials(signed[:cut] + bytes(40) + signed[cut + 40 :], keys)
        assert found is None or not found.intact


def test_a_file_that_is_not_what_it_says_is_refused(keys):
    with pytest.raises(ProvenanceError) as caught:
        add_credentials(b"not a picture", "image/png", "x", RECORD, keys)
    assert caught.value.fault().next_step


def test_the_private_half_is_made_once_and_closed_to_others(keys):
    add_credentials(FILES["image/png"], "image/png", "x", RECORD, keys)
    private = keys.folder / "credentials-key.pem"
    before = private.read_bytes()
    add_credentials(FILES["image/png"], "image/png", "x", RECORD, keys)
    assert private.read_bytes() == before and stat.S_IMODE(private.stat().st_mode) == 0o600


def test_no_thumbnail_and_nothing_of_the_machine_enters_the_manifest(keys, monkeypatch):
    monkeypatch.setenv("USER", "mrquimby")
    signed = add_credentials(FILES["image/jpeg"], "image/jpeg", "x", RECORD, keys)
    assert b"thumbnail" not in signed and b"mrquimby" not in signed and len(signed) < len(FILES["image/jpeg"]) + 8000
