"""Records as untrusted bytes: any change is refused, and each kind of fault has its own reason."""

import base64
import copy
import json
import random

import pytest
import rfc8785
from securesystemslib.dsse import Envelope

from app.provenance.envelope import Opened, Refusal, open_envelope
from app.provenance.statement import PAYLOAD_TYPE
from app.provenance.verify import verify_bytes


def payload_of(record: bytes) -> bytes:
    return base64.b64decode(json.loads(record)["payload"])


def with_payload(record: bytes, payload: bytes) -> bytes:
    return json.dumps(json.loads(record) | {"payload": base64.b64encode(payload).decode()}).encode()


def signed_payload(payload: bytes, keys, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Any bytes, properly signed."""
    envelope = Envelope(payload, payload_type, {})
    envelope.sign(keys.signer)
    return json.dumps(envelope.to_dict()).encode()


def paths(value, path=()):
    """Every place in a JSON value, its leaves and its containers."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        yield from paths(part, (*path, name))


def changed(value):
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value + 1
    return value + "x" if isinstance(value, str) else "something else"


def edit(whole, path, how):
    """A copy of `whole` with the place at `path` changed, dropped or given a new member."""
    edited = copy.deepcopy(whole)
    holder = edited
    for step in path[:-1]:
        holder = holder[step]
    if how == "drop":
        del holder[path[-1]]
    elif how == "change":
        holder[path[-1]] = changed(holder[path[-1]])
    else:
        place = holder[path[-1]] if path else edited
        place.update(added=1) if isinstance(place, dict) else place.append("added")
    return edited


def test_an_untouched_record_opens(signed, keys):
    opened = open_envelope(signed[1], keys)
    assert isinstance(opened, Opened) and opened.key.origin == "here" and opened.sequence == 1


def test_a_change_of_any_field_of_the_statement_is_detected(signed, keys):
    data, record = signed
    statement = json.loads(payload_of(record))
    tried = 0
    for path in paths(statement):
        place = statement
        for step in path:
            place = place[step]
        ways = [*(["change", "drop"] if path else []), *(["add"] if isinstance(place, dict | list) else [])]
        for how in ways:
            edited = with_payload(record, rfc8785.dumps(edit(statement, path, how)))
            report = verify_bytes(data, "x", edited, keys)
            assert (report.verdict, report.valid) == ("signature invalid", False), (path, how)
            tried += 1
    assert tried > 120


def test_a_change_of_any_field_of_the_envelope_is_detected(signed, keys):
    data, record = signed
    envelope = json.loads(record)
    for path in paths(envelope):
        place = envelope
        for step in path:
            place = place[step]
        for how in [*(["change", "drop"] if path else []), *(["add"] if isinstance(place, dict | list) else [])]:
            report = verify_bytes(data, "x", json.dumps(edit(envelope, path, how)).encode(), keys)
            assert not report.valid, (path, how)


def test_a_flipped_bit_anywhere_in_the_record_is_detected(signed, keys):
    data, record = signed
    chance = random.Random(11)
    for _ in range(1000):
        altered = bytearray(record)
        altered[chance.randrange(len(altered))] ^= 1 << chance.randrange(8)
        assert not verify_bytes(data, "x", bytes(altered), keys).valid, bytes(altered)


def test_the_envelope_may_be_laid_out_anew_and_stays_the_same_record(signed, keys):
    opened = open_envelope(signed[1], keys)
    for layout in ({"indent": 2}, {"indent": "\t"}, {"separators": (" , ", " : ")}):
        again = open_envelope(json.dumps(json.loads(signed[1]), **layout).encode(), keys)
        assert isinstance(again, Opened) and isinstance(opened, Opened) and again.digest == opened.digest


def test_a_payload_of_the_same_meaning_in_other_bytes_is_refused(signed, keys):
    data, record = signed
    statement = json.loads(payload_of(record))
    chance = random.Random(3)
    encodings = [json.dumps(statement, indent=number).encode() for number in range(20)]
    encodings += [json.dumps(statement, separators=(", " + " " * number, ":")).encode() for number in range(20)]
    encodings += [payload_of(record).replace(b":1729", text) for text in (b":1729.0", b":1.729e3", b":1729e0", b":17290e-1")]
    for _ in range(56):
        names = list(statement["predicate"])
        chance.shuffle(names)
        shuffled = statement | {"predicate": {name: statement["predicate"][name] for name in names}}
        encodings.append(json.dumps(shuffled, separators=(",", ":"), ensure_ascii=chance.random() < 0.5).encode())
    different = [found for found in encodings if found != payload_of(record)]
    assert len(different) >= 99
    for encoding in different:
        assert verify_bytes(data, "x", with_payload(record, encoding), keys).verdict == "signature invalid"
        again = open_envelope(signed_payload(encoding, keys), keys)  # even with a good signature it is not the canonical form
        assert isinstance(again, Refusal) and again.verdict == "not a record"


@pytest.mark.parametrize(
    ("inside", "says"),
    [
        (b'{"a":1,"a":1}', "twice"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":-Infinity}', "Infinity"),
        (b'{"a":1e999}', "too large"),
        (b'{"a":"\xff"}', "UTF-8"),
        (b"[" * 20_000 + b"]" * 20_000, "deep"),
        (b'{"a":1', "not JSON"),
        (b'"text"', "Statement"),
        (b'{"a":1}', "Statement"),
    ],
)
def test_payloads_without_a_single_reading_are_refused_even_when_signed(keys, inside, says):
    refusal = open_envelope(signed_payload(inside, keys), keys)
    assert isinstance(refusal, Refusal) and refusal.verdict == "not a record" and says in refusal.sentence


def test_a_record_with_a_duplicated_name_outside_is_refused(signed, keys):
    twice = signed[1].replace(b'{"payload":', b'{"payload":"e30=","payload":', 1)
    refusal = open_envelope(twice, keys)
    assert isinstance(refusal, Refusal) and "twice" in refusal.sentence


def _signature(record: bytes, signature) -> bytes:
    envelope = json.loads(record)
    envelope["signatures"][0]["sig"] = signature
    return json.dumps(envelope).encode()


def test_each_fault_of_a_signature_has_its_own_reason(signed, keys, elsewhere):
    data, record = signed
    good = base64.b64decode(json.loads(record)["signatures"][0]["sig"])
    found = {}
    for cut in range(1, 45):
        report = verify_bytes(data, "x", _signature(record, base64.b64encode(good[:-cut]).decode()), keys)
        found["cut"] = report.verdict
        assert report.verdict == "signature truncated"
    found["empty"] = verify_bytes(data, "x", _signature(record, ""), keys).verdict
    found["none"] = verify_bytes(data, "x", json.dumps(json.loads(record) | {"signatures": []}).encode(), keys).verdict
    found["zeros"] = verify_bytes(data, "x", _signature(record, base64.b64encode(bytes(64)).decode()), keys).verdict
    found["type"] = verify_bytes(data, "x", signed_payload(payload_of(record), keys, "application/json"), keys).verdict
    found["other"] = verify_bytes(data, "x", record, elsewhere).verdict
    keys.revoke(keys.public_id)
    found["revoked"] = verify_bytes(data, "x", record, keys).verdict
    assert found == {
        "cut": "signature truncated", "empty": "signature missing", "none": "signature missing", "zeros": "signature invalid",
        "type": "wrong payload type", "other": "signed by another key", "revoked": "key revoked",
    }  # fmt: skip


def test_a_forger_cannot_borrow_this_installations_key_id(signed, keys, elsewhere):
    data, record = signed
    forged = json.loads(signed_payload(payload_of(record), elsewhere))
    forged["signatures"][0]["keyid"] = keys.key_id
    assert verify_bytes(data, "x", json.dumps(forged).encode(), keys).verdict == "signature invalid"


def test_a_forger_who_signs_a_record_that_names_our_key_is_refused(signed, keys, elsewhere):
    data, record = signed
    forged = signed_payload(payload_of(record), elsewhere)
    assert verify_bytes(data, "x", forged, keys).verdict == "signature invalid"
    keys.meet(elsewhere.public)
    assert verify_bytes(data, "x", forged, keys).verdict == "not a record"


def test_a_huge_record_is_refused_before_it_is_parsed(keys):
    refusal = open_envelope(b" " * (9 * 2**20), keys)
    assert isinstance(refusal, Refusal) and "larger than" in refusal.sentence
