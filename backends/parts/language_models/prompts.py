"""From what a person types to token ids, and back.

What it does: applies the checkpoint's own chat template to one user message, encodes answers, and decodes ids without special
tokens.
Where: LLaDA and Dream Instruct are queried through their chat template; base checkpoints take the plain text.
What it does not do: no system prompts and no conversations of more than one turn.
"""

from __future__ import annotations

from typing import Any, Protocol


class Tokenizer(Protocol):
    """The part of a transformers tokenizer used here."""

    chat_template: Any

    def apply_chat_template(self, conversation: Any, **options: Any) -> Any: ...
    def __call__(self, text: str, **options: Any) -> Any: ...
    def decode(self, token_ids: Any, **options: Any) -> str: ...


def encode_prompt(tokenizer: Tokenizer, text: str, *, chat: bool = True) -> list[int]:
    """Ids of one user message, up to the place where the answer begins."""
    if chat and tokenizer.chat_template:
        encoded = tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], tokenize=True, add_generation_prompt=True, return_dict=True
        )
        return [int(token) for token in encoded["input_ids"]]
    return [int(token) for token in tokenizer(text)["input_ids"]]


def encode_answer(tokenizer: Tokenizer, text: str) -> list[int]:
    """Ids of an answer alone, without special tokens."""
    return [int(token) for token in tokenizer(text, add_special_tokens=False)["input_ids"]]


def decode_answer(tokenizer: Tokenizer, ids: list[int]) -> str:
    """Text of answer ids, special tokens left out."""
    return tokenizer.decode(ids, skip_special_tokens=True)
