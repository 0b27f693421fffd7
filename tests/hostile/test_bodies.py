"""D10: bodies of the wrong type, depth, size and number to every route that takes one; each is done or refused in words.

Routes are read from the application, so a new one is tested without a change here.

It deliberately never judges a refusal's wording: tests/ui does for the known ones.
"""

import json
import random
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.api import Studio
from tests.hostile.requests import check_worded, get, post, shuffled
from tests.ui.test_security import _routes

ODD_NUMBERS = (
    0,
    -1,
    1,
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    10**30,
    10**400,
    -0.0,
    1e-320,
    1e308,
    1e308 * 10,
    float("nan"),
    0.1,
)
ODD_TEXTS = (
    "",
    " ",
    "\x00",
    "\ud800",
    "\u202e",
    "a" * 100_000,
    "../../etc/passwd",
    "0" * 32,
    "Infinity",
    "1e999",
    "😀" * 300,
    "__proto__",
    "%s%n",
)
ODD_VALUES: tuple[Any, ...] = (*ODD_NUMBERS, *ODD_TEXTS, None, True, False, [], {}, [[]], {"": {}}, ["a"] * 1000, [None], {"a": 1})
PANE = {"pane": "A", "method": "toy_rotation", "checkpoint": "alphabet", "settings": {"shift": 3}}
GOOD: dict[str, dict[str, Any]] = {
    "/studio/api/runs": {"method": "toy_rotation", "checkpoint": "alphabet", "inputs": {"prompt": "abc"}, "settings": {"shift": 99},
    "seed": 1},
    "/studio/api/comparisons": {"tab": "text", "panes": [PANE | {"settings": {"shift": 99}}], "inputs": {"prompt": "a"}, "seed": 1,
    "repeats": 1},
    "/studio/api/sweeps": {
        "tab": "text", "pane": PANE, "axes": [{"field": "shift", "values": [1, 99]}], "inputs": {"prompt": "a"}, "seed": 3,
    },
    "/studio/bench/{tab}/use": {"panes": [PANE], "inputs": {"prompt": "a"}, "seed": 5},
    "/studio/bench/{tab}/baseline": {"pane": "A"},
    "/studio/bench/{tab}/plan": {"pane": "A", "axes": [{"field": "shift", "values": [1, 2]}]},
    "/studio/bench/{tab}/sweep": {"pane": "A", "axes": [{"field": "shift", "values": [1, 99]}]},
    "/studio/bench/{tab}/preset": {"pane": "A", "name": "mine"},
    "/studio/history/delete": {"runs": ["0" * 32]},
    "/studio/models/folder": {"method": "toy_rotation", "name": "mine", "folders": {"base": "/nowhere"}},
    "/studio/models/forget": {"method": "toy_rotation", "checkpoint": "none"},
    "/studio/models/pull": {"method": "toy_rotation", "checkpoint": "alphabet", "accept_licence": False},
    "/studio/models/unload": {"method": "toy_rotation", "checkpoint": "alphabet"},
    "/studio/queue/pause": {"paused": True},
    "/studio/runs/{run_id}/move": {"to": 1},
    "/studio/runs/{run_id}/note": {"note": "n"},
    "/studio/runs/{run_id}/star": {"starred": True},
    "/studio/runs/{run_id}/tags": {"tags": ["t"]},
    "/studio/runs/{run_id}/title": {"title": "t"},
}  # fmt: skip
"""A body of the right shape for each route; those that would start work are wrong in one value."""

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.sampled_from(ODD_VALUES),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
EFFORT = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def with_body(app: FastAPI) -> list[str]:
    found = {route.path for route in _routes(app.routes) if isinstance(route, APIRoute) and "POST" in route.methods and route.body_field}
    return sorted(path for path in found if path.startswith("/studio/") and path != "/studio/verify")


def filled(path: str, run: str = "0" * 32) -> str:
    return path.replace("{tab}", "text").replace("{run_id}", run).replace("{comparison_id}", run)


@pytest.fixture(autouse=True)
def nothing_starts(studio: Studio) -> None:
    """A body that happens to be right must wait: the queue is paused while these tests run."""
    studio.pause(True)


def test_every_route_with_a_body_is_tested(app: FastAPI) -> None:
    assert with_body(app) == sorted(GOOD)


@pytest.mark.parametrize("path", sorted(GOOD))
def test_any_json_is_done_or_refused_in_words(app: FastAPI, path: str) -> None:
    @EFFORT
    @given(json_values)
    def holds(body: Any) -> None:
        check_worded(post(app, filled(path), body), body)

    holds()


@pytest.mark.parametrize("path", sorted(GOOD))
def test_a_right_body_with_one_part_replaced_left_out_or_added_is_done_or_refused_in_words(app: FastAPI, path: str) -> None:
    for chance in shuffled(10, 60):
        body = spoiled(GOOD[path], chance)
        check_worded(post(app, filled(path), body), body)


def spoiled(body: Any, chance: random.Random) -> Any:
    """`body` with one place anywhere inside it changed."""
    copy = json.loads(json.dumps(body))
    places = list(_places(copy))
    holder, key = chance.choice(places)
    act = chance.choice(("replace", "replace", "replace", "remove", "add"))
    if act == "replace":
        holder[key] = chance.choice(ODD_VALUES)
    elif act == "remove":
        del holder[key]
    elif isinstance(holder, dict):
        holder[chance.choice(("more", "", "__class__", "owner\x00", "self", "model_config"))] = chance.choice(ODD_VALUES)
    else:
        holder.append(chance.choice(ODD_VALUES))
    return copy


def _places(value: Any) -> Any:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in inner:
        yield value, key
        yield from _places(held)


RAW = {
    "empty": b"", "null": b"null", "no JSON": b"{", "half a text": b'"abc', "not UTF-8": b'{"paused": "\xff\xfe"}',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf{}", "NUL": b"\x00", "deep list": b"[" * 10_000 + b"]" * 10_000,
    "deep object": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "deep and open": b"[" * 100_000, "not a number": b'{"paused": NaN}', "infinity": b'{"to": Infinity}',
    "too large a double": b'{"to": 1e999}',
    "too many digits": b'{"to": ' + b"9" * 10_000 + b"}", "a name twice": b'{"paused": true, "paused": false}',
    "trailing": b'{"paused": true} x',
    "surrogate": b'{"pane": "\\ud800", "name": "\\ud800", "title": "\\ud800", "note": "\\udfff"}',
    "ten thousand names": json.dumps({str(n): n for n in range(10_000)}).encode(),
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(RAW))
def test_bytes_that_are_no_clean_json_are_refused_in_words_by_every_route(app: FastAPI, kind: str) -> None:
    for path in sorted(GOOD):
        check_worded(post(app, filled(path), RAW[kind]), (path, kind))


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "multipart/form-data; boundary=x", "application/json; charset=utf-7", ""]
)
def test_a_body_of_another_media_type_is_refused_in_words(app: FastAPI, kind: str) -> None:
    from tests.ui.conftest import HOST, ask

    for path, body in GOOD.items():
        headers = [("host", HOST), *([("content-type", kind)] if kind else [])]
        check_worded(ask(app, filled(path), method="POST", headers=headers, body=json.dumps(body).encode()), (path, kind))


QUERIES = (
    "/studio/history?text={}", "/studio/history?tab={}", "/studio/history?method={}", "/studio/history?state={}", "/studio/history?tag={}",
    "/studio/history?before={}", "/studio/history?starred={}", "/studio/watch?comparison={}", "/studio/watch?runs={}",
    "/studio/watch?since={}",
    "/studio/beside?runs={}", "/studio/export?target={}&format=txt", "/studio/bench/text?since={}", "/studio/bench/{}", "/studio/runs/{}",
    "/studio/artifacts/{}", "/studio/comparisons/{}/summary", "/studio/formats/{}", "/studio/verify/artifact/{}",
)  # fmt: skip
SEARCHES = (
    "", "%00", "%22", "%22%22%22", "a%22b", "*", "a*", "NEAR(a%20b)", "a%20AND", "OR%20OR", "-", "title%3Aa", "(", "%ED%A0%80", "%FF",
    "%E2%80%AE",
    "a" * 5_000, "1%20OR%201%3D1", "%27%3B%20DROP%20TABLE%20runs%3B--", "%25", "_", "%F0%9F%98%80", "9" * 40, "-1", "1e9", "NaN",
    "true", "%7B%7D",
    "0" * 32 + "%3A" + "9" * 30, "0" * 32 + "%3A-1", "%2C%2C%2C", "..%2F..", "%0D%0AX%3A1", "^a", "a%20NOT%20a", "{a}", "%5B%5D", "𝕏",
)  # fmt: skip


@pytest.mark.parametrize("path", QUERIES)
def test_any_query_is_answered_or_refused_in_words(app: FastAPI, path: str) -> None:
    for search in SEARCHES:
        check_worded(get(app, path.replace("{}", search)), search)


def test_after_all_of_that_the_page_still_opens(app: FastAPI) -> None:
    for path in ("/studio/bench/text", "/studio/history", "/studio/queue", "/studio/models", "/studio/status", "/studio/chain"):
        assert get(app, path).status == 200, path
