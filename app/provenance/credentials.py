"""Content credentials (C2PA) inside pictures, films and PDF files, for programs that do not know the studio's own records.

A root made once by this installation certifies a leaf that signs (Ed25519); both lie in the data folder's `keys/`. The
manifest says that the file came from a trained model, and names the studio's own record by digest. No time-stamp authority,
no remote manifest and no certificate status is asked for: nothing here uses the network.

It deliberately claims no public trust: the root is on no trust list, other programs will call the signer unknown, and the
report says so.
"""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from pydantic import BaseModel, ConfigDict

from app.errors import ProvenanceError
from app.provenance.environment import STUDIO_VERSION
from app.provenance.keys import Keys, write_atomic

SIGNABLE = ("image/png", "image/jpeg", "image/webp", "image/svg+xml", "application/pdf", "video/mp4")
NOT_ON_A_LIST = "Signer not on a public trust list: other programs will say “unknown”. That is expected of a local key."
_RECORD_ASSERTION = "urn.diptych.record"
_MADE_BY_A_MODEL = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"
_ORGANISATION = "Diptych, a local installation"
_YEARS = 10
_SETTINGS: dict[str, Any] = {
    "version": 1,
    "builder": {"thumbnail": {"enabled": False}},
    "verify": {"remote_manifest_fetch": False, "ocsp_fetch": False, "verify_after_sign": True},
}
_LARGEST = 256 * 2**20


class Credentials(BaseModel):
    """What the content credentials of a file say. `intact`: neither file nor manifest changed since they were signed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    intact: bool
    here: bool
    """Signed under this installation's own root."""
    issuer: str = ""
    record: str = ""
    """Digest of the studio's record that the manifest names."""
    faults: tuple[str, ...] = ()
    """Codes of the checks that failed, other than trust."""
    sentence: str


def add_credentials(data: bytes, media_type: str, name: str, record: str, keys: Keys) -> bytes:
    """`data` with a signed manifest that names the digest `record`; ProvenanceError if this kind of file cannot carry one."""
    import c2pa  # loads a large native library: only when credentials are asked for

    chain, private = _pair(keys)
    info = c2pa.C2paSignerInfo("ed25519", chain.encode(), private.encode(), None)
    signed = io.BytesIO()
    try:
        with (
            c2pa.Context(c2pa.Settings.from_dict(_SETTINGS)) as context,
            c2pa.Signer.from_info(info) as signer,
            c2pa.Builder(_manifest(name, record), context) as builder,
        ):
            builder.sign(signer, media_type, io.BytesIO(data), signed)
    except c2pa.C2paError as error:
        raise ProvenanceError(
            "Content credentials cannot be put into this file.", f"It may not be sound {media_type}.", "Export it without them."
        ) from error
    return signed.getvalue()


def read_credentials(data: bytes, keys: Keys) -> Credentials | None:
    """The credentials inside `data`, None if there are none."""
    media_type = _sniff(data)
    if media_type is None or len(data) > _LARGEST or not _may_carry(data):
        return None
    import c2pa  # see add_credentials

    trusting = _SETTINGS | {"trust": {"user_anchors": _root(keys)}}
    try:
        with (
            c2pa.Context(c2pa.Settings.from_dict(trusting)) as context,
            c2pa.Reader(media_type, io.BytesIO(data), context=context) as reader,
        ):
            return _report(json.loads(reader.json()), reader.get_validation_state() or "")
    except c2pa.C2paError.ManifestNotFound:
        return None
    except c2pa.C2paError:
        return Credentials(intact=False, here=False, sentence="There are content credentials, but they cannot be read.")


def _report(store: dict[str, Any], state: str) -> Credentials:
    manifest = store["manifests"][store["active_manifest"]]
    results = store.get("validation_results", {}).get("activeManifest", {})
    failed = tuple(str(found["code"]) for found in results.get("failure", ()))
    faults = tuple(code for code in failed if not code.startswith("signingCredential.untrusted"))
    intact = state in ("Valid", "Trusted") and not faults
    named = [found["data"].get("sha256", "") for found in manifest.get("assertions", ()) if found.get("label") == _RECORD_ASSERTION]
    sentence = "There and intact; the file has not changed since." if intact else "There, but file or credentials were changed."
    return Credentials(
        intact=intact,
        here=state == "Trusted",
        issuer=str(manifest.get("signature_info", {}).get("issuer", "")),
        record=str(named[0]) if named else "",
        faults=faults,
        sentence=f"{sentence} {NOT_ON_A_LIST}" if intact else sentence,
    )


def _manifest(name: str, record: str) -> dict[str, Any]:
    action = {"action": "c2pa.created", "digitalSourceType": _MADE_BY_A_MODEL}
    return {
        "claim_generator_info": [{"name": "Diptych", "version": STUDIO_VERSION}],
        "title": name,
        "assertions": [
            {"label": "c2pa.actions.v2", "data": {"actions": [action]}},
            {"label": _RECORD_ASSERTION, "data": {"sha256": record}},
        ],
    }


def _may_carry(data: bytes) -> bool:
    return b"c2pa" in data


def _sniff(data: bytes) -> str | None:
    """The media type of a file that may carry credentials, by its first bytes."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data.startswith(b"%PDF-"):
        return "application/pdf"
    if data[4:8] == b"ftyp":
        return "video/mp4"
    return "image/svg+xml" if b"<svg" in data[:1024] else None


# the two certificates --------------------------------------------------------------------------------------------------


def _pair(keys: Keys) -> tuple[str, str]:
    """(leaf and root certificate, private key of the leaf), made the first time and again when they ran out."""
    folder = keys.folder
    chain, private = folder / "credentials.pem", folder / "credentials-key.pem"
    if not (chain.is_file() and private.is_file()) or _expired(chain):
        _make(chain, private, keys.public_id)
    return chain.read_text(), private.read_text()


def _root(keys: Keys) -> str:
    """The root certificate of this installation."""
    _pair(keys)
    listed = x509.load_pem_x509_certificates((keys.folder / "credentials.pem").read_bytes())
    return listed[-1].public_bytes(Encoding.PEM).decode()


def _expired(chain: Path) -> bool:
    return x509.load_pem_x509_certificates(chain.read_bytes())[0].not_valid_after_utc < datetime.now(UTC) + timedelta(days=30)


def _make(chain: Path, private: Path, installation: str) -> None:
    """A root that signs one leaf; the root's own key is forgotten at once, so nothing else can be certified by it."""
    root_key, leaf_key = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    root_name, leaf_name = _name(f"root {installation}"), _name(f"signer {installation}")
    root = _certificate(root_name, root_key, root_name, root_key, authority=True)
    leaf = _certificate(leaf_name, leaf_key, root_name, root_key, authority=False)
    write_atomic(private, leaf_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), mode=0o600)
    write_atomic(chain, leaf.public_bytes(Encoding.PEM) + root.public_bytes(Encoding.PEM))


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, _ORGANISATION), x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(
    subject: x509.Name, key: Ed25519PrivateKey, issuer: x509.Name, issuer_key: Ed25519PrivateKey, *, authority: bool
) -> x509.Certificate:
    """A certificate in the profile of C2PA 2.2, section 14.5."""
    now = datetime.now(UTC)
    usage = x509.KeyUsage(
        digital_signature=not authority, content_commitment=False, key_encipherment=False, data_encipherment=False, key_agreement=False,
        key_cert_sign=authority, crl_sign=authority, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365 * _YEARS))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=0 if authority else None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if not authority:
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION]), critical=False)
    return builder.sign(issuer_key, None)
