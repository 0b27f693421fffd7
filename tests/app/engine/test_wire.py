"""The wire carries messages whole, in order, and refuses nonsense."""

import io
import json
import os
import threading

import pytest

from app.engine.wire import Outbox, WireError, read_message, write_message
from backends.contract import Artifact, Metric, Preview, Produced, Step


def artifact(data: bytes, name: str = "answer") -> Artifact:
    return Artifact(kind="text", name=name, media_type="text/plain", data=data)


def test_a_message_and_its_bytes_come_back_as_they_were() -> None:
    stream = io.BytesIO()
    write_message(stream, {"type": "x", "text": "line\nbreak \ud800 ü"}, [b"\n\n", b"", b"\x00" * 10])
    write_message(stream, {"type": "y"})
    stream.seek(0)
    assert read_message(stream) == ({"type": "x", "text": "line\nbreak \ud800 ü"}, [b"\n\n", b"", b"\x00" * 10])
    assert read_message(stream) == ({"type": "y"}, [])
    assert read_message(stream) is None


@pytest.mark.parametrize(
    "line", [b"{}\n", b"[]\n", b"nonsense\n", b'{"blobs":[-1]}\n', b'{"blobs":["a"]}\n', b'{"blobs":[99999999999999]}\n', b"{"]
)
def test_nonsense_is_refused(line: bytes) -> None:
    with pytest.raises(WireError):
        read_message(io.BytesIO(line))


def test_a_message_cut_off_in_its_bytes_is_the_end() -> None:
    stream = io.BytesIO()
    write_message(stream, {"type": "x"}, [b"abcdef"])
    assert read_message(io.BytesIO(stream.getvalue()[:-1])) is None


def test_the_outbox_keeps_order_between_events_and_messages() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as sink, os.fdopen(reading, "rb") as source:
        outbox = Outbox(sink)
        outbox.begin("r" * 32)
        outbox.event(0.5, Step(index=1, data={"value": float("nan"), "token": "é"}))
        outbox.event(0.6, Preview(artifact=artifact(b"so far")))
        outbox.event(0.7, Metric(name="m", value=float("inf"), label="m"))
        outbox.event(0.8, Produced(artifact=artifact(b"\xff\x00\n")))
        outbox.send({"type": "ended"})
        events, blobs = [], []
        while (received := read_message(source)) is not None and received[0]["type"] == "events":
            assert received[0]["run"] == "r" * 32
            events += received[0]["events"]
            blobs += received[1]
        assert received is not None and received[0] == {"type": "ended"}
    assert [(event["at"], event["type"]) for event in events] == [(0.5, "step"), (0.6, "preview"), (0.7, "metric"), (0.8, "produced")]
    assert events[0]["data"]["value"] is None and events[2]["value"] is None
    assert blobs == [b"so far", b"\xff\x00\n"]
    assert "data" not in events[1]["artifact"]


def test_text_with_lone_surrogates_passes_unchanged() -> None:
    sink = io.BytesIO()
    outbox = Outbox(sink)
    outbox.begin("run")
    outbox.event(0.0, Step(index=0, data={"token": "a\ud800b"}))
    outbox.send({"type": "ended"})
    received = read_message(io.BytesIO(sink.getvalue()))
    assert received is not None and received[0]["events"][0]["data"]["token"] == "a\ud800b"


def test_events_leave_without_a_message_after_them() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as sink, os.fdopen(reading, "rb") as source:
        outbox = Outbox(sink)
        outbox.begin("run")
        outbox.event(0.0, Step(index=1, data={}))
        received = read_message(source)
        assert received is not None and json.dumps(received[0]["events"])


def test_an_event_that_no_other_follows_leaves_too() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as sink, os.fdopen(reading, "rb") as source:
        outbox = Outbox(sink)
        outbox.begin("run")
        for index in range(3):
            outbox.event(0.0, Step(index=index, data={}))
        seen: list[int] = []
        while len(seen) < 3:
            received = read_message(source)
            assert received is not None
            seen += [event["index"] for event in received[0]["events"]]
        assert seen == [0, 1, 2]


def test_only_the_last_preview_of_a_batch_is_sent() -> None:
    sink = io.BytesIO()
    outbox = Outbox(sink)
    outbox.begin("run")
    outbox.event(0.0, Step(index=0, data={}))
    for text in (b"a", b"ab", b"abc"):
        outbox.event(0.0, Preview(artifact=artifact(text)))
    outbox.send({"type": "ended"})
    sink.seek(0)
    blobs: list[bytes] = []
    while (received := read_message(sink)) is not None:
        blobs += received[1]
    assert blobs[-1] == b"abc" and len(blobs) < 3


def test_a_method_that_changes_a_buffer_after_handing_it_over_changes_nothing() -> None:
    sink = io.BytesIO()
    outbox = Outbox(sink)
    outbox.begin("run")
    values = [1, 2, 3]
    outbox.event(0.0, Step(index=0, data={"values": values}))
    values.clear()
    outbox.send({"type": "ended"})
    assert b'"values":[1,2,3]' in sink.getvalue()


def test_a_run_far_ahead_of_the_wire_waits_for_it() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as sink, os.fdopen(reading, "rb") as source:
        outbox = Outbox(sink)
        outbox.begin("run")
        done = threading.Event()

        def produce() -> None:
            for index in range(6_000):
                outbox.event(0.0, Step(index=index, data={}))
            outbox.send({"type": "ended"})
            done.set()

        threading.Thread(target=produce, daemon=True).start()
        assert not done.wait(0.2)
        count = 0
        while (received := read_message(source)) is not None and received[0]["type"] == "events":
            count += len(received[0]["events"])
        assert count == 6_000 and done.wait(10)
