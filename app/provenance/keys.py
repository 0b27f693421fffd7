"""The keys of this installation: one Ed25519 pair to sign with, and every public key met so far.

Files in the data folder's `keys/`: `signing.pem` (private, mode 0600), `known.json` (public keys, where from, revoked or
not), `head.json` (the last link of the log this installation saw committed).

It deliberately keeps no password and no owner: a key names an installation, not a person.
"""

import json
import logging
import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pydantic import BaseModel, ConfigDict, ValidationError
from securesystemslib.signer import CryptoSigner, SSlibKey  # type: ignore[attr-defined]  # its package has no __all__

from app.errors import ProvenanceError, UnknownKey

_LOG = logging.getLogger(__name__)
SHORT = 16
"""Digits of a key id that are shown; enough to tell keys apart by eye."""


class KnownKey(BaseModel):
    """A public key. `origin` "here": made by this installation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    public: str
    origin: Literal["here", "elsewhere"]
    since: datetime
    revoked: datetime | None = None
    reason: str = ""

    @property
    def verifier(self) -> SSlibKey:
        """The key as securesystemslib verifies with it."""
        return public_key(self.public)


class Head(BaseModel):
    """A link of the log that was seen committed: its number and its digest.

    `forked`: later the log was seen to go on from an earlier link, so it was cut or replaced; the head stays as evidence.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sequence: int
    digest: str
    forked: bool = False


class Keys:
    """The keys of one data folder. Safe to share between threads; several processes may open the same folder."""

    def __init__(self, folder: Path, signer: CryptoSigner) -> None:
        self.folder = folder
        self._signer = signer
        self._lock = threading.RLock()
        self._cached: tuple[tuple[int, int], dict[str, KnownKey]] | None = None

    @classmethod
    def open(cls, data: Path) -> "Keys":
        """Open the keys below `data`, making a pair the first time; raises ProvenanceError if a file is damaged."""
        folder = data / "keys"
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        keys = cls(folder, _load_or_create(folder / "signing.pem"))
        mine = keys.known.get(keys._signer.public_key.keyid)
        if mine is None:
            keys._remember(_known(keys._signer.public_key, "here"))
        elif mine.revoked:  # a stop between revoking a key and replacing it
            keys._replace_pair()
        return keys

    @property
    def signer(self) -> CryptoSigner:
        """The pair to sign with; read again when another process revoked and replaced it."""
        with self._lock:
            mine = self.known.get(self._signer.public_key.keyid)
            if mine is not None and mine.revoked:
                self._signer = _read_private(self.folder / "signing.pem")
            return self._signer

    @property
    def key_id(self) -> str:
        return self.signer.public_key.keyid

    @property
    def public_id(self) -> str:
        """The short id people compare."""
        return self.key_id[:SHORT]

    @property
    def public(self) -> str:
        """The public key, hex."""
        return str(self.signer.public_key.keyval["public"])

    @property
    def known(self) -> Mapping[str, KnownKey]:
        """Every key met, by full id; read again when another process changed the file."""
        path = self.folder / "known.json"
        with self._lock:
            try:
                found = path.stat()
            except FileNotFoundError:
                return {}
            stamp = (found.st_mtime_ns, found.st_size)
            if self._cached is None or self._cached[0] != stamp:
                self._cached = (stamp, _read_known(path))
            return self._cached[1]

    def meet(self, public: str) -> KnownKey:
        """Remember the public key of another installation; returns what is known if it was met before."""
        key = public_key(public)
        with self._lock:
            return self.known.get(key.keyid) or self._remember(_known(key, "elsewhere"))

    def revoke(self, key: str, reason: str = "") -> KnownKey:
        """Trust `key` (short or full id) no longer. Revoking this installation's own key replaces it by a new one."""
        with self._lock:
            matches = [found for found in self.known.values() if found.id.startswith(key)] if key else []
            if len(matches) != 1:
                raise UnknownKey(
                    f"{len(matches)} keys have an id that starts with {key!r}.", "One must be meant.", "Give more of the id, as listed."
                )
            own = matches[0].id == self.key_id
            revoked = matches[0].model_copy(update={"revoked": datetime.now(UTC), "reason": reason})
            self._remember(revoked)
            if own:
                self._replace_pair()
            return revoked

    def _replace_pair(self) -> None:
        """A new pair; the private half of the old one is overwritten, its public half stays known."""
        signer = CryptoSigner.generate_ed25519()
        write_atomic(self.folder / "signing.pem", signer.private_bytes, mode=0o600)
        self._signer = signer
        self._remember(_known(signer.public_key, "here"))

    def _remember(self, key: KnownKey) -> KnownKey:
        with self._lock:
            every = {**self.known, key.id: key}
            listed = [found.model_dump(mode="json") for found in every.values()]
            write_atomic(self.folder / "known.json", json.dumps({"keys": listed}, indent=1).encode())
            self._cached = None
        return key

    @property
    def head(self) -> Head | None:
        """The last link of the log seen committed, None before the first."""
        try:
            return Head.model_validate_json((self.folder / "head.json").read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise _damaged("head.json", "Restore it from a backup, or delete it to start over from the log as it is.") from error

    def advance_head(self, sequence: int, digest: str) -> None:
        """Note that link `sequence` is committed and is the last. Never goes back: a log that does so was cut or replaced."""
        with self._lock:
            known = self.head
            if known is None or (not known.forked and sequence > known.sequence):
                if sequence > 0:
                    self._write_head(Head(sequence=sequence, digest=digest))
            elif not known.forked and (sequence < known.sequence or digest != known.digest):
                _LOG.warning("the log goes on from record %d, but record %d was seen committed", sequence, known.sequence)
                self._write_head(known.model_copy(update={"forked": True}))

    def _write_head(self, head: Head) -> None:
        write_atomic(self.folder / "head.json", head.model_dump_json().encode(), durable=False)

    def forget_head(self) -> None:
        """Start over from the log as it is now: for a database that was restored from a backup on purpose."""
        with self._lock:
            (self.folder / "head.json").unlink(missing_ok=True)


def public_key(public: str) -> SSlibKey:
    """An Ed25519 public key (64 hex digits) with the id securesystemslib computes; raises UnknownKey if it is none."""
    try:
        return SSlibKey.from_crypto(Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)))
    except (ValueError, TypeError) as error:
        raise UnknownKey("The record carries no usable Ed25519 key.", "Its public key is malformed.", "Ask for the file again.") from error


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644, durable: bool = True) -> None:
    """Replace `path` by `data` as one step; `durable` also survives a loss of power."""
    temporary = _write_temporary(path, data, mode, durable)
    os.replace(temporary, path)
    if durable:
        _sync_folder(path.parent)


def _write_temporary(path: Path, data: bytes, mode: int, durable: bool) -> Path:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    return temporary


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _load_or_create(path: Path) -> CryptoSigner:
    if not path.exists():
        fresh = CryptoSigner.generate_ed25519()
        temporary = _write_temporary(path, fresh.private_bytes, 0o600, durable=True)
        try:
            os.link(temporary, path)  # fails if another process was first; then its key is the one
            _sync_folder(path.parent)
        except FileExistsError:
            _LOG.info("another process made the signing key first")
        finally:
            temporary.unlink()
    if os.name == "posix" and path.stat().st_mode & 0o077:
        _LOG.warning("the signing key could be read by others; its mode is now 0600")
        path.chmod(0o600)
    return _read_private(path)


def _read_private(path: Path) -> CryptoSigner:
    try:
        private = load_pem_private_key(path.read_bytes(), None)
    except (ValueError, TypeError) as error:
        raise _damaged(path.name, "Restore it from a backup, or move it away: a new key is then made.") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise _damaged(path.name, "It must hold an Ed25519 key; move it away and a new one is made.")
    return CryptoSigner(private)


def _read_known(path: Path) -> dict[str, KnownKey]:
    try:
        listed: list[Any] = json.loads(path.read_bytes())["keys"]
        return {key.id: key for key in map(KnownKey.model_validate, listed)}
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path.name, "Restore it from a backup: it says which keys are revoked.") from error


def _known(key: SSlibKey, origin: Literal["here", "elsewhere"]) -> KnownKey:
    return KnownKey(id=key.keyid, public=str(key.keyval["public"]), origin=origin, since=datetime.now(UTC))


def _damaged(name: str, next_step: str) -> ProvenanceError:
    return ProvenanceError(f"The key file {name} is damaged.", "It cannot be read as what it should be.", next_step)
