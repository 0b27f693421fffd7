"""What the pocket recipes share: batches of questions, two optimisers, a schedule, a training loop with a wall clock.

What it does: draws batches by rule from a seed, trains hidden matrices with Muon and the rest with AdamW, and reports loss as
it goes.
Where: the settings that worked in the D2F specification, section 11 (Muon, learning rate 3e-3, mean cross-entropy, filler
weight 0.2).
What it does not do: no data files, no mixed precision (float32 is the faster choice on processors without bfloat16 units), no
distribution.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from backends.parts.language_models.character_tokenizer import END, MASK, VOCABULARY
from backends.parts.language_models.layouts import LladaModel, LlamaModel
from backends.parts.language_models.orthogonal_momentum import OrthogonalMomentum
from backends.parts.procedural.questions import TASKS, Question, draw, with_notes

logger = logging.getLogger(__name__)
ANSWER_LENGTH = 96
EOS_WEIGHT = 0.2
LONG_PROMPT_EVERY = 8  # one batch in eight opens with laboratory notes

LLADA_CONFIG: dict[str, object] = {
    "architectures": ["LLaDAModelLM"],
    "model_type": "llada",
    "block_type": "llama",
    "d_model": 160,
    "n_heads": 4,
    "n_kv_heads": 4,
    "n_layers": 4,
    "mlp_hidden_size": 448,
    "vocab_size": VOCABULARY,
    "embedding_size": VOCABULARY,
    "rms_norm_eps": 1e-5,
    "layer_norm_type": "rms",
    "activation_type": "silu",
    "rope": True,
    "rope_full_precision": True,
    "rope_theta": 500000.0,
    "include_bias": False,
    "include_qkv_bias": False,
    "max_sequence_length": 384,
    "mask_token_id": MASK,
    "eos_token_id": END,
    "pad_token_id": END,
    "weight_tying": False,
}
LLAMA_CONFIG: dict[str, object] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 160,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "intermediate_size": 448,
    "vocab_size": VOCABULARY,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "hidden_act": "silu",
    "max_position_embeddings": 384,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "bos_token_id": 0,
    "eos_token_id": END,
    "pad_token_id": END,
}


@dataclass(frozen=True)
class Batch:
    """Token ids `(batch, length)`: prompt, answer, then end-of-text filler."""

    ids: Tensor
    prompt_lengths: Tensor  # (batch,)

    @property
    def maskable(self) -> Tensor:
        """Everything after the prompt."""
        return torch.arange(self.ids.shape[1])[None, :] >= self.prompt_lengths[:, None]

    @property
    def weights(self) -> Tensor:
        """Loss weight of each token: filler counts a fifth."""
        ends = self.ids == END
        return torch.where(ends, EOS_WEIGHT, 1.0) * self.maskable


class QuestionBatches:
    """An endless, seeded stream of training batches."""

    def __init__(
        self,
        encode: Callable[[str], list[int]],
        encode_answer: Callable[[str], list[int]],
        seed: int,
        size: int = 32,
        chained_share: float = 0.35,
    ) -> None:
        self._encode, self._encode_answer = encode, encode_answer
        self._generator = np.random.default_rng(seed)
        self._size, self._chained_share, self._drawn = size, chained_share, 0

    def next(self) -> Batch:
        self._drawn += 1
        long = self._drawn % LONG_PROMPT_EVERY == 0
        size = self._size // 2 if long else self._size
        filler = 32 if self._drawn % 4 == 1 else 0  # some batches end later, so longer generation lengths are known too
        questions = [draw(TASKS[int(self._generator.random() < self._chained_share)], self._generator) for _ in range(size)]
        if long:
            length = int(self._generator.integers(100, 254))
            questions = [with_notes(question, length, self._generator) for question in questions]
        return self.collate(questions, ANSWER_LENGTH + filler)

    def collate(self, questions: Sequence[Question], answer_length: int) -> Batch:
        prompts = [self._encode(question.prompt) for question in questions]
        length = max(len(prompt) for prompt in prompts) + answer_length
        rows = [prompt + self._encode_answer(question.answer) for prompt, question in zip(prompts, questions, strict=True)]
        ids = torch.full((len(rows), length), END)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = torch.tensor(row)
        return Batch(ids, torch.tensor([len(prompt) for prompt in prompts]))


def initialise(model: nn.Module, seed: int) -> None:
    """Normal weights, 0.02 for embeddings and 1/sqrt(inputs) for matrices."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2:
                embedding = name.endswith(("wte.weight", "embed_tokens.weight"))
                spread = 0.02 if embedding else 1 / math.sqrt(parameter.shape[1])
                parameter.normal_(0.0, spread, generator=generator)


class Optimisers:
    """Muon for the matrices of the blocks, AdamW for embeddings, head and norms; one cosine for both."""

    def __init__(self, model: LladaModel | LlamaModel, learning_rate: float = 3e-3, warm_up: int = 40) -> None:
        hidden = [p for n, p in model.named_parameters() if p.ndim == 2 and (".blocks." in n or ".layers." in n)]
        chosen = {id(p) for p in hidden}
        rest = [p for p in model.parameters() if id(p) not in chosen]
        self._optimisers = [
            OrthogonalMomentum(hidden, learning_rate=learning_rate),
            torch.optim.AdamW(rest, lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.01),
        ]
        self._parameters = list(model.parameters())
        self._base, self._warm_up, self._steps = learning_rate, warm_up, 0

    def step(self, share_done: float) -> None:
        self._steps += 1
        rate = self._base * min(1.0, self._steps / self._warm_up) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, share_done))))
        torch.nn.utils.clip_grad_norm_(self._parameters, 1.0)
        for optimiser in self._optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)


def train(
    model: LladaModel | LlamaModel,
    loss_of: Callable[[], Tensor],
    steps: int,
    report_every: int = 50,
    check: Callable[[int], None] | None = None,
) -> float:
    """Run `steps` updates; returns the minutes they took."""
    optimisers = Optimisers(model)
    started, recent = time.monotonic(), 0.0
    for step in range(steps):
        loss = loss_of()
        loss.backward()  # type: ignore[no-untyped-call]
        optimisers.step(step / steps)
        recent += loss.item()
        if (step + 1) % report_every == 0:
            logger.info("step %d of %d, loss %.4f, %.1f minutes", step + 1, steps, recent / report_every, (time.monotonic() - started) / 60)
            recent = 0.0
        if check is not None and (step + 1) % (report_every * 6) == 0:
            check(step + 1)
    return (time.monotonic() - started) / 60
