"""Who is let in: hosts, origins, accounts, paths, sizes, and the headers of every answer (the guard in front of the real app)."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.routing import Mount
from starlette.types import Message, Receive, Scope, Send

from app.api import Studio
from app.errors import AccessError
from storage.values import HistoryQuery
from tests.ui.conftest import HOST, PORT, apart, ask
from ui.security import OWNER_COOKIE, Guard, Policy, is_loopback, parse_address
from ui.server import ServerOptions, build_app, check_options

FOREIGN_HOSTS = (
    "evil.example",
    f"evil.example:{PORT}",
    "127.0.0.1.evil.example:7860",
    f"localhost.:{PORT}",
    f"127.0.0.1.:{PORT}",
    "127.0.0.1",
    "127.0.0.1:80",
    "127.0.0.1:7861",
    "localhost",
    "localhost:07861",
    f"0.0.0.0:{PORT}",
    f"[::]:{PORT}",
    f"[::ffff:127.0.0.1]:{PORT}",
    f"[fe80::1]:{PORT}",
    "::1",
    f"::1:{PORT}",
    f"[::1%25lo]:{PORT}",
    "[::1]",
    f"[127.0.0.1]:{PORT}",
    "",
    " ",
    f" {HOST}",
    f"{HOST} ",
    f"{HOST}/",
    f"user@{HOST}",
    f"127.0.0.1:{PORT}:{PORT}",
    "127.0.0.1:",
    "127.0.0.1:99999",
    "127.0.0.1:-1",
    f"2130706433:{PORT}",
    f"0x7f000001:{PORT}",
    f"127.1:{PORT}",
    f"127.0.0.2:{PORT}",
    f"localhost:{PORT}, evil.example",
    f"127.0.0.1\t:{PORT}",
    f"l%6fcalhost:{PORT}",
    f"lоcalhost:{PORT}".encode().decode("latin-1"),
    f"169.254.169.254:{PORT}",
    f"10.0.0.1:{PORT}",
    f"host.docker.internal:{PORT}",
)
OWN_HOSTS = (
    HOST,
    f"localhost:{PORT}",
    f"LocalHost:{PORT}",
    f"[::1]:{PORT}",
    f"[0:0:0:0:0:0:0:1]:{PORT}",
    f"[0000:0:0:0:0:0:0:0001]:{PORT}",
)
FOREIGN_ORIGINS = (
    "null",
    "http://evil.example",
    f"http://evil.example:{PORT}",
    f"https://{HOST}",
    "http://127.0.0.1",
    "http://127.0.0.1:7861",
    "http://localhost:3000",
    f"http://0.0.0.0:{PORT}",
    f"http://{HOST}.evil.example",
    f"http://localhost.:{PORT}",
    "file://",
    "chrome-extension://abc",
    "",
    f"http://{HOST}/",
    f"http://user@{HOST}",
    f"HTTP://{HOST}",
    f"//{HOST}",
    HOST,
    "http://",
    "http://[::ffff:127.0.0.1]:7860",
    f"http://{HOST}, http://evil.example",
)


def unsafe_routes(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Every (method, path) of the app, Gradio's included, that may change something."""
    for route in _routes(app.routes):
        for method in sorted(getattr(route, "methods", None) or ()):
            if method not in ("GET", "HEAD", "OPTIONS"):
                yield method, route.path


def _routes(routes: Any) -> Iterator[Any]:
    """Every route below `routes`: of mounted applications and of included routers too."""
    for route in routes:
        inner = route.app if isinstance(route, Mount) else getattr(route, "original_router", None)
        if inner is not None:
            yield from _routes(getattr(inner, "routes", None) or ())
        else:
            yield route


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_host_that_is_not_this_server_is_refused(app: FastAPI, host: str) -> None:
    answer = ask(app, "/studio/health", headers=[("host", host)])
    assert answer.status == 403
    assert "not this studio's" in answer.text


@pytest.mark.parametrize("host", OWN_HOSTS)
def test_every_form_of_a_loopback_name_with_the_own_port_is_let_in(app: FastAPI, host: str) -> None:
    assert ask(app, "/studio/health", headers=[("host", host)]).status == 200


@pytest.mark.parametrize("headers", [[], [("host", HOST), ("host", HOST)], [("host", HOST), ("host", "evil.example")]])
def test_a_missing_or_doubled_host_is_refused(app: FastAPI, headers: list[tuple[str, str]]) -> None:
    assert ask(app, "/studio/health", headers=headers).status == 403


def test_there_are_unsafe_routes_of_ours_and_of_gradio_to_test(app: FastAPI) -> None:
    paths = {path for _, path in unsafe_routes(app)}
    assert any(path.startswith("/studio/") for path in paths)
    assert any("queue/join" in path for path in paths)
    assert any("upload" in path for path in paths)


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_foreign_origin_is_refused_on_every_unsafe_route(app: FastAPI, origin: str) -> None:
    for method, path in unsafe_routes(app):
        answer = ask(app, path, method=method, headers=[("host", HOST), ("origin", origin)])
        assert answer.status == 403, (method, path)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "none, cross-site", "SAME-ORIGIN"])
def test_another_site_by_fetch_metadata_is_refused_on_every_unsafe_route(app: FastAPI, site: str) -> None:
    for method, path in unsafe_routes(app):
        headers = [("host", HOST), ("origin", f"http://{HOST}"), ("sec-fetch-site", site)]
        assert ask(app, path, method=method, headers=headers).status == 403, (method, path)


def test_a_doubled_origin_is_refused(app: FastAPI) -> None:
    headers = [("host", HOST), ("origin", f"http://{HOST}"), ("origin", f"http://{HOST}")]
    assert ask(app, "/studio/queue/pause", method="POST", headers=headers).status == 403


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"])
def test_a_simple_cross_site_post_changes_nothing(app: FastAPI, studio: Studio, kind: str) -> None:
    before = (studio.store.paused, studio.store.queue(), studio.history(HistoryQuery()))
    for method, path in unsafe_routes(app):
        headers = [("host", HOST), ("origin", "http://evil.example"), ("sec-fetch-site", "cross-site"), ("content-type", kind)]
        answer = ask(app, path, method=method, headers=headers, body=b'{"paused": true}')
        assert answer.status == 403, (method, path)
    assert (studio.store.paused, studio.store.queue(), studio.history(HistoryQuery())) == before


def test_reading_gradios_event_stream_from_another_site_is_refused(app: FastAPI) -> None:
    headers = [("host", HOST), ("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")]
    for path in ("/gradio_api/queue/data?session_hash=x", "/config", "/studio/history", "/gradio_api/info"):
        assert ask(app, path, headers=headers).status == 403, path


def test_following_a_link_to_the_page_is_allowed_and_only_to_the_page(app: FastAPI) -> None:
    headers = [("host", HOST), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]
    assert ask(app, "/?run=0123456789abcdef0123456789abcdef", headers=headers).status == 200
    assert ask(app, "/studio/artifacts/0123456789abcdef0123456789abcdef", headers=headers).status == 403
    framed = [(name, "iframe" if name == "sec-fetch-dest" else value) for name, value in headers]
    assert ask(app, "/", headers=framed).status == 403


def test_the_own_page_and_programs_that_are_not_browsers_may_change_things(app: FastAPI, studio: Studio) -> None:
    own = [("host", HOST), ("origin", f"http://{HOST}"), ("sec-fetch-site", "same-origin"), ("content-type", "application/json")]
    program = [("host", HOST), ("content-type", "application/json")]
    for headers, paused in ((own, True), (program, False)):
        body = b'{"paused": true}' if paused else b'{"paused": false}'
        assert ask(app, "/studio/queue/pause", method="POST", headers=headers, body=body).status == 200
        assert studio.store.paused is paused


TRAVERSALS = (
    "../../../../etc/passwd",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "..%252f..%252fetc%252fpasswd",
    "....//....//etc/passwd",
    "..\\..\\..\\etc\\passwd",
    "..%5c..%5cetc%5cpasswd",
    "/etc/passwd",
    "//etc/passwd",
    "%2fetc%2fpasswd",
    "C:/Windows/win.ini",
    "C:%5cWindows%5cwin.ini",
    "\\\\evil.example\\share\\x",
    "//evil.example/share/x",
    "file:///etc/passwd",
    "app.js%00.css",
    "%00",
    "..%c0%af..%c0%afetc/passwd",
    "~root/.ssh/id_rsa",
    "ETC/PASSWD/../../etc/passwd",
    "./././../../../etc/passwd",
    "..;/..;/etc/passwd",
    "proc/self/environ",
)
READING = (
    "/studio/static/js/{}",
    "/studio/static/css/{}",
    "/studio/static/views/{}",
    "/studio/artifacts/{}",
    "/studio/artifacts/{}/json",
    "/studio/runs/{}",
    "/studio/runs/{}/thumb",
    "/studio/comparisons/{}/summary",
    "/studio/bench/{}",
    "/studio/formats/{}",
    "/studio/verify/artifact/{}",
    "/studio/export?target={}&format=txt",
    "/gradio_api/file={}",
    "/file={}",
    "/gradio_api/file/{}",
    "/static/{}",
    "/assets/{}",
    "/svelte/{}",
    "/gradio_api/custom_component/x/client/component/{}",
    "/gradio_api/proxy={}",
    "/gradio_api/stream/{}/x/1/playlist-file",
)


@pytest.mark.parametrize("route", READING)
def test_no_route_that_takes_a_name_reads_outside_its_folder(app: FastAPI, route: str) -> None:
    for path in TRAVERSALS:
        answer = ask(app, route.format(path))
        assert answer.status in (400, 403, 404, 405, 422), (route, path, answer.status)
        assert b"root:" not in answer.body and b"[fonts]" not in answer.body


ADVISORIES = (
    ("GET", "/file=/etc/passwd"),
    ("GET", "/gradio_api/file=/etc/passwd"),
    ("GET", "/gradio_api/file=/ETC/passwd"),
    ("GET", "/gradio_api/file=http://169.254.169.254/latest/meta-data"),
    ("GET", "/gradio_api/file=https://evil.example/x"),
    ("GET", "/gradio_api/proxy=http://127.0.0.1:22/"),
    ("GET", "/gradio_api/proxy=https://evil.hf.space/x"),
    ("GET", "/proxy=http://127.0.0.1/"),
    ("POST", "/component_server"),
    ("POST", "/gradio_api/component_server"),
    ("GET", "/gradio_api/custom_component/a/client/../../x"),
    ("GET", "/gradio_api/deep_link?session_hash=x"),
    ("GET", "/gradio_api/dev/reload"),
    ("GET", "/monitoring"),
    ("GET", "/gradio_api/runs"),
    ("POST", "/gradio_api/run-history/connect"),
    ("POST", "/run/predict"),
    ("GET", "/docs"),
    ("GET", "/openapi.json"),
    ("GET", "/redoc"),
    ("GET", "/gradio_api/stream/x/1/1/playlist.m3u8"),
    ("GET", "/gradio_api/file=//evil.example/share"),
    ("GET", "/svelte/..%2f..%2fx"),
)


@pytest.mark.parametrize(("method", "path"), ADVISORIES)
def test_requests_of_known_gradio_advisories_are_refused(app: FastAPI, method: str, path: str) -> None:
    answer = ask(app, path, method=method, headers=[("host", HOST), ("content-type", "application/json")], body=b"{}")
    assert answer.status in (400, 403, 404, 405, 422), (path, answer.status)
    assert b"root:" not in answer.body
    assert "location" not in answer.headers


EVERYWHERE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", [("host", HOST)]),
        ("/studio/health", [("host", HOST)]),
        ("/studio/static/js/app.js", [("host", HOST)]),
        ("/theme.css", [("host", HOST)]),
        ("/studio/runs/nothing", [("host", HOST)]),
        ("/nowhere", [("host", HOST)]),
        ("/", [("host", "evil.example")]),
        ("/studio/history?limit=x&before=y", [("host", HOST)]),
    ],
)
def test_every_answer_forbids_framing_guessing_and_leaking(app: FastAPI, path: str, headers: list[tuple[str, str]]) -> None:
    answer = ask(app, path, headers=headers)
    for name, value in EVERYWHERE.items():
        assert answer.headers.get(name) == value, (path, name)
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "script-src 'self'" in policy and "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def test_the_page_names_no_other_server_in_what_it_loads(app: FastAPI) -> None:
    page = ask(app, "/").text
    head = page.partition("<body")[0]
    for tag in ("<script", "<link", "<img"):
        for part in head.split(tag)[1:]:
            attributes = part.partition(">")[0]
            assert "http://" not in attributes and "https://" not in attributes and 'src="//' not in attributes


def test_a_browser_gets_an_owner_cookie_once(app: FastAPI) -> None:
    first = ask(app, "/").headers["set-cookie"]
    assert first.startswith(f"{OWNER_COOKIE}=") and "HttpOnly" in first and "SameSite=Lax" in first
    value = first.partition("=")[2].partition(";")[0]
    assert len(value) == 32
    again = ask(app, "/", headers=[("host", HOST), ("cookie", f"{OWNER_COOKIE}={value}")])
    assert "set-cookie" not in again.headers
    forged = ask(app, "/", headers=[("host", HOST), ("cookie", f"{OWNER_COOKIE}=account:admin")])
    assert "account" not in forged.headers["set-cookie"]


def test_a_body_whose_stated_length_is_over_the_limit_or_no_number_is_refused(app: FastAPI) -> None:
    stated = [("host", HOST), ("content-type", "application/json"), ("content-length", str(10**9))]
    assert ask(app, "/studio/queue/pause", method="POST", headers=stated).status == 413
    wrong = [("host", HOST), ("content-type", "application/json"), ("content-length", "-1")]
    assert ask(app, "/studio/queue/pause", method="POST", headers=wrong).status == 413


@pytest.mark.parametrize("listen", ["0.0.0.0", "::", "192.168.1.5", "example.org", "10.0.0.1"])
def test_listening_beyond_loopback_without_an_account_is_refused_naming_the_flag(listen: str) -> None:
    with pytest.raises(AccessError, match="--auth"):
        check_options(ServerOptions(listen=listen))
    check_options(ServerOptions(listen=listen, auth=(("ada", "secret"),)))


@pytest.mark.parametrize("auth", [(("", "x"),), (("ada", ""),), (("a:b", "x"),)])
def test_an_account_without_name_or_password_is_refused(auth: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(AccessError):
        check_options(ServerOptions(auth=auth))


def test_with_accounts_every_route_asks_for_one(studio: Studio) -> None:
    guarded = build_app(studio, ServerOptions(port=PORT, auth=(("ada", "se:cret"), ("bob", "b"))))
    for path in ("/", "/studio/health", "/studio/history", "/studio/static/js/app.js", "/config", "/gradio_api/info"):
        answer = ask(guarded, path)
        assert answer.status == 401, path
        assert answer.headers["www-authenticate"].startswith("Basic")
    for given, status in (("ada:se:cret", 200), ("ada:wrong", 401), ("eve:se:cret", 401), ("ada", 401), ("bob:b", 200)):
        header = ("authorization", "Basic " + base64.b64encode(given.encode()).decode())
        assert ask(guarded, "/studio/health", headers=[("host", HOST), header]).status == status, given
    assert ask(guarded, "/studio/health", headers=[("host", HOST), ("authorization", "Basic !!!")]).status == 401


@pytest.mark.parametrize(
    ("listen", "expected"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("127.0.0.2", True), ("0.0.0.0", False), ("::", False), ("evil", False)],
)
def test_loopback_is_told_from_the_rest(listen: str, expected: bool) -> None:
    assert is_loopback(listen) is expected


def test_a_port_that_is_not_written_means_the_schemes_own() -> None:
    assert parse_address("localhost") == ("localhost", 80)
    assert parse_address("localhost", "https") == ("localhost", 443)
    assert Policy(port=80).knows(parse_address("localhost"))


def test_a_body_without_a_stated_length_is_cut_at_the_limit() -> None:
    taken = 0

    async def swallow(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal taken
        while (message := await receive())["type"] == "http.request":
            taken += len(message["body"])

    chunks = iter([{"type": "http.request", "body": b"x" * 2**20, "more_body": True}] * 100)

    async def receive() -> Message:
        return next(chunks)

    async def send(message: Message) -> None:
        pass

    guard = Guard(swallow, Policy(port=PORT))
    scope = {"type": "http", "method": "POST", "scheme": "http", "path": "/studio/queue/pause", "headers": [(b"host", HOST.encode())]}
    apart(guard(scope, receive, send))
    assert taken <= 8 * 2**20
