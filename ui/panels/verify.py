"""Verify: an exported file, its record, both, or the archive they came in; what was signed, and what that does not prove.

The bytes are read in memory, checked by `app.provenance`, and forgotten. JSON for `web/js/verify.js`.

It deliberately changes no control: "use these" sends the shown settings through the bench's own route.
"""

import io
import lzma
import struct
import zipfile
import zlib
from typing import Annotated, Any

from fastapi import APIRouter, File, Request, UploadFile
from fastapi.concurrency import run_in_threadpool

from app.api import Studio
from app.errors import UnknownMethod, UploadRefused
from backends.contract import field_specs
from ui.answers import Answer
from ui.security import account_of

SIDECAR = ".intoto.json"
_ARCHIVE_ENTRIES = 64
_ARCHIVE_BYTES = 256 * 2**20
_CHUNK = 2**20
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError,
    LookupError,
)  # fmt: skip
"""What reading an archive that was altered can raise."""


def router(studio: Studio) -> APIRouter:
    """The panel's routes."""
    routes = APIRouter(prefix="/studio", default_response_class=Answer)

    @routes.post("/verify")
    async def verify(files: Annotated[list[UploadFile], File()]) -> dict[str, Any]:
        given = [(file.filename or "file", await file.read()) for file in files[:4]]
        return await run_in_threadpool(_verify, studio, given)

    @routes.get("/verify/artifact/{artifact_id}")
    def verify_stored(request: Request, artifact_id: str) -> dict[str, Any]:
        row, data = studio.artifact(artifact_id, account_of(request.scope))
        return _report(studio, data, f"{row.name} ({row.digest[:8]})", None)

    @routes.get("/chain")
    def chain() -> dict[str, Any]:
        return studio.check_chain().model_dump(mode="json")

    return routes


def _verify(studio: Studio, given: list[tuple[str, bytes]]) -> dict[str, Any]:
    """Pair files with their records; a record alone is looked at by itself."""
    if len(given) == 1 and given[0][1].startswith(b"PK\x03\x04"):
        given = unpack(given[0][1]) or given
    records = {name: data for name, data in given if name.endswith(SIDECAR)}
    files = [(name, data) for name, data in given if not name.endswith(SIDECAR)] or given[:1]
    reports = [_report(studio, data, name, records.get(name + SIDECAR) or _only(records, files)) for name, data in files]
    return {"reports": reports}


def _only(records: dict[str, bytes], files: list[tuple[str, bytes]]) -> bytes | None:
    """One file and one record belong together whatever their names; a file that is the record itself has none beside it."""
    (record,) = records.values() if len(records) == 1 else (None,)
    return record if len(files) == 1 and record is not files[0][1] else None


def _report(studio: Studio, data: bytes, name: str, sidecar: bytes | None) -> dict[str, Any]:
    report = studio.verify(data, name, sidecar)
    fields: dict[str, str] = {}
    try:
        card = studio.registry.card(report.method)
        fields = {spec.name: spec.label for spec in (*field_specs(card.inputs), *field_specs(card.settings))}
        known = True
    except UnknownMethod:
        known = False
    return report.model_dump(mode="json") | {"labels": fields, "method_here": known, "text": _text(data)}


def _text(data: bytes) -> str:
    """The beginning of a text file, for a look at it; empty for anything else."""
    head = data[:4000]
    if b"\x00" in head:
        return ""
    try:
        return head.decode("utf-8") if len(head) == len(data) else head.decode("utf-8", "ignore")
    except UnicodeDecodeError:
        return ""


def unpack(archive: bytes) -> list[tuple[str, bytes]]:
    """The files of an exported archive, read in memory under limits; UploadRefused for anything larger or stranger."""
    refused = UploadRefused(
        "This archive is not one the studio exported.", f"At most {_ARCHIVE_ENTRIES} files and {_ARCHIVE_BYTES:,} bytes are read.",
        "Unpack it and drop the file and its record.",
    )  # fmt: skip
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            entries = [entry for entry in opened.infolist() if not entry.is_dir()]
            if len(entries) > _ARCHIVE_ENTRIES or any(entry.flag_bits & 1 for entry in entries):
                raise refused
            found: list[tuple[str, bytes]] = []
            left = _ARCHIVE_BYTES
            for entry in entries:
                data = bytearray()
                with opened.open(entry) as source:
                    while chunk := source.read(_CHUNK):
                        data += chunk
                        left -= len(chunk)
                        if left < 0:
                            raise refused
                found.append((entry.filename, bytes(data)))
            return found
    except _DAMAGED as error:
        raise refused from error
