"""Requests to the whole application, and JSON that nobody should send.

It deliberately reuses the raw ASGI client of the page's own tests: headers and bodies go in exactly as written.
"""

import json
import random
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from tests.ui.conftest import HOST, Answer, ask

WORDED = (400, 403, 404, 413, 422, 503)
"""Refusals; each must say what is wrong."""


def post(app: FastAPI, path: str, body: Any, account: str | None = None) -> Answer:
    """A JSON POST, as a program sends it. `body` may be bytes."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ask(app, path, method="POST", headers=[("host", HOST), ("content-type", "application/json"), *_signed_in(account)], body=raw)


def get(app: FastAPI, path: str, account: str | None = None) -> Answer:
    return ask(app, path, headers=[("host", HOST), *_signed_in(account)])


def _signed_in(account: str | None) -> list[tuple[str, str]]:
    import base64

    return [] if account is None else [("authorization", "Basic " + base64.b64encode(f"{account}:secret".encode()).decode())]


def upload(app: FastAPI, files: list[tuple[str, bytes]]) -> Answer:
    """Files to Verify. Names go in as a browser writes them: UTF-8, with quotes and line breaks escaped (HTML, form data encoding)."""

    def part(name: str, data: bytes) -> bytes:
        escaped = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A").encode("utf-8", "replace")
        return b'--xx\r\nContent-Disposition: form-data; name="files"; filename="' + escaped + b'"\r\n\r\n' + data + b"\r\n"

    body = b"".join(part(name, data) for name, data in files) + b"--xx--\r\n"
    return ask(
        app, "/studio/verify", method="POST", headers=[("host", HOST), ("content-type", "multipart/form-data; boundary=xx")], body=body
    )


def check_worded(answer: Answer, what: Any) -> None:
    """Done, or refused in words; never a failure of the studio's own."""
    assert answer.status == 200 or answer.status in WORDED, (answer.status, answer.text[:400], what)
    said = json.loads(answer.body)
    assert "Traceback" not in answer.text
    if answer.status != 200:
        assert said["what"], what


def shuffled(seed: int, count: int) -> Iterator[random.Random]:
    """`count` sources of chance, the same in every run."""
    for number in range(count):
        yield random.Random(f"{seed}/{number}")
