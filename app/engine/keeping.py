"""What one run leaves behind: its events for those who watch, and its artifacts, metrics and notes in the store.

What it does: sorts a worker's events, stores artifacts with their signed records, writes the latest preview to the store (the first at
once, then at most twice a second), adds the engine's own measurements, and ends the run. If a run ends before it is done, its last
preview becomes a partial artifact.
Where: the events are those of `backends.contract.events`; what a record says is decided by the `sign` function.
What it does not do: it speaks to no worker and decides no state.
"""

import base64
import json
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from app.engine.protocol import Sign
from app.engine.runlog import RunLog
from app.engine.wire import Message
from backends.contract import Artifact, Fault
from storage.store import Store
from storage.values import ArtifactRow, MetricRow, RunRow, RunState

PREVIEW_SECONDS = 0.5
HOLD_SECONDS = 0.01
"""How long a produced artifact waits for the run's end: if that follows at once, the record carries the run's measurements."""


class Keeper:
    """Keeps what one run yields. Used by one thread."""

    def __init__(self, store: Store, run: RunRow, sign: Sign | None, log: RunLog, engine: str = "local") -> None:
        self._store, self._run, self._sign, self._log, self._engine = store, run, sign, log, engine
        self._metrics: dict[str, MetricRow] = {}
        self._notes: list[dict[str, Any]] = []
        self._preview: dict[str, Any] | None = None
        self._preview_due: float | None = None
        self._preview_written = 0.0
        self._waiting: list[tuple[float, dict[str, Any]]] = []
        self._flush_at: float | None = None
        self._names: set[str] = set()
        self._load_seconds: float | None = None
        self._closed = False

    def loaded(self, message: Message) -> None:
        """The worker has the model: keep where and with which files the run runs."""
        self._load_seconds = message["load_seconds"]
        environment = {**message["environment"], "engine": self._engine}
        self._run = self._run.model_copy(update={"environment": environment, "checkpoint_digests": message["digests"]})
        self._store.set_environment(self._run.id, environment, message["digests"])

    def events(self, events: Iterable[dict[str, Any]], blobs: list[bytes]) -> None:
        """Take a batch. Artifacts are stored by `flush` or `finish`."""
        data = iter(blobs)
        shown: list[dict[str, Any]] = []
        for event in events:
            if event["type"] == "produced":
                self._waiting.append((event["at"], {**event["artifact"], "data": next(data)}))
                self._flush_at = self._flush_at or time.monotonic() + HOLD_SECONDS
                continue
            if event["type"] == "preview":
                self._take_preview(event["artifact"], next(data))
                event = {**event, "artifact": self._preview}
            elif event["type"] == "metric":
                self._take_metric(event)
            elif event["type"] == "note":
                self._notes.append({"level": event["level"], "text": event["text"]})
            shown.append(event)
        self._log.extend(shown)

    def due(self) -> float | None:
        """When `flush` should be called next, on the monotonic clock."""
        return min((moment for moment in (self._flush_at, self._preview_due) if moment is not None), default=None)

    def flush(self) -> None:
        """Write what is due: waiting artifacts, and the latest preview."""
        now = time.monotonic()
        if self._flush_at is not None and now >= self._flush_at:
            self._store_waiting()
        if self._preview_due is not None and now >= self._preview_due and not self._closed:
            self._preview_due, self._preview_written = None, now
            self._store.set_preview(self._run.id, self._preview)

    def close(self) -> None:
        """Store nothing more (the store failed); `finish` still ends the run."""
        self._closed = True

    def finish(self, state: RunState, fault: Fault | None, ended: Message) -> RunRow:
        """Store what waits, turn the last preview into a partial artifact unless the run is done, and end the run."""
        self._measure(ended)
        update = {"finished": datetime.now(UTC), "fault": fault.model_dump(mode="json") if fault else None}
        self._run = self._run.model_copy(update={**update, "partial": state is not RunState.DONE})
        if not self._closed:
            self._store_waiting()
            if state is not RunState.DONE and self._preview is not None and self._preview["name"] not in self._names:
                self._store_artifact(ended.get("at", 0.0), preview_as_partial(self._preview))
        return self.end(state, fault)

    def end(self, state: RunState, fault: Fault | None) -> RunRow:
        """Write the final state; may be repeated after the store failed."""
        details = fault.model_dump(mode="json") if fault else None
        return self._store.finish(self._run.id, state, fault=details, metrics=tuple(self._metrics.values()), notes=self._notes)

    def _take_preview(self, facts: dict[str, Any], data: bytes) -> None:
        self._preview = {**facts, "data": base64.b64encode(data).decode("ascii"), "bytes": len(data)}
        if self._preview_due is None:
            self._preview_due = self._preview_written + PREVIEW_SECONDS if self._preview_written else time.monotonic()

    def _take_metric(self, event: dict[str, Any]) -> None:
        if event["value"] is None:
            self._notes.append({"level": "warning", "text": f"{event['label']} was not a number and is left out."})
            return
        fields = {name: event[name] for name in MetricRow.model_fields if name in event}
        self._metrics[event["name"]] = MetricRow.model_validate(fields)

    def _measure(self, ended: Message) -> None:
        """The engine's own metrics; they replace a method's of the same name."""
        rows = (
            ("wall_seconds", ended.get("wall_seconds"), "s", "Wall time"),
            ("first_output_seconds", ended.get("first_output_seconds"), "s", "Time to first output"),
            ("peak_memory_bytes", ended.get("peak_memory_bytes") or None, "B", "Peak memory"),
            ("load_seconds", self._load_seconds, "s", "Load time"),
        )
        for name, value, unit, label in rows:
            if value is not None:
                self._metrics[name] = MetricRow(name=name, value=float(value), unit=unit, label=label, better="lower")

    def _store_waiting(self) -> None:
        waiting, self._waiting, self._flush_at = self._waiting, [], None
        for at, artifact in waiting:
            if not self._closed:
                self._store_artifact(at, artifact)

    def _store_artifact(self, at: float, artifact: dict[str, Any]) -> None:
        row = store_artifact(self._store, self._run, artifact, self._sign, tuple(self._metrics.values()), tuple(self._notes))
        self._names.add(row.name)
        self._log.extend([{"type": "produced", "at": at, "artifact": row.model_dump(mode="json")}])


def store_artifact(
    store: Store,
    run: RunRow,
    artifact: dict[str, Any],
    sign: Sign | None,
    metrics: tuple[MetricRow, ...] = (),
    notes: tuple[dict[str, Any], ...] = (),
) -> ArtifactRow:
    """Store an artifact and, with `sign`, its record: the run as the signer sees it carries the metrics so far."""
    known = run.model_copy(update={"metrics": metrics, "notes": notes, "preview": None})
    return store.add_artifact(run.id, artifact, None if sign is None else sign(known))


def preview_as_partial(preview: dict[str, Any]) -> dict[str, Any]:
    """A stored preview (an Artifact as JSON, data in base64) as an artifact to keep, marked partial."""
    fields = {name: value for name, value in preview.items() if name in Artifact.model_fields}
    artifact = Artifact.model_validate_json(json.dumps(fields))
    return {**artifact.model_dump(), "partial": True}
