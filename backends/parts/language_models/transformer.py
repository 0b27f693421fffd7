"""One decoder stack for every layout: RMS norm, rotary positions, grouped-query attention, gated feed-forward.

What it does: runs the blocks of a `LladaModel` or `LlamaModel` on one window of rows, with an optional mask and cache.
Positions are absolute.
Where: LLaDA and Llama share this block; D2F 3.1 gives the masks, 3.3 the windows.
What it does not do: no dropout, no attention kernels of its own, no sliding windows, no quantisation.

Shapes: B batch, T rows fed, S rows attended, D width, H heads, G key-value heads, C head width.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from backends.parts.caches.key_values import KeyValueCache
from backends.parts.language_models.shape import TransformerShape


class RootMeanSquareNorm(nn.Module):
    """A scale per channel; the formula is torch's `rms_norm`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))


class BlockParts(NamedTuple):
    """The nine roles of a block, whatever the layout calls them."""

    attention_norm: RootMeanSquareNorm
    query: nn.Module
    key: nn.Module
    value: nn.Module
    output: nn.Module
    feed_norm: RootMeanSquareNorm
    gate: nn.Module
    up: nn.Module
    down: nn.Module


class PackedBlock(NamedTuple):
    """Weights of one block with the products that share an input joined: three matrix products fewer a layer."""

    query_key_value: Tensor  # ((H + 2 G) C, D)
    query_key_value_bias: Tensor | None
    gate_up: Tensor  # (2 F, D)


class DecoderStack(nn.Module, ABC):
    """Base of the layouts: they own the parameters under published names, this runs them."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.shape = shape
        self._packed: list[PackedBlock] | None = None
        self._rotary: tuple[Tensor, Tensor] | None = None
        self._parts: list[BlockParts] | None = None
        self._epsilon: Tensor | None = None

    # -- what a layout must say -------------------------------------------------
    @abstractmethod
    def collect_parts(self) -> list[BlockParts]:
        """The weights of each block, in order."""

    @abstractmethod
    def embedding(self) -> nn.Embedding:
        """The table of token vectors."""

    @abstractmethod
    def final_norm(self) -> RootMeanSquareNorm:
        """The norm before the head."""

    @abstractmethod
    def head_weight(self) -> Tensor:
        """The head's matrix `(V, D)`."""

    # -- running ------------------------------------------------------------------
    def parts(self) -> list[BlockParts]:
        if self._parts is None:
            self._parts = self.collect_parts()
        return self._parts

    def refresh(self) -> None:
        """Forget collected modules after a module was replaced (an adapter was attached)."""
        self._parts = None
        self._packed = None

    @property
    def dtype(self) -> torch.dtype:
        return self.embedding().weight.dtype

    @property
    def device(self) -> torch.device:
        return self.embedding().weight.device

    def new_cache(self, capacity: int) -> KeyValueCache:
        shape = self.shape
        return KeyValueCache(shape.layers, shape.key_value_heads, shape.head_width, capacity, dtype=self.dtype, device=self.device)

    def pack(self) -> None:
        """Join weights that share an input. The named parameters become views of the joined ones, so nothing is held twice."""
        packed = []
        for part in self.parts():
            joined = _join([part.query, part.key, part.value])
            gate_up = _join([part.gate, part.up])
            packed.append(PackedBlock(joined[0], joined[1], gate_up[0]))
        self._packed = packed

    def rotary(self, start: int, rows: int) -> tuple[Tensor, Tensor]:
        """Cosine and sine `(rows, C)` for absolute positions `start ..`, computed in full precision."""
        if self._rotary is None or self._rotary[0].device != self.device or self._rotary[0].dtype != self._rotary_dtype():
            self._rotary = _rotary_table(self.shape, self.device, self._rotary_dtype())
        cosine, sine = self._rotary
        return cosine[start : start + rows], sine[start : start + rows]

    def _rotary_dtype(self) -> torch.dtype:
        return torch.float32  # published LLaDA rotates in full precision; Llama's fp32 path is the same

    def hidden(
        self,
        ids: Tensor,
        *,
        start: int = 0,
        mask: Tensor | None = None,
        causal: bool = False,
        cache: KeyValueCache | None = None,
        end: int | None = None,
    ) -> Tensor:
        """Last hidden rows `(B, T, D)`, before the final norm.

        `mask` is boolean or additive, broadcast to `(B, H, T, S)`; `start` is the absolute position of the first row fed; with a cache,
        rows are written at their positions and everything before `end` (default: the last row fed) is attended to.
        """
        rows = functional.embedding(ids, self.embedding().weight)
        rotary = self.rotary(start, ids.shape[1])
        window_end = start + ids.shape[1] if end is None else end
        for layer, part in enumerate(self.parts()):
            rows = rows + self._attend(layer, part, rows, rotary, start, mask, causal, cache, window_end)
            rows = rows + self._feed(layer, part, rows)
        return rows

    def head(self, hidden: Tensor) -> Tensor:
        """Logits `(..., V)` of hidden rows."""
        return functional.linear(self._normalise(hidden, self.final_norm()), self.head_weight())

    def forward(self, ids: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        """Logits of every row: the plain full pass that every accelerated path is compared with."""
        return self.head(self.hidden(ids, mask=mask, causal=causal))

    def _attend(
        self,
        layer: int,
        part: BlockParts,
        rows: Tensor,
        rotary: tuple[Tensor, Tensor],
        start: int,
        mask: Tensor | None,
        causal: bool,
        cache: KeyValueCache | None,
        end: int,
    ) -> Tensor:
        shape = self.shape
        batch, count, width = rows.shape
        normal = self._normalise(rows, part.attention_norm)
        if self._packed is not None:
            joined = functional.linear(normal, self._packed[layer].query_key_value, self._packed[layer].query_key_value_bias)
        else:
            joined = torch.cat((part.query(normal), part.key(normal), part.value(normal)), dim=-1)
        heads = joined.view(batch, count, shape.heads + 2 * shape.key_value_heads, shape.head_width).transpose(1, 2)  # (B, H + 2G, T, C)
        rotated = shape.heads + shape.key_value_heads
        query_key = rotate(heads[:, :rotated], rotary)
        query, keys, values = query_key[:, : shape.heads], query_key[:, shape.heads :], heads[:, rotated:]
        if cache is not None:
            keys, values = cache.store(layer, start, keys, values, end)
        grouped = shape.heads != shape.key_value_heads
        mixed = functional.scaled_dot_product_attention(
            query, keys, values, attn_mask=mask, is_causal=causal and count > 1, enable_gqa=grouped
        )
        return part.output(mixed.transpose(1, 2).reshape(batch, count, width))

    def _normalise(self, rows: Tensor, norm: RootMeanSquareNorm) -> Tensor:
        """X / sqrt(mean(x^2) + epsilon) * w."""
        width = self.shape.width
        if rows.dtype != torch.float32 or rows.is_cuda or not torch.is_inference_mode_enabled():
            return functional.rms_norm(rows, (width,), norm.weight, self.shape.norm_epsilon)
        # On processors `rms_norm` is made of eight kernels; the same formula through the vector norm needs five.
        if self._epsilon is None:
            self._epsilon = torch.tensor(self.shape.norm_epsilon)
        length = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
        return rows * torch.addcmul(self._epsilon, length, length, value=1.0 / width).rsqrt_() * norm.weight

    def _feed(self, layer: int, part: BlockParts, rows: Tensor) -> Tensor:
        normal = self._normalise(rows, part.feed_norm)
        if self._packed is not None:
            gate, up = functional.linear(normal, self._packed[layer].gate_up).chunk(2, dim=-1)
        else:
            gate, up = part.gate(normal), part.up(normal)
        return part.down(functional.silu(gate) * up)


def rotate(heads: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
    """Rotary positions, half-split convention: (a, b) -> (a cos - b sin, b cos + a sin)."""
    cosine, sine = rotary
    first, second = heads.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    if heads.dtype == torch.float32:
        return torch.addcmul(heads * cosine, turned, sine)
    return (heads * cosine + turned * sine).to(heads.dtype)


def _rotary_table(shape: TransformerShape, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    exponents = torch.arange(0, shape.head_width, 2, dtype=torch.float32, device=device) / shape.head_width
    frequencies = 1.0 / (shape.rope_theta**exponents)
    angles = torch.arange(shape.max_sequence_length, dtype=torch.float32, device=device)[:, None] * frequencies[None, :]
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def _join(linears: list[nn.Module]) -> tuple[Tensor, Tensor | None]:
    """Concatenate weights and biases; each module keeps a view."""
    if not all(isinstance(linear, nn.Linear) for linear in linears):
        raise TypeError("attach and merge adapters before packing: a projection is not a plain linear layer")
    weights = torch.cat([linear.weight.detach() for linear in linears])  # type: ignore[misc]
    has_bias = linears[0].bias is not None
    biases = torch.cat([linear.bias.detach() for linear in linears]) if has_bias else None  # type: ignore[misc]
    offset = 0
    for linear in linears:
        rows = linear.weight.shape[0]  # type: ignore[union-attr, index]
        linear.weight = nn.Parameter(weights[offset : offset + rows], requires_grad=False)
        if biases is not None:
            linear.bias = nn.Parameter(biases[offset : offset + rows], requires_grad=False)
        offset += rows
    return weights, biases
