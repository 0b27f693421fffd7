"""Makes the command for a run: method, checkpoint, device and everything else a worker needs, as plain values.

What it does: refuses what cannot work (unknown method or checkpoint, a device that is not here) before a worker is troubled, and hands
the worker the digests of checkpoint files that are already known.
Where: `app.engine.worker.Job` is the command.
What it does not do: it checks no weights; the worker does, where they are loaded.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from app.checkpoint_files import FileMark, files_of, find_source
from app.checkpoints import find_checkpoint
from app.engine.active import Shop
from app.engine.worker import Job, WarmUp
from app.errors import DeviceMissing, UnknownCheckpoint
from backends.contract import Card, Checkpoint, CheckpointError
from storage.values import RunRow


class Jobs:
    """Run commands for one lane, with what it has learned about files."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._known: dict[str, FileMark] = {}

    def make(self, run: RunRow, scratch: Path) -> Job:
        """The command for `run`; StudioError says why there is none."""
        card = self._shop.registry.card(run.method)
        device = self._shop.devices.choose(run.device, card)
        checkpoint = self._checkpoint(card, run)
        return Job(
            run=run.id,
            location=self._shop.registry.locate(run.method),
            checkpoint=checkpoint,
            inputs=run.inputs,
            settings=run.settings,
            seed=run.seed,
            device=device,
            dtype=run.dtype,
            seconds_limit=run.seconds_limit,
            scratch=scratch,
            assets=self._shop.assets,
            cache=self._shop.options.cache,
            threads=self._shop.options.threads,
            known=self._digests(checkpoint),
        )

    def warm_ups(self) -> tuple[WarmUp, ...]:
        """What an idle worker loads ahead: the methods whose first checkpoint is a pocket one."""
        registry, assets = self._shop.registry, self._shop.assets
        ahead: list[WarmUp] = []
        for card in registry.cards:
            first = next(iter(card.checkpoints), None)
            if first is not None and first.pocket:
                with suppress(DeviceMissing):
                    device = self._shop.devices.choose("auto", card)
                    ahead.append(WarmUp(location=registry.locate(card.key), checkpoint=first, device=device, assets=assets))
        return tuple(ahead)

    def learn(self, fresh: Mapping[str, FileMark]) -> None:
        """Remember digests a worker computed, for this process and for later ones."""
        for place, (size, changed, digest) in fresh.items():
            self._known[place] = (size, changed, digest)
            self._shop.store.remember_digest(place, size, changed, digest)

    def _checkpoint(self, card: Card, run: RunRow) -> Checkpoint:
        found = find_checkpoint(card, run.checkpoint)
        if found is None:
            added = {row.key: Checkpoint.model_validate(row.spec) for row in self._shop.store.checkpoints(card.key)}
            found = added.get(run.checkpoint)
        if found is None:
            what = f"{card.title} has no checkpoint “{run.checkpoint}”."
            raise UnknownCheckpoint(what, "It may have been removed.", "Pick another checkpoint.", field="checkpoint")
        return found

    def _digests(self, checkpoint: Checkpoint) -> dict[str, FileMark]:
        known: dict[str, FileMark] = {}
        for source in checkpoint.sources:
            with suppress(CheckpointError):  # missing files are reported by the worker, in its words
                for _, path in files_of(find_source(source, self._shop.assets, self._shop.options.cache)):
                    mark = self._mark(path)
                    if mark is not None:
                        known[str(path.resolve())] = mark
        return known

    def _mark(self, path: Path) -> FileMark | None:
        place, state = str(path.resolve()), path.stat()
        mark = self._known.get(place)
        if mark is None or mark[:2] != (state.st_size, state.st_mtime_ns):
            digest = self._shop.store.known_digest(place, state.st_size, state.st_mtime_ns)
            mark = (state.st_size, state.st_mtime_ns, digest) if digest else None
        if mark is not None:
            self._known[place] = mark
        return mark
