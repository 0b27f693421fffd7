"""The checks every checkpoint passes before a loader touches it: weight files, config, and what a file only pretends to be.

What it does: reads the header of a safetensors file within fixed limits and checks every entry against the file's size; finds
a folder's weight files; recognises pickles and archives by their first bytes; reads config.json through a list of architectures.
Where: the safetensors layout (8-byte little-endian header length, JSON header, data), and the hub's shard index.
What it does not do: it reads no tensor, imports no numerical library, follows no remote code, unpickles nothing, downloads nothing.
"""

import json
import struct
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from backends.contract import CheckpointError

HEADER_LIMIT = 4 * 2**20
"""Bytes. The largest published header known (hundreds of expert layers in one shard) is below 1 MiB."""
TENSOR_LIMIT = 32_768
CONFIG_LIMIT = 2**20
DTYPE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64,
}  # fmt: skip
CONFIG_FILES = ("config.json", "adapter_config.json", "generation_config.json", "tokenizer_config.json")
UNSAFE_SUFFIXES = (".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle", ".joblib", ".npy", ".npz", ".h5", ".msgpack")
ATTENTION_KINDS = ("eager", "sdpa", "flash_attention_2", "flex_attention")
_SAFE_ONLY = "Only safetensors files are read: ask the author for them, or convert the weights on a machine you can spare."
_DAMAGED = "Fetch the file again; if it still fails, do not trust its source."


@dataclass(frozen=True)
class TensorEntry:
    """One tensor of a header: bytes `start` to `stop` of the data part."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class WeightHeader:
    """What a safetensors file holds, checked, without its data."""

    tensors: dict[str, TensorEntry]
    metadata: dict[str, str]

    @property
    def parameters(self) -> int:
        """Numbers in all tensors together."""
        return sum(prod(entry.shape) for entry in self.tensors.values())

    @property
    def bytes(self) -> int:
        """Bytes of all tensors together."""
        return sum(entry.stop - entry.start for entry in self.tensors.values())


def disguise(path: Path) -> str | None:
    """What an unsafe file really is, by its first bytes, or None if nothing unsafe is recognised."""
    with path.open("rb") as stream:
        start = stream.read(9)
    if start[8:] == b"{" and int.from_bytes(start[:8], "little") <= HEADER_LIMIT:
        return None  # a header length can look like an archive's mark, but no archive goes on like this
    if len(start) > 1 and start[0] == 0x80 and 2 <= start[1] <= 5:
        return "a Python pickle"
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "a zip archive, as PyTorch saves pickles"
    if start.startswith(b"\x93NUMPY"):
        return "a NumPy file, which may hold pickled objects"
    if start.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"x\x01", b"x\x9c", b"x\xda", b"\x04\x22\x4d\x18", b"ZF0x")):
        return "a compressed archive, as joblib saves pickles"
    if start.startswith(b"\x89HDF"):
        return "an HDF5 file"
    return None


def read_header(path: Path) -> WeightHeader:
    """The checked header of a safetensors file; CheckpointError for anything out of order. Reads at most HEADER_LIMIT bytes."""
    pretended = disguise(path)
    if pretended is not None:
        raise CheckpointError(f"{path.name} is not a safetensors file.", f"It is {pretended}; nothing in it was run.", _SAFE_ONLY)
    size = path.stat().st_size
    with path.open("rb") as stream:
        prefix = stream.read(8)
        if len(prefix) < 8:
            raise _broken(path, "it is shorter than a header")
        (length,) = struct.unpack("<Q", prefix)
        if length > size - 8:
            raise _broken(path, f"its header claims {length} bytes, and the file has {size}")
        if length > HEADER_LIMIT:
            raise _broken(path, f"its header has {length} bytes, and the limit is {HEADER_LIMIT}")
        raw = stream.read(length)
    if raw.count(b"{") > TENSOR_LIMIT + 2 or raw.count(b"[") > 2 * TENSOR_LIMIT + 2:
        raise _broken(path, f"it names more than {TENSOR_LIMIT} tensors")
    fields = _json_object(raw, path)
    return _checked_header(path, fields, size - 8 - length)


def _checked_header(path: Path, fields: dict[str, Any], data_bytes: int) -> WeightHeader:
    metadata = fields.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise _broken(path, "its metadata are not texts")
    if not fields:
        raise _broken(path, "it holds no tensor")
    tensors = {name: _entry(path, name, value) for name, value in fields.items()}
    reached = 0
    for name, entry in sorted(tensors.items(), key=lambda item: item[1].start):
        # Data must be covered without holes and without sharing: two names for one place, or bytes nobody names, are refused.
        if entry.start != reached:
            raise _broken(path, f"the tensor {_shown(name)} starts at byte {entry.start}, and {reached} was expected")
        reached = entry.stop
    if reached != data_bytes:
        raise _broken(path, f"its tensors end at byte {reached}, and the data have {data_bytes} bytes")
    return WeightHeader(tensors, metadata)


def _entry(path: Path, name: str, value: Any) -> TensorEntry:
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise _broken(path, f"the entry {_shown(name)} is not a tensor")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPE_BITS:
        raise _broken(path, f"the tensor {_shown(name)} has an unknown number format")
    if not _counts(shape) or not _counts(offsets) or len(offsets) != 2:
        raise _broken(path, f"the tensor {_shown(name)} has a shape or a place that is no list of counts")
    if len(shape) > 16 or any(extent == 0 or extent > 2**40 for extent in shape):
        raise _broken(path, f"the tensor {_shown(name)} has an empty or impossible shape")
    start, stop = offsets
    if stop - start != prod(shape) * DTYPE_BITS[dtype] // 8:
        raise _broken(path, f"the tensor {_shown(name)} needs {prod(shape) * DTYPE_BITS[dtype] // 8} bytes and has {stop - start}")
    return TensorEntry(dtype, tuple(shape), start, stop)


def _counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def weight_files(folder: Path) -> tuple[Path, ...]:
    """The safetensors files of a checkpoint folder in reading order; CheckpointError if there are none or a shard is missing."""
    if folder.is_file():
        return (folder,)
    if not folder.is_dir():
        raise CheckpointError(f"The folder {folder} is not here.", "", "Name the folder that holds config.json and the weights.")
    for index in sorted(folder.glob("*.safetensors.index.json")):
        return _indexed_files(folder, index)
    found = sorted(path for path in folder.glob("*.safetensors") if path.is_file())
    if found:
        return tuple(found)
    unsafe = sorted(path.name for path in folder.iterdir() if path.suffix.lower() in UNSAFE_SUFFIXES)
    why = f"It has {', '.join(unsafe[:3])}, which can run code when opened; nothing was opened." if unsafe else "It has no *.safetensors."
    raise CheckpointError(f"The folder {folder.name} has no weights that can be read.", why, _SAFE_ONLY)


def _indexed_files(folder: Path, index: Path) -> tuple[Path, ...]:
    table = read_json(index, 16 * 2**20).get("weight_map")
    if not isinstance(table, dict) or not all(isinstance(name, str) for name in table.values()):
        raise _broken(index, "it has no weight_map")
    names = sorted(set(table.values()))
    for name in names:
        if name != Path(name).name or "\\" in name or not name.endswith(".safetensors"):
            raise _broken(index, f"it names {_shown(name)}, which is not a safetensors file of its own folder")
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        what = f"The folder {folder.name} lacks {len(missing)} of {len(names)} weight files."
        raise CheckpointError(what, f"Missing: {_some(missing)}.", "Pull the checkpoint again.")
    return tuple(folder / name for name in names)


def check_weights(folder: Path) -> dict[Path, WeightHeader]:
    """Headers of all weight files of a folder, each through the gate. GGUF files pass by their mark only: their reader checks the rest."""
    headers: dict[Path, WeightHeader] = {}
    for path in weight_files(folder):
        if path.suffix.lower() == ".gguf":
            with path.open("rb") as stream:
                if stream.read(4) != b"GGUF":
                    raise _broken(path, "it does not start as a GGUF file")
            continue
        headers[path] = read_header(path)
    return headers


def check_configs(folder: Path) -> None:
    """Every config of a checkpoint folder through the gate: clean JSON that asks neither for code nor for another repository's kernels.

    `auto_map` passes: published folders have it, and no loader here looks at it.
    """
    for name in CONFIG_FILES:
        path = folder / name
        if path.is_file():
            _refuse_code(read_json(path, CONFIG_LIMIT), path, own_code=True)


def read_config(folder: Path, model_types: Collection[str], *, keys: Iterable[str] | None = None, own_code: bool = True) -> dict[str, Any]:
    """config.json through the gate: its model_type must be listed, and nothing in it may ask for code or for another repository.

    With `keys`, only these are returned. `own_code`: the architecture is implemented here, so `auto_map` is dropped, not refused.
    """
    path = folder / "config.json"
    if not path.is_file():
        what = f"The folder {folder.name} has no config.json."
        raise CheckpointError(what, "It is not a checkpoint folder.", "Name the folder that has one.")
    config = read_json(path, CONFIG_LIMIT)
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or model_type.lower() not in {known.lower() for known in model_types}:
        known = ", ".join(sorted(model_types))
        what = f"The architecture {_shown(str(model_type))} is not one this method reads."
        raise CheckpointError(what, f"It reads {known}.", "Pick another checkpoint.")
    _refuse_code(config, path, own_code)
    allowed = None if keys is None else {*keys, "model_type"}
    dropped = {"auto_map", "_name_or_path", "name_or_path", "custom_pipelines"}
    return {key: value for key, value in config.items() if key not in dropped and (allowed is None or key in allowed)}


def _refuse_code(value: Any, path: Path, own_code: bool) -> None:
    """Walk the config; a key that could pull code or a foreign implementation into a library's loader ends it."""
    if isinstance(value, list):
        for part in value:
            _refuse_code(part, path, own_code)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key == "trust_remote_code" and inner not in (False, None):
            raise _asks_for_code(path, key)
        if key in ("auto_map", "custom_generate") and not own_code and inner:
            raise _asks_for_code(path, key)
        # Attention and expert implementations can name a repository whose kernel would be fetched and run.
        if key.endswith(("attn_implementation", "attn_implementation_internal", "experts_implementation")):
            choices = inner.values() if isinstance(inner, dict) else [inner]
            if any(choice is not None and choice not in ATTENTION_KINDS for choice in choices):
                raise _asks_for_code(path, key)
        _refuse_code(inner, path, own_code)


def read_json(path: Path, limit: int = CONFIG_LIMIT) -> dict[str, Any]:
    """A JSON object from a file of at most `limit` bytes; duplicate keys and numbers that are none are refused."""
    if path.stat().st_size > limit:
        raise _broken(path, f"it has more than {limit} bytes")
    return _json_object(path.read_bytes(), path)


def _json_object(raw: bytes, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else "it is not clean JSON"
        raise _broken(path, reason) from error
    if not isinstance(value, dict):
        raise _broken(path, "it is not a JSON object")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key is given twice")
    return fields


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _broken(path: Path, reason: str) -> CheckpointError:
    return CheckpointError(f"{path.name} cannot be used.", f"It is damaged or made to harm: {reason}.", _DAMAGED)


def _asks_for_code(path: Path, key: str) -> CheckpointError:
    what = f"{path.name} asks for code from outside ({key})."
    return CheckpointError(what, "Code in or behind a checkpoint is never run here.", "Use a checkpoint without it.")


def _shown(name: str) -> str:
    return repr(name if len(name) <= 80 else name[:77] + "...")


def _some(names: list[str], shown: int = 4) -> str:
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {rest} more" if rest > 0 else "")
