"""Llama-layout models out of a GGUF file.

What it does: reads metadata and tensors with the `gguf` package, dequantises them, undoes the row order that the format uses
for rotary projections, and fills a `LlamaModel`. The tokenizer comes from transformers' own GGUF support.
Where: GGUF's llama architecture: rows of q and k are stored interleaved per head; published names are `blk.{i}.attn_q.weight`
and so on.
What it does not do: weights are kept in floating point after loading, so a quantised file does not save memory here; no other
architecture is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader, dequantize

from backends.contract import CheckpointError
from backends.parts.language_models.checkpoint import check_names
from backends.parts.language_models.layouts import LlamaModel
from backends.parts.language_models.shape import TransformerShape

OUTER = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight", "output.weight": "lm_head.weight"}
INNER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def load_gguf(path: Path, *, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> LlamaModel:
    """Build and fill the network of a GGUF file."""
    reader = GGUFReader(path)
    names = {published_name(tensor.name) for tensor in reader.tensors}
    shape = _shape(reader, tied="lm_head.weight" not in names)
    with torch.device("meta"):
        model = LlamaModel(shape)
    expected = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    tensors = {}
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type)
        if tensor.name.endswith("attn_q.weight"):
            values = restore_rows(values, shape.heads)
        elif tensor.name.endswith("attn_k.weight"):
            values = restore_rows(values, shape.key_value_heads)
        tensors[published_name(tensor.name)] = torch.from_numpy(np.array(values, order="C")).to(device=device, dtype=dtype)
    surplus = sorted(set(tensors) - set(expected))
    if surplus:
        raise CheckpointError(f"{path.name} holds tensors that a Llama model does not have: {', '.join(surplus[:6])}.")
    check_names(expected, {name: tuple(tensor.shape) for name, tensor in tensors.items()}, path.name)
    model.load_state_dict(tensors, strict=True, assign=True)
    return model.requires_grad_(False).eval()


def published_name(name: str) -> str:
    """The Llama key of a GGUF tensor."""
    if name in OUTER:
        return OUTER[name]
    parts = name.split(".")
    if len(parts) == 4 and parts[0] == "blk" and parts[2] in INNER:
        return f"model.layers.{parts[1]}.{INNER[parts[2]]}.{parts[3]}"
    raise CheckpointError(f"The GGUF file holds a tensor that a Llama model does not have: {name}.")


def restore_rows(weights: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    """From interleaved pairs to two halves per head, the order that half-split rotary positions expect."""
    half = weights.shape[0] // heads // 2
    return weights.reshape(heads, half, 2, *weights.shape[1:]).swapaxes(1, 2).reshape(weights.shape)


def _shape(reader: GGUFReader, *, tied: bool) -> TransformerShape:
    def value(key: str) -> Any:
        field = reader.get_field(key)
        if field is None:
            raise CheckpointError(f"The GGUF file lacks the field {key}.")
        return field.contents()

    if value("general.architecture") != "llama":
        raise CheckpointError(f"The GGUF file is of architecture {value('general.architecture')!r}; only llama is read.")
    end = int(value("tokenizer.ggml.eos_token_id"))
    return TransformerShape(
        layout="llama",
        width=int(value("llama.embedding_length")),
        layers=int(value("llama.block_count")),
        heads=int(value("llama.attention.head_count")),
        key_value_heads=int(value("llama.attention.head_count_kv")),
        feed_forward_width=int(value("llama.feed_forward_length")),
        vocabulary=int(value("llama.vocab_size")),
        norm_epsilon=float(value("llama.attention.layer_norm_rms_epsilon")),
        rope_theta=float(value("llama.rope.freq_base")),
        max_sequence_length=int(value("llama.context_length")),
        mask_token_id=None,
        pad_token_id=end,
        stop_token_ids=(end,),
        tied_head=tied,
    )
