"""Generated files on their way out: always as attachments, never as a document of this site.

A file made by a model may be HTML, SVG or anything else; it is served with `attachment`, `nosniff` and a sandboxing policy,
under a name that cannot break the header (RFC 6266, RFC 5987).

It deliberately serves nothing by path: callers hand over bytes.
"""

import io
import re
import unicodedata
import zipfile
from collections.abc import Sequence
from urllib.parse import quote

from fastapi import Response

from app.exports import ExportFile

_SANDBOX = "default-src 'none'; sandbox; frame-ancestors 'none'"
_UNSAFE = re.compile(r"[^\w.\- ()\[\]+,=@]")
_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def safe_name(name: str) -> str:
    """A file name every system takes: no path, no control or reserved characters, at most 120 characters."""
    flat = unicodedata.normalize("NFC", name).replace("\\", "/").rsplit("/", 1)[-1]
    clean = _UNSAFE.sub("_", flat).strip(" .")[-120:] or "file"
    return f"_{clean}" if _RESERVED.match(clean) else clean


def attachment(data: bytes, name: str, media_type: str = "application/octet-stream") -> Response:
    """`data` as a download called `name`."""
    safe = safe_name(name)
    plain = safe.encode("ascii", "replace").decode().replace("?", "_")
    headers = {
        "content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(safe, safe='')}",
        "x-content-type-options": "nosniff",
        "content-security-policy": _SANDBOX,
        "cache-control": "private, max-age=0, must-revalidate",
    }
    return Response(data, media_type=media_type if _is_media_type(media_type) else "application/octet-stream", headers=headers)


def bundle(files: Sequence[ExportFile], name: str) -> Response:
    """One file as itself, several (a file and its record) as a ZIP archive."""
    if len(files) == 1:
        return attachment(files[0].data, files[0].name)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            # A fixed time: the archive of one export is the same bytes each time.
            archive.writestr(zipfile.ZipInfo(file.name, (1980, 1, 1, 0, 0, 0)), file.data, zipfile.ZIP_DEFLATED)
    return attachment(packed.getvalue(), f"{name}.zip", "application/zip")


def _is_media_type(text: str) -> bool:
    return re.fullmatch(r"[\w.+-]+/[\w.+-]+(; ?[\w-]+=[\w.-]+)*", text) is not None
