"""The tokenizer of the pocket models: one token for each printable ASCII character.

What it does: builds a real `tokenizers` tokenizer with special tokens and a chat template, and saves it as a folder that
`transformers.AutoTokenizer` opens like any published one.
Where: the chat template follows LLaDA's roles in a shorter form (start of text, question, end of turn).
What it does not do: characters outside printable ASCII become the unknown token; it learns no merges.
"""

from __future__ import annotations

from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

SPECIALS = ("<|startoftext|>", "<|endoftext|>", "<|mdm_mask|>", "<|eot_id|>", "<unk>")
START, END, MASK, END_OF_TURN, UNKNOWN = range(5)
VOCABULARY = 128
CHAT_TEMPLATE = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{{ '<|eot_id|>' }}{% endfor %}"


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Specials first, then newline and the 95 printable characters, then unused names up to 128."""
    characters = ["\n", *(chr(code) for code in range(32, 127))]
    names = [*SPECIALS, *characters]
    names += [f"<|unused_{index}|>" for index in range(VOCABULARY - len(names))]
    tokenizer = Tokenizer(models.WordLevel({name: index for index, name in enumerate(names)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=SPECIALS[START],
        eos_token=SPECIALS[END],
        pad_token=SPECIALS[END],
        mask_token=SPECIALS[MASK],
        unk_token=SPECIALS[UNKNOWN],
        additional_special_tokens=[SPECIALS[END_OF_TURN]],
        clean_up_tokenization_spaces=False,
        model_max_length=384,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def save_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Write the tokenizer files into a checkpoint folder."""
    tokenizer = build_tokenizer()
    tokenizer.save_pretrained(folder)
    return tokenizer
