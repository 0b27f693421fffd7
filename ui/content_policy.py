"""The headers every answer carries: what the page may load, that nothing may frame it, and that types are not guessed.

Scripts may come only from this server, or be one of the inline scripts of the page just sent: their SHA-256 digests are
computed from the answer itself. So a script smuggled into shown text, into an attribute or into a data field does not run,
and `eval` is off. (Content Security Policy Level 3, section 6.7; HTML standard, Referrer-Policy.)

It deliberately decides nothing about who may ask: that is `ui.security`.
"""

import base64
import hashlib
import re

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.security import OWNER_COOKIE, OWNER_KEY

_INLINE_SCRIPT = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)
_POLICY = (
    "default-src 'none'; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; media-src 'self' data: blob:; worker-src 'self' blob:; manifest-src 'self'; frame-src 'self'; object-src 'none'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
_ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()",
}
_ONE_YEAR = 365 * 24 * 3600


def policy_for(page: bytes = b"") -> str:
    """The Content-Security-Policy of a page whose own inline scripts may run."""
    digests = [base64.b64encode(hashlib.sha256(script).digest()).decode() for script in _INLINE_SCRIPT.findall(page) if script.strip()]
    return _POLICY.format(scripts="".join(f" 'sha256-{digest}'" for digest in dict.fromkeys(digests)))


class PageHeaders:
    """ASGI middleware that adds the headers, the owner cookie to a browser that has none, and `tags` to the head of the page.

    Gradio adds a given head by script once it runs; here styles and scripts stand in the page itself and load at once.
    """

    def __init__(self, app: ASGIApp, tags: str = "") -> None:
        self.app = app
        self.tags = tags.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        whole_page = scope["path"] == "/" and scope["method"] in ("GET", "HEAD")
        if whole_page:  # the digests need the page itself, not its compressed form
            scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
        await self.app(scope, receive, _Sender(scope, send, whole_page, self.tags))


class _Sender:
    """Passes an answer on with its headers; holds a whole page back until its inline scripts are known."""

    def __init__(self, scope: Scope, send: Send, whole_page: bool, tags: bytes) -> None:
        self.scope = scope
        self.tags = tags
        self.send = send
        self.whole_page = whole_page
        self.start: Message | None = None
        self.body = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._add_headers(message)
            if self.whole_page:
                self.start = message
                return
        if self.whole_page and message["type"] == "http.response.body" and self.start is not None:
            self.body += message.get("body", b"")
            if message.get("more_body"):
                return
            await self._send_page(self.start, bytes(self.body))
            return
        await self.send(message)

    async def _send_page(self, start: Message, body: bytes) -> None:
        headers = MutableHeaders(scope=start)
        if headers.get("content-type", "").startswith("text/html") and body:
            body = body.replace(b"</head>", self.tags + b"</head>", 1)
            headers["content-length"] = str(len(body))
            headers["content-security-policy"] = policy_for(body)
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})

    def _add_headers(self, message: Message) -> None:
        headers = MutableHeaders(scope=message)
        for name, value in _ALWAYS.items():
            headers.setdefault(name, value)
        headers.setdefault("content-security-policy", policy_for())
        for name in ("access-control-allow-origin", "access-control-allow-credentials"):
            if name in headers:
                del headers[name]
        if self.whole_page:
            headers["cache-control"] = "no-store"
            if self.scope.get("diptych.new_owner"):
                headers.append("set-cookie", f"{OWNER_COOKIE}={self.scope[OWNER_KEY]}; Path=/; Max-Age={_ONE_YEAR}; HttpOnly; SameSite=Lax")
