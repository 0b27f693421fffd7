"""Checkpoints: found, described, fetched, and made of the user's own folders.

What it does: resolves a checkpoint to files on this machine, says whether it is here and what it needs, pulls hub sources with
progress and resume, and turns folders the user names into a checkpoint of a method.
Where: sources and their kinds are described in `backends.contract.Source`; hub files come through huggingface_hub.
What it does not do: it loads no weights, never runs or unpickles anything, and goes to the network only in `pull`.
"""

import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from app.checkpoint_files import ASSETS, REFUSED_PATTERNS, check_source, files_of, find_source
from backends.contract import Cancelled, Card, Checkpoint, CheckpointError, ResolvedCheckpoint, Source
from backends.parts.loading import check_configs, check_weights


class Availability(BaseModel):
    """Whether a checkpoint's files are on this machine. `why` says where it is or what is missing, in words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    here: bool
    why: str
    bytes: int
    memory_bytes: int
    licence: str


def resolve(checkpoint: Checkpoint, assets: Path | None = None, cache: Path | None = None) -> ResolvedCheckpoint:
    """Files of every role on this machine, complete and through the gate; never the network. CheckpointError says what to do."""
    paths: dict[str, Path] = {}
    for source in checkpoint.sources:
        path = find_source(source, assets or ASSETS, cache)
        check_source(source, path)
        paths[source.role] = path
    return ResolvedCheckpoint(checkpoint=checkpoint, paths=paths)


def available(checkpoint: Checkpoint, assets: Path | None = None, cache: Path | None = None) -> Availability:
    """Whether `resolve` would work, with sizes and licence; measures the files where they are here."""
    size = checkpoint.bytes
    try:
        paths = resolve(checkpoint, assets, cache).paths
    except CheckpointError as error:
        here, why = False, " ".join(part for part in (error.fault.what, error.fault.why) if part)
    else:
        here, why = True, _whereabouts(checkpoint)
        size = sum(path.stat().st_size for root in paths.values() for _, path in files_of(root))
    return Availability(
        here=here, why=why, bytes=size, memory_bytes=checkpoint.memory_bytes or size, licence=checkpoint.licence or "not stated"
    )


def _whereabouts(checkpoint: Checkpoint) -> str:
    words = {"pocket": "comes with the studio", "package": "from an installed package", "folder": "your folder", "hub": "in the hub cache"}
    return ", ".join(dict.fromkeys(words[source.kind] for source in checkpoint.sources))


def find_checkpoint(card: Card, key: str, added: Mapping[str, Checkpoint] | None = None) -> Checkpoint | None:
    """The checkpoint `key` of a card or of those the user added to it; None if there is none."""
    for checkpoint in card.checkpoints:
        if checkpoint.key == key:
            return checkpoint
    return (added or {}).get(key)


def folder_checkpoint(card: Card, name: str, folders: Mapping[str, Path]) -> Checkpoint:
    """A checkpoint made of the user's folders, one a role of the card; CheckpointError (field: the role) if one cannot be used."""
    if set(folders) != set(card.folder_roles):
        wanted = ", ".join(card.folder_roles) or "no folders"
        raise CheckpointError(f"{card.title} takes {wanted}.", f"Given: {', '.join(folders) or 'none'}.", "Name one folder for each.")
    sources: list[Source] = []
    parameters = weight_bytes = 0
    for role in card.folder_roles:
        folder = folders[role].expanduser().resolve()
        try:
            headers = check_weights(folder)
            check_configs(folder)
        except CheckpointError as error:
            fault = error.fault
            raise CheckpointError(fault.what, fault.why, fault.next_step, field=role) from error
        parameters += sum(header.parameters for header in headers.values())
        size = sum(header.bytes for header in headers.values())
        weight_bytes += size
        sources.append(Source(role=role, kind="folder", location=str(folder), bytes=size))
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "folder"
    mark = hashlib.sha256("\0".join(source.location for source in sources).encode()).hexdigest()[:8]
    return Checkpoint(
        key=f"{slug}-{mark}",
        title=name.strip() or "Folder",
        sources=tuple(sources),
        parameters=parameters,
        memory_bytes=weight_bytes,
        note="added by you",
    )


def pull_size(checkpoint: Checkpoint, cache: Path | None = None) -> int:
    """Bytes a pull would fetch now, asked of the hub."""
    return sum(_plan(source, cache) for source in _hub_sources(checkpoint))


def pull(
    checkpoint: Checkpoint,
    progress: Callable[[int, int], None],
    accept_licence: bool,
    *,
    assets: Path | None = None,
    cache: Path | None = None,
    stop: threading.Event | None = None,
) -> ResolvedCheckpoint:
    """Fetch every hub source that is not here, going on where an earlier pull ended, and resolve the checkpoint.

    `progress` gets bytes done and bytes in all, what was here already not counted. Raises CheckpointError where the licence was not
    accepted or the hub cannot be reached, Cancelled after `stop`.
    """
    if not accept_licence:
        what = f"The licence of {checkpoint.title} was not accepted."
        raise CheckpointError(what, f"It is: {checkpoint.licence or 'not stated'}.", "Read it and accept it first.")
    sources = _hub_sources(checkpoint)
    counter = _Counter(sum(_plan(source, cache) for source in sources), progress, stop or threading.Event())
    for source in sources:
        _pull_source(source, counter, cache)
    counter.complete()
    return resolve(checkpoint, assets, cache)


def _hub_sources(checkpoint: Checkpoint) -> tuple[Source, ...]:
    return tuple(source for source in checkpoint.sources if source.kind == "hub")


def _pull_source(source: Source, counter: "_Counter", cache: Path | None) -> None:
    from huggingface_hub import snapshot_download  # imported here: it takes a third of a second and is seldom needed

    with _hub_errors(source):
        snapshot_download(
            source.location,
            revision=source.revision or None,
            cache_dir=cache,
            allow_patterns=list(source.allow_patterns),
            ignore_patterns=list(REFUSED_PATTERNS),
            tqdm_class=_bars_for(counter),
        )


def _plan(source: Source, cache: Path | None) -> int:
    from huggingface_hub import snapshot_download

    with _hub_errors(source):
        files = snapshot_download(
            source.location,
            revision=source.revision or None,
            cache_dir=cache,
            allow_patterns=list(source.allow_patterns),
            ignore_patterns=list(REFUSED_PATTERNS),
            dry_run=True,
        )
    return sum(int(file.file_size or 0) for file in files if file.will_download)


@contextmanager
def _hub_errors(source: Source) -> Iterator[None]:
    """Errors of the hub client and of its transport as one CheckpointError in words."""
    from huggingface_hub.errors import DryRunError, GatedRepoError, RepositoryNotFoundError

    try:
        yield
    except (OSError, DryRunError) as error:  # the client's errors are OSErrors, and so are the transport's
        reason = error.__cause__ if isinstance(error, DryRunError) else error
        what, why, next_step = f"{source.location} could not be fetched.", "", "Pull again: it goes on where it ended."
        if isinstance(reason, GatedRepoError):
            why, next_step = "Its authors ask you to accept their terms first.", "Accept them on its page, log in, and pull again."
        elif isinstance(reason, RepositoryNotFoundError):
            why, next_step = "It is not on the hub, or not open to you.", "Check the name and your login."
        else:
            why = "The hub did not answer as expected, or the connection broke."
        raise CheckpointError(what, why, next_step) from error


class _Counter:
    """Adds up what the hub client's download threads report."""

    def __init__(self, total: int, progress: Callable[[int, int], None], stop: threading.Event) -> None:
        self._total, self._progress, self._stop = total, progress, stop
        self._done = 0
        self._lock = threading.Lock()
        progress(0, total)

    def add(self, count: int) -> None:
        if self._stop.is_set():
            raise Cancelled
        with self._lock:
            self._done = min(self._total, self._done + count)
            done = self._done
        self._progress(done, self._total)

    def complete(self) -> None:
        self._progress(self._total, self._total)


def _bars_for(counter: _Counter) -> type[Any]:
    """A progress-bar class for the hub client that draws nothing and counts the bytes written to disk."""
    from tqdm.auto import tqdm  # type: ignore[import-untyped]  # tqdm has no types

    class Bytes(tqdm):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            self._counts = options.get("unit") == "B" and not str(options.get("desc", "")).startswith("Downloading")
            options.pop("name", None)
            super().__init__(*arguments, **{**options, "disable": True})

        def update(self, n: float | None = 1) -> bool | None:
            if self._counts:
                counter.add(int(n or 0))
            return None

    return Bytes
