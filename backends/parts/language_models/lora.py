"""Low-rank adapters (LoRA) in the layout that PEFT writes.

What it does: attaches trainable low-rank pairs to named projections, switches them on and off (the teacher is the same network
with them off), merges them into the base in full precision, and reads and writes `adapter_config.json` +
`adapter_model.safetensors`.
Where: Hu et al. 2021, delta W = (alpha / r) B A; D2F 3.2 item 5 and section 5 (keys `base_model.model.<module
path>.lora_{A,B}.weight`).
What it does not do: no DoRA, no rank-stabilised scale, no adapters on embeddings, no biases: a config that asks for them is
refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from backends.contract import CheckpointError
from backends.parts.language_models.checkpoint import check_names
from backends.parts.language_models.layouts import LladaModel, LlamaModel
from backends.parts.loading import read_json

PREFIX = "base_model.model."
UNSUPPORTED = (
    "use_dora",
    "use_rslora",
    "lora_bias",
    "modules_to_save",
    "rank_pattern",
    "alpha_pattern",
    "fan_in_fan_out",
    "trainable_token_indices",
)


@dataclass(frozen=True)
class AdapterShape:
    """What an adapter changes."""

    rank: int
    alpha: float
    targets: tuple[str, ...]
    dropout: float = 0.0

    @property
    def scale(self) -> float:
        return self.alpha / self.rank


class LowRankLinear(nn.Module):
    """A frozen linear layer plus `scale * B A`, under PEFT's child names."""

    def __init__(self, base: nn.Linear, adapter: AdapterShape, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.base_layer = base
        outputs, inputs = base.weight.shape
        self.lora_A = nn.Linear(inputs, adapter.rank, bias=False)
        self.lora_B = nn.Linear(adapter.rank, outputs, bias=False)
        bound = 1 / math.sqrt(inputs)
        with torch.no_grad():
            self.lora_A.weight.uniform_(-bound, bound, generator=generator)
            self.lora_B.weight.zero_()
        self.dropout = nn.Dropout(adapter.dropout)
        self.scale = adapter.scale
        self.enabled = True

    def forward(self, rows: Tensor) -> Tensor:
        result: Tensor = self.base_layer(rows)
        if not self.enabled:
            return result
        return result + self.scale * self.lora_B(self.lora_A(self.dropout(rows)))


def attach(model: LladaModel | LlamaModel, adapter: AdapterShape, generator: torch.Generator | None = None) -> list[LowRankLinear]:
    """Wrap every target projection; only the low-rank pairs stay trainable."""
    model.requires_grad_(False)
    wrapped = []
    for path in target_paths(model, adapter.targets):
        parent, _, name = path.rpartition(".")
        layer = LowRankLinear(model.get_submodule(path), adapter, generator)  # type: ignore[arg-type]
        setattr(model.get_submodule(parent), name, layer.train(model.training))
        wrapped.append(layer)
    model.refresh()
    return wrapped


def target_paths(model: nn.Module, targets: Sequence[str]) -> list[str]:
    """Module paths of the projections that an adapter names."""
    paths = [path for path, module in model.named_modules() if isinstance(module, nn.Linear) and path.rpartition(".")[2] in targets]
    unmatched = sorted(set(targets) - {path.rpartition(".")[2] for path in paths})
    if unmatched:
        raise CheckpointError(f"the adapter targets modules that this model does not have: {', '.join(unmatched)}")
    return paths


def set_enabled(layers: Sequence[LowRankLinear], enabled: bool) -> None:
    """Switch adapters on or off together."""
    for layer in layers:
        layer.enabled = enabled


def read_adapter(folder: Path) -> tuple[AdapterShape, dict[str, Any]]:
    """The shape and the raw config of an adapter folder."""
    path = folder / "adapter_config.json"
    if not path.is_file():
        raise CheckpointError(f"{folder} has no adapter_config.json: this is not a LoRA adapter folder")
    config = read_json(path)
    refused = [name for name in UNSUPPORTED if config.get(name)]
    if config.get("peft_type") != "LORA" or refused or config.get("bias", "none") != "none":
        raise CheckpointError(f"{path} asks for an adapter kind that is not implemented: {', '.join(refused) or config.get('peft_type')}")
    shape = AdapterShape(
        int(config["r"]), float(config["lora_alpha"]), tuple(sorted(config["target_modules"])), float(config.get("lora_dropout", 0.0))
    )
    return shape, config


def load_adapter(model: LladaModel | LlamaModel, folder: Path) -> tuple[AdapterShape, dict[str, Tensor]]:
    """Read an adapter for `model`; raise naming the keys when rank, modules or shapes do not fit."""
    adapter, _ = read_adapter(folder)
    weights = folder / "adapter_model.safetensors"
    if not weights.is_file():
        raise CheckpointError(f"{weights} is missing: safetensors are the only weights read here")
    tensors = load_file(weights)
    expected = adapter_names(model, adapter)
    surplus = sorted(set(tensors) - set(expected))
    if surplus:
        raise CheckpointError(f"{weights} holds keys that do not fit this model: {', '.join(surplus[:6])}")
    check_names(expected, {name: tuple(tensor.shape) for name, tensor in tensors.items()}, str(weights))
    return adapter, tensors


def adapter_names(model: LladaModel | LlamaModel, adapter: AdapterShape) -> dict[str, tuple[int, ...]]:
    """Key names and shapes of the adapter file for a model."""
    expected: dict[str, tuple[int, ...]] = {}
    for path in target_paths(model, adapter.targets):
        outputs, inputs = model.get_submodule(path).weight.shape  # type: ignore[union-attr, misc]
        expected[f"{PREFIX}{path}.lora_A.weight"] = (adapter.rank, inputs)
        expected[f"{PREFIX}{path}.lora_B.weight"] = (outputs, adapter.rank)
    return expected


def attach_loaded(model: LladaModel | LlamaModel, folder: Path) -> list[LowRankLinear]:
    """Attach an adapter without merging it: the plain version beside `merge_adapter`."""
    adapter, tensors = load_adapter(model, folder)
    paths = target_paths(model, adapter.targets)
    layers = attach(model, adapter)
    for path, layer in zip(paths, layers, strict=True):
        for half in ("lora_A", "lora_B"):
            weight = tensors[f"{PREFIX}{path}.{half}.weight"].to(model.dtype)
            getattr(layer, half).weight = nn.Parameter(weight.to(model.device), requires_grad=False)
    return layers


def merge_adapter(model: LladaModel | LlamaModel, folder: Path) -> AdapterShape:
    """W <- W + (alpha / r) B A, summed in float32 and cast back once."""
    adapter, tensors = load_adapter(model, folder)
    for path in target_paths(model, adapter.targets):
        linear = model.get_submodule(path)
        down = tensors[f"{PREFIX}{path}.lora_A.weight"].float()
        up = tensors[f"{PREFIX}{path}.lora_B.weight"].float()
        weight: Tensor = linear.weight  # type: ignore[assignment]
        merged = weight.float() + adapter.scale * (up @ down).to(weight.device)
        linear.weight = nn.Parameter(merged.to(weight.dtype), requires_grad=False)
    model.refresh()
    return adapter


def save_adapter(model: LladaModel | LlamaModel, adapter: AdapterShape, base_name: str, base_fingerprint: str, folder: Path) -> None:
    """Write the attached adapter of `model` in PEFT's layout; the base is named and fingerprinted."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for path, module in model.named_modules():
        if isinstance(module, LowRankLinear):
            tensors[f"{PREFIX}{path}.lora_A.weight"] = module.lora_A.weight.detach().float().contiguous()
            tensors[f"{PREFIX}{path}.lora_B.weight"] = module.lora_B.weight.detach().float().contiguous()
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base_name,
        "base_model_sha256": base_fingerprint,
        "r": adapter.rank,
        "lora_alpha": adapter.alpha,
        "lora_dropout": adapter.dropout,
        "target_modules": sorted(adapter.targets),
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
    }
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
