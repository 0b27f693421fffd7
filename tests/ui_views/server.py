"""A loopback server for the harness: the web files at the addresses the studio serves them, scenes as JSON.

It sends the studio's kind of content policy (scripts of this origin only), so a viewer that needs more fails here.

Deliberately absent: anything of the studio itself.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from tests.ui_views.scenes import scene, thumbs

WEB = Path(__file__).parents[2] / "ui" / "web"
HARNESS = Path(__file__).parent / "harness"
FONTS = Path(str(files("gradio"))) / "templates" / "frontend"
ROOTS = (("/studio/static/", WEB), ("/static/", FONTS / "static"), ("/harness/", HARNESS))
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".json": "application/json", ".woff2": "font/woff2"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)


class Handler(BaseHTTPRequestHandler):
    """Answers GET only."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/scene":
            name = parse_qs(parts.query)["name"][0]
            self._send(json.dumps(scene(name)).encode(), ".json")
        elif parts.path.startswith("/studio/runs/") and parts.path.endswith("/thumb"):
            self._send(json.dumps(thumbs()["thumbs"][0]).encode(), ".json")
        else:
            self._send_file(parts.path)

    def _send_file(self, path: str) -> None:
        prefix, root = next(((prefix, root) for prefix, root in ROOTS if path.startswith(prefix)), ("/", HARNESS))
        found = (root / (path.removeprefix(prefix) or "index.html")).resolve()
        if found.is_relative_to(root.resolve()) and found.is_file():
            self._send(found.read_bytes(), found.suffix)
        else:
            self.send_error(404)

    def _send(self, body: bytes, suffix: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", TYPES.get(suffix, "application/octet-stream"))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):  # a page closed while it loads
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""


@contextmanager
def serving() -> Iterator[str]:
    """The harness on a free loopback port, as long as the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
