"""Paths and addresses where a value is expected: folders that are none, and URLs that must never be asked for (E8).

It deliberately watches the sockets of this process; workers refuse to leave by themselves.
"""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from app.api import Studio
from tests.hostile.requests import check_worded, get, post
from tests.toy_method.place import place_toy

ADDRESSES = (
    "http://127.0.0.1:22/", "http://localhost/", "http://[::1]/", "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/",
    "http://192.168.0.1/",
    "http://[::ffff:127.0.0.1]/", "http://2130706433/", "http://0x7f.1/", "https://example.invalid/x", "file:///etc/passwd",
    "gopher://127.0.0.1:70/",
    "ftp://example.invalid/", "dict://127.0.0.1:11211/", "ldap://127.0.0.1/", "jar:file:///x!/", "//example.invalid/share",
    "\\\\example.invalid\\share",
    "data:text/plain,x", "javascript:1", "hf://lab/model", "s3://bucket/x", "http://127.0.0.1@example.invalid/", "http:/\\example.invalid",
)  # fmt: skip
PLACES = (
    "/nowhere", "", ".", "..", "relative/folder", "/", "/etc", "/etc/passwd", "/dev/zero", "/dev/stdin", "/proc/self",
    "/proc/self/fd/0", "~", "~nobody-here/x",
    "~root", "\x00", "/tmp/\x00", "a" * 5000, "/" + "a/" * 3000, "\ud800", "/tmp/\ud800", "C:\\", "%2e%2e", "/proc/self/environ", "-",
    "*", "$HOME",
)  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every address this process tries to reach or to look up."""
    found: list[Any] = []

    def refuse(*arguments: Any, **_: Any) -> Any:
        found.append(arguments[-1])
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return found


@pytest.mark.parametrize("place", (*PLACES, *ADDRESSES), ids=range(len(PLACES) + len(ADDRESSES)))
def test_a_folder_that_is_none_is_refused_in_words_and_nothing_is_asked_for(
    app: FastAPI, studio: Studio, asked: list[Any], place: str
) -> None:
    before = studio.store.checkpoints()
    answer = post(app, "/studio/models/folder", {"method": "toy_rotation", "name": "mine", "folders": {"base": place}})
    check_worded(answer, place)
    assert answer.status != 200
    assert "base" in (json.loads(answer.body).get("field") or "base")
    assert asked == [] and studio.store.checkpoints() == before
    assert "root:" not in answer.text


def test_the_fault_of_a_wrong_folder_stands_at_its_role(app: FastAPI) -> None:
    answer = post(app, "/studio/models/folder", {"method": "toy_rotation", "name": "mine", "folders": {"base": "/nowhere"}})
    fault = json.loads(answer.body)
    assert answer.status == 422 and fault["field"] == "base" and "/nowhere" in fault["what"] + fault["why"]


@pytest.mark.parametrize("address", ADDRESSES, ids=range(len(ADDRESSES)))
def test_an_address_anywhere_else_is_only_text(app: FastAPI, asked: list[Any], address: str) -> None:
    pane = {"pane": "A", "method": address, "checkpoint": address, "settings": {address: address}}
    for path, body in (
        ("/studio/api/runs", {"method": "toy_rotation", "checkpoint": address, "inputs": {"prompt": "a"}}),
        ("/studio/api/runs", {"method": address, "inputs": {"prompt": "a"}}),
        ("/studio/api/comparisons", {"tab": "text", "panes": [pane], "inputs": {"prompt": address}}),
        ("/studio/bench/text/use", {"panes": [pane], "inputs": {"prompt": address}}),
        ("/studio/models/pull", {"method": "toy_rotation", "checkpoint": address, "accept_licence": True}),
        ("/studio/models/unload", {"method": address, "checkpoint": address}),
    ):
        check_worded(post(app, path, body), (path, address))
    from urllib.parse import quote

    for path in ("/studio/export?target={}&format=txt", "/studio/runs/{}", "/studio/watch?runs={}", "/studio/history?text={}"):
        check_worded(get(app, path.format(quote(address, safe=""))), address)
    assert asked == []


def test_a_folder_with_pipes_and_loops_in_it_is_refused_and_waits_for_nothing(app: FastAPI, tmp_path: Path) -> None:
    place_toy(tmp_path / "plugins")
    weights = tmp_path / "plugins" / "toy_rotation" / "weights"
    (weights / "config.json").unlink()
    os.mkfifo(weights / "config.json")
    (weights / "loop").symlink_to(weights, target_is_directory=True)
    (weights / "self").symlink_to("self")
    check_worded(post(app, "/studio/models/folder", {"method": "toy_rotation", "name": "mine", "folders": {"base": str(weights)}}), "pipe")
    (weights / "model.safetensors").unlink()
    os.mkfifo(weights / "model.safetensors")
    answer = post(app, "/studio/models/folder", {"method": "toy_rotation", "name": "mine", "folders": {"base": str(weights)}})
    check_worded(answer, "pipe")
    assert answer.status != 200
