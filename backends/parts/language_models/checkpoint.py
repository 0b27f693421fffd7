"""Strict reading and writing of checkpoint folders.

What it does: `load_checkpoint` reads config.json and one or many safetensors shards into the published module tree; every
missing, surplus or misshapen key is named. `save_checkpoint` writes the same layout. `fingerprint` names a set of weights by
their bytes.
Where: the shard index format of the Hugging Face hub (`model.safetensors.index.json`).
What it does not do: it never unpickles, never runs code from the folder, and does not download.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from backends.contract import CheckpointError
from backends.parts.language_models.layouts import LladaModel, LlamaModel, build_model
from backends.parts.language_models.shape import read_config, shape_from_config
from backends.parts.loading import weight_files


def load_checkpoint(folder: Path, *, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> LladaModel | LlamaModel:
    """Build the network of a folder and fill every parameter from it; the result is in evaluation mode and not packed."""
    shape = shape_from_config(read_config(folder))
    with torch.device("meta"):
        model = build_model(shape)
    expected = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    tensors: dict[str, Tensor] = {}
    for path in weight_files(folder):
        with safe_open(path, framework="pt", device=str(device)) as shard:
            for name in shard.keys():  # noqa: SIM118 - a safetensors handle is not a mapping
                if name in expected:
                    tensors[name] = shard.get_tensor(name).to(dtype)
                elif not _ignorable(name, shape.tied_head):
                    raise CheckpointError(f"{path.name} holds a key that the architecture does not have: {name}")
    check_names(expected, {name: tuple(tensor.shape) for name, tensor in tensors.items()}, str(folder))
    model.load_state_dict(tensors, strict=True, assign=True)
    return model.requires_grad_(False).eval()


def check_names(expected: Mapping[str, tuple[int, ...]], found: Mapping[str, tuple[int, ...]], where: str) -> None:
    """Raise with the names when keys or shapes differ."""
    missing = sorted(set(expected) - set(found))
    if missing:
        raise CheckpointError(f"{where} lacks {len(missing)} keys: {_some(missing)}")
    wrong = [f"{name} is {found[name]}, not {expected[name]}" for name in sorted(expected) if found[name] != expected[name]]
    if wrong:
        raise CheckpointError(f"{where} has wrong shapes: {_some(wrong)}")


def save_checkpoint(model: LladaModel | LlamaModel, config: Mapping[str, Any], folder: Path, dtype: torch.dtype = torch.bfloat16) -> None:
    """Write config.json and model.safetensors under the published names."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(dict(config), indent=2, sort_keys=True) + "\n", encoding="utf-8")
    tensors = {name: parameter.detach().to(dtype).contiguous() for name, parameter in model.named_parameters()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def fingerprint(folder: Path) -> str:
    """SHA-256 over the weight files of a folder."""
    digest = hashlib.sha256()
    for path in weight_files(folder):
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def _ignorable(name: str, tied_head: bool) -> bool:
    # Some exports carry the rotary table or a second copy of a tied head; both are derived values.
    return name.endswith("rotary_emb.inv_freq") or (tied_head and name in ("lm_head.weight", "model.transformer.ff_out.weight"))


def _some(names: list[str], shown: int = 6) -> str:
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {rest} more" if rest > 0 else "")
