"""Questions made by rule: exact answers, a fixed split, prompts a person may type."""

import numpy as np
import pytest

from backends.parts.language_models.character_tokenizer import build_tokenizer
from backends.parts.language_models.prompts import decode_answer, encode_answer, encode_prompt
from backends.parts.procedural.questions import TASKS, Task, draw, held_out, is_correct, is_held_out, judge, with_notes


@pytest.mark.parametrize("task", TASKS)
def test_the_drawn_answer_is_judged_right_and_fits_the_answer_length(task: Task) -> None:
    generator = np.random.default_rng(4)
    for _ in range(200):
        question = draw(task, generator)
        assert judge(question.prompt, question.answer) is True and is_correct(question, question.answer)
        assert len(question.answer) < 96


@pytest.mark.parametrize("task", TASKS)
def test_any_single_changed_character_makes_the_answer_wrong(task: Task) -> None:
    question = held_out(1, task)[0]
    for place, character in enumerate(question.answer):
        changed = question.answer[:place] + ("#" if character != "#" else "!") + question.answer[place + 1 :]
        assert not is_correct(question, changed), place


@pytest.mark.parametrize("task", TASKS)
def test_training_never_draws_a_held_out_question(task: Task) -> None:
    generator = np.random.default_rng(5)
    drawn = {draw(task, generator).prompt for _ in range(500)}
    assert not any(is_held_out(prompt) for prompt in drawn)
    assert all(is_held_out(question.prompt) for question in held_out(50, task))


def test_held_out_questions_are_distinct_and_the_same_each_time() -> None:
    first = held_out(300, "base_pairs")
    assert first == held_out(300, "base_pairs") and len({question.prompt for question in first}) == 300


def test_a_conversion_is_right_in_physics() -> None:
    answer = "1 mg = 1e-03 g; 1 g = 1e-03 kg.\n4.250 mg = 4.250e-06 kg.\nAlso: 4.250e-03 g, 4.250e+03 ug."
    assert judge("Convert 4.250 mg to kg. Show each step.", answer) is True
    assert judge("Convert 4.250 mg to kg. Show each step.", answer.replace("e-06", "e-05")) is False


DUPLEX = "Design a duplex of 20 base pairs from GATCATGC, no base twice in a row."


@pytest.mark.parametrize(
    ("strand", "right"),
    [("GATCATGCGATCATGCGATC", True), ("GATCATGCACACACACACAC", True), ("GATCATGCAACACACACACA", False), ("TATCATGCACACACACACAC", False)],
)
def test_a_duplex_may_be_any_that_keeps_the_rules(strand: str, right: bool) -> None:
    pairs = [f"{base}-{dict(zip('ACGT', 'TGCA', strict=True))[base]}" for base in strand]
    answer = "\n".join(f"{first + 1:02d} " + " ".join(pairs[first : first + 4]) for first in range(0, 20, 4))
    assert judge(DUPLEX, answer) is right
    assert judge(DUPLEX, answer.replace("G-C", "G-G", 1)) is False


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "Why is the sky blue?",
        "Convert 4.250 mg to mL. Show each step.",
        "Convert 4 mg to kg. Show each step.",
        "Design a duplex of 9 base pairs.",
    ],
)
def test_other_prompts_have_no_known_answer(prompt: str) -> None:
    assert judge(prompt, "anything") is None


def test_answers_are_compared_exactly() -> None:
    question = held_out(1, "conversion")[0]
    assert is_correct(question, question.answer + " \n")
    assert not is_correct(question, question.answer.replace("1", "2", 1))


def test_notes_lengthen_the_prompt_to_the_exact_length_and_keep_the_question() -> None:
    question = held_out(1, "conversion")[0]
    longer = with_notes(question, 250, np.random.default_rng(0))
    assert len(longer.prompt) == 250 and longer.prompt.endswith("\n" + question.prompt) and is_correct(longer, question.answer)


def test_the_character_tokenizer_gives_back_what_it_was_given() -> None:
    tokenizer = build_tokenizer()
    text = "".join(map(chr, range(32, 127))) + "\n  two  spaces .\n"
    assert decode_answer(tokenizer, encode_answer(tokenizer, text)) == text
    assert encode_prompt(tokenizer, "ab") == [0, *encode_answer(tokenizer, "ab"), 3]
    assert encode_answer(tokenizer, "µ") == [4]
