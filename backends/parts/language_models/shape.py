"""The sizes of a transformer language model, read from a published ``config.json``.

What it does: turns the config fields of three published layouts (LLaDA, Dream, Llama/Qwen2) into one `TransformerShape`.
Where: LLaDA `configuration_llada`, Dream `configuration_dream`, transformers `LlamaConfig`/`Qwen2Config` name the fields.
What it does not do: it follows no remote code and accepts no architecture outside its list; rotary scaling is refused, not
guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from backends.contract import CheckpointError
from backends.parts.loading import read_json

Layout = Literal["llada", "dream", "llama", "qwen2"]
LAYOUTS: tuple[Layout, ...] = ("llada", "dream", "llama", "qwen2")


@dataclass(frozen=True)
class TransformerShape:
    """Every number the network needs; one row of meaning per field."""

    layout: Layout
    width: int  # d_model
    layers: int
    heads: int
    key_value_heads: int
    feed_forward_width: int
    vocabulary: int
    norm_epsilon: float
    rope_theta: float
    max_sequence_length: int
    mask_token_id: int | None  # None: a causal model
    pad_token_id: int
    stop_token_ids: tuple[int, ...]
    query_key_value_bias: bool = False
    tied_head: bool = False

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    @property
    def predicts_next(self) -> bool:
        """Dream keeps the shift of the causal model it grew from: row i - 1 predicts token i."""
        return self.layout != "llada"


def read_config(folder: Path) -> dict[str, Any]:
    """The raw config of a checkpoint folder."""
    path = folder / "config.json"
    if not path.is_file():
        raise CheckpointError(f"{folder} has no config.json: this is not a checkpoint folder")
    return read_json(path)


def shape_from_config(config: Mapping[str, Any]) -> TransformerShape:
    """Read one of the published layouts; raise `CheckpointError` for anything else."""
    kind = str(config.get("model_type", "")).lower()
    try:
        return _shape_of_kind(config, kind)
    except KeyError as error:
        raise CheckpointError(f"config.json of a {kind} checkpoint lacks the field {error}.") from error
    except (TypeError, ValueError, ArithmeticError) as error:
        raise CheckpointError(f"config.json of a {kind} checkpoint holds a value of the wrong kind.", str(error)) from error


def _shape_of_kind(config: Mapping[str, Any], kind: str) -> TransformerShape:
    if kind == "llada":
        return _llada_shape(config)
    if kind in ("dream", "llama", "qwen2"):
        return _llama_shape(config, kind)  # type: ignore[arg-type]
    raise CheckpointError(f"model_type {kind!r} is not one of {', '.join(LAYOUTS)}")


def _llada_shape(config: Mapping[str, Any]) -> TransformerShape:
    expected = {
        "block_type": "llama",
        "rope": True,
        "include_bias": False,
        "layer_norm_type": "rms",
        "activation_type": "silu",
        "alibi": False,
    }
    for field, value in expected.items():
        if config.get(field, value) != value:
            raise CheckpointError(f"LLaDA config has {field} = {config[field]!r}; only {value!r} is implemented")
    heads = int(config["n_heads"])
    end = int(config["eos_token_id"])
    return TransformerShape(
        layout="llada",
        width=int(config["d_model"]),
        layers=int(config["n_layers"]),
        heads=heads,
        key_value_heads=int(config.get("n_kv_heads") or heads),
        feed_forward_width=int(config["mlp_hidden_size"]),
        vocabulary=int(config.get("embedding_size") or config["vocab_size"]),
        norm_epsilon=float(config.get("rms_norm_eps", 1e-5)),
        rope_theta=float(config.get("rope_theta", 500000.0)),
        max_sequence_length=int(config["max_sequence_length"]),
        mask_token_id=int(config["mask_token_id"]),
        pad_token_id=int(config.get("pad_token_id", end)),
        stop_token_ids=(end,),
        query_key_value_bias=bool(config.get("include_qkv_bias", False)),
        tied_head=bool(config.get("weight_tying", False)),
    )


def _llama_shape(config: Mapping[str, Any], layout: Literal["dream", "llama", "qwen2"]) -> TransformerShape:
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if rope.get("rope_type", rope.get("type", "default")) not in ("default", None):
        raise CheckpointError(f"rotary scaling {rope!r} is not implemented")
    heads = int(config["num_attention_heads"])
    if int(config.get("head_dim") or config["hidden_size"] // heads) * heads != int(config["hidden_size"]):
        raise CheckpointError("head_dim times num_attention_heads differs from hidden_size: not implemented")
    stops = config.get("eos_token_id")
    stop_ids = tuple(int(token) for token in (stops if isinstance(stops, list) else [stops]) if token is not None)
    pad = config.get("pad_token_id")
    return TransformerShape(
        layout=layout,
        width=int(config["hidden_size"]),
        layers=int(config["num_hidden_layers"]),
        heads=heads,
        key_value_heads=int(config.get("num_key_value_heads") or heads),
        feed_forward_width=int(config["intermediate_size"]),
        vocabulary=int(config["vocab_size"]),
        norm_epsilon=float(config.get("rms_norm_eps", 1e-6)),
        rope_theta=float(config.get("rope_theta") or rope.get("rope_theta", 10000.0)),
        max_sequence_length=int(config.get("max_position_embeddings", 2048)),
        mask_token_id=int(config["mask_token_id"]) if layout == "dream" else None,
        pad_token_id=int(pad) if pad is not None else (stop_ids[0] if stop_ids else 0),
        stop_token_ids=stop_ids,
        query_key_value_bias=layout in ("dream", "qwen2") or bool(config.get("attention_bias", False)),
        tied_head=bool(config.get("tie_word_embeddings", False)),
    )
