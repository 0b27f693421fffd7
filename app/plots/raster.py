"""SVG to PNG at a chosen resolution, with the resolution written into the file so that it prints at its size.

Rendering is resvg's; the resolution is a pHYs chunk (PNG, third edition, 11.3.4.3).

It deliberately renders only what this package drew: no system fonts, no files, no network.
"""

import struct
import zlib

import resvg_py

from app.plots.fonts import font_folder

SCREEN_DPI = 96
_INCH = 0.0254
_HEADER_END = 33
"""Signature and IHDR chunk; pHYs must stand before the image data."""


def rasterise(svg: str, dpi: int = 192) -> bytes:
    """`svg` as PNG. 96 dpi is one pixel for each unit of the drawing."""
    if not SCREEN_DPI // 2 <= dpi <= 1200:
        raise ValueError(f"a resolution of {dpi} dpi is outside 48 to 1200")
    with font_folder() as fonts:
        png = bytes(
            resvg_py.svg_to_bytes(
                svg_string=svg, zoom=dpi / SCREEN_DPI, skip_system_fonts=True, font_dirs=[str(fonts)],
                sans_serif_family="IBM Plex Sans", monospace_family="IBM Plex Mono",
            )
        )  # fmt: skip
    per_metre = round(dpi / _INCH)
    body = b"pHYs" + struct.pack(">IIB", per_metre, per_metre, 1)
    return png[:_HEADER_END] + struct.pack(">I", 9) + body + struct.pack(">I", zlib.crc32(body)) + png[_HEADER_END:]
