"""What can be said about a text request before any weights are loaded.

What it does: refuses empty prompts and characters that no tokenizer takes; for pocket checkpoints, whose tokenizer is one token
a character, also characters outside their alphabet and prompts that are too long.
Where: D2F specification, section 8, bad inputs.
What it does not do: checkpoints with larger tokenizers are checked again, exactly, when a run has them loaded.
"""

from __future__ import annotations

import unicodedata

from backends.contract import InputError, SettingError

POCKET_ALPHABET = frozenset("\n" + "".join(chr(code) for code in range(32, 127)))
POCKET_LENGTH = 384  # positions of every pocket text model
POCKET_FRAME = 2  # start of text, end of the question
MASK_NAME = "<|mdm_mask|>"


def check_prompt(prompt: str) -> None:
    """Refuse what no text method can read."""
    if not prompt.strip():
        raise InputError("The prompt is empty.", "There is nothing to answer.", "Type a question.", field="prompt")
    broken = sorted({character for character in prompt if unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\r\t"})
    if broken:
        raise InputError(
            f"The prompt holds characters that are not text: {name_characters(broken)}.",
            "No tokenizer can read them.",
            "Remove them; they often come along when text is copied from a PDF.",
            field="prompt",
        )


def check_pocket(prompt: str, new_tokens: int, block_size: int = 1, *, field: str = "max_new_tokens") -> None:
    """Refuse what the pocket tokenizer and the pocket models cannot take."""
    strange = sorted(set(prompt) - POCKET_ALPHABET)
    if strange:
        raise InputError(
            f"The pocket checkpoint does not know these characters: {name_characters(strange)}.",
            "Its alphabet is printable ASCII and the line break.",
            "Replace them, or choose another checkpoint.",
            field="prompt",
        )
    if MASK_NAME in prompt:
        raise mask_in_prompt()
    check_length(len(prompt) + POCKET_FRAME, new_tokens, POCKET_LENGTH, block_size, field=field)


def mask_in_prompt() -> InputError:
    """The error for a prompt that contains the mask token."""
    return InputError(
        "The prompt contains the mask token.",
        "The decoder would take that place for one it has to fill.",
        "Remove it from the prompt.",
        field="prompt",
    )


def check_length(prompt_tokens: int, new_tokens: int, limit: int, block_size: int = 1, *, field: str = "max_new_tokens") -> None:
    """Prompt and answer must fit the positions the model was trained for."""
    if prompt_tokens + new_tokens <= limit:
        return
    what = f"The prompt has {prompt_tokens:,} tokens and {new_tokens:,} new tokens were asked for, but this model holds {limit:,} in all."
    room = (limit - prompt_tokens) // block_size * block_size
    if room >= block_size and room > 0:
        raise SettingError(what, "", f"Ask for at most {room:,} new tokens, or shorten the prompt.", field=field, suggestion=room)
    raise InputError(what, "", f"Shorten the prompt to at most {limit - new_tokens:,} tokens.", field="prompt")


def name_characters(characters: list[str], shown: int = 6) -> str:
    """Characters in words a person can search for."""
    names = [f"“{character}” ({_name(character)})" if character.isprintable() else _name(character) for character in characters[:shown]]
    rest = len(characters) - shown
    return ", ".join(names) + (f" and {rest} more" if rest > 0 else "")


def _name(character: str) -> str:
    if character == "\x00":
        return "NUL"
    if 0xD800 <= ord(character) <= 0xDFFF:
        return f"lone surrogate U+{ord(character):04X}"
    return unicodedata.name(character, f"control character U+{ord(character):04X}").lower()
