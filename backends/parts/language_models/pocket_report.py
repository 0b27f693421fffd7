"""What a pocket recipe measures and writes down about its checkpoint.

What it does: accuracy on held-out questions, passes and seconds for a decoder; CARD.md with data, seed, minutes and figures.
Where: design section 3, pocket training.
What it does not do: it compares nothing; that is the claims' work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from backends.parts.language_models.character_tokenizer import build_tokenizer
from backends.parts.language_models.decoding import Decoding, drain
from backends.parts.language_models.prompts import decode_answer, encode_prompt
from backends.parts.procedural.questions import TASKS, held_out, is_correct

DATA = (
    "Questions drawn by rule (`backends/parts/procedural/questions.py`): unit conversions with every step written out, and "
    "designs of DNA duplexes (free choices that must fit one another). One question in sixteen, by a hash of its text, is never "
    "trained on; the figures below are on those."
)


def measure(begin: Callable[[list[int]], Decoding], questions: int) -> dict[str, float]:
    """How many questions a task, and per task: percent right, mean passes, mean seconds."""
    tokenizer = build_tokenizer()
    figures: dict[str, float] = {"questions_a_task": questions}
    for task in TASKS:
        right = passes = 0
        began = time.perf_counter()
        for question in held_out(questions, task):
            result = drain(begin(encode_prompt(tokenizer, question.prompt)))
            right += is_correct(question, decode_answer(tokenizer, result.tokens))
            passes += result.passes
        figures[f"{task}_percent_right"] = round(100 * right / questions, 1)
        figures[f"{task}_passes"] = round(passes / questions, 2)
        figures[f"{task}_seconds"] = round((time.perf_counter() - began) / questions, 4)
    return figures


def write_card(folder: Path, title: str, objective: str, facts: dict[str, object], figures: dict[str, float]) -> None:
    """CARD.md of a pocket checkpoint."""
    lines = [f"# {title}", "", f"Objective: {objective}.", "", f"Data: {DATA}", ""]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    lines += ["", "Measured while making it (float32, processor, one prompt at a time; seconds depend on the machine):", ""]
    lines += [f"- {name.replace('_', ' ')}: {value:g}" for name, value in figures.items()]
    (folder / "CARD.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
