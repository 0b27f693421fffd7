"""From a resolved checkpoint to a language model that can be run.

What it does: picks the reader for the files at hand, opens the tokenizer, merges an adapter, collects stop tokens and warnings.
Where: published layouts in `layouts`; D2F specification, section 5 (adapters) and section 9 (stop ids, an Instruct adapter on
the base model).
What it does not do: nothing is downloaded and no code from a checkpoint runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from backends.contract import CheckpointError, InputError, ResolvedCheckpoint
from backends.parts.language_models.baselines.causal_models import LibraryModel, StackModel
from backends.parts.language_models.causal_library import load_causal
from backends.parts.language_models.checkpoint import fingerprint, load_checkpoint
from backends.parts.language_models.layouts import LladaModel, LlamaModel
from backends.parts.language_models.lora import merge_adapter, read_adapter
from backends.parts.language_models.prompts import Tokenizer, encode_prompt
from backends.parts.language_models.shape import read_config
from backends.parts.loading import weight_files
from backends.parts.text_checks import check_length, check_prompt, mask_in_prompt, name_characters

STOP_NAMES = ("<|eot_id|>", "<|im_end|>", "<|endoftext|>", "</s>")
SMALL_FILE = 64 << 20  # weights up to this size are hashed on the spot to check an adapter's base


@dataclass
class LanguageModel:
    """A network with its tokenizer and everything a run must know about them."""

    network: Any  # LladaModel, LlamaModel, or a next-token model
    tokenizer: Tokenizer
    stops: frozenset[int]
    limit: int  # positions
    mask_id: int | None
    pocket: bool
    title: str
    adapted: bool = False  # an adapter was merged
    warnings: list[str] = field(default_factory=list)

    def encode(self, prompt: str, new_tokens: int, block_size: int = 1) -> list[int]:
        """Prompt ids, after every check that needs the tokenizer."""
        check_prompt(prompt)
        ids = encode_prompt(self.tokenizer, prompt)
        unknown = getattr(self.tokenizer, "unk_token_id", None)
        if unknown is not None and unknown in ids:
            lacking = [
                character
                for character in sorted(set(prompt))
                if unknown in self.tokenizer(character, add_special_tokens=False)["input_ids"]
            ]
            raise InputError(
                f"This checkpoint does not know these characters: {name_characters(lacking)}.",
                "",
                "Replace them, or choose another checkpoint.",
                field="prompt",
            )
        if self.mask_id is not None and self.mask_id in ids:
            raise mask_in_prompt()
        check_length(len(ids), new_tokens, self.limit, block_size)
        return ids


def load_diffusion(resolved: ResolvedCheckpoint, device: str, dtype: str) -> LanguageModel:
    """A masked diffusion model: role "base", and optionally a low-rank "adapter"."""
    base = resolved.paths["base"]
    network = load_checkpoint(base, dtype=torch_dtype(dtype), device=device)
    if network.shape.mask_token_id is None:
        raise CheckpointError(f"{base.name} is a causal model.", "It has no mask token.", "Choose a LLaDA or Dream checkpoint.")
    warnings = []
    adapter = resolved.paths.get("adapter")
    if adapter is not None:
        warnings = adapter_warnings(resolved, base, adapter)
        merge_adapter(network, adapter)
    network.pack()
    tokenizer = open_tokenizer(base)
    shape = network.shape
    stops = stop_ids(tokenizer, shape.stop_token_ids, resolved.checkpoint.options)
    return LanguageModel(
        network,
        tokenizer,
        stops,
        shape.max_sequence_length,
        shape.mask_token_id,
        resolved.checkpoint.pocket,
        resolved.checkpoint.title,
        adapter is not None,
        warnings,
    )


def load_next_token(resolved: ResolvedCheckpoint, device: str, dtype: str) -> LanguageModel:
    """A causal model: a pocket folder on the shared stack, a GGUF file, or any listed architecture through transformers."""
    base = resolved.paths["base"]
    gguf = (
        base if base.suffix == ".gguf" else next(iter(sorted(base.glob("*.gguf"))), None) if not (base / "config.json").is_file() else None
    )
    if gguf is not None:
        from backends.parts.language_models.gguf_llama import load_gguf

        stack = load_gguf(gguf, dtype=torch_dtype(dtype), device=device)
        tokenizer = open_tokenizer(gguf)
        return _on_stack(stack, tokenizer, resolved)
    if read_config(base).get("model_type") == "llama" and resolved.checkpoint.pocket:
        return _on_stack(load_checkpoint(base, dtype=torch_dtype(dtype), device=device), open_tokenizer(base), resolved)
    network = load_causal(base, dtype=torch_dtype(dtype), device=device)
    tokenizer = open_library_tokenizer(base)
    limit = int(getattr(network.config, "max_position_embeddings", 0) or 1 << 20)
    ends = network.generation_config.eos_token_id if network.generation_config.eos_token_id is not None else network.config.eos_token_id
    listed = tuple(ends) if isinstance(ends, list | tuple) else (() if ends is None else (ends,))
    stops = stop_ids(tokenizer, listed, resolved.checkpoint.options)
    return LanguageModel(LibraryModel(network), tokenizer, stops, limit, None, resolved.checkpoint.pocket, resolved.checkpoint.title)


def _on_stack(stack: LladaModel | LlamaModel, tokenizer: Tokenizer, resolved: ResolvedCheckpoint) -> LanguageModel:
    if not isinstance(stack, LlamaModel) or stack.shape.mask_token_id is not None:
        raise CheckpointError(
            "This is a masked diffusion checkpoint.", "Autoregressive decoding needs a causal model.", "Choose a causal checkpoint."
        )
    stack.pack()
    stops = stop_ids(tokenizer, stack.shape.stop_token_ids, resolved.checkpoint.options)
    return LanguageModel(
        StackModel(stack), tokenizer, stops, stack.shape.max_sequence_length, None, resolved.checkpoint.pocket, resolved.checkpoint.title
    )


def torch_dtype(name: str) -> torch.dtype:
    """The number format of a name."""
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if name not in known:
        raise CheckpointError(f"Number format {name!r} is not one of {', '.join(known)}.")
    return known[name]


def open_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer beside the weights, by a class of transformers that runs no foreign code."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast, Qwen2Tokenizer

    try:
        if path.suffix == ".gguf":
            return AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name, local_files_only=True)  # type: ignore[no-any-return]
        if (path / "tokenizer.json").is_file():
            return PreTrainedTokenizerFast.from_pretrained(path, local_files_only=True)  # type: ignore[no-any-return]
        if (path / "vocab.json").is_file() and (path / "merges.txt").is_file():
            return Qwen2Tokenizer.from_pretrained(path, local_files_only=True)  # type: ignore[no-any-return]
    except (OSError, ValueError) as error:
        raise CheckpointError(f"The tokenizer of {path.name} could not be opened.", str(error).splitlines()[0]) from error
    raise CheckpointError(f"{path.name} has no tokenizer.", "Neither tokenizer.json nor vocab.json with merges.txt is there.")


def open_library_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder that transformers opens as a whole."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-any-return]
    except (OSError, ValueError) as error:
        raise CheckpointError(f"The tokenizer of {folder.name} could not be opened.", str(error).splitlines()[0]) from error


def stop_ids(tokenizer: Tokenizer, listed: tuple[int, ...], options: dict[str, Any]) -> frozenset[int]:
    """Every token that ends an answer: config, tokenizer, end-of-turn names, and what the checkpoint's entry adds."""
    found = {int(token) for token in (*listed, *options.get("stop_token_ids", ()))}
    end = getattr(tokenizer, "eos_token_id", None)
    if end is not None:
        found.add(int(end))
    vocabulary = tokenizer.get_vocab() if hasattr(tokenizer, "get_vocab") else {}
    return frozenset(found | {int(vocabulary[name]) for name in STOP_NAMES if name in vocabulary})


def adapter_warnings(resolved: ResolvedCheckpoint, base: Path, adapter: Path) -> list[str]:
    """Say so when an adapter was trained on another base than the one at hand."""
    _, config = read_adapter(adapter)
    trained_on = str(config.get("base_model_sha256", ""))
    if trained_on and sum(path.stat().st_size for path in weight_files(base) if path.is_file()) <= SMALL_FILE:
        return (
            []
            if fingerprint(base) == trained_on
            else ["This adapter was trained on other base weights (fingerprints differ): expect worse answers."]
        )
    names = [
        str(config.get("base_model_name_or_path", "")),
        *(source.location for source in resolved.checkpoint.sources if source.role == "base"),
    ]
    kinds = [{kind for kind in ("instruct", "base") if kind in name.rstrip("/").rpartition("/")[2].lower()} for name in names]
    if len(kinds) == 2 and kinds[0] and kinds[1] and kinds[0] != kinds[1]:
        trained, given = (name.rstrip("/").rpartition("/")[2] for name in names)
        return [f"This adapter names {trained} as its base, not {given}: expect worse answers."]
    return []
