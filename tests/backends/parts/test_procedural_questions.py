"""Questions made by rule: exact answers, a fixed split, prompts a person may type."""

import numpy as np
import pytest

from backends.parts.language_models.character_tokenizer import build_tokenizer
from backends.parts.language_models.prompts import decode_answer, encode_answer, encode_prompt
from backends.parts.procedural.questions import TASKS, Task, draw, held_out, is_correct, is_held_out, solve, with_notes


@pytest.mark.parametrize("task", TASKS)
def test_solving_the_prompt_gives_the_answer(task: Task) -> None:
    generator = np.random.default_rng(4)
    for _ in range(200):
        question = draw(task, generator)
        assert solve(question.prompt) == question.answer
        assert len(question.answer) <= 96


@pytest.mark.parametrize("task", TASKS)
def test_training_never_draws_a_held_out_question(task: Task) -> None:
    generator = np.random.default_rng(5)
    drawn = {draw(task, generator).prompt for _ in range(500)}
    assert not any(is_held_out(prompt) for prompt in drawn)
    assert all(is_held_out(question.prompt) for question in held_out(50, task))


def test_held_out_questions_are_distinct_and_the_same_each_time() -> None:
    first = held_out(300, "check_digit")
    assert first == held_out(300, "check_digit") and len({question.prompt for question in first}) == 300


def test_a_conversion_is_right_in_physics() -> None:
    assert solve("Convert 4.250 mg to kg. Show each step.") == (
        "1 mg = 1e-03 g; 1 g = 1e-03 kg.\n4.250 mg = 4.250e-06 kg.\nAlso: 4.250e-03 g, 4.250e+03 ug."
    )


def test_a_check_digit_is_the_sum_modulo_ten() -> None:
    answer = solve("Check digit of 3 8 5 9 2 7 4 6 1 5 8 2 by running sum mod 10.")
    assert answer is not None and answer.startswith("3+8=1\n1+5=6\n") and answer.endswith("Check digit 0.")


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "Why is the sky blue?",
        "Convert 4.250 mg to mL. Show each step.",
        "Convert 4 mg to kg. Show each step.",
        "Check digit of 1 2 by running sum mod 10.",
    ],
)
def test_other_prompts_have_no_known_answer(prompt: str) -> None:
    assert solve(prompt) is None


def test_answers_are_compared_exactly() -> None:
    question = held_out(1, "conversion")[0]
    assert is_correct(question, question.answer + " \n")
    assert not is_correct(question, question.answer.replace("1", "2", 1))


def test_notes_lengthen_the_prompt_to_the_exact_length_and_keep_the_question() -> None:
    question = held_out(1, "conversion")[0]
    longer = with_notes(question, 250, np.random.default_rng(0))
    assert len(longer.prompt) == 250 and longer.prompt.endswith("\n" + question.prompt) and solve(longer.prompt) == question.answer


def test_the_character_tokenizer_gives_back_what_it_was_given() -> None:
    tokenizer = build_tokenizer()
    text = "".join(map(chr, range(32, 127))) + "\n  two  spaces .\n"
    assert decode_answer(tokenizer, encode_answer(tokenizer, text)) == text
    assert encode_prompt(tokenizer, "ab") == [0, *encode_answer(tokenizer, "ab"), 3]
    assert encode_answer(tokenizer, "µ") == [4]
