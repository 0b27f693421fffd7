"""Any set of runs as an RO-Crate 1.1: one zip with outputs, their signed records, and a description other tools can read.

Each run is a CreateAction (Process Run Crate 0.5): its method is the instrument, its inputs and settings are PropertyValues,
its outputs are files, and beside each output lies its record.

It deliberately names no author and no licence: the studio does not know them, and the user can add both.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rocrate.model.contextentity import ContextEntity
from rocrate.model.softwareapplication import SoftwareApplication
from rocrate.rocrate import ROCrate

from app.provenance.canonical import canonical, moment
from app.provenance.environment import STUDIO_VERSION
from storage.values import RunRow

_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_RECORD_TYPE = "application/vnd.in-toto+json"


class CrateFile(NamedTuple):
    """One output inside the crate, and the record that covers it."""

    name: str
    data: bytes
    media_type: str
    digest: str
    record_name: str
    record: bytes


class CrateRun(NamedTuple):
    run: RunRow
    files: tuple[CrateFile, ...]


def crate_bytes(title: str, runs: Sequence[CrateRun]) -> bytes:
    """The crate as a zip archive."""
    crate = ROCrate()
    crate.name = title
    crate.description = "Outputs of generative methods with the settings that made them. Each file has a signed record beside it."
    crate.datePublished = max((moment(found.run.finished or found.run.created) for found in runs), default="")
    crate.root_dataset["conformsTo"] = {"@id": _PROFILE}
    crate.add(ContextEntity(crate, _PROFILE, properties={"@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"}))
    with tempfile.TemporaryDirectory(prefix="diptych-crate-") as folder:
        actions = [_add_run(crate, found, Path(folder)) for found in runs]
        crate.root_dataset["mentions"] = actions
        archive = Path(folder) / "crate.zip"
        crate.write_zip(archive)
        return archive.read_bytes()


def _add_run(crate: ROCrate, found: CrateRun, folder: Path) -> Any:
    run = found.run
    outputs = [_add_file(crate, file, folder) for file in found.files]
    properties = {
        "@type": "CreateAction",
        "name": f"{run.method_title} on {run.checkpoint}, seed {run.seed}",
        "startTime": moment(run.started) if run.started else None,
        "endTime": moment(run.finished) if run.finished else None,
        "actionStatus": "http://schema.org/CompletedActionStatus" if run.state.value == "done" else "http://schema.org/FailedActionStatus",
        "instrument": {"@id": _instrument(crate, run).id},
        "object": [{"@id": entity.id} for entity in _parameters(crate, run)],
        "result": [{"@id": output.id} for output in outputs],
    }
    return crate.add(ContextEntity(crate, f"#run-{run.id}", properties={name: value for name, value in properties.items() if value}))


def _instrument(crate: ROCrate, run: RunRow) -> Any:
    identifier = f"#method-{run.method}"
    known = crate.dereference(identifier)
    if known is not None:
        return known
    properties = {"name": run.method_title, "softwareVersion": f"Diptych {STUDIO_VERSION}"}
    return crate.add(SoftwareApplication(crate, identifier, properties=properties))


def _parameters(crate: ROCrate, run: RunRow) -> list[Any]:
    """Inputs, settings, seed and checkpoint, each as a PropertyValue; equal ones of two runs are one entity each."""
    named = {
        **{f"input/{name}": value for name, value in run.inputs.items()},
        **{f"setting/{name}": value for name, value in run.settings.items()},
        "seed": run.seed, "checkpoint": run.checkpoint, "device": run.device, "dtype": run.dtype,
    }  # fmt: skip
    added = []
    for name, value in named.items():
        shown = value if isinstance(value, str | int | float | bool) else canonical(value).decode()
        properties = {"@type": "PropertyValue", "name": name, "value": shown}
        added.append(crate.add(ContextEntity(crate, f"#run-{run.id}/{name}", properties=properties)))
    return added


def _add_file(crate: ROCrate, file: CrateFile, folder: Path) -> Any:
    entities = []
    for name, data, media_type in ((file.name, file.data, file.media_type), (file.record_name, file.record, _RECORD_TYPE)):
        (folder / name).write_bytes(data)
        properties = {"name": name, "encodingFormat": media_type, "contentSize": str(len(data))}
        entities.append(crate.add_file(folder / name, dest_path=name, properties=properties))
    output, record = entities
    output["sha256"] = file.digest
    output["subjectOf"] = record
    record["about"] = output
    return output
