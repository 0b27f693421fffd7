"""Causal checkpoints through transformers, by an allow-list of architectures.

What it does: opens a local folder whose config names a listed architecture, with transformers' own class, safetensors only.
Where: transformers' `AutoModelForCausalLM`.
What it does not do: no remote code (a config that asks for it is refused), no downloads, no unpickling, no quantised kernels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from backends.contract import CheckpointError
from backends.parts.language_models.shape import read_config

ALLOWED = frozenset(
    {
        "GemmaForCausalLM",
        "Gemma2ForCausalLM",
        "GPT2LMHeadModel",
        "GPTNeoXForCausalLM",
        "GraniteForCausalLM",
        "LlamaForCausalLM",
        "MistralForCausalLM",
        "Olmo2ForCausalLM",
        "OlmoForCausalLM",
        "OPTForCausalLM",
        "Phi3ForCausalLM",
        "PhiForCausalLM",
        "Qwen2ForCausalLM",
        "Qwen3ForCausalLM",
        "SmolLM3ForCausalLM",
        "StableLmForCausalLM",
        "Starcoder2ForCausalLM",
    }
)


def load_causal(folder: Path, *, dtype: torch.dtype, device: str) -> Any:
    """The transformers model of a folder, in evaluation mode."""
    from transformers import AutoModelForCausalLM

    config = read_config(folder)
    names = config.get("architectures") or []
    if len(names) != 1 or names[0] not in ALLOWED:
        raise CheckpointError(
            f"config.json names the architecture {', '.join(map(str, names)) or 'none'}.",
            "Only architectures that transformers itself implements are opened, and none that brings its own code.",
            f"Listed: {', '.join(sorted(ALLOWED))}.",
        )
    if not list(folder.glob("*.safetensors")):
        raise CheckpointError(
            f"{folder.name} holds no safetensors file.", "Other weight formats can run code when opened.", "Convert it to safetensors."
        )
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, use_safetensors=True, local_files_only=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{folder.name} could not be opened.", str(error).splitlines()[0]) from error
    return model.to(device).eval().requires_grad_(False)
