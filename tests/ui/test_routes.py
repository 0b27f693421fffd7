"""The JSON routes of page and panels on a store with real rows: reading, marking, attachments, and words for what is wrong."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from app.api import Studio
from app.compare import new_id
from app.errors import UploadRefused
from storage.values import NewRun, RunState
from tests.ui.conftest import HOST, Answer, ask
from ui.downloads import safe_name
from ui.panels.verify import unpack

HOSTILE = (
    ("page.html", "text/html", b"<script>window.fired=1</script>"),
    ("image.svg", "image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'><script>window.fired=1</script></svg>"),
    ("data.xml", "application/xml", b"<?xml version='1.0'?><a/>"),
    ("code.js", "text/javascript", b"window.fired=1"),
    ("page.xhtml", "application/xhtml+xml", b"<html xmlns='http://www.w3.org/1999/xhtml'><script>1</script></html>"),
    ("polyglot.gif", "image/gif", b"GIF89a/*<script>*/=1;//</script>"),
    ("odd", "text/html\r\nx-evil: 1", b"<b>"),
    ("answer", "text/plain; charset=utf-8", b"${alert(1)} <img src=x onerror=alert(1)>"),
)


def post(app: FastAPI, path: str, body: Any) -> Answer:
    headers = [("host", HOST), ("content-type", "application/json")]
    return ask(app, path, method="POST", headers=headers, body=json.dumps(body).encode())


def add_run(studio: Studio, **fields: Any) -> str:
    """A finished run in the store, as the engine would leave it."""
    card = studio.registry.card("toy_rotation")
    given: dict[str, Any] = {
        "id": new_id(),
        "method": card.key,
        "method_title": card.title,
        "tab": "text",
        "checkpoint": "alphabet",
        "inputs": {"prompt": "Festina lente", "held_out": 0},
        "settings": card.settings().model_dump(mode="json"),
        "seed": 7,
        "device": "cpu",
        "title": "Festina lente",
    }
    (row,) = studio.store.add_runs([NewRun.model_validate(given | fields)])
    studio.store.claim(["cpu"])
    studio.store.finish(row.id, RunState.DONE)
    return row.id


def add_artifact(studio: Studio, run: str, name: str, media_type: str, data: bytes) -> str:
    artifact = {"kind": "text", "name": name, "media_type": media_type, "data": data, "facts": {}, "partial": False}
    return studio.store.add_artifact(run, artifact, None).id


@pytest.fixture
def run(studio: Studio) -> str:
    return add_run(studio)


@pytest.mark.parametrize(("name", "media_type", "data"), HOSTILE)
def test_a_generated_file_is_an_attachment_that_can_run_nothing(
    app: FastAPI, studio: Studio, run: str, name: str, media_type: str, data: bytes
) -> None:
    artifact = add_artifact(studio, run, name, media_type, data)
    answer = ask(app, f"/studio/artifacts/{artifact}")
    assert answer.status == 200 and answer.body == data
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"] and "script-src" not in answer.headers["content-security-policy"]
    assert "x-evil" not in answer.headers


def test_text_for_the_page_comes_as_json_and_nothing_else_does(app: FastAPI, studio: Studio, run: str) -> None:
    text = add_artifact(studio, run, "answer", "text/plain; charset=utf-8", "<b>bold</b> \u202e".encode())
    answer = ask(app, f"/studio/artifacts/{text}/json")
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.body) == {"text": "<b>bold</b> \u202e"}
    trace = add_artifact(studio, run, "trace", "application/json", b'{"passes": []}')
    assert json.loads(ask(app, f"/studio/artifacts/{trace}/json").body) == {"json": {"passes": []}}
    broken = add_artifact(studio, run, "broken", "application/json", b"{not json")
    assert json.loads(ask(app, f"/studio/artifacts/{broken}/json").body) == {"text": "{not json"}
    picture = add_artifact(studio, run, "picture", "image/png", b"\x89PNG")
    assert ask(app, f"/studio/artifacts/{picture}/json").status == 422


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../../etc/passwd", "passwd"),
        ("a\nb\r\nc", "a_b__c"),
        ("con.txt", "_con.txt"),
        ("", "file"),
        ("...", "file"),
        ('a"b;c.txt', "a_b_c.txt"),
        ("x" * 300 + ".txt", "x" * 116 + ".txt"),
        ("C:\\x\\y.svg", "y.svg"),
        ("naïve 数.txt", "naïve 数.txt"),
        ("\u202egnp.exe", "_gnp.exe"),
    ],
)
def test_a_file_name_is_one_that_every_system_takes(name: str, expected: str) -> None:
    assert safe_name(name) == expected


@pytest.mark.parametrize(
    "path",
    [
        "/studio/runs/{}",
        "/studio/runs/{}/thumb",
        "/studio/artifacts/{}",
        "/studio/comparisons/{}/summary",
        "/studio/watch?runs={}",
        "/studio/export?target={}&format=txt",
        "/studio/formats/{}",
        "/studio/beside?runs={}",
        "/studio/verify/artifact/{}",
    ],
)
def test_what_is_not_there_is_said_in_words_with_a_next_step(app: FastAPI, path: str) -> None:
    answer = ask(app, path.format("0" * 32))
    fault = json.loads(answer.body)
    assert answer.status == 404
    assert fault["what"] and fault["next_step"] and "Traceback" not in answer.text


def test_a_tab_that_does_not_exist_is_refused(app: FastAPI) -> None:
    assert ask(app, "/studio/bench/nowhere").status == 404


def test_history_finds_marks_renames_and_deletes(app: FastAPI, studio: Studio) -> None:
    found = add_run(studio, title="Quokka census", inputs={"prompt": "quokka", "held_out": 0})
    page = json.loads(ask(app, "/studio/history?text=quokka").body)
    assert [row["id"] for row in page["runs"]] == [found]
    assert page["runs"][0]["sentence"]
    assert post(app, f"/studio/runs/{found}/star", {"starred": True}).status == 200
    assert json.loads(post(app, f"/studio/runs/{found}/tags", {"tags": [" a ", "a", "b"]}).body) == {"tags": ["a", "b"]}
    assert post(app, f"/studio/runs/{found}/note", {"note": "see the fence"}).status == 200
    assert post(app, f"/studio/runs/{found}/title", {"title": "Renamed"}).status == 200
    (row,) = json.loads(ask(app, "/studio/history?text=fence").body)["runs"]
    assert (row["title"], row["starred"], row["tags"], row["note"]) == ("Renamed", True, ["a", "b"], "see the fence")
    assert json.loads(ask(app, "/studio/history?starred=true").body)["runs"][0]["id"] == found
    assert post(app, "/studio/history/delete", {"runs": [found]}).status == 200
    assert ask(app, f"/studio/runs/{found}").status == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/studio/runs/x/star", {"starred": "perhaps"}),
        ("/studio/runs/x/star", {}),
        ("/studio/runs/x/tags", {"tags": ["a"] * 100}),
        ("/studio/runs/x/star", {"starred": True, "more": 1}),
        ("/studio/history/delete", {"runs": []}),
        ("/studio/queue/pause", {"paused": 17}),
        ("/studio/runs/x/move", {"to": 0}),
        ("/studio/runs/x/move", {"to": -(10**30)}),
        ("/studio/bench/text/sweep", {"pane": "A", "axes": []}),
        ("/studio/bench/text/use", {"panes": []}),
        ("/studio/bench/text/preset", {"pane": "A", "name": ""}),
        ("/studio/api/runs", {"seed": "x"}),
        ("/studio/api/comparisons", {"tab": "text", "panes": [], "repeats": 10**9}),
        ("/studio/models/folder", {"method": "d2f", "name": ""}),
    ],
)
def test_a_malformed_body_answers_with_the_field_that_is_wrong(app: FastAPI, path: str, body: Any) -> None:
    answer = post(app, path, body)
    fault = json.loads(answer.body)
    assert answer.status == 422
    assert fault["what"] and fault["faults"] and "Traceback" not in answer.text


def test_a_body_that_is_not_json_or_too_deep_is_refused(app: FastAPI) -> None:
    for body in (b"{", b"[" * 20_000, b"\xff\xfe", b"null", b'{"paused": NaN}', b"1e999"):
        headers = [("host", HOST), ("content-type", "application/json")]
        answer = ask(app, "/studio/queue/pause", method="POST", headers=headers, body=body)
        assert answer.status in (400, 422), body[:20]
        assert "Traceback" not in answer.text


def test_the_bench_says_faults_panes_and_runs(app: FastAPI) -> None:
    answer = json.loads(ask(app, "/studio/bench/text").body)
    bench = answer["bench"]
    assert [pane["pane"] for pane in bench["panes"]] == ["A", "B"]
    assert bench["finished"] and bench["faults"] == [] and bench["runs"] == []
    assert answer["status"]["memory_total"] > 0


def test_use_these_puts_a_records_settings_into_the_controls_and_ignores_fields_of_others(app: FastAPI) -> None:
    cookie = ask(app, "/").headers["set-cookie"].partition(";")[0]
    headers = [("host", HOST), ("content-type", "application/json"), ("cookie", cookie)]
    panes = [{"pane": "A", "method": "toy_rotation", "checkpoint": "alphabet", "settings": {"shift": 21, "unknown": 1}}]
    body = json.dumps({"panes": panes, "inputs": {"prompt": "taken over", "foreign": 1}, "seed": 5}).encode()
    assert ask(app, "/studio/bench/text/use", method="POST", headers=headers, body=body).status == 200
    bench = json.loads(ask(app, "/studio/bench/text", headers=[("host", HOST), ("cookie", cookie)]).body)["bench"]
    assert bench["inputs"]["prompt"] == "taken over" and "foreign" not in bench["inputs"] and bench["seed"] == 5
    assert bench["panes"][0]["settings"]["shift"] == 21 and "unknown" not in bench["panes"][0]["settings"]


def test_asking_for_work_without_an_engine_is_refused_with_the_next_step(app: FastAPI) -> None:
    answer = post(app, "/studio/api/runs", {"method": "toy_rotation", "inputs": {"prompt": "abc"}})
    assert answer.status == 503
    assert "engine" in json.loads(answer.body)["next_step"]


def test_a_wrong_setting_over_http_names_its_control_and_the_nearest_value(app: FastAPI) -> None:
    answer = post(app, "/studio/api/runs", {"method": "toy_rotation", "inputs": {"prompt": "abc"}, "settings": {"shift": 26}})
    fault = json.loads(answer.body)
    assert answer.status == 422 and fault["field"] == "shift" and fault["suggestion"] == 25


def test_the_cards_say_every_field_of_every_method_to_the_page(app: FastAPI, studio: Studio) -> None:
    known = json.loads(ask(app, "/studio/cards").body)
    assert known["tabs"] == [tab.value for tab in studio.registry.tabs]
    for card in studio.registry.cards:
        shown = next(one for one in known["cards"] if one["key"] == card.key)
        assert [field["name"] for field in shown["settings"]] == list(card.settings.model_fields)


def multipart(files: list[tuple[str, bytes]]) -> tuple[list[tuple[str, str]], bytes]:
    parts = b"".join(
        f'--xx\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'.encode() + data + b"\r\n" for name, data in files
    )
    return [("host", HOST), ("content-type", "multipart/form-data; boundary=xx")], parts + b"--xx--\r\n"


def test_verify_reads_any_file_and_says_when_there_is_no_record(app: FastAPI) -> None:
    headers, body = multipart([("holiday.txt", b"not ours")])
    (report,) = json.loads(ask(app, "/studio/verify", method="POST", headers=headers, body=body).body)["reports"]
    assert report["verdict"] == "no record" and not report["valid"] and report["text"] == "not ours"


def archive(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in files.items():
            opened.writestr(name, data)
    return packed.getvalue()


def test_an_exported_archive_is_read_in_memory_whatever_its_names_say(tmp_path: Path) -> None:
    files = {"answer.txt": b"a", "answer.txt.intoto.json": b"{}", "../../outside.txt": b"b"}
    assert dict(unpack(archive(files))) == files
    assert not (tmp_path / "outside.txt").exists()


@pytest.mark.parametrize(
    "data",
    [
        b"PK\x03\x04",
        b"PK\x03\x04" + b"\x00" * 100,
        archive({f"{number}.txt": b"x" for number in range(100)}),
        archive({"bomb.bin": b"\x00" * (300 * 2**20)}),
        archive({"a.txt": b"a" * 1000})[:-40],
    ],
    ids=["empty", "zeros", "too many", "bomb", "cut"],
)
def test_an_archive_that_is_strange_or_too_large_is_refused(data: bytes) -> None:
    with pytest.raises(UploadRefused):
        unpack(data)
