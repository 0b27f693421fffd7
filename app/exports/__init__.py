"""Takes results out of the studio in the formats of their field, each with its signed record.

It deliberately stores no exported file: the record is kept, the file is the user's.
"""

from app.exports.exporting import Target, export, formats
from app.exports.values import ExportFile, Format

__all__ = ["ExportFile", "Format", "Target", "export", "formats"]
