"""The Models panel's rows: which checkpoints there are, what is on this machine, what can be pulled, and what would fit.

Built from the cards and from what the user added (folders); nothing is downloaded or loaded here.

It deliberately hashes nothing: digests are computed by workers when weights are loaded.
"""

from pathlib import Path

from app.checkpoints import available, find_checkpoint, folder_checkpoint
from app.engine.protocol import Engine
from app.errors import RequestRefused, UnknownCheckpoint
from app.registry import Registry
from app.values import ModelRow
from backends.contract import Card, Checkpoint, Fault
from storage.errors import NotFound
from storage.store import Store


class Models:
    """The checkpoints of all methods, listed and added."""

    def __init__(self, store: Store, registry: Registry, engine: Engine | None, assets: Path) -> None:
        self._store = store
        self._registry = registry
        self._engine = engine
        self._assets = assets

    def added(self, method: str = "") -> dict[str, Checkpoint]:
        """The user's own checkpoints by key."""
        return {row.key: Checkpoint.model_validate(row.spec) for row in self._store.checkpoints(method)}

    def find(self, card: Card, key: str) -> Checkpoint:
        """The checkpoint `key` of `card` (empty: its first); UnknownCheckpoint if there is none."""
        if not key:
            return card.checkpoints[0]
        found = find_checkpoint(card, key, self.added(card.key))
        if found is None:
            known = ", ".join(checkpoint.key for checkpoint in card.checkpoints)
            raise UnknownCheckpoint(
                f"{card.title} has no checkpoint “{key}”.",
                f"Known here: {known}.",
                "Pick one of these or add a folder.",
                field="checkpoint",
            )
        return found

    def rows(self, memory_free: int) -> tuple[ModelRow, ...]:
        """Every checkpoint of every method; `fits` compares its memory with `memory_free` bytes."""
        loaded = {(model.method, model.checkpoint) for model in self._engine.status().loaded} if self._engine else set()
        return tuple(
            self._row(card, checkpoint, checkpoint.key in added, (card.key, checkpoint.key) in loaded, memory_free)
            for card in self._registry.cards
            for added in (self.added(card.key),)
            for checkpoint in (*card.checkpoints, *added.values())
        )

    def _row(self, card: Card, checkpoint: Checkpoint, added: bool, loaded: bool, memory_free: int) -> ModelRow:
        state = available(checkpoint, self._assets)
        return ModelRow(
            method=card.key,
            method_title=card.title,
            key=checkpoint.key,
            title=checkpoint.title,
            here=state.here,
            why=state.why,
            bytes=state.bytes,
            memory_bytes=state.memory_bytes,
            licence=state.licence,
            pocket=checkpoint.pocket,
            added=added,
            pullable=not state.here and any(source.kind == "hub" for source in checkpoint.sources),
            loaded=loaded,
            fits=state.memory_bytes <= memory_free,
        )

    def forget(self, key: str) -> None:
        """Take a folder that was added off the list; its files stay where they are."""
        try:
            self._store.remove_checkpoint(key)
        except NotFound as error:
            raise UnknownCheckpoint("No folder was added under this name.", "", "Open Models to see what is listed.") from error

    def add_folder(self, method: str, name: str, folders: dict[str, str]) -> Checkpoint:
        """Register the user's own folders (role -> path) as a checkpoint of `method`; faults name the role's control."""
        card = self._registry.card(method)
        missing = [role for role in card.folder_roles if not folders.get(role)]
        if missing or not card.folder_roles:
            role = missing[0] if missing else None
            what = f"A folder is needed for “{role}”." if role else f"{card.title} does not take folders."
            raise RequestRefused(
                (Fault(kind="CheckpointError", what=what, next_step="Name the folder that holds config.json.", field=role),)
            )
        named = {role: path for role, path in folders.items() if path}
        try:
            checkpoint = folder_checkpoint(card, name, {role: Path(path).expanduser() for role, path in named.items()})
        except (OSError, ValueError, RuntimeError) as error:  # names no file system can hold, folders that may not be read
            what = "This is not a folder that can be read."
            fault = Fault(kind="CheckpointError", what=what, why=str(error).encode("ascii", "replace").decode(), field=next(iter(named)))
            raise RequestRefused((fault,)) from error
        self._store.add_checkpoint(checkpoint.key, method, checkpoint.model_dump(mode="json"))
        return checkpoint
