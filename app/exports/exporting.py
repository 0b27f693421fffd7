"""Makes an export: draws the file, names it, signs it, and puts the record inside (where the format can) and beside it.

The artifact's own bytes go out under the artifact's own record. Anything derived gets a record of its own that names the
artifacts it was drawn from and their records as parents; it goes through the store, so the chain holds.

It deliberately exports nothing without a record.
"""

import hashlib
from collections.abc import Iterable

from app.errors import FileChanged, RequestRefused
from app.exports.describing import promise_of
from app.exports.formats import CRATE, EXPORTERS, exporters_of, with_credentials
from app.exports.naming import file_name, title_part
from app.exports.sweep import sweep_runs
from app.exports.trace import trace_of
from app.exports.values import Exporter, ExportFile, Format, Job
from app.plots.palette import Theme
from app.provenance.credentials import add_credentials
from app.provenance.embed import embed
from app.provenance.keys import Keys
from app.provenance.statement import Material, Promise, sign_export
from app.provenance.verify import SIDECAR
from app.registry import Registry
from backends.contract import Fault
from storage.errors import NotFound
from storage.store import Store
from storage.values import ArtifactRow, ComparisonRow, RunRow, RunState

Target = RunRow | ArtifactRow | ComparisonRow
_CARRIES_RECORD = ("image/png", "image/svg+xml", "application/json")
_MOST_DESCRIBED = 200
"""Runs that one record describes in full; further ones are named by their records alone."""
_RECORD_TYPE = "application/vnd.in-toto+json"


def formats(store: Store, registry: Registry, target: Target) -> tuple[Format, ...]:
    """What `target` can be exported to, most wanted first."""
    runs = runs_of(store, registry, target) if isinstance(target, ComparisonRow) else ()
    offered = {key: exporter for key, (exporter, _) in _offered(target).items() if exporter.needs is None or exporter.needs(runs)}
    return tuple(exporter.format.model_copy(update={"key": key}) for key, exporter in offered.items())


def export(
    store: Store, keys: Keys, registry: Registry, target: Target, format_key: str, *, theme: Theme = "light", dpi: int = 192
) -> list[ExportFile]:
    """The exported file and its record beside it."""
    exporter, artifact = _find(target, format_key)
    job = _job(store, registry, target, artifact, exporter, theme, dpi)
    if exporter.draw is not None:
        return _derived(job, keys, exporter.draw(job), exporter)
    if artifact is None:
        raise ValueError("an export without a drawing needs an artifact")
    return _as_it_is(job, keys, artifact, exporter)


def _offered(target: Target) -> dict[str, tuple[Exporter, ArtifactRow | None]]:
    """Format key -> exporter and the artifact it reads; those with content credentials and the crate come last."""
    plain = _plain(target)
    credentialed = [(with_credentials(exporter), artifact, key) for key, (exporter, artifact) in plain.items()]
    offered = plain | {key + "+c2pa": (exporter, artifact) for exporter, artifact, key in credentialed if exporter is not None}
    if not isinstance(target, ArtifactRow) and plain:
        offered[CRATE.format.key] = (CRATE, None)
    return offered


def _plain(target: Target) -> dict[str, tuple[Exporter, ArtifactRow | None]]:
    """A second artifact of a kind has its name in front of the key."""
    if isinstance(target, ComparisonRow):
        listed = EXPORTERS["sweep" if target.kind == "sweep" else "comparison"]
        traces = EXPORTERS["traces"] if target.tab == "text" and target.kind == "panes" else ()
        return {exporter.format.key: (exporter, None) for exporter in (*listed, *traces)}
    offered: dict[str, tuple[Exporter, ArtifactRow | None]] = {}
    for artifact in (target,) if isinstance(target, ArtifactRow) else target.artifacts:
        for exporter in exporters_of(artifact):
            key = exporter.format.key
            offered[key if key not in offered else f"{artifact.name}.{key}"] = (exporter, artifact)
    return offered


def _find(target: Target, key: str) -> tuple[Exporter, ArtifactRow | None]:
    offered = _offered(target)
    if key not in offered:
        listed = ", ".join(offered) or "none: it kept no output"
        fault = Fault(kind="InputError", what=f"There is no format “{key[:40]}” for this.", why=f"Its formats: {listed}.", field="format")
        raise RequestRefused((fault,))
    return offered[key]


def _job(
    store: Store, registry: Registry, target: Target, artifact: ArtifactRow | None, exporter: Exporter, theme: Theme, dpi: int
) -> Job:  # fmt: skip
    if isinstance(target, ComparisonRow):
        runs = runs_of(store, registry, target)
        artifacts: tuple[ArtifactRow, ...] = ()
        if exporter.draw in [found.draw for found in EXPORTERS["traces"]]:
            runs, artifacts = _traced(runs)
        return Job(store, registry, runs, artifacts, target, theme, dpi)
    run = target if isinstance(target, RunRow) else store.run(target.run)
    return Job(store, registry, (run,), (artifact,) if artifact else (), None, theme, dpi)


def runs_of(store: Store, registry: Registry, comparison: ComparisonRow) -> tuple[RunRow, ...]:
    """The runs a comparison is drawn from."""
    return sweep_runs(store, registry, comparison) if comparison.kind == "sweep" else store.comparison_runs(comparison.id)


def _traced(runs: Iterable[RunRow]) -> tuple[tuple[RunRow, ...], tuple[ArtifactRow, ...]]:
    """The first finished repeat of each pane that kept a trace, and that trace."""
    first: dict[str, tuple[RunRow, ArtifactRow]] = {}
    for run in sorted(runs, key=lambda run: run.repeat):
        trace = trace_of(run)
        if trace is not None and run.purpose == "run" and run.state is RunState.DONE:
            first.setdefault(run.pane or "", (run, trace))
    if not first:
        fault = Fault(kind="InputError", what="There is no trace to draw.", why="No pane has a finished run with one.", field="format")
        raise RequestRefused((fault,))
    return tuple(run for run, _ in first.values()), tuple(trace for _, trace in first.values())


def _as_it_is(job: Job, keys: Keys, artifact: ArtifactRow, exporter: Exporter) -> list[ExportFile]:
    data, form = job.read(artifact), exporter.format
    if hashlib.sha256(data).hexdigest() != artifact.digest:
        raise FileChanged(
            f"The stored file of “{artifact.name}” is not the one that was signed.", "Its digest differs.", "Restore it from a backup."
        )
    name = _name(job, form, artifact.digest)
    try:
        record = job.store.record_for_artifact(artifact.id).envelope
    except NotFound:  # produced while nothing was signing: then its first export is what gets the record
        record = _record(job, keys, name, data, form, ())
    if exporter.credentials:
        return _credentialed(job, keys, name, data, record, form, _materials(job))
    return _files(name, data, form, record)


def _derived(job: Job, keys: Keys, data: bytes, exporter: Exporter) -> list[ExportFile]:
    form, materials = exporter.format, _materials(job)
    name = _name(job, form, hashlib.sha256(data).hexdigest())
    if exporter.credentials:
        return _credentialed(job, keys, name, data, _record(job, keys, name, data, form, materials), form, materials)
    if form.media_type in _CARRIES_RECORD:
        inside = _record(job, keys, name, data, form, materials)
        materials = (*materials, _bare(data, inside))
        data = embed(data, inside)
    return _files(name, data, form, _record(job, keys, name, data, form, materials))


def _credentialed(
    job: Job, keys: Keys, name: str, data: bytes, record: bytes, form: Format, materials: tuple[Material, ...]
) -> list[ExportFile]:  # fmt: skip
    """With content credentials that name `record`, which covers the file without them."""
    digest = hashlib.sha256(record).hexdigest()
    signed = add_credentials(data, form.media_type, name.removeprefix(_title(job)), digest, keys)
    return _files(name, signed, form, _record(job, keys, name, signed, form, (*materials, _bare(data, record))))


def _bare(data: bytes, record: bytes) -> Material:
    return Material(
        name="this file without what was put inside", digest=hashlib.sha256(data).hexdigest(), record=hashlib.sha256(record).hexdigest()
    )


def _record(job: Job, keys: Keys, name: str, data: bytes, form: Format, materials: tuple[Material, ...]) -> bytes:
    runs: tuple[tuple[RunRow, Promise], ...] = tuple((run, promise_of(job.registry, run)) for run in job.runs[:_MOST_DESCRIBED])
    owner = job.runs[0].id if len(job.runs) == 1 else None
    label = name.removeprefix(_title(job))  # titles are words of the user's input: they stay out of records
    return job.store.add_record(owner, sign_export(label, data, form.key, runs, materials, keys)).envelope


def _materials(job: Job) -> tuple[Material, ...]:
    """The artifacts the file was made from: those that were read, or every output of the runs it sums up."""
    used = job.artifacts if job.artifacts and job.comparison else tuple(found for run in job.runs for found in run.artifacts)
    return tuple(Material(name=found.name, digest=found.digest, record=_record_digest(job.store, found)) for found in used)


def _record_digest(store: Store, artifact: ArtifactRow) -> str:
    return store.record(artifact.record).digest if artifact.record is not None else ""


def _name(job: Job, form: Format, digest: str) -> str:
    part = "crate" if form.key == CRATE.format.key else form.key.rpartition(".")[0]
    if job.comparison is not None:
        what = "-".join(filter(None, ("sweep" if job.comparison.kind == "sweep" else "comparison", part)))
        return _title(job) + file_name(None, what, digest, form.extension)
    run = job.runs[0]
    return _title(job) + file_name(run.pane, "-".join(filter(None, (run.method, part))), digest, form.extension)


def _title(job: Job) -> str:
    return title_part(job.comparison.title if job.comparison else job.runs[0].title or job.runs[0].method_title)


def _files(name: str, data: bytes, form: Format, record: bytes) -> list[ExportFile]:
    beside = ExportFile(name=name + SIDECAR, data=record, media_type=_RECORD_TYPE)
    return [ExportFile(name=name, data=data, media_type=form.media_type), beside]
