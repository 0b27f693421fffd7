"""The studio's errors: one tree, each saying what happened, why, and what to do next.

    StudioError
    ├─ SettingError, InputError, CheckpointError …   raised by methods: see backends.contract.errors (MethodError)
    ├─ UnknownMethod, UnknownCheckpoint, UnknownRun  a name that is not here
    ├─ ResourceError
    │  ├─ StorageFull                                 no space left; nothing half-written remains
    │  ├─ StoreUnavailable                            the database cannot be opened, is damaged or is of a newer version
    │  ├─ DeviceMissing                               the device asked for is not here
    │  └─ WorkerCrashed                               the worker process died; only its run fails
    ├─ ProvenanceError
    │  ├─ SignatureInvalid, UnknownKey, WrongPayload  the envelope is not what was signed
    │  ├─ FileChanged                                 the file is not the one the record names
    │  ├─ ChainBroken                                 a record of the log is missing, inserted or altered
    │  └─ RecordMissing                               there is no record for this file
    ├─ UploadRefused                                  type, size or structure of an upload
    └─ AccessError                                    host, origin or owner

It deliberately formats nothing for a screen: `fault()` gives plain values, the page and the command line show them.
"""

from typing import Any

from backends.contract import Fault


class StudioError(Exception):
    """The root: what happened, why, and the next step, each a sentence."""

    def __init__(self, what: str, why: str = "", next_step: str = "", *, field: str | None = None, suggestion: Any = None) -> None:
        super().__init__(" ".join(part for part in (what, why, next_step) if part))
        self._fault = Fault(kind=type(self).__name__, what=what, why=why, next_step=next_step, field=field, suggestion=suggestion)

    def fault(self) -> Fault:
        """The error as a value."""
        return self._fault


class UnknownMethod(StudioError):
    """No method of this key is registered."""


class UnknownCheckpoint(StudioError):
    """The method has no checkpoint of this key, or its files are not on this machine."""


class UnknownRun(StudioError):
    """No run of this id, or it belongs to somebody else."""


class RequestRefused(StudioError):
    """Inputs or settings failed their checks; `faults` has one Fault a control."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        first = faults[0]
        super().__init__(first.what, first.why, first.next_step, field=first.field, suggestion=first.suggestion)
        self.faults = faults


class ResourceError(StudioError):
    """Something this machine lacks."""


class StorageFull(ResourceError):
    """No space left on the device that holds the data folder."""


class StoreUnavailable(ResourceError):
    """The database cannot be opened."""


class DeviceMissing(ResourceError):
    """The device asked for is not on this machine."""


class WorkerCrashed(ResourceError):
    """A worker process died during a run."""


class ProvenanceError(StudioError):
    """A record does not prove what it should."""


class SignatureInvalid(ProvenanceError):
    """The signature does not fit the signed bytes."""


class UnknownKey(ProvenanceError):
    """The record is signed by a key this installation has not met, or has revoked."""


class WrongPayload(ProvenanceError):
    """The envelope carries another payload type, or bytes that are not a record."""


class FileChanged(ProvenanceError):
    """The file's digest is not the one the record names."""


class ChainBroken(ProvenanceError):
    """The log's hash chain does not hold; names the first broken link."""


class RecordMissing(ProvenanceError):
    """No record belongs to this file."""


class UploadRefused(StudioError):
    """An upload is of a wrong type, too large, or malformed."""


class AccessError(StudioError):
    """The request comes from a host, origin or owner that may not make it."""
