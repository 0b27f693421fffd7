"""The typeface of the page for pictures: IBM Plex, taken from the files that the page itself is served with.

Those are WOFF2; the rasteriser reads TrueType, so they are unpacked (fontTools) once a process.

It deliberately ships no font of its own, and does not import the page's framework to find the files.
"""

import functools
import importlib.util
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fontTools.ttLib import TTFont  # type: ignore[import-untyped]  # it has no annotations

from app.errors import ResourceError

_FILES = (
    "IBMPlexSans/IBMPlexSans-Regular", "IBMPlexSans/IBMPlexSans-Bold", "IBMPlexMono/IBMPlexMono-Regular", "IBMPlexMono/IBMPlexMono-Bold",
)  # fmt: skip


@contextmanager
def font_folder() -> Iterator[Path]:
    """A folder with the TrueType files, gone afterwards."""
    with TemporaryDirectory(prefix="diptych-fonts-") as folder:
        for name, data in _unpacked().items():
            (Path(folder) / name).write_bytes(data)
        yield Path(folder)


@functools.cache
def _unpacked() -> dict[str, bytes]:
    found = importlib.util.find_spec("gradio")
    if found is None or found.origin is None:
        raise _missing()
    fonts = Path(found.origin).parent / "templates" / "frontend" / "static" / "fonts"
    return {f"{name.rpartition('/')[2]}.ttf": _true_type(fonts / f"{name}.woff2") for name in _FILES}


def _true_type(path: Path) -> bytes:
    if not path.is_file():
        raise _missing()
    font = TTFont(path)
    font.flavor = None
    buffer = io.BytesIO()
    font.save(buffer)
    return buffer.getvalue()


def _missing() -> ResourceError:
    return ResourceError(
        "The picture cannot be turned into a PNG.", "The page's font files are not installed.", "Install the studio again, or take the SVG."
    )
