"""D11: any text as prompt, title, tag or note comes back as it went in, or is refused at its control; nothing else stops working.

It deliberately looks at JSON only; how such text is drawn is tested in the browser.
"""

import json
import random
from typing import Any

import pytest
from fastapi import FastAPI

from app.api import Studio
from tests.hostile.conftest import run_toy
from tests.hostile.requests import check_worded, get, post
from tests.ui.conftest import HOST, ask

PLANES = [
    "".join(chr(plane * 0x10000 + offset) for offset in range(0x100, 0xFF00, 0x1AF) if plane or not 0xD800 <= offset < 0xE000)
    for plane in range(17)
]
TEXTS = {
    "NUL": "before\x00after", "controls": "".join(map(chr, range(1, 32))) + "x", "C1 controls": "x" + "".join(map(chr, range(127, 160))),
    "right to left": "abc \u202egnihtyna\u202c \u2067\u05d0\u05d1\u2069 \u200f", "high surrogate": "lone\ud800", "low surrogate": "\udfffx",
    "surrogates the wrong way round": "\udc00\ud800", "noncharacters": "x\ufffe\uffff\U0010ffff", "combining": "e" + "\u0301" * 2000,
    "byte order marks": "\ufeffa\ufeff", "line ends": "a\rb\nc\r\nd\u2028e\u2029f\x85g", "emoji": "👩‍👩‍👧‍👦🏳️‍🌈" * 50,
    "tags": "x\U000e0041\U000e007f",
    "markup": "<script>1</script>", "template": "{{7*7}} ${7*7} #{7*7} %s %(a)s {0}", "escapes": "\\u0000 \\x00 \\ud800 \\n &amp; %00",
    "spaces": "\u00a0\u2003\u3000x\u200b", "quotes": "\"'`´«„", "many lines": "x\n" * 5000, **{f"plane {n}": text for n,
    text in enumerate(PLANES)},
}  # fmt: skip
UNSENT = ("high surrogate", "low surrogate", "surrogates the wrong way round")
"""Texts that are no Unicode text: a method cannot write them, so they may be refused."""


def bench_of(app: FastAPI, cookie: str) -> Any:
    answer = ask(app, "/studio/bench/text", headers=[("host", HOST), ("cookie", cookie)])
    assert answer.status == 200, answer.text[:300]
    return json.loads(answer.body)["bench"]


@pytest.fixture
def cookie(app: FastAPI) -> str:
    """A new user's cookie."""
    return ask(app, "/").headers["set-cookie"].partition(";")[0]


@pytest.fixture(autouse=True)
def running(studio: Studio) -> None:
    studio.cancel_all()
    studio.pause(False)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_prompt_in_the_controls_comes_back_as_it_went_in(app: FastAPI, cookie: str, name: str) -> None:
    text = TEXTS[name]
    panes = [{"pane": "A", "method": "toy_rotation", "checkpoint": "alphabet", "settings": {}}]
    body = json.dumps({"panes": panes, "inputs": {"prompt": text}}).encode()
    headers = [("host", HOST), ("content-type", "application/json"), ("cookie", cookie)]
    answer = ask(app, "/studio/bench/text/use", method="POST", headers=headers, body=body)
    check_worded(answer, name)
    bench = bench_of(app, cookie)
    if answer.status == 200 and name not in UNSENT:
        assert bench["inputs"]["prompt"] == text


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_prompt_is_kept_run_and_exported_faithfully_or_refused_at_its_control(app: FastAPI, studio: Studio, name: str) -> None:
    text = TEXTS[name]
    answer = post(
        app, "/studio/api/runs", {"method": "toy_rotation", "inputs": {"prompt": text}, "settings": {"shift": 0, "pause": 0.0, "batch": 8}}
    )
    check_worded(answer, name)
    if answer.status != 200:
        assert json.loads(answer.body)["field"] == "prompt"
        return
    run = json.loads(answer.body)["id"]
    assert studio.engine is not None
    ended = studio.engine.wait(run, 240.0)
    shown = get(app, f"/studio/runs/{run}")
    assert shown.status == 200 and get(app, "/studio/history").status == 200 and get(app, f"/studio/watch?runs={run}").status == 200
    if name in UNSENT:
        return
    assert json.loads(shown.body)["inputs"]["prompt"] == text
    assert ended.state == "done", ended.fault
    (artifact,) = ended.artifacts
    assert get(app, f"/studio/artifacts/{artifact.id}").body == text.encode()
    assert json.loads(get(app, f"/studio/artifacts/{artifact.id}/json").body) == {"text": text}
    for form in ("txt", "md", "json", "csv"):
        assert get(app, f"/studio/export?target={run}&format={form}").status == 200, form


def test_two_hundred_random_prompts_come_back_as_they_went_in(app: FastAPI, studio: Studio, cookie: str) -> None:
    chance = random.Random(11)
    headers = [("host", HOST), ("content-type", "application/json"), ("cookie", cookie)]
    panes = [{"pane": "A", "method": "toy_rotation", "checkpoint": "alphabet", "settings": {}}]
    for _ in range(200):
        text = "".join(
            chr(chance.choice((chance.randrange(0xD800), chance.randrange(0xE000, 0x110000)))) for _ in range(chance.randrange(1, 60))
        )
        body = json.dumps({"panes": panes, "inputs": {"prompt": text}}).encode()
        assert ask(app, "/studio/bench/text/use", method="POST", headers=headers, body=body).status == 200
        assert bench_of(app, cookie)["inputs"]["prompt"] == text


def test_ten_megabytes_are_refused_with_both_sizes_and_nothing_is_kept(app: FastAPI, studio: Studio, cookie: str) -> None:
    """Over the body limit by HTTP; over the field's limit below it."""
    huge = {"method": "toy_rotation", "inputs": {"prompt": "words " * 1_750_000}}
    answer = post(app, "/studio/api/runs", huge)
    assert answer.status == 413 and "8,388,608" in answer.text
    long = {"method": "toy_rotation", "inputs": {"prompt": "words " * 100_000}}
    answer = post(app, "/studio/api/runs", long)
    fault = json.loads(answer.body)
    assert answer.status == 422 and fault["field"] == "prompt"
    assert "200,000" in fault["what"] and "600,000" in fault["why"]
    assert studio.queue() == ()


def test_a_prompt_at_the_limit_runs(app: FastAPI, studio: Studio) -> None:
    text = ("Festina lente. " * 20_000)[:200_000]
    ended = run_toy(studio, text, limit=1000)
    assert ended.state == "done", ended.fault
    assert studio.artifact(ended.artifacts[0].id)[1].decode() == text[:1000]
    assert json.loads(get(app, f"/studio/runs/{ended.id}").body)["inputs"]["prompt"] == text


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_titles_tags_notes_and_presets_take_any_text_and_history_stays_readable(app: FastAPI, studio: Studio, made: str, name: str) -> None:
    text = TEXTS[name]
    for part, body in (("title", {"title": text[:200]}), ("note", {"note": text[:10_000]}), ("tags", {"tags": [text[:40], "b"]})):
        answer = post(app, f"/studio/runs/{made}/{part}", body)
        check_worded(answer, (part, name))
        shown = get(app, f"/studio/runs/{made}")
        assert shown.status == 200, (part, name)
        kept = json.loads(shown.body)
        if answer.status == 200 and name not in UNSENT and part == "note":
            assert kept["note"] == text[:10_000]
        if answer.status == 200 and name not in UNSENT and part == "title":
            assert kept["title"] == text[:200].strip()
    check_worded(post(app, "/studio/bench/text/preset", {"pane": "A", "name": text[:80]}), name)
    for path in ("/studio/history", "/studio/history?text=Festina", "/studio/bench/text"):
        assert get(app, path).status == 200, (path, name)


@pytest.fixture(scope="module")
def made(studio: Studio) -> str:
    studio.pause(False)
    return run_toy(studio, "Festina lente").id
