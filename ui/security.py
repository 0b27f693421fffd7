"""Who may talk to the studio: one guard in front of every route, Gradio's included.

A request must name this server as its host, and anything but opening the page must come from the page itself (Origin and
Sec-Fetch-Site); beyond loopback it must carry an account. Programs that are not browsers send neither header and pass.
The guard also gives each browser an owner cookie (128 random bits), which names its drafts.

It deliberately encrypts nothing and keeps no sessions: beyond loopback put a TLS proxy in front.
"""

import base64
import binascii
import ipaddress
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import AccessError
from ui.answers import Answer

OWNER_COOKIE = "diptych-owner"
OWNER_KEY = "diptych.owner"
SAFE_METHODS = frozenset({"GET", "HEAD"})
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
CLOSED_PREFIXES = (
    "/gradio_api/proxy=", "/gradio_api/run-history", "/gradio_api/runs", "/gradio_api/deep_link", "/gradio_api/dev/",
    "/gradio_api/custom_component", "/gradio_api/component_server", "/gradio_api/stream", "/gradio_api/file/", "/monitoring", "/svelte",
    "/proxy=", "/file=", "/run/", "/component_server",
)  # fmt: skip
"""Routes of Gradio this page never uses. Refusing them whole is simpler than trusting each one's checks."""
_BODY_LIMIT = 8 * 2**20
_UPLOAD_PREFIXES = ("/studio/verify", "/gradio_api/upload")


class Address(NamedTuple):
    """A host as it is compared: name or canonical IP literal, and port."""

    host: str
    port: int


@dataclass(frozen=True)
class Policy:
    """What this server answers to. `accounts` empty: no account is asked for (loopback only)."""

    port: int
    hosts: frozenset[str] = LOOPBACK
    accounts: Mapping[str, str] | None = None
    max_upload_bytes: int = 512 * 2**20

    def knows(self, address: Address | None) -> bool:
        """Is this the server's own name and port?"""
        return address is not None and address.port == self.port and address.host in self.hosts


def is_loopback(listen: str) -> bool:
    """True if a socket bound to `listen` cannot be reached from another machine."""
    if listen == "localhost":
        return True
    try:
        return ipaddress.ip_address(listen.strip("[]")).is_loopback
    except ValueError:
        return False


def parse_address(value: str, scheme: str = "http") -> Address | None:
    """`host[:port]` as sent, or None if it is not exactly that (no user, path, space, trailing dot or zone)."""
    if not value or value != value.strip() or any(sign in value for sign in "@/\\?#%, \t\x00") or not value.isascii():
        return None
    try:
        parts = urlsplit(f"//{value}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or host.endswith(".") or value.endswith(":"):
        return None
    if value.startswith("["):
        try:
            host = str(ipaddress.IPv6Address(host))
        except ValueError:
            return None
    return Address(host, port or (443 if scheme == "https" else 80))


def parse_origin(value: str) -> Address | None:
    """The address of an Origin header; None for `null` and for anything that is not scheme://host[:port]."""
    scheme, separator, rest = value.partition("://")
    return parse_address(rest, scheme) if separator and scheme in ("http", "https") else None


def owner_of(scope: Scope) -> str:
    """The owner the guard put on this request."""
    return str(scope.get(OWNER_KEY, ""))


def account_of(scope: Scope) -> str | None:
    """The signed-in account, or None where the studio runs without accounts and everything belongs to everybody."""
    owner = owner_of(scope)
    return owner.removeprefix("account:") if owner.startswith("account:") else None


def _too_large(limit: int) -> tuple[int, AccessError]:
    return 413, AccessError("This is larger than the studio accepts.", f"The limit is {limit:,} bytes.", "Send less.")


class Guard:
    """The ASGI middleware; see the module."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self.app = app
        self.policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is None:
            refusal = self._name_owner(scope, headers)
        if refusal is not None:
            await self._refuse(scope, receive, send, *refusal)
            return
        await self._within_limit(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, AccessError] | None:
        if scope["type"] != "http":
            return 403, AccessError("This server speaks no WebSocket.", "The page does not use one.", "Use the HTTP routes.")
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.policy.knows(parse_address(hosts[0], scope.get("scheme", "http"))):
            return 403, AccessError(
                "The address in this request is not this studio's.",
                "A page elsewhere may be posing as it.",
                "Open the address the studio printed at its start, or name yours with --host-name.",
            )
        if refused := self._foreign(scope, headers):
            return refused
        path = unquote(unquote(scope["path"]))
        if path.startswith(CLOSED_PREFIXES) or (path.startswith("/gradio_api/file=") and "://" in path):
            return 404, AccessError("There is nothing here.", "", "Go to the page itself.")
        length, limit = headers.get("content-length", "0"), self._body_limit(scope["path"])
        return _too_large(limit) if not length.isdigit() or int(length) > limit else None

    async def _within_limit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A body that states no length is cut at the limit, and whatever the application says of the rest becomes the refusal."""
        limit, taken, state = self._body_limit(scope["path"]), 0, "waiting"

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            return {"type": "http.disconnect"} if taken > limit else message

        async def answered(message: Message) -> None:
            nonlocal state
            if state == "waiting":
                state = "refused" if taken > limit else "answering"
                if state == "refused":
                    await self._refuse(scope, receive, send, *_too_large(limit))
            if state == "answering":
                await send(message)

        await self.app(scope, counted, answered)

    def _foreign(self, scope: Scope, headers: Headers) -> tuple[int, AccessError] | None:
        """Refuse what another site's page sends; following a link to the page itself is allowed."""
        origins, sites = headers.getlist("origin"), headers.getlist("sec-fetch-site")
        own_origin = not origins or (len(origins) == 1 and self._is_own(scope, origins[0]))
        own_site = not sites or (len(sites) == 1 and sites[0] in ("same-origin", "none"))
        if own_origin and own_site:
            return None
        opens_page = (
            scope["method"] in SAFE_METHODS and not origins and scope["path"] == "/"
            and headers.get("sec-fetch-mode", "navigate") == "navigate" and headers.get("sec-fetch-dest", "document") == "document"
        )  # fmt: skip
        if opens_page:
            return None
        return 403, AccessError("This request comes from another site.", "Only the studio's own page may send it.", "Use the page itself.")

    def _is_own(self, scope: Scope, origin: str) -> bool:
        same_scheme = origin.partition("://")[0] == str(scope.get("scheme", "http"))
        return same_scheme and self.policy.knows(parse_origin(origin))

    def _body_limit(self, path: str) -> int:
        return self.policy.max_upload_bytes if path.startswith(_UPLOAD_PREFIXES) else _BODY_LIMIT

    def _name_owner(self, scope: Scope, headers: Headers) -> tuple[int, AccessError] | None:
        if self.policy.accounts:
            account = _account(headers.getlist("authorization"), self.policy.accounts)
            if account is None:
                return 401, AccessError("This studio asks for an account.", "It can be reached from other machines.", "Sign in.")
            scope[OWNER_KEY] = f"account:{account}"
            return None
        known = _owner_cookie(headers.getlist("cookie"))
        scope[OWNER_KEY] = known or secrets.token_hex(16)
        scope["diptych.new_owner"] = known is None
        return None

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, status: int, error: AccessError) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        extra = {"www-authenticate": 'Basic realm="Diptych", charset="UTF-8"'} if status == 401 else {}
        await Answer(error.fault().model_dump(mode="json"), status, headers=extra)(scope, receive, send)


def _account(values: Sequence[str], accounts: Mapping[str, str]) -> str | None:
    """The account of a Basic authorization header, compared in constant time."""
    if len(values) != 1 or not values[0].lower().startswith("basic "):
        return None
    try:
        name, separator, password = base64.b64decode(values[0][6:].strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    expected = accounts.get(name, secrets.token_hex(16))
    agrees = secrets.compare_digest(expected.encode(), password.encode())
    return name if separator and agrees and name in accounts else None


def _owner_cookie(values: Sequence[str]) -> str | None:
    try:
        morsel = SimpleCookie("; ".join(values)).get(OWNER_COOKIE)
    except CookieError:
        return None
    value = morsel.value if morsel else ""
    return value if len(value) == 32 and all(sign in "0123456789abcdef" for sign in value) else None
