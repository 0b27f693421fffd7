"""One key-value cache for every decoder.

What it does: keeps rotated keys and values in one preallocated block per layer. A pass writes its rows at their absolute
positions and reads everything up to the last of them; `commit` says how many positions are final, so a pass may also write rows
that the next pass overwrites.
Where: D2F 3.3 steps 4-5 (exact append of completed blocks); Fast-dLLM's prefix cache (rows before the block) and dual cache
(rows on both sides).
What it does not do: no paging, no batching over requests, no eviction.
"""

from __future__ import annotations

import torch
from torch import Tensor


class KeyValueCache:
    """Keys and values of one sequence, `(batch, key_value_heads, capacity, head_width)` for each layer."""

    def __init__(
        self, layers: int, key_value_heads: int, head_width: int, capacity: int, *, dtype: torch.dtype, device: torch.device | str
    ) -> None:
        size = (1, key_value_heads, capacity, head_width)
        self.keys = [torch.zeros(size, dtype=dtype, device=device) for _ in range(layers)]
        self.values = [torch.zeros(size, dtype=dtype, device=device) for _ in range(layers)]
        self.capacity = capacity
        self.length = 0  # positions whose rows are final
        self._bytes_per_position = 2 * layers * key_value_heads * head_width * torch.empty((), dtype=dtype).element_size()

    def store(self, layer: int, start: int, keys: Tensor, values: Tensor, end: int) -> tuple[Tensor, Tensor]:
        """Write rows at `start`; return the rows `0..end` to attend to."""
        stop = start + keys.shape[2]
        self.keys[layer][:, :, start:stop] = keys
        self.values[layer][:, :, start:stop] = values
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]

    def commit(self, length: int) -> None:
        """Declare the first `length` positions final."""
        if not self.length <= length <= self.capacity:
            raise ValueError(f"cache length cannot go from {self.length} to {length} with capacity {self.capacity}")
        self.length = length

    def bytes_held(self) -> int:
        """Bytes of the final positions: what the method has to keep between passes."""
        return self.length * self._bytes_per_position

    def clear(self) -> None:
        self.length = 0
