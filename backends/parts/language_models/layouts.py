"""The published module trees: parameters under exactly the names of the published safetensors files.

What it does: `LladaModel` (LLaDA-8B), `LlamaModel` (Llama, Qwen2 and Dream, which keeps Qwen2's names).
Where: `modeling_llada.py` of the LLaDA checkpoints; transformers' `LlamaForCausalLM` and `Qwen2ForCausalLM` state dictionaries;
Dream's checkpoint.
What it does not do: it does not run anything (see `transformer`), and it does not load files (see `checkpoint`).
"""

from __future__ import annotations

from torch import Tensor, nn

from backends.parts.language_models.shape import TransformerShape
from backends.parts.language_models.transformer import BlockParts, DecoderStack, RootMeanSquareNorm


class LladaBlock(nn.Module):
    """`model.transformer.blocks.{i}`: everything flat."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        narrow = shape.key_value_heads * shape.head_width
        bias = shape.query_key_value_bias
        self.attn_norm = RootMeanSquareNorm(shape.width)
        self.q_proj = nn.Linear(shape.width, shape.width, bias=bias)
        self.k_proj = nn.Linear(shape.width, narrow, bias=bias)
        self.v_proj = nn.Linear(shape.width, narrow, bias=bias)
        self.attn_out = nn.Linear(shape.width, shape.width, bias=False)
        self.ff_norm = RootMeanSquareNorm(shape.width)
        self.ff_proj = nn.Linear(shape.width, shape.feed_forward_width, bias=False)
        self.up_proj = nn.Linear(shape.width, shape.feed_forward_width, bias=False)
        self.ff_out = nn.Linear(shape.feed_forward_width, shape.width, bias=False)


class LladaTransformer(nn.Module):
    """`model.transformer`."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.wte = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(LladaBlock(shape) for _ in range(shape.layers))
        self.ln_f = RootMeanSquareNorm(shape.width)
        if not shape.tied_head:
            self.ff_out = nn.Linear(shape.width, shape.vocabulary, bias=False)


class LladaInner(nn.Module):
    """`model`."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.transformer = LladaTransformer(shape)


class LladaModel(DecoderStack):
    """LLaDA's parameter names over the shared stack."""

    adapter_targets = ("q_proj", "k_proj", "v_proj", "attn_out")

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__(shape)
        self.model = LladaInner(shape)

    def collect_parts(self) -> list[BlockParts]:
        return [
            BlockParts(b.attn_norm, b.q_proj, b.k_proj, b.v_proj, b.attn_out, b.ff_norm, b.ff_proj, b.up_proj, b.ff_out)  # type: ignore[arg-type]
            for b in self.model.transformer.blocks
        ]

    def embedding(self) -> nn.Embedding:
        return self.model.transformer.wte

    def final_norm(self) -> RootMeanSquareNorm:
        return self.model.transformer.ln_f

    def head_weight(self) -> Tensor:
        transformer = self.model.transformer
        return transformer.wte.weight if self.shape.tied_head else transformer.ff_out.weight


class LlamaAttention(nn.Module):
    """`model.layers.{i}.self_attn`; Qwen2 and Dream carry biases on the three input projections."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        narrow = shape.key_value_heads * shape.head_width
        bias = shape.query_key_value_bias
        self.q_proj = nn.Linear(shape.width, shape.width, bias=bias)
        self.k_proj = nn.Linear(shape.width, narrow, bias=bias)
        self.v_proj = nn.Linear(shape.width, narrow, bias=bias)
        self.o_proj = nn.Linear(shape.width, shape.width, bias=False)


class LlamaFeedForward(nn.Module):
    """`model.layers.{i}.mlp`."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.width, shape.feed_forward_width, bias=False)
        self.up_proj = nn.Linear(shape.width, shape.feed_forward_width, bias=False)
        self.down_proj = nn.Linear(shape.feed_forward_width, shape.width, bias=False)


class LlamaLayer(nn.Module):
    """`model.layers.{i}`."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.input_layernorm = RootMeanSquareNorm(shape.width)
        self.self_attn = LlamaAttention(shape)
        self.post_attention_layernorm = RootMeanSquareNorm(shape.width)
        self.mlp = LlamaFeedForward(shape)


class LlamaInner(nn.Module):
    """`model`."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(LlamaLayer(shape) for _ in range(shape.layers))
        self.norm = RootMeanSquareNorm(shape.width)


class LlamaModel(DecoderStack):
    """Llama's, Qwen2's and Dream's parameter names over the shared stack."""

    adapter_targets = ("q_proj", "k_proj", "v_proj", "o_proj")

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__(shape)
        self.model = LlamaInner(shape)
        if not shape.tied_head:
            self.lm_head = nn.Linear(shape.width, shape.vocabulary, bias=False)

    def collect_parts(self) -> list[BlockParts]:
        return [
            BlockParts(
                b.input_layernorm,  # type: ignore[arg-type]
                b.self_attn.q_proj,  # type: ignore[union-attr, arg-type]
                b.self_attn.k_proj,  # type: ignore[union-attr, arg-type]
                b.self_attn.v_proj,  # type: ignore[union-attr, arg-type]
                b.self_attn.o_proj,  # type: ignore[union-attr, arg-type]
                b.post_attention_layernorm,  # type: ignore[arg-type]
                b.mlp.gate_proj,  # type: ignore[union-attr, arg-type]
                b.mlp.up_proj,  # type: ignore[union-attr, arg-type]
                b.mlp.down_proj,  # type: ignore[union-attr, arg-type]
            )
            for b in self.model.layers
        ]

    def embedding(self) -> nn.Embedding:
        return self.model.embed_tokens

    def final_norm(self) -> RootMeanSquareNorm:
        return self.model.norm

    def head_weight(self) -> Tensor:
        return self.model.embed_tokens.weight if self.shape.tied_head else self.lm_head.weight


def build_model(shape: TransformerShape) -> LladaModel | LlamaModel:
    """The empty network of a shape."""
    return LladaModel(shape) if shape.layout == "llada" else LlamaModel(shape)
