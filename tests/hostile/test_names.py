"""D12: names no file should have, as uploads, titles, artifacts and downloads: storage goes by digest, and names cannot reach out of it.

It deliberately writes nothing by a given name itself.
"""

import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest
from fastapi import FastAPI

from app.api import Studio
from tests.hostile.conftest import run_toy
from tests.hostile.requests import get, post, upload
from ui.downloads import safe_name

NAMES = (
    "CON", "con.txt", "nul", "PRN.json", "aux.svg", "COM1", "lpt9.png", "..", ".", "...", "../../etc/passwd", "..\\..\\boot.ini",
    "/etc/passwd",
    "C:\\Windows\\win.ini", "\\\\server\\share\\x", "~/.ssh/id_rsa", "a\nb.txt", "a\r\nContent-Type: text/html", "a\tb",
    "x" * 300 + ".txt", "é" * 200,
    "😀.txt", "\u202etxt.exe", "a\u0000b.txt", " lead.txt", "trail.txt ", "trail.", "a;b.txt", 'a"b.txt', "a'b.txt", "a%00b.txt",
    "a%2e%2e%2fb", "-rf",
    "--help", "$(id).txt", "`id`.txt", "a|b", "a*b?.txt", "<b>.txt", "a:b", "a:$DATA", ".htaccess", ".intoto.json", "x.intoto.json",
    "NUL.intoto.json",
    "cafe\u0301.txt", "caf\u00e9.txt", "\ufeffbom.txt", "Ａ.txt", "a/b/c.txt", "a//b", "./a", "a/../b", "index.html", "desktop.ini",
    "x.lnk", "x.scr", "a,b.csv",
    "=cmd|' /C calc'!A0.csv", "𝕏.png", "\x7f.txt", "\x1b[31m.txt", "name" + "\u0301" * 100, "a b  c.txt", "ﬁ.txt", "İ.txt", "ß.txt",
    "SS.txt", "%", "%zz", "",
)  # fmt: skip
FORBIDDEN = set('/\\:*?"<>|\r\n\t\0')
RESERVED = {"con", "prn", "aux", "nul", *(f"{device}{number}" for device in ("com", "lpt") for number in range(1, 10))}


@pytest.fixture(scope="module")
def made(studio: Studio) -> str:
    studio.cancel_all()
    studio.pause(False)
    return run_toy(studio, "Festina lente", shift=5).id


def files_below(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()
    }


def is_safe(name: str) -> bool:
    stem = name.split(".")[0].lower()
    plain = not FORBIDDEN & set(name) and name not in ("", ".", "..") and not name.startswith((" ", "~")) and not name.endswith((" ", "."))
    return plain and stem not in RESERVED and len(name.encode()) <= 255 and all(ord(sign) >= 32 and sign != "\x7f" for sign in name)


def test_verify_reads_a_file_of_any_name_and_writes_none(
    app: FastAPI, studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = Path(studio.store.artifact_path("0" * 64)).parents[2]
    before = files_below(data)
    for name in NAMES:
        answer = upload(app, [(name, b"not ours")])
        assert answer.status in (200, 422), (name, answer.text[:200])
        if answer.status == 200:
            (report,) = json.loads(answer.body)["reports"]
            assert report["verdict"] in ("no record", "not a record"), (name, report["verdict"])
            assert len(report["name"]) <= 320
    kept = {path: digest for path, digest in files_below(data).items() if ".sqlite3" not in path}
    assert kept == {path: digest for path, digest in before.items() if ".sqlite3" not in path}
    assert list(tmp_path.iterdir()) == []


def test_two_files_whose_names_differ_in_case_keep_their_own_records(app: FastAPI, made: str) -> None:
    with zipfile.ZipFile(io.BytesIO(get(app, f"/studio/export?target={made}&format=txt").body)) as archive:
        (name,) = (one for one in archive.namelist() if not one.endswith(".intoto.json"))
        data, record = archive.read(name), archive.read(f"{name}.intoto.json")
    sent = [("Answer.txt", data), ("answer.txt", data + b"!"), ("Answer.txt.intoto.json", record), ("answer.txt.intoto.json", record)]
    reports = {report["name"]: report["verdict"] for report in json.loads(upload(app, sent).body)["reports"]}
    assert reports == {"Answer.txt": "signed here", "answer.txt": "file changed"}


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_title_of_any_name_makes_a_download_every_system_takes(app: FastAPI, made: str, name: str) -> None:
    assert post(app, f"/studio/runs/{made}/title", {"title": name[:200]}).status == 200
    for form in ("txt", "crate"):
        answer = get(app, f"/studio/export?target={made}&format={form}")
        assert answer.status == 200, answer.text[:300]
        header = answer.headers["content-disposition"]
        assert header.isascii() and header.isprintable() and header.startswith('attachment; filename="') and header.count('"') == 2
        assert is_safe(header.partition('"')[2].partition('"')[0]), header
        if form == "txt":
            with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
                assert all(is_safe(inner) for inner in archive.namelist()), archive.namelist()


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_an_artifact_of_any_name_is_stored_by_digest_and_offered_under_a_safe_one(
    app: FastAPI, studio: Studio, made: str, name: str
) -> None:
    data = f"bytes of {name!r}".encode()
    given = {"kind": "text", "name": name, "media_type": "text/plain", "data": data, "facts": {}, "partial": False}
    row = studio.store.add_artifact(made, given, None)
    assert row.name == name
    path = studio.store.artifact_path(row.digest)
    assert path.read_bytes() == data and path.name.startswith(hashlib.sha256(data).hexdigest()[:8])
    answer = get(app, f"/studio/artifacts/{row.id}")
    assert answer.body == data
    assert is_safe(answer.headers["content-disposition"].partition('"')[2].partition('"')[0])


def test_a_safe_name_is_safe_and_stays_as_it_is() -> None:
    for name in NAMES:
        assert is_safe(safe_name(name)), (name, safe_name(name))
        assert safe_name(safe_name(name)) == safe_name(name)
