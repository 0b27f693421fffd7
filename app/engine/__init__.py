"""Carries runs out: worker processes here, or the same workers on a Ray cluster.

`open_engine` picks one by name. Its parts: `lane` (a thread that performs runs), `worker` (the child process), `wire` between them,
`keeping` (what a run leaves in the store), `queue` (its refusals), `devices`, `memory`, `bare` (a method without the studio).

It deliberately imports nothing at the top: workers import this package too, and have no use for a store.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.engine.protocol import Engine, EngineOptions, Sign
    from app.provenance.keys import Keys
    from app.registry import Registry
    from storage.store import Store
    from storage.values import ArtifactRow, RunRow


def open_engine(
    kind: str,
    store: Store,
    registry: Registry,
    keys: Keys,
    data: Path,
    assets: Path,
    device: str = "auto",
    *,
    finish: Callable[[RunRow], None] | None = None,
    options: EngineOptions | None = None,
) -> Engine:
    """The engine named `kind`: "local", "ray" (a cluster on this machine) or "ray://host:port". Not started yet."""
    from app.engine.local import LocalEngine
    from app.engine.protocol import EngineOptions
    from app.errors import ResourceError

    chosen = (options or EngineOptions()).model_copy(update={"device": device or "auto"})
    sign = signing(store, registry, keys)
    if kind == "local":
        return LocalEngine(store, registry, data, assets, finish, sign, chosen)
    if kind == "ray" or kind.startswith("ray://"):
        from app.engine.ray import RayEngine

        address = kind if kind.startswith("ray://") else None
        return RayEngine(store, registry, data, assets, finish, sign, chosen, address=address)
    raise ResourceError(f"There is no engine “{kind}”.", "Engines are local, ray and ray://host:port.", "Start with one of these.")


def signing(store: Store, registry: Registry, keys: Keys) -> Sign:
    """Signs a run's artifacts with this installation's key; the record names the records of the runs it replays or builds on."""
    from app.provenance.statement import Promise, sign_artifacts
    from storage.errors import NotFound

    def sign(run: RunRow) -> Callable[[ArtifactRow, str, int], bytes]:
        parents: list[str] = []
        for parent in run.parents:
            with suppress(NotFound):  # deleted since: its records stay, and nothing leads to them any more
                parents += [store.record(one.record).digest for one in store.run(parent).artifacts if one.record is not None]
        return sign_artifacts(run, keys, Promise.of(registry.card(run.method)), tuple(parents))

    return sign
