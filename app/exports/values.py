"""What goes in and out of an export: formats, files, and what an exporter may use.

An exporter is a function from a Job to the file's bytes; `app.exports.formats` lists them by kind.

It deliberately holds no behaviour.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from app.plots.palette import Theme
from app.registry import Registry
from storage.store import Store
from storage.values import ArtifactRow, ComparisonRow, RunRow


class Format(BaseModel):
    """A format something can be exported to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    label: str
    extension: str
    media_type: str


class ExportFile(BaseModel):
    """A file to hand to the user."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    data: bytes
    media_type: str


@dataclass(frozen=True)
class Job:
    """What an exporter may use. `runs` are those the file is drawn from, `artifacts` the ones it reads, in order."""

    store: Store
    registry: Registry
    runs: tuple[RunRow, ...]
    artifacts: tuple[ArtifactRow, ...]
    comparison: ComparisonRow | None
    theme: Theme
    dpi: int

    def read(self, artifact: ArtifactRow) -> bytes:
        """The bytes of an artifact."""
        return self.store.read_artifact(artifact.id)


Draw = Callable[[Job], bytes]
"""An exporter: draws the file's bytes."""

Needs = Callable[[tuple[RunRow, ...]], bool]
"""Whether the runs of a comparison hold what a drawing needs."""


@dataclass(frozen=True)
class Exporter:
    """A format and how it is made. `draw` None: the artifact's own bytes, under its own record.

    `credentials`: with content credentials (C2PA) inside instead of the studio's own record. `needs`: the format is offered for a
    comparison only where this holds of its runs.
    """

    format: Format
    draw: Draw | None
    credentials: bool = False
    needs: Needs | None = None
