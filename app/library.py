"""What happens to runs after they ran: found again, starred, exported, verified, replayed; and presets and drafts.

These are the parts of `app.api.Studio` that need no engine. Owners: with accounts every function takes the caller's name
and refuses other people's rows as if they did not exist; without accounts `owner` is None and everything is open.

It deliberately returns the store's own rows.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.errors import StorageFull, StoreUnavailable, UnknownRun
from app.exports import ExportFile, Format, export, formats
from app.provenance.chain import ChainReport, check_chain
from app.provenance.keys import Keys
from app.provenance.replay import ReplayVerdict, compare_runs
from app.provenance.report import VerifyReport
from app.provenance.verify import verify_bytes
from app.registry import Registry
from storage import errors as store_errors
from storage.store import Store
from storage.values import ArtifactRow, ComparisonRow, HistoryPage, HistoryQuery, PresetRow, RunRow


@contextmanager
def store_faults() -> Iterator[None]:
    """Turns the store's errors into the studio's, with the next step."""
    try:
        yield
    except store_errors.NotFound as error:
        raise UnknownRun("There is nothing with this id.", str(error), "Look for it in History.") from error
    except store_errors.Full as error:
        raise StorageFull(
            "The disk is full.", "Nothing half-written was kept.", "Free some space, or start with --data on another disk."
        ) from error
    except store_errors.Unavailable as error:
        raise StoreUnavailable(
            "The database cannot be used.", str(error), "Restore a backup, or start with --data on a new folder."
        ) from error


def storable(text: str) -> str:
    """`text` with lone surrogates, which no database can hold, as replacement characters."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Library:
    """Everything that was kept."""

    store: Store
    registry: Registry
    keys: Keys

    # reading ------------------------------------------------------------------------------------------------------

    def run(self, run_id: str, owner: str | None = None) -> RunRow:
        """One run; UnknownRun if there is none or it is somebody else's."""
        with store_faults():
            run = self.store.run(run_id)
        if owner is not None and run.owner not in ("", owner):
            raise UnknownRun("There is nothing with this id.", next_step="Look for it in History.")
        return run

    def comparison(self, comparison_id: str, owner: str | None = None) -> ComparisonRow:
        """One comparison or sweep; UnknownRun if there is none or it is somebody else's."""
        with store_faults():
            comparison = self.store.comparison(comparison_id)
        if owner is not None and comparison.owner not in ("", owner):
            raise UnknownRun("There is nothing with this id.", next_step="Look for it in History.")
        return comparison

    def artifact(self, artifact_id: str, owner: str | None = None) -> tuple[ArtifactRow, bytes]:
        """An artifact and its bytes."""
        with store_faults():
            row = self.store.artifact(artifact_id)
            self.run(row.run, owner)
            return row, self.store.read_artifact(artifact_id)

    def history(self, query: HistoryQuery) -> HistoryPage:
        """A page of runs, newest first."""
        with store_faults():
            return self.store.history(query)

    # marking ------------------------------------------------------------------------------------------------------

    def star(self, run_id: str, starred: bool, owner: str | None = None) -> None:
        """Set or remove the star."""
        self.run(run_id, owner)
        self.store.star(run_id, starred)

    def tag(self, run_id: str, tags: tuple[str, ...], owner: str | None = None) -> None:
        """Replace the tags: trimmed, each once, at most 20 of 40 characters."""
        self.run(run_id, owner)
        clean = dict.fromkeys(storable(tag).strip()[:40] for tag in tags if tag.strip())
        self.store.tag(run_id, tuple(clean)[:20])

    def annotate(self, run_id: str, note: str, owner: str | None = None) -> None:
        """Replace the note (at most 10,000 characters)."""
        self.run(run_id, owner)
        self.store.annotate(run_id, storable(note)[:10_000])

    def rename(self, run_id: str, title: str, owner: str | None = None) -> None:
        """Replace the title (at most 200 characters)."""
        self.run(run_id, owner)
        self.store.rename(run_id, storable(title).strip()[:200])

    def delete(self, run_ids: tuple[str, ...], owner: str | None = None) -> None:
        """Delete finished runs with their files; their records stay, so that the chain still holds."""
        for run_id in run_ids:
            self.run(run_id, owner)
        self.store.delete_runs(list(run_ids))

    # taking away and bringing back --------------------------------------------------------------------------------

    def export_formats(self, target_id: str, owner: str | None = None) -> tuple[Format, ...]:
        """The formats a run, an artifact or a comparison can be exported to."""
        target = self._target(target_id, owner)
        with store_faults():
            return formats(self.store, self.registry, target)

    def export(self, target_id: str, format_key: str, owner: str | None = None) -> list[ExportFile]:
        """The exported file with its signed record beside it."""
        target = self._target(target_id, owner)
        with store_faults():
            return export(self.store, self.keys, self.registry, target, format_key)

    def _target(self, target_id: str, owner: str | None) -> RunRow | ArtifactRow | ComparisonRow:
        for find in (self.store.run, self.store.comparison, self.store.artifact):
            try:
                found = find(target_id)
            except store_errors.NotFound:
                continue
            self.run(found.run, owner) if isinstance(found, ArtifactRow) else self._check_owner(found, owner)
            return found
        raise UnknownRun("There is nothing with this id.", next_step="Look for it in History.")

    def _check_owner(self, found: RunRow | ComparisonRow, owner: str | None) -> None:
        if owner is not None and found.owner not in ("", owner):
            raise UnknownRun("There is nothing with this id.", next_step="Look for it in History.")

    def verify(self, data: bytes, name: str, sidecar: bytes | None = None) -> VerifyReport:
        """Does this file still match what was signed, and by whom? Works for files this studio never saw."""
        return verify_bytes(data, name, sidecar, self.keys, self.store)

    def check_chain(self) -> ChainReport:
        """Walk the whole log of records."""
        return check_chain(self.store, self.keys)

    def replay_verdict(self, replay_id: str, owner: str | None = None) -> ReplayVerdict:
        """Compare a finished replay with the run it repeats, by the method's determinism class."""
        replay = self.run(replay_id, owner)
        with store_faults():
            original = self.store.run(replay.parents[0]) if replay.parents else None
        if original is None:
            raise UnknownRun("This run is not a replay.", next_step="Press Replay on a finished run.")
        return compare_runs(original, replay, self.registry.card(original.method), self.store.read_artifact)

    # presets and drafts -------------------------------------------------------------------------------------------

    def presets(self, method: str) -> tuple[PresetRow, ...]:
        """The user's presets of `method`; built-in ones are on its card."""
        return self.store.presets(method)

    def save_preset(self, method: str, name: str, settings: dict[str, Any]) -> PresetRow:
        """Keep settings under a name; the same name again makes the next version."""
        return self.store.save_preset(method, storable(name).strip()[:80], settings)

    def delete_preset(self, preset_id: str) -> None:
        """Remove a preset, all versions."""
        self.store.delete_preset(preset_id)

    def save_draft(self, owner: str, tab: str, data: dict[str, Any]) -> None:
        """Keep what stands in a tab's controls, so that a refresh restores it."""
        self.store.save_draft(owner, tab, data)

    def draft(self, owner: str, tab: str) -> dict[str, Any] | None:
        """The kept controls of a tab."""
        return self.store.draft(owner, tab)

    def backup(self, to: Path) -> None:
        """Copy the database and all artifacts to a folder while the studio runs."""
        with store_faults():
            self.store.backup(to)
