"""Side-by-side measurement of decoders on held-out questions, in one process.

What it does: every decoder answers every question, one after the other and in a rotating order, after a warm-up; it reports
percent right, mean passes, and for two decoders the median over questions of their ratio in seconds, so that a slow moment of
the machine does not decide.
Where: design section 2, "Side by side, honestly", and D2F specification, section 8 (ratios in one run).
What it does not do: it judges nothing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from backends.parts.language_models.character_tokenizer import build_tokenizer
from backends.parts.language_models.decoding import Decoding, DecodingResult, drain
from backends.parts.language_models.prompts import decode_answer, encode_prompt
from backends.parts.procedural.questions import Question, is_correct

Begin = Callable[[list[int]], Decoding]
WARM_UP = 3


@dataclass
class Measured:
    """What one decoder did, question by question."""

    right: list[bool] = field(default_factory=list)
    passes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    @property
    def accuracy(self) -> float:
        """Percent right."""
        return 100.0 * statistics.fmean(self.right)

    @property
    def mean_passes(self) -> float:
        """Forward passes a question."""
        return statistics.fmean(self.passes)

    @property
    def tokens_per_second(self) -> float:
        """All tokens over all seconds."""
        return sum(self.tokens) / sum(self.seconds)


def measure_side_by_side(decoders: Mapping[str, Begin], questions: Sequence[Question]) -> dict[str, Measured]:
    """Let every decoder answer every question, interleaved."""
    tokenizer = build_tokenizer()
    names = list(decoders)
    measured = {name: Measured() for name in names}
    for name in names:
        for question in questions[:WARM_UP]:
            drain(decoders[name](encode_prompt(tokenizer, question.prompt)))
    for number, question in enumerate(questions):
        ids = encode_prompt(tokenizer, question.prompt)
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            began = time.perf_counter()
            result: DecodingResult = drain(decoders[name](ids))
            measured[name].seconds.append(time.perf_counter() - began)
            measured[name].passes.append(result.passes)
            measured[name].tokens.append(len(result.tokens))
            measured[name].right.append(is_correct(question, decode_answer(tokenizer, result.tokens)))
    return measured


def seconds_ratio(slower: Measured, faster: Measured) -> float:
    """Median over questions of slower / faster."""
    return statistics.median(first / second for first, second in zip(slower.seconds, faster.seconds, strict=True))


def passes_ratio(more: Measured, fewer: Measured) -> float:
    """Mean passes of one decoder over those of another."""
    return more.mean_passes / fewer.mean_passes
