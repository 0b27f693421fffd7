"""Runs as an RO-Crate: every output of the target with its own record inside one archive.

The archive itself is laid out by `app.provenance.crate`; here its files get their names and their records.

It deliberately leaves out warm-ups, and outputs that have no record.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from app.exports.naming import extension_of, file_name
from app.exports.values import Job
from app.provenance.verify import SIDECAR
from storage.errors import NotFound
from storage.values import ArtifactRow, RunRow

if TYPE_CHECKING:
    from app.provenance.crate import CrateFile


def crate(job: Job) -> bytes:
    """The archive. Warm-ups are left out."""
    from app.provenance.crate import CrateRun, crate_bytes  # its library takes a quarter of a second to load

    runs = [CrateRun(run, _files(job, run)) for run in job.runs if run.state.final and run.purpose != "warmup"]
    title = job.comparison.title if job.comparison else job.runs[0].title
    return crate_bytes(title or "Diptych runs", runs)


def _files(job: Job, run: RunRow) -> tuple[CrateFile, ...]:
    return tuple(file for artifact in run.artifacts if (file := _file(job, run, artifact)) is not None)


def _file(job: Job, run: RunRow, artifact: ArtifactRow) -> CrateFile | None:
    """An output and its record; None for one that was never signed: nothing leaves without a record."""
    try:
        record = job.store.record_for_artifact(artifact.id).envelope
    except NotFound:
        return None
    from app.provenance.crate import CrateFile

    data = job.read(artifact)
    what = f"{run.method}-{artifact.name}-{run.id[:8]}"
    name = file_name(run.pane, what, artifact.digest, extension_of(artifact.media_type))
    return CrateFile(name, data, artifact.media_type, hashlib.sha256(data).hexdigest(), name + SIDECAR, record)
