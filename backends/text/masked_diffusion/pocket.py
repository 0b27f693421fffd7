"""Makes the pocket teacher: a 1.3 M parameter masked diffusion model in LLaDA's layout.

What it does: `python -m backends.text.masked_diffusion.pocket --out DIR` trains from a seed on questions made by rule, writes
the folder (config.json, model.safetensors, tokenizer, CARD.md) and reports what it measured on held-out questions.
Where: LLaDA's supervised objective: t ~ U(0, 1), mask answer tokens with probability t, predict them with full attention.
What it does not do: the published loss divides by t; here the mean over masked tokens is used, which trains faster at this
size.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import torch
import torch.nn.functional as functional
from torch import Tensor

from backends.parts.language_models.baselines.masked_diffusion import DiffusionRule, decode
from backends.parts.language_models.character_tokenizer import END, MASK, save_tokenizer
from backends.parts.language_models.checkpoint import load_checkpoint, save_checkpoint
from backends.parts.language_models.layouts import LladaModel
from backends.parts.language_models.pocket_report import measure, write_card
from backends.parts.language_models.pocket_training import LLADA_CONFIG, Batch, QuestionBatches, initialise, train
from backends.parts.language_models.prompts import encode_answer, encode_prompt
from backends.parts.language_models.shape import shape_from_config
from backends.parts.schedules.masking import draw_mask, sequence_ratios

logger = logging.getLogger(__name__)


def masked_loss(model: LladaModel, batch: Batch, generator: torch.Generator) -> Tensor:
    """Mean cross-entropy over masked tokens, filler weighted down."""
    ratios = sequence_ratios(batch.ids.shape[0], generator)
    masked = draw_mask(ratios[:, None].expand(batch.ids.shape), batch.maskable, generator)
    hidden = model.hidden(torch.where(masked, MASK, batch.ids))
    losses = functional.cross_entropy(model.head(hidden[masked]), batch.ids[masked], reduction="none")
    weights = batch.weights[masked]
    return (losses * weights).sum() / weights.sum()


def train_teacher(folder: Path, steps: int, seed: int) -> float:
    """Train and save; returns the minutes."""
    tokenizer = save_tokenizer(folder)
    model = LladaModel(shape_from_config(LLADA_CONFIG))
    initialise(model, seed)
    batches = QuestionBatches(lambda text: encode_prompt(tokenizer, text), lambda text: encode_answer(tokenizer, text), seed)
    generator = torch.Generator().manual_seed(seed)
    minutes = train(
        model, lambda: masked_loss(model, batches.next(), generator), steps, check=lambda _: save_checkpoint(model, LLADA_CONFIG, folder)
    )
    save_checkpoint(model, LLADA_CONFIG, folder)
    return minutes


def report(folder: Path, questions: int) -> dict[str, float]:
    """Accuracy and passes of the published sampler, one token a step."""
    model = load_checkpoint(folder)
    model.pack()
    return measure(lambda ids: decode(model, ids, DiffusionRule(), frozenset({END})), questions)


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
    minutes = train_teacher(arguments.out, arguments.steps, arguments.seed)
    figures = report(arguments.out, arguments.questions)
    logger.info("%s", figures)
    facts = {"seed": arguments.seed, "steps": arguments.steps, "minutes": round(minutes, 1), "threads": arguments.threads}
    write_card(arguments.out, "Pocket LLaDA", "masked diffusion, mean cross-entropy over masked tokens, filler weight 0.2", facts, figures)


if __name__ == "__main__":
    main()
