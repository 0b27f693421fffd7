"""The wire between an engine and a worker: JSON lines, each followed by the raw bytes it announces.

What it does: `write_message` and `read_message` frame one message; `Outbox` is the worker's side of the event stream: events are
encoded as they come and leave in batches, the first at once and then every 20 ms, so that a run pays microseconds an event. Of the
previews in a batch only the last is sent.
Where: one line of JSON (RFC 8259) in UTF-8; "blobs" lists the lengths of the byte strings that follow the line.
What it does not do: no object of a foreign process is ever rebuilt by name; there is no pickle on this wire.
"""

import json
import threading
import time
from collections.abc import Sequence
from typing import Any, BinaryIO

from pydantic_core import PydanticSerializationError

from backends.contract import Event, Preview, Produced

LINE_LIMIT = 64 * 2**20
BLOB_LIMIT = 4 * 2**30
BATCH_SECONDS = 0.02
PENDING_LIMIT = 4096
"""Events a run may be ahead of the wire before it has to wait."""

Message = dict[str, Any]


class WireError(Exception):
    """The other side sent something that is no message."""


def write_message(stream: BinaryIO, message: Message, blobs: Sequence[bytes] = ()) -> None:
    """Write and flush one message."""
    _write_line(stream, json.dumps({**message, "blobs": [len(blob) for blob in blobs]}, separators=(",", ":")), blobs)


def _write_line(stream: BinaryIO, line: str, blobs: Sequence[bytes]) -> None:
    stream.write(line.encode("utf-8", "surrogatepass") + b"\n")
    for blob in blobs:
        stream.write(blob)
    stream.flush()


def read_message(stream: BinaryIO) -> tuple[Message, list[bytes]] | None:
    """The next message and its blobs; None at the end of the stream; WireError for anything malformed."""
    line = stream.readline(LINE_LIMIT)
    if not line:
        return None
    if not line.endswith(b"\n"):
        raise WireError("a line without an end")
    try:
        message = json.loads(line.decode("utf-8", "surrogatepass"))
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
    """Carries a worker's messages. `event` is for the run's thread; `send` may be called from any."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._writing = threading.Lock()
        self._space = threading.Condition()
        self._pending: list[tuple[Event, str, bytes | None]] = []
        self._run = ""
        self._wake = threading.Event()
        threading.Thread(target=self._flush_forever, name="outbox", daemon=True).start()

    def begin(self, run: str) -> None:
        """Events from here on belong to `run`."""
        self._run = run

    def event(self, at: float, event: Event) -> None:
        """Encode now (the method may change what it handed over) and leave the rest to the next batch."""
        blob = event.artifact.data if isinstance(event, Preview | Produced) else None
        text = _encoded(event)
        with self._space:
            while len(self._pending) >= PENDING_LIMIT:
                self._space.wait()
            self._pending.append((event, f'{{"at":{at:.6f},{text[1:]}', blob))
        if isinstance(event, Produced):
            self.flush()  # a result is out of this process before the method goes on: a crash must not take it along
        else:
            self._wake.set()

    def send(self, message: Message) -> None:
        """Everything pending, then this message."""
        with self._writing:
            self._flush_locked()
            write_message(self._stream, message)

    def flush(self) -> None:
        """Everything pending."""
        with self._writing:
            self._flush_locked()

    def _flush_locked(self) -> None:
        with self._space:
            pending, self._pending = self._pending, []
            self._space.notify_all()
        if pending:
            latest = max((place for place, entry in enumerate(pending) if isinstance(entry[0], Preview)), default=-1)
            kept = [entry for place, entry in enumerate(pending) if place == latest or not isinstance(entry[0], Preview)]
            blobs = [blob for _, _, blob in kept if blob is not None]
            lengths = ",".join(str(len(blob)) for blob in blobs)
            events = ",".join(text for _, text, _ in kept)
            _write_line(self._stream, f'{{"type":"events","run":"{self._run}","events":[{events}],"blobs":[{lengths}]}}', blobs)

    def _flush_forever(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            try:
                self.flush()
            except (BrokenPipeError, ValueError):
                return  # the studio is gone; the command reader ends this process
            time.sleep(BATCH_SECONDS)


def _encoded(event: Event) -> str:
    """The event as JSON without an artifact's bytes. NaN and infinity become null."""
    exclude = {"artifact": {"data"}} if isinstance(event, Preview | Produced) else None
    try:
        return event.model_dump_json(exclude=exclude)
    except PydanticSerializationError:
        # Text with lone surrogates has no UTF-8 form; escaped it passes unchanged.
        return json.dumps(event.model_dump(exclude=exclude), allow_nan=False)
