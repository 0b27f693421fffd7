"""What is refused before any weights are loaded."""

import pytest

from backends.contract import InputError, SettingError
from backends.parts.text_checks import check_length, check_pocket, check_prompt


@pytest.mark.parametrize(
    ("prompt", "says"), [("", "empty"), ("\n ", "empty"), ("a\x00b", "NUL"), ("a\ud800", "surrogate U\\+D800"), ("a\x1b[1m", "control")]
)
def test_what_no_tokenizer_reads_is_refused(prompt: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        check_prompt(prompt)
    assert refused.value.fault.field == "prompt"


@pytest.mark.parametrize("prompt", ["a", "tab\tand\nline", "\u00b5g \u4f60\u597d", "\U0001f600"])
def test_ordinary_text_of_any_language_passes(prompt: str) -> None:
    check_prompt(prompt)


def test_characters_outside_the_pocket_alphabet_are_named() -> None:
    with pytest.raises(InputError, match=r"\u00b5.*micro sign"):
        check_pocket("4 \u00b5g", 96)


def test_many_unknown_characters_are_counted() -> None:
    with pytest.raises(InputError, match="and 2 more"):
        check_pocket("\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6\u03b7\u03b8", 96)


def test_the_suggestion_is_the_largest_answer_of_whole_blocks_that_fits() -> None:
    with pytest.raises(SettingError, match=r"202 tokens and 256 new tokens .* 384") as refused:
        check_length(202, 256, 384, 32)
    assert refused.value.fault.suggestion == 160
    check_length(202, 160, 384, 32)


def test_without_room_for_a_block_the_prompt_is_at_fault() -> None:
    with pytest.raises(InputError, match="at most 288 tokens") as refused:
        check_length(370, 96, 384, 32)
    assert refused.value.fault.field == "prompt"
