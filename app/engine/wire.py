"""The wire between an engine and a worker: JSON lines, each followed by the raw bytes it announces.

What it does: `write_message` and `read_message` frame one message; `Outbox` is the worker's side of the event stream: events are
encoded as they come and leave in batches, the first at once and then every 25 ms, so that a run pays microseconds an event. Of the
previews in a batch only the last is sent.
Where: one line of JSON (RFC 8259) in UTF-8; "blobs" lists the lengths of the byte strings that follow the line.
What it does not do: no object of a foreign process is ever rebuilt by name; there is no pickle on this wire.
"""

import json
import threading
import time
from collections.abc import Sequence
from typing import Any, BinaryIO

from pydantic_core import PydanticSerializationError, to_json

from backends.contract import Event

LINE_LIMIT = 64 * 2**20
BLOB_LIMIT = 4 * 2**30
BATCH_SECONDS = 0.025
SILENCE_SECONDS = 0.2
"""How long an event may lie around when no other follows it."""

_WITHOUT_DATA: dict[str, Any] = {"artifact": {"data"}}
Message = dict[str, Any]


class WireError(Exception):
    """The other side sent something that is no message."""


def write_message(stream: BinaryIO, message: Message, blobs: Sequence[bytes] = ()) -> None:
    """Write and flush one message."""
    line = json.dumps({**message, "blobs": [len(blob) for blob in blobs]}, separators=(",", ":"))
    stream.write(b"".join((line.encode(), b"\n", *blobs)))
    stream.flush()


def read_message(stream: BinaryIO) -> tuple[Message, list[bytes]] | None:
    """The next message and its blobs; None at the end of the stream; WireError for anything malformed."""
    line = stream.readline(LINE_LIMIT)
    if not line:
        return None
    if not line.endswith(b"\n"):
        raise WireError("a line without an end")
    try:
        message = json.loads(line)
        lengths = message.pop("blobs")
        total = sum(lengths)
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise WireError("a line that is no message") from error
    if total > BLOB_LIMIT or min(lengths, default=0) < 0:
        raise WireError("blobs of an impossible length")
    blobs = [stream.read(length) for length in lengths]
    if sum(map(len, blobs)) != total:
        return None
    return message, blobs


class Outbox:
    """Carries a worker's messages. `event` is for the run's thread; `send` may be called from any.

    The run's thread writes by itself, at most once in BATCH_SECONDS: a second thread that wrote would ask for the interpreter's lock
    again and again, and the run would wait for it. Such a thread is there only for what lies around when a method falls silent.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._pending: list[tuple[Event, bytes]] = []
        self._run = ""
        self._flushed = 0.0
        self._left = threading.Event()
        threading.Thread(target=self._flush_leftovers, name="outbox", daemon=True).start()

    def begin(self, run: str) -> None:
        """Events from here on belong to `run`."""
        self._run = run

    def event(self, at: float, event: Event) -> None:
        """Encode now (the method may change what it handed over); write now if the last batch is old enough, or if this is a result."""
        text = b'{"at":%.6f,' % at + _encoded(event)[1:]
        with self._lock:
            self._pending.append((event, text))
            if event.type == "produced" or time.perf_counter() - self._flushed >= BATCH_SECONDS:
                self._flush_locked()
                return
        if not self._left.is_set():
            self._left.set()

    def send(self, message: Message) -> None:
        """Everything pending, then this message."""
        with self._lock:
            self._flush_locked()
            write_message(self._stream, message)

    def flush(self) -> None:
        """Everything pending."""
        with self._lock:
            self._flush_locked()

    def _flush_locked(self) -> None:
        pending, self._pending = self._pending, []
        self._flushed = time.perf_counter()
        if not pending:
            return
        latest = max((place for place, entry in enumerate(pending) if entry[0].type == "preview"), default=-1)
        kept = [entry for place, entry in enumerate(pending) if place == latest or entry[0].type != "preview"]
        blobs = [event.artifact.data for event, _ in kept if event.type == "preview" or event.type == "produced"]
        lengths = ",".join(str(len(blob)) for blob in blobs).encode()
        events = b",".join(text for _, text in kept)
        line = b'{"type":"events","run":"%s","events":[%s],"blobs":[%s]}\n' % (self._run.encode(), events, lengths)
        self._stream.write(b"".join((line, *blobs)))
        self._stream.flush()

    def _flush_leftovers(self) -> None:
        while True:
            self._left.wait()
            time.sleep(SILENCE_SECONDS)
            self._left.clear()
            try:
                self.flush()
            except (BrokenPipeError, ValueError):
                return  # the studio is gone; the command reader ends this process


def _encoded(event: Event) -> bytes:
    """The event as JSON without an artifact's bytes. NaN and infinity become null."""
    # Kinds are told apart by their name: isinstance on pydantic classes costs more than the encoding.
    exclude = _WITHOUT_DATA if event.type == "preview" or event.type == "produced" else None
    try:
        return to_json(event, exclude=exclude, inf_nan_mode="null")
    except PydanticSerializationError:
        # Text with lone surrogates has no UTF-8 form; escaped it passes unchanged.
        return json.dumps(event.model_dump(exclude=exclude), allow_nan=False).encode()
