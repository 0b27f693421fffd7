"""The signing key: made once, readable by nobody else, replaced when revoked."""

import os
import stat
import subprocess
import sys

import pytest

from app.errors import ProvenanceError, UnknownKey
from app.provenance.keys import Keys


def test_the_key_is_made_once_and_is_the_same_after_opening_again(tmp_path):
    first = Keys.open(tmp_path)
    assert Keys.open(tmp_path).key_id == first.key_id
    assert first.known[first.key_id].origin == "here"


def test_the_private_key_is_readable_by_its_owner_alone(tmp_path):
    Keys.open(tmp_path)
    path = tmp_path / "keys" / "signing.pem"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_key_that_others_could_read_is_closed_to_them(tmp_path, caplog):
    Keys.open(tmp_path)
    path = tmp_path / "keys" / "signing.pem"
    path.chmod(0o644)
    Keys.open(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "could be read by others" in caplog.text


def test_processes_that_open_a_new_folder_at_once_agree_on_one_key(tmp_path):
    code = "import sys, pathlib; from app.provenance.keys import Keys; sys.stdout.write(Keys.open(pathlib.Path(sys.argv[1])).key_id)"
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=os.environ) for _ in range(4)
    ]
    ids = {process.communicate(timeout=60)[0] for process in started}
    assert ids == {Keys.open(tmp_path).key_id}
    assert [path.name for path in (tmp_path / "keys").iterdir() if path.name.startswith(".")] == []


def test_revoking_the_own_key_replaces_it_and_keeps_its_public_half(tmp_path):
    keys = Keys.open(tmp_path)
    old = keys.key_id
    private = (tmp_path / "keys" / "signing.pem").read_bytes()
    keys.revoke(keys.public_id, "the laptop was lost")
    assert keys.key_id != old and keys.known[old].revoked is not None and keys.known[old].reason == "the laptop was lost"
    assert (tmp_path / "keys" / "signing.pem").read_bytes() != private
    assert Keys.open(tmp_path).key_id == keys.key_id


def test_another_process_signs_with_the_new_key_after_a_revocation(tmp_path):
    first, second = Keys.open(tmp_path), Keys.open(tmp_path)
    first.revoke(first.public_id)
    assert second.key_id == first.key_id


def test_a_stop_between_revoking_and_replacing_is_mended_at_the_next_start(tmp_path):
    keys = Keys.open(tmp_path)
    old = keys.known[keys.key_id]
    private = (tmp_path / "keys" / "signing.pem").read_bytes()
    keys.revoke(keys.public_id)
    (tmp_path / "keys" / "signing.pem").write_bytes(private)
    assert Keys.open(tmp_path).key_id != old.id


def test_a_key_that_is_not_known_cannot_be_revoked(tmp_path):
    keys = Keys.open(tmp_path)
    for wrong in ("", "zz", keys.key_id + "0"):
        with pytest.raises(UnknownKey) as caught:
            keys.revoke(wrong)
        assert caught.value.fault().next_step


def test_a_foreign_key_is_remembered_across_starts(tmp_path):
    keys, foreign = Keys.open(tmp_path / "here"), Keys.open(tmp_path / "there")
    met = keys.meet(foreign.public)
    assert Keys.open(tmp_path / "here").known[met.id].origin == "elsewhere"
    assert keys.meet(foreign.public) == met


@pytest.mark.parametrize("public", ["", "zz", "00" * 31, "not hex at all"])
def test_a_malformed_public_key_is_refused(tmp_path, public):
    with pytest.raises(UnknownKey):
        Keys.open(tmp_path).meet(public)


@pytest.mark.parametrize("name", ["signing.pem", "known.json"])
def test_a_damaged_file_is_named_with_the_next_step(tmp_path, name):
    Keys.open(tmp_path)
    (tmp_path / "keys" / name).write_bytes(b"{ damaged")
    with pytest.raises(ProvenanceError) as caught:
        Keys.open(tmp_path)
    assert name in caught.value.fault().what and caught.value.fault().next_step


def test_a_damaged_head_is_named(tmp_path):
    keys = Keys.open(tmp_path)
    (tmp_path / "keys" / "head.json").write_bytes(b"{}")
    with pytest.raises(ProvenanceError):
        _ = keys.head
