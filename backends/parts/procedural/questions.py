"""Short scientific questions whose answers can be checked exactly.

What it does: draws questions of two tasks, splits them into training and held-out sets by a hash of the question, and checks
answers. `conversion` has one right answer, all of it predictable from the question (lookup and copying). `base_pairs` has many:
free choices that must fit one another (complements, no base twice in a row), so tokens depend on tokens that are being decided.
Where: sets of the first kind are what a 1.3 M parameter teacher can learn in minutes (D2F specification, section 11); the second
kind is where deciding many tokens at once can go wrong.
What it does not do: no free arithmetic and no open language; a model trained on it answers these two forms and nothing else.
"""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

Task = Literal["conversion", "base_pairs"]
TASKS: tuple[Task, ...] = ("conversion", "base_pairs")
HELD_OUT_SHARE = 16  # one question in sixteen is never trained on

PREFIXES: tuple[tuple[str, int], ...] = (("p", -12), ("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9))
LOWER = {"p": "f", "n": "p", "u": "n", "m": "u", "": "m", "k": "", "M": "k", "G": "M"}
SYMBOLS = "mgLsVAWJNTFCS"
PAIRED = {"A": "T", "C": "G", "G": "C", "T": "A"}
PAIRS = 20  # base pairs in one duplex
GIVEN = 8  # bases of the first strand that the question gives


class Question(NamedTuple):
    """One prompt and a right answer."""

    task: Task
    prompt: str
    answer: str


def draw(task: Task, generator: np.random.Generator, *, held_out_only: bool = False) -> Question:
    """One question of the training part, or of the held-out part."""
    make = _conversion if task == "conversion" else _base_pairs
    while True:
        question = make(generator)
        if is_held_out(question.prompt) == held_out_only:
            return question


def held_out(count: int, task: Task, seed: int = 2024) -> list[Question]:
    """`count` different held-out questions, the same ones for the same seed."""
    generator = np.random.default_rng([seed, TASKS.index(task)])
    found: dict[str, Question] = {}
    while len(found) < count:
        question = draw(task, generator, held_out_only=True)
        found.setdefault(question.prompt, question)
    return list(found.values())


def is_held_out(prompt: str) -> bool:
    """The split: fixed by the text of the question alone."""
    return hashlib.sha256(prompt.encode()).digest()[0] % HELD_OUT_SHARE == 0


def is_correct(question: Question, answer: str) -> bool:
    """Whether an answer to a drawn question is right."""
    return judge(question.prompt, answer) is True


def judge(prompt: str, answer: str) -> bool | None:
    """Whether an answer to a typed prompt is right; None when the prompt has neither form."""
    words = prompt.strip().splitlines()[-1].split() if prompt.strip() else []
    if len(words) == 8 and words[0] == "Convert" and words[3] == "to" and words[4].endswith("."):
        right = _solve_conversion(words[1], words[2], words[4].rstrip("."))
        return None if right is None else answer.strip() == right
    start = words[8].rstrip(",") if len(words) == 15 else ""
    if start and prompt.strip().endswith(_design(start)):
        return _is_duplex(start, answer.strip())
    return None


def _solve_conversion(value: str, source: str, target: str) -> str | None:
    exponents = dict(PREFIXES)
    known = {prefix + symbol: (prefix, symbol) for prefix in exponents for symbol in SYMBOLS}
    shaped = len(value) == 5 and value[1] == "." and value.replace(".", "").isdigit()
    if source not in known or target not in known or source == target or known[source][1] != known[target][1] or not shaped:
        return None
    return _conversion_lines(value, known[source][0], known[target][0], known[source][1])


def with_notes(question: Question, length: int, generator: np.random.Generator) -> Question:
    """The same question after a page of unrelated laboratory notes, so that the prompt has exactly `length` characters."""
    space = length - len(question.prompt) - 1
    if space < 1:
        return question
    notes = ""
    while len(notes) < space:
        notes += _note(generator) + " "
    return question._replace(prompt=notes[:space] + "\n" + question.prompt)


def _conversion(generator: np.random.Generator) -> Question:
    source, target = generator.choice(len(PREFIXES), size=2, replace=False)
    symbol = SYMBOLS[generator.integers(len(SYMBOLS))]
    digits = f"{generator.integers(1000, 10000):04d}"
    value = f"{digits[0]}.{digits[1:]}"
    source_prefix, target_prefix = PREFIXES[source][0], PREFIXES[target][0]
    prompt = f"Convert {value} {source_prefix}{symbol} to {target_prefix}{symbol}. Show each step."
    return Question("conversion", prompt, _conversion_lines(value, source_prefix, target_prefix, symbol))


def _conversion_lines(value: str, source: str, target: str, symbol: str) -> str:
    exponents = dict(PREFIXES)
    to_base, from_base = exponents[source], -exponents[target]
    return (
        f"1 {source}{symbol} = {_power(to_base)} {symbol}; 1 {symbol} = {_power(from_base)} {target}{symbol}.\n"
        f"{value} {source}{symbol} = {value}{_power(to_base + from_base)[1:]} {target}{symbol}.\n"
        f"Also: {value}{_power(to_base)[1:]} {symbol}, {value}e+03 {LOWER[source]}{symbol}."
    )


def _power(exponent: int) -> str:
    return f"1e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _base_pairs(generator: np.random.Generator) -> Question:
    strand = str(generator.choice(list(PAIRED)))
    while len(strand) < PAIRS:
        strand += str(generator.choice([base for base in PAIRED if base != strand[-1]]))
    return Question("base_pairs", _design(strand[:GIVEN]), _duplex_lines(strand))


def _design(start: str) -> str:
    return f"Design a duplex of {PAIRS} base pairs from {start}, no base twice in a row."


def _duplex_lines(strand: str) -> str:
    pairs = [f"{base}-{PAIRED[base]}" for base in strand]
    return "\n".join(f"{first + 1:02d} " + " ".join(pairs[first : first + 4]) for first in range(0, PAIRS, 4))


def _is_duplex(start: str, answer: str) -> bool:
    """The strand is read off the answer, and the answer must be exactly what that strand gives."""
    strand = "".join(word[0] for word in answer.split() if len(word) == 3 and word[1] == "-" and word[0] in PAIRED)
    lawful = len(strand) == PAIRS and strand.startswith(start) and all(first != second for first, second in pairwise(strand))
    return lawful and _duplex_lines(strand) == answer


def _note(generator: np.random.Generator) -> str:
    number = int(generator.integers(10, 100))
    sentences = (
        f"Pump {number % 9 + 1} ran at {number} rpm.",
        f"Buffer {'ABCD'[number % 4]} changed at 14:{number % 60:02d}.",
        f"Room at {number % 15 + 15} C.",
        f"Sample {number} stored cold.",
        f"Run {number} looked clean.",
        f"Filter {number % 7} replaced.",
    )
    return sentences[int(generator.integers(len(sentences)))]
