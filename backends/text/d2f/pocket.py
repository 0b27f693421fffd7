"""Makes the pocket D2F adapter by asymmetric distillation, and its ablation with random noise.

What it does: `python -m backends.text.d2f.pocket --base BASE --out DIR [--noise random]` trains a low-rank adapter for a pocket
LLaDA base from a seed, writes it in PEFT's layout with CARD.md, and reports what it measured.
Where: D2F 3.2. Teacher: the same weights without the adapter under full attention; student: adapter on, block-causal attention;
both see the same noisy tokens. Loss, as coded by the authors: cross-entropy with the teacher's probabilities over masked
tokens, each divided by its block's ratio.
What it does not do: the paper prints the other direction of the divergence; the coded one (teacher to student) is used.
Learning rate and batch are larger than the paper's, as suits a model of this size; the prompt is never masked.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from backends.parts.language_models.block_attention import batched_block_mask
from backends.parts.language_models.character_tokenizer import END, MASK, build_tokenizer
from backends.parts.language_models.checkpoint import fingerprint, load_checkpoint
from backends.parts.language_models.layouts import LladaModel, LlamaModel
from backends.parts.language_models.lora import AdapterShape, LowRankLinear, attach, merge_adapter, save_adapter, set_enabled
from backends.parts.language_models.pocket_report import measure, write_card
from backends.parts.language_models.pocket_training import Batch, QuestionBatches
from backends.parts.language_models.prompts import encode_answer, encode_prompt
from backends.parts.schedules.masking import draw_mask, random_block_ratios, rising_block_ratios
from backends.text.d2f.algorithm import PipelineRule, decode

logger = logging.getLogger(__name__)
BLOCK = 16
LEARNING_RATE = 2e-3
RatioDraw = Callable[[int, int, torch.Generator], Tensor]


def distillation_loss(
    model: LladaModel | LlamaModel, layers: list[LowRankLinear], batch: Batch, draw: RatioDraw, generator: torch.Generator
) -> Tensor:
    """Mean over masked tokens of CE(student, teacher's probabilities) / p_b."""
    count, length = batch.ids.shape
    numbers, visible = batched_block_mask(batch.prompt_lengths, BLOCK, length)  # (B, L), (B, 1, L, L)
    ratios = draw(count, int(numbers.max()), generator)  # (B, blocks)
    token_ratios = torch.cat((torch.zeros(count, 1), ratios), dim=1).gather(1, numbers)  # block 0 is the prompt
    masked = draw_mask(token_ratios, batch.maskable, generator)
    noisy = torch.where(masked, MASK, batch.ids)
    set_enabled(layers, False)
    with torch.no_grad():
        teacher = torch.softmax(model.head(model.hidden(noisy)[masked]), dim=-1)
    set_enabled(layers, True)
    student = torch.log_softmax(model.head(model.hidden(noisy, mask=visible)[masked]), dim=-1)
    return (-(teacher * student).sum(dim=-1) / token_ratios[masked]).mean()


def train_adapter(base: Path, folder: Path, *, noise: str, steps: int, seed: int) -> float:
    """Train and save; returns the minutes."""
    model = load_checkpoint(base)
    adapter = AdapterShape(rank=32, alpha=32, targets=model.adapter_targets, dropout=0.1)
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)  # dropout has no generator of its own
    layers = attach(model, adapter, generator)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(trainable, lr=LEARNING_RATE, betas=(0.9, 0.95), weight_decay=0.05, eps=1e-8)
    tokenizer = build_tokenizer()
    batches = QuestionBatches(lambda text: encode_prompt(tokenizer, text), lambda text: encode_answer(tokenizer, text), seed + 1)
    draw = rising_block_ratios if noise == "rising" else random_block_ratios
    model.train()
    started = time.monotonic()
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * min(1.0, (step + 1) / 20) * (1.0 - 0.95 * step / steps)
        loss = distillation_loss(model, layers, batches.next(), draw, generator)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(trainable, 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        if (step + 1) % 20 == 0:
            logger.info("step %d of %d, loss %.4f, %.1f minutes", step + 1, steps, loss.item(), (time.monotonic() - started) / 60)
    save_adapter(model, adapter, base.name, fingerprint(base), folder)
    return (time.monotonic() - started) / 60


def report(base: Path, folder: Path, questions: int) -> dict[str, float]:
    """Accuracy and passes of D2F decoding with the default thresholds and blocks of 32."""
    model = load_checkpoint(base)
    merge_adapter(model, folder)
    model.pack()
    return measure(lambda ids: decode(model, ids, PipelineRule(), frozenset({END})), questions)


def main() -> None:
    """Command line of the recipe."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base", type=Path, default=Path("assets/pocket/llada"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--noise", choices=("rising", "random"), default="rising")
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--questions", type=int, default=300)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(arguments.threads)
    minutes = train_adapter(arguments.base, arguments.out, noise=arguments.noise, steps=arguments.steps, seed=arguments.seed)
    figures = report(arguments.base, arguments.out, arguments.questions)
    logger.info("%s", figures)
    facts = {
        "seed": arguments.seed,
        "steps": arguments.steps,
        "minutes": round(minutes, 1),
        "threads": arguments.threads,
        "noise": arguments.noise,
    }
    title = "Pocket D2F adapter" if arguments.noise == "rising" else "Pocket D2F adapter, random noise (ablation)"
    write_card(arguments.out, title, "asymmetric distillation of the pocket LLaDA under block-causal attention", facts, figures)


if __name__ == "__main__":
    main()
