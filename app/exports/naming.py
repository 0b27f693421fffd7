"""Names of exported files: ASCII, safe on every system, and meaningful: title, pane, method, and a short digest.

The digest is that of the file without a record inside, so equal content has an equal name; extensions follow the media type.

It deliberately never contains a path separator, a leading dot, a space or a reserved device name.
"""

import re
import unicodedata

_LONGEST_TITLE = 48
_EXTENSIONS = {
    "text/plain": "txt", "application/json": "json", "image/png": "png", "image/jpeg": "jpg", "image/webp": "webp",
    "image/svg+xml": "svg", "application/pdf": "pdf", "video/mp4": "mp4", "text/csv": "csv", "text/markdown": "md",
    "model/gltf-binary": "glb", "chemical/x-mdl-sdfile": "sdf", "application/zip": "zip",
}  # fmt: skip


def title_part(title: str) -> str:
    """The beginning of a name: the title and a hyphen."""
    return (slug(title)[:_LONGEST_TITLE].strip("-") or "untitled") + "-"


def file_name(pane: str | None, what: str, digest: str, extension: str) -> str:
    """The rest of a name. `what` is the method's key, or what the file shows."""
    return f"{'-'.join(filter(None, (slug(pane or ''), slug(what), digest[:8])))}.{extension}"


def slug(text: str) -> str:
    """`text` in lower-case ASCII letters and digits with single hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def extension_of(media_type: str) -> str:
    """The file extension of a media type; "bin" if it is not one the studio writes."""
    return _EXTENSIONS.get(media_type.partition(";")[0].strip().lower(), "bin")
