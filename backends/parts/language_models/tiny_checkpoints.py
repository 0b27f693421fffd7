"""Tiny random checkpoints in the published layouts.

What it does: writes folders with the config fields, key names, shards and tokenizer files of LLaDA, Dream and Llama checkpoints
and of PEFT adapters, with random weights of a few kilobytes, so that loading and running can be proved without the published
weights.
Where: D2F specification, section 5.
What it does not do: the weights mean nothing; sizes other than the published ones are not evidence about memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from backends.parts.language_models.character_tokenizer import END, MASK, VOCABULARY, save_tokenizer
from backends.parts.language_models.layouts import LladaModel, LlamaModel, build_model
from backends.parts.language_models.lora import AdapterShape, LowRankLinear, attach, save_adapter
from backends.parts.language_models.shape import shape_from_config

LENGTH = 1024

LLADA_8B_CONFIG: dict[str, Any] = {
    "activation_type": "silu",
    "alibi": False,
    "architectures": ["LLaDAModelLM"],
    "block_type": "llama",
    "d_model": 4096,
    "embedding_size": 126464,
    "eos_token_id": 126081,
    "include_bias": False,
    "include_qkv_bias": False,
    "layer_norm_type": "rms",
    "mask_token_id": 126336,
    "max_sequence_length": 4096,
    "mlp_hidden_size": 12288,
    "model_type": "llada",
    "n_heads": 32,
    "n_kv_heads": 32,
    "n_layers": 32,
    "pad_token_id": 126081,
    "rms_norm_eps": 1e-05,
    "rope": True,
    "rope_full_precision": True,
    "rope_theta": 500000.0,
    "vocab_size": 126464,
    "weight_tying": False,
}
DREAM_7B_CONFIG: dict[str, Any] = {
    "architectures": ["DreamModel"],
    "attention_dropout": 0.0,
    "bos_token_id": 151643,
    "eos_token_id": 151643,
    "hidden_act": "silu",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "mask_token_id": 151666,
    "max_position_embeddings": 131072,
    "model_type": "Dream",
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "pad_token_id": 151643,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000.0,
    "tie_word_embeddings": False,
    "use_sliding_window": False,
    "vocab_size": 152064,
}
LLAMA_CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_act": "silu",
    "model_type": "llama",
    "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
}


def write_llada(folder: Path, *, seed: int = 0) -> Path:
    """LLaDA's layout in two shards with an index, character tokenizer."""
    sizes = {"d_model": 32, "n_heads": 4, "n_kv_heads": 4, "n_layers": 2, "mlp_hidden_size": 48, "max_sequence_length": LENGTH}
    tokens = {"vocab_size": VOCABULARY, "embedding_size": VOCABULARY, "mask_token_id": MASK, "eos_token_id": END, "pad_token_id": END}
    _write(folder, {**LLADA_8B_CONFIG, **sizes, **tokens}, shards=2, seed=seed)
    save_tokenizer(folder)
    return folder


def write_dream(folder: Path, *, seed: int = 0) -> Path:
    """Dream's layout: Qwen2 key names with biases, vocab.json and merges.txt, the shifted head."""
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 48}
    words = _write_byte_tokenizer(folder)
    tokens = {"vocab_size": words, "mask_token_id": words - 1, "eos_token_id": words - 2, "pad_token_id": words - 2}
    _write(folder, {**DREAM_7B_CONFIG, **sizes, **tokens, "max_position_embeddings": LENGTH}, shards=1, seed=seed)
    return folder


def write_llama(folder: Path, *, seed: int = 0) -> Path:
    """Llama's layout with grouped queries, character tokenizer."""
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 48}
    tokens = {"vocab_size": VOCABULARY, "bos_token_id": 0, "eos_token_id": END, "pad_token_id": END, "max_position_embeddings": LENGTH}
    _write(folder, {**LLAMA_CONFIG, **sizes, **tokens}, shards=1, seed=seed)
    save_tokenizer(folder)
    return folder


def write_adapter(folder: Path, base: Path, *, rank: int = 4, base_name: str = "", seed: int = 0) -> Path:
    """A PEFT adapter that fits `base`, with random halves so that it changes something."""
    config = json.loads((base / "config.json").read_text(encoding="utf-8"))
    model = build_model(shape_from_config(config))
    adapter = AdapterShape(rank=rank, alpha=float(rank), targets=model.adapter_targets, dropout=0.1)
    generator = torch.Generator().manual_seed(seed)
    layers: list[LowRankLinear] = attach(model, adapter, generator)
    with torch.no_grad():
        for layer in layers:
            layer.lora_B.weight.normal_(0.0, 0.05, generator=generator)
    save_adapter(model, adapter, base_name or base.name, "", folder)
    return folder


def _write(folder: Path, config: Mapping[str, Any], *, shards: int, seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    model = build_model(shape_from_config(config))
    _randomise(model, seed)
    (folder / "config.json").write_text(json.dumps(dict(config), indent=2) + "\n", encoding="utf-8")
    tensors = {name: parameter.detach().to(torch.bfloat16) for name, parameter in model.named_parameters()}
    if shards == 1:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return
    names = sorted(tensors)
    parts = [names[index::shards] for index in range(shards)]
    files = [f"model-{index + 1:05d}-of-{shards:05d}.safetensors" for index in range(shards)]
    for file, part in zip(files, parts, strict=True):
        save_file({name: tensors[name] for name in part}, folder / file, metadata={"format": "pt"})
    index = {
        "metadata": {"total_size": sum(tensor.numel() * 2 for tensor in tensors.values())},
        "weight_map": {name: file for file, part in zip(files, parts, strict=True) for name in part},
    }
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2), encoding="utf-8")


def _randomise(model: LladaModel | LlamaModel, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.normal_(0.0, 0.3, generator=generator)


def _write_byte_tokenizer(folder: Path) -> int:
    """Byte-level vocabulary without merges, as Qwen2's two files; returns its size."""
    from tokenizers.pre_tokenizers import ByteLevel

    folder.mkdir(parents=True, exist_ok=True)
    names = [*sorted(ByteLevel.alphabet()), "<|endoftext|>", "<|mask|>"]
    vocabulary = {name: index for index, name in enumerate(names[:-2])}
    specials = {
        str(index): {"content": name, "special": True, "lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
        for index, name in enumerate(names)
        if name.startswith("<|")
    }
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    settings = {
        "added_tokens_decoder": specials,
        "eos_token": "<|endoftext|>",
        "pad_token": "<|endoftext|>",
        "mask_token": "<|mask|>",
        "unk_token": None,
        "tokenizer_class": "Qwen2Tokenizer",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")
    return len(names)
