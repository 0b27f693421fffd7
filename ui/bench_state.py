"""The bench as JSON: what the page's script needs to draw panes, messages, scales and progress around the controls.

One answer holds the draft, its faults, which run each pane shows and whether its settings changed since, and the events of
those runs after the cursors the page sent.

It deliberately reads everything through `app.api`, and holds nothing itself.
"""

import time
from collections.abc import Mapping
from typing import Any

from app.api import Studio
from app.checkpoints import available
from app.errors import StudioError
from app.summary import determinism_sentence, settings_sentence, summarise
from app.values import WatchRun
from backends.contract import Card, Checkpoint, MethodError, field_specs
from storage.values import RunRow
from ui.drafts import Draft, Drafts, PaneDraft

_LOOK_AGAIN_SECONDS = 5.0


def cards_json(studio: Studio) -> list[dict[str, Any]]:
    """Every card as plain values: what controls, names and sweeps are drawn from."""
    return [_card(card) for card in studio.registry.cards]


def _card(card: Card) -> dict[str, Any]:
    return {
        "key": card.key,
        "title": card.title,
        "tab": card.tab.value,
        "summary": card.summary,
        "limits": card.limits,
        "licence": card.licence,
        "paper": card.paper.model_dump(),
        "baseline": card.baseline,
        "outputs": card.outputs,
        "determinism": card.determinism.value,
        "inputs": [spec.model_dump(mode="json") for spec in field_specs(card.inputs)],
        "settings": [spec.model_dump(mode="json") for spec in field_specs(card.settings)],
        "sweep": card.sweep,
        "folder_roles": card.folder_roles,
        "examples": {f"{card.key}/{number}": example.point for number, example in enumerate(card.examples)},
        "checkpoints": [
            {"key": one.key, "title": one.title, "pocket": one.pocket, "note": one.note, "parameters": one.parameters, "dtype": one.dtype}
            for one in card.checkpoints
        ],
    }


class Shelf:
    """Which weights are on this machine; looked up on disk at most every few seconds, however often a page asks."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._known: dict[str, tuple[float, bool, str]] = {}

    def here(self, checkpoint: Checkpoint) -> tuple[bool, str]:
        """Are its files here, and if not, what is missing."""
        key = checkpoint.model_dump_json(include={"key", "sources"})
        known = self._known.get(key)
        if known is None or time.monotonic() - known[0] > _LOOK_AGAIN_SECONDS:
            found = available(checkpoint, self._studio.assets)
            known = self._known[key] = (time.monotonic(), found.here, found.why)
        return known[1], known[2]


class BenchState:
    """Builds the JSON of one owner's bench."""

    def __init__(self, studio: Studio, drafts: Drafts, shelf: Shelf, account: str | None) -> None:
        self.studio = studio
        self.shelf = shelf
        self.drafts = drafts
        self.account = account

    def build(self, draft: Draft, since: Mapping[str, int], memory_free: int) -> dict[str, Any]:
        """Draft, faults, runs and what each pane shows; the runs of a sweep stand in place of the panes' while it is open."""
        runs, shown, sweep = self._runs(draft, since)
        return {
            "tab": draft.tab,
            "revision": draft.revision,
            "inputs": draft.inputs,
            "seed": draft.seed,
            "repeats": draft.repeats,
            "baseline": draft.baseline,
            "example": draft.example,
            "comparison": draft.sweep if sweep else draft.comparison,
            "alone": bool(draft.alone),
            "sweep": sweep,
            "refused": draft.refused.model_dump(mode="json") if draft.refused else None,
            "faults": [{"pane": found.pane, **found.fault.model_dump(mode="json")} for found in self.drafts.faults(draft)],
            "panes": [self._pane(letter, draft, shown.get(letter), memory_free) for letter in draft.letters],
            "runs": [run.model_dump(mode="json") for run in runs],
            "shown": shown,
            "finished": all(run.state.final for run in runs),
        }

    def _pane(self, letter: str, draft: Draft, run: str | None, memory_free: int) -> dict[str, Any]:
        pane = draft.pane(letter)
        card = self.studio.registry.card(pane.method)
        checkpoint = self._checkpoint(card, pane.checkpoint)
        here, why = self.shelf.here(checkpoint) if checkpoint else (False, "It was removed from this studio.")
        needed = self._memory(card, checkpoint, pane, draft)
        return {
            "pane": letter,
            "method": pane.method,
            "title": card.title,
            "checkpoint": pane.checkpoint,
            "pocket": bool(checkpoint and checkpoint.pocket),
            "here": here,
            "why": why,
            "settings": pane.settings,
            "sentence": settings_sentence(card, pane.settings),
            "baseline": letter == draft.baseline,
            "determinism": determinism_sentence(card, self.studio.device),
            "stale": run is not None and self._stale(pane, draft, run),
            "typical_seconds": self.studio.store.typical_seconds(pane.method, pane.checkpoint),
            "memory_bytes": needed,
            "memory_free": memory_free,
            "fits": needed <= memory_free,
        }

    def _stale(self, pane: PaneDraft, draft: Draft, run_id: str) -> bool:
        """Do the controls differ from what the shown run was made with?"""
        run = self._run(run_id)
        if run is None:
            return False
        inputs = {name: value for name, value in draft.inputs.items() if name in run.inputs}
        now = (pane.method, pane.checkpoint, _plain(pane.settings), inputs, draft.seed)
        return now != (run.method, run.checkpoint, _plain(run.settings), run.inputs, run.seed)

    def _checkpoint(self, card: Card, key: str) -> Checkpoint | None:
        try:
            return self.studio.models.find(card, key)
        except StudioError:  # forgotten since; the faults say so
            return None

    def _memory(self, card: Card, checkpoint: Checkpoint | None, pane: PaneDraft, draft: Draft) -> int:
        """Bytes the weights and a run need, as far as the card can say."""
        if checkpoint is None or card.estimate is None:
            return checkpoint.memory_bytes if checkpoint else 0
        try:
            known = {spec.name for spec in field_specs(card.inputs)}
            inputs = card.inputs.model_validate({name: value for name, value in draft.inputs.items() if name in known})
            return checkpoint.memory_bytes + card.estimate(inputs, card.settings.model_validate(pane.settings), checkpoint).bytes
        except (ValueError, MethodError):  # the controls hold something wrong; the faults say what
            return checkpoint.memory_bytes

    def _runs(self, draft: Draft, since: Mapping[str, int]) -> tuple[list[WatchRun], dict[str, str], bool]:
        """The runs on the bench, the one each pane shows, and whether the comparison is a sweep."""
        if draft.sweep and self._is_here(draft.sweep):
            return list(self.studio.watch(draft.sweep, (), since, self.account).runs), {}, True
        runs: list[WatchRun] = []
        if draft.comparison and self._is_here(draft.comparison):
            runs = [run for run in self.studio.watch(draft.comparison, (), since, self.account).runs if run.pane not in draft.alone]
        for letter, reference in draft.alone.items():
            run_id = self._resolve(reference)
            if run_id and letter in draft.letters and self._run(run_id) is not None:
                page = self.studio.watch(None, (run_id,), since, self.account)
                runs += [run.model_copy(update={"pane": letter, "repeat": 0, "purpose": "run"}) for run in page.runs]
        shown = {str(run.pane): run.id for run in runs if run.purpose == "run" and run.repeat == 0 and run.pane in draft.letters}
        return runs, shown, False

    def summary(self, draft: Draft) -> dict[str, Any]:
        """The panes summed up against the bench's baseline: with all repeats if they are of one comparison, else run by run."""
        if draft.comparison and not draft.alone:
            asked = self.studio.comparison(draft.comparison, self.account)
            if draft.baseline in {pane.pane for pane in asked.panes}:
                asked = asked.model_copy(update={"baseline": draft.baseline})
            runs = self.studio.store.comparison_runs(asked.id)
            added = self.studio.models.added()
            return summarise(asked, runs, self.studio.registry, added, self.studio.store.read_artifact).model_dump(mode="json")
        return self.studio.beside(self._runs(draft, {})[1], draft.baseline, self.account).model_dump(mode="json")

    def _resolve(self, reference: str) -> str | None:
        """A run id, or "comparison/letter" of a pane that moved."""
        comparison, separator, letter = reference.partition("/")
        if not separator:
            return reference
        try:
            runs = self.studio.watch(comparison, (), {}, self.account).runs
        except StudioError:
            return None
        return next((run.id for run in runs if run.pane == letter and run.purpose == "run" and run.repeat == 0), None)

    def _is_here(self, comparison_id: str) -> bool:
        try:
            self.studio.comparison(comparison_id, self.account)
        except StudioError:  # deleted since
            return False
        return True

    def _run(self, run_id: str) -> RunRow | None:
        try:
            return self.studio.run(run_id, self.account)
        except StudioError:  # deleted since
            return None


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as JSON has them: 3.0 and 3 are one number."""
    return {name: float(value) if isinstance(value, int) and not isinstance(value, bool) else value for name, value in settings.items()}
