"""Makes the pocket autoregressive model: Llama's layout, as large as the pocket diffusion model, same data, as many steps.

What it does: `python -m backends.text.autoregressive.pocket --out DIR` trains from a seed, writes config.json,
model.safetensors, tokenizer and CARD.md, and reports what it measured on held-out questions.
Where: the baseline of the D2F paper's headline has the size of the diffusion model; here it also has its data, its optimiser
and its number of steps.
What it does not do: no distillation, no early stopping.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import torch
import torch.nn.functional as functional
from torch import Tensor

from backends.parts.language_models.baselines.autoregressive import NextTokenRule, decode
from backends.parts.language_models.baselines.causal_models import StackModel
from backends.parts.language_models.character_tokenizer import END, save_tokenizer
from backends.parts.language_models.checkpoint import load_checkpoint, save_checkpoint
from backends.parts.language_models.layouts import LlamaModel
from backends.parts.language_models.pocket_report import measure, write_card
from backends.parts.language_models.pocket_training import LLAMA_CONFIG, Batch, QuestionBatches, initialise, train
from backends.parts.language_models.prompts import encode_answer, encode_prompt
from backends.parts.language_models.shape import shape_from_config

logger = logging.getLogger(__name__)


def next_token_loss(model: LlamaModel, batch: Batch) -> Tensor:
    """Mean cross-entropy over the answer and its first end of text."""
    hidden = model.hidden(batch.ids[:, :-1], causal=True)
    targets, weights = batch.ids[:, 1:], (batch.weights > 0)[:, 1:]
    before_filler = ((batch.ids == END) & batch.maskable)[:, 1:].cumsum(dim=1) <= 1
    chosen = weights & before_filler
    return functional.cross_entropy(model.head(hidden[chosen]), targets[chosen])


def train_causal(folder: Path, steps: int, seed: int) -> float:
    """Train and save; returns the minutes."""
    tokenizer = save_tokenizer(folder)
    model = LlamaModel(shape_from_config(LLAMA_CONFIG))
    initialise(model, seed)
    batches = QuestionBatches(lambda text: encode_prompt(tokenizer, text), lambda text: encode_answer(tokenizer, text), seed)
    minutes = train(model, lambda: next_token_loss(model, batches.next()), steps)
    save_checkpoint(model, LLAMA_CONFIG, folder)
    return minutes


def report(folder: Path, questions: int) -> dict[str, float]:
    """Accuracy and passes of greedy decoding with the cache."""
    stack = load_checkpoint(folder)
    if not isinstance(stack, LlamaModel):
        raise TypeError(f"{folder} does not hold a causal model")
    stack.pack()
    model = StackModel(stack)
    return measure(lambda ids: decode(model, ids, NextTokenRule(), frozenset({END})), questions)


def main() -> None:
    """Command line of the recipe."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--questions", type=int, default=300)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(arguments.threads)
    minutes = train_causal(arguments.out, arguments.steps, arguments.seed)
    figures = report(arguments.out, arguments.questions)
    logger.info("%s", figures)
    facts = {"seed": arguments.seed, "steps": arguments.steps, "minutes": round(minutes, 1), "threads": arguments.threads}
    write_card(arguments.out, "Pocket autoregressive model", "next-token cross-entropy over answers", facts, figures)


if __name__ == "__main__":
    main()
