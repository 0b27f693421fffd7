"""Short scientific questions with one exact answer each.

What it does: draws questions of two tasks, splits them into training and held-out sets by a hash of the question, and checks
answers exactly. `conversion` is predictable text (lookup and copying); `check_digit` carries state from line to line, so tokens
depend on one another.
Where: sets of this kind are what a 1.3 M parameter teacher can learn in minutes (D2F specification, section 11).
What it does not do: no free multi-digit arithmetic and no open language; a model trained on it answers these two forms and
nothing else.
"""

from __future__ import annotations

import hashlib
from typing import Literal, NamedTuple

import numpy as np

Task = Literal["conversion", "check_digit"]
TASKS: tuple[Task, ...] = ("conversion", "check_digit")
HELD_OUT_SHARE = 16  # one question in sixteen is never trained on

PREFIXES: tuple[tuple[str, int], ...] = (("p", -12), ("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9))
LOWER = {"p": "f", "n": "p", "u": "n", "m": "u", "": "m", "k": "", "M": "k", "G": "M"}
SYMBOLS = "mgLsVAWJNTFCS"
DIGITS = 12  # digits under one check digit


class Question(NamedTuple):
    """One prompt and its only right answer."""

    task: Task
    prompt: str
    answer: str


def draw(task: Task, generator: np.random.Generator, *, held_out_only: bool = False) -> Question:
    """One question of the training part, or of the held-out part."""
    make = _conversion if task == "conversion" else _check_digit
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
    """Exact equality, blank space at the ends aside."""
    return answer.strip() == question.answer


def solve(prompt: str) -> str | None:
    """The right answer to a typed prompt of either form, or None when it has neither form."""
    words = prompt.strip().splitlines()[-1].split() if prompt.strip() else []
    if len(words) == 8 and words[0] == "Convert" and words[3] == "to" and words[4].endswith("."):
        return _solve_conversion(words[1], words[2], words[4].rstrip("."))
    framed = words[:3] == ["Check", "digit", "of"] and words[DIGITS + 3 :] == ["by", "running", "sum", "mod", "10."]
    if framed and all(len(word) == 1 and word in "0123456789" for word in words[3 : DIGITS + 3]):
        return _check_digit_lines([int(word) for word in words[3 : DIGITS + 3]])
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


def _check_digit(generator: np.random.Generator) -> Question:
    digits = generator.integers(0, 10, size=DIGITS).tolist()
    prompt = f"Check digit of {' '.join(map(str, digits))} by running sum mod 10."
    return Question("check_digit", prompt, _check_digit_lines(digits))


def _check_digit_lines(digits: list[int]) -> str:
    total, lines = digits[0], []
    for digit in digits[1:]:
        lines.append(f"{total}+{digit}={(total + digit) % 10}")
        total = (total + digit) % 10
    return "\n".join(lines) + f"\nCheck digit {total}."


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
