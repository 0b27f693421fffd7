"""The causal models behind autoregressive decoding.

What it does: `StackModel` runs a Llama-layout pocket checkpoint on the very stack that D2F uses, so the two are timed on the
same code; `LibraryModel` runs any causal checkpoint that transformers knows.
Where: `LlamaForCausalLM`, `Qwen2ForCausalLM` and their like; the allow-list is in `causal_library`.
What it does not do: one sequence at a time.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from backends.parts.caches.key_values import KeyValueCache
from backends.parts.language_models.layouts import LlamaModel


class StackModel:
    """A `LlamaModel` fed one window at a time."""

    def __init__(self, stack: LlamaModel) -> None:
        self.stack = stack
        self._cache: KeyValueCache | None = None

    def begin(self, capacity: int, *, cache: bool) -> None:
        self._cache = self.stack.new_cache(capacity) if cache else None

    def next_logits(self, ids: list[int], start: int) -> Tensor:
        # A causal mask is aligned with the first row, so it is right only for a window that starts at 0 or has one row.
        rows = torch.tensor([ids], device=self.stack.device)
        hidden = self.stack.hidden(rows, start=start, causal=True, cache=self._cache)
        if self._cache is not None:
            self._cache.commit(start + len(ids))
        return self.stack.head(hidden[0, -1:])

    def cached(self) -> tuple[int, int]:
        return (self._cache.length, self._cache.bytes_held()) if self._cache is not None else (0, 0)


class LibraryModel:
    """A transformers causal model with its own cache object."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self._cache: Any = None
        self._keep = False
        self._length = 0

    def begin(self, capacity: int, *, cache: bool) -> None:
        self._cache, self._keep, self._length = None, cache, 0

    def next_logits(self, ids: list[int], start: int) -> Tensor:
        rows = torch.tensor([ids], device=self.network.device)
        output = self.network(input_ids=rows, cache=self._cache, use_cache=self._keep, logits_to_keep=1)
        if self._keep:
            self._cache = output.cache
            self._length = start + len(ids)
        logits: Tensor = output.logits[0, -1:]
        return logits

    def cached(self) -> tuple[int, int]:
        if self._cache is None:
            return 0, 0
        layers = getattr(self._cache, "layers", ())
        held = sum(
            tensor.numel() * tensor.element_size() for layer in layers for tensor in (layer.keys, layer.values) if tensor is not None
        )
        return self._length, held
