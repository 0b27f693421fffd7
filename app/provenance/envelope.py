"""Opens a record: from untrusted bytes to a statement and the key that signed it, or a refusal that says why.

The signature is checked over the exact payload bytes (DSSE v1 pre-authentication encoding). Around them only one form is
accepted: no unknown fields, one signature, standard base64, and a payload that is its own RFC 8785 canonical form.

It deliberately compares nothing with a file or a log: that is `verify` and `chain`.
"""

import base64
import binascii
import hashlib
from datetime import UTC, datetime
from typing import Any, Literal

import rfc8785
from pydantic import BaseModel, ConfigDict
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import UnverifiedSignatureError, VerificationError
from securesystemslib.signer import Signature, SSlibKey  # type: ignore[attr-defined]  # its package has no __all__

from app.errors import UnknownKey
from app.provenance.canonical import NotStrictJson, is_canonical, parse_strict
from app.provenance.keys import Keys, KnownKey, public_key
from app.provenance.statement import EXPORT, PAYLOAD_TYPE, RUN, STATEMENT

LARGEST_RECORD = 8 * 2**20
_SIGNATURE_BYTES = 64

Verdict = Literal[
    "signed here", "signed by another key", "key revoked", "file changed", "signature invalid", "signature missing", "signature truncated",
    "wrong payload type", "not a record", "no record", "record only", "chain broken",
]  # fmt: skip
Refused = Literal["signature invalid", "signature missing", "signature truncated", "wrong payload type", "not a record"]


class Refusal(BaseModel):
    """Why bytes are not a valid record."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    verdict: Refused
    sentence: str


class Opened(BaseModel):
    """A record whose signature holds. `key.revoked` and `key.origin` are for the caller to judge; `met` is False for a key
    that was never seen before. `digest` is that of the canonical envelope: what the next record names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    statement: dict[str, Any]
    key: KnownKey
    met: bool
    digest: str
    envelope: bytes

    @property
    def predicate(self) -> dict[str, Any]:
        return dict(self.statement["predicate"])

    @property
    def subjects(self) -> tuple[str, ...]:
        """Digests of the files it covers."""
        return tuple(subject["digest"]["sha256"] for subject in self.statement["subject"])

    @property
    def sequence(self) -> int:
        return int(self.statement["predicate"]["chain"]["sequence"])

    @property
    def previous(self) -> str:
        return str(self.statement["predicate"]["chain"]["previous"])


class _Parts(BaseModel):
    model_config = ConfigDict(frozen=True)

    payload: bytes
    keyid: str
    signature: bytes


def open_envelope(raw: bytes, keys: Keys) -> Opened | Refusal:
    """Check everything about a record that needs neither a file nor a log."""
    parts = _take_apart(raw)
    if isinstance(parts, Refusal):
        return parts
    known = keys.known.get(parts.keyid)
    statement = _statement(parts.payload)
    if known is None:  # the key a record carries proves only that one installation made file and record
        if isinstance(statement, Refusal):
            return statement
        carried = _carried_key(statement, parts.keyid)
        if isinstance(carried, Refusal):
            return carried
        key = carried
    else:
        key = known.verifier
    if not _holds(parts, key):
        return Refusal(verdict="signature invalid", sentence="The signature does not fit the record: it was changed after signing.")
    if isinstance(statement, Refusal):
        return statement
    if statement["predicate"]["signer"]["public"] != key.keyval["public"]:
        return _not_a_record("it names another key than the one that signed it")
    whole = _canonical_envelope(parts)
    return Opened(
        statement=statement, key=known or keys_of(key), met=known is not None, digest=hashlib.sha256(whole).hexdigest(), envelope=whole
    )


def keys_of(key: SSlibKey) -> KnownKey:
    """A key met for the first time, as a value (not yet remembered)."""
    return KnownKey(id=key.keyid, public=str(key.keyval["public"]), origin="elsewhere", since=datetime.now(UTC))


def _take_apart(raw: bytes) -> _Parts | Refusal:
    if len(raw) > LARGEST_RECORD:
        return _not_a_record(f"it is larger than {LARGEST_RECORD // 2**20} MB")
    try:
        outer = parse_strict(raw)
    except NotStrictJson as error:
        return _not_a_record(str(error))
    if not isinstance(outer, dict) or outer.keys() != {"payload", "payloadType", "signatures"}:
        return _not_a_record("a DSSE envelope has exactly the fields payload, payloadType and signatures")
    if outer["payloadType"] != PAYLOAD_TYPE:
        return Refusal(verdict="wrong payload type", sentence=f"The envelope does not say that it holds {PAYLOAD_TYPE}.")
    listed = outer["signatures"]
    if listed == []:
        return Refusal(verdict="signature missing", sentence="The record is not signed: its list of signatures is empty.")
    if not isinstance(listed, list) or len(listed) != 1 or not isinstance(listed[0], dict) or listed[0].keys() != {"keyid", "sig"}:
        return _not_a_record("it must have exactly one signature, with the fields keyid and sig")
    return _decode(outer["payload"], listed[0]["keyid"], listed[0]["sig"])


def _decode(payload: Any, keyid: Any, signature: Any) -> _Parts | Refusal:
    if not all(isinstance(part, str) for part in (payload, keyid, signature)):
        return _not_a_record("payload, keyid and sig must be text")
    if not signature:
        return Refusal(verdict="signature missing", sentence="The record is not signed: its signature is empty.")
    decoded, signed = _base64(payload), _base64(signature)
    if signed is not None and len(signed) != _SIGNATURE_BYTES:
        return Refusal(verdict="signature truncated", sentence=f"The signature has {len(signed)} bytes instead of {_SIGNATURE_BYTES}.")
    if signed is None:
        return Refusal(verdict="signature truncated", sentence="The signature is cut or not base64.")
    if decoded is None:
        return _not_a_record("its payload is not base64 in the one standard form")
    return _Parts(payload=decoded, keyid=keyid, signature=signed)


def _base64(text: str) -> bytes | None:
    """The bytes of `text`, None unless it is the one standard encoding of them (no spare bits, spaces or other alphabet)."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if base64.b64encode(raw).decode() == text else None


def _holds(parts: _Parts, key: SSlibKey) -> bool:
    envelope = Envelope(parts.payload, PAYLOAD_TYPE, {parts.keyid: Signature(parts.keyid, parts.signature.hex())})
    try:
        envelope.verify([key], 1)
    except (VerificationError, UnverifiedSignatureError):
        return False
    return True


def _statement(payload: bytes) -> dict[str, Any] | Refusal:
    try:
        parsed = parse_strict(payload)
    except NotStrictJson as error:
        return _not_a_record(f"its payload has no single reading: {error}")
    if not is_canonical(payload, parsed):
        return _not_a_record("its payload is not in RFC 8785 canonical form")
    if not isinstance(parsed, dict) or parsed.keys() != {"_type", "subject", "predicateType", "predicate"} or parsed["_type"] != STATEMENT:
        return _not_a_record("its payload is not an in-toto Statement v1")
    if parsed["predicateType"] not in (RUN, EXPORT):
        return _not_a_record("its predicate is of a kind this studio does not know")
    if not _subjects_are_sound(parsed["subject"]) or not _chain_is_sound(parsed["predicate"]):
        return _not_a_record("its subjects or its place in the chain are malformed")
    return parsed


def _subjects_are_sound(subjects: Any) -> bool:
    return (
        isinstance(subjects, list)
        and bool(subjects)
        and all(isinstance(found, dict) and isinstance(found.get("name"), str) and _is_digest(found.get("digest")) for found in subjects)
    )


def _is_digest(found: Any) -> bool:
    digest = found.get("sha256") if isinstance(found, dict) else None
    return _is_hex(digest)


def _is_hex(text: Any) -> bool:
    return isinstance(text, str) and len(text) == 64 and set(text) <= set("0123456789abcdef")


def _chain_is_sound(predicate: Any) -> bool:
    if not isinstance(predicate, dict):
        return False
    chain, signer = predicate.get("chain"), predicate.get("signer")
    return (
        isinstance(chain, dict)
        and type(chain.get("sequence")) is int
        and _is_hex(chain.get("previous"))
        and isinstance(signer, dict)
        and isinstance(signer.get("public"), str)
    )


def _carried_key(statement: dict[str, Any], keyid: str) -> SSlibKey | Refusal:
    try:
        key = public_key(statement["predicate"]["signer"]["public"])
    except UnknownKey:
        return _not_a_record("the key it carries is malformed")
    if key.keyid != keyid:
        return Refusal(verdict="signature invalid", sentence="The record is said to be signed by another key than the one it carries.")
    return key


def _canonical_envelope(parts: _Parts) -> bytes:
    signature = {"keyid": parts.keyid, "sig": base64.b64encode(parts.signature).decode()}
    return rfc8785.dumps({"payload": base64.b64encode(parts.payload).decode(), "payloadType": PAYLOAD_TYPE, "signatures": [signature]})


def _not_a_record(reason: str) -> Refusal:
    return Refusal(verdict="not a record", sentence=f"This is not a record: {reason}.")
