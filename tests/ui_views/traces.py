"""Decoding traces with the shape of real ones, for the viewers' harness.

`one_by_one` is autoregressive decoding, `in_blocks` a pipeline of overlapping blocks that commits several tokens a pass. Both
are validated as `DecodingTrace`, so the viewers are tested on what methods must produce.

Deliberately absent: a model; which token is committed when comes from a seeded generator.
"""

import random
import re
from collections.abc import Sequence

from backends.parts.decoding_trace import Committed, DecodingTrace, Pass

PUMP_LEFT = (
    "Convert the flow to cubic metres: 2.5 L/min is 0.0025 m³/min. Eight hours are 8 × 60 = 480 min. Multiply: 0.0025 × 480 = 1.2. "
    "So in eight hours the pump moves 1.2 m³, which is 1200 litres of water. Answer: 1.2 m³"
)
PUMP_RIGHT = PUMP_LEFT.replace("L/min is", "L/min equals")


def words(text: str) -> list[str]:
    """Pieces as a subword tokenizer would cut them: words with their leading space, digits, single signs."""
    return re.findall(r"\s?[A-Za-z]+|\s?\d+|\s?[^\sA-Za-z\d]|\s", text)


def token_id(text: str) -> int:
    """A stable id for a piece of text."""
    return sum((place + 1) * ord(character) for place, character in enumerate(text)) % 50_000


def one_by_one(tokens: Sequence[str], *, seconds: float = 0.03, seed: int = 1, stop: int | None = None) -> DecodingTrace:
    """One token a pass. `stop` ends the run after that many passes, as a user would."""
    chance = random.Random(seed)
    shown = tokens[:stop]
    passes = tuple(
        Pass(
            index=index + 1,
            seconds=round((index + 1) * seconds, 4),
            rows=1,
            cached=30 + index,
            cache_bytes=(30 + index) * 5120,
            committed=(Committed(position=index, token=token_id(text), text=text, confidence=round(chance.uniform(0.6, 1.0), 4)),),
        )
        for index, text in enumerate(shown)
    )
    return DecodingTrace(
        method="autoregressive",
        prompt_tokens=30,
        block_size=1,
        positions=len(shown),
        passes=passes,
        text="".join(shown),
        stopped_by="user" if stop is not None else "end of sequence",
    )


def in_blocks(
    tokens: Sequence[str], *, block: int = 16, seconds: float = 0.041, seed: int = 7, stop: int | None = None, peak: int = 5
) -> DecodingTrace:
    """A pipeline of blocks: the next one opens when a tenth of the last is known, and fills from the left, several tokens a pass."""
    chance = random.Random(seed)
    pending: list[list[int]] = []
    opened = 0
    passes: list[Pass] = []
    while opened < len(tokens) or any(pending):
        started = not pending or len(pending[-1]) <= 0.9 * min(block, len(tokens) - (len(pending) - 1) * block)
        if opened < len(tokens) and started:
            pending.append(list(range(opened, min(opened + block, len(tokens)))))
            opened += len(pending[-1])
        index = len(passes) + 1
        committed = [position for number, masked in enumerate(pending) for position in _chosen(pending, number, masked, chance, peak)]
        for masked in pending:
            masked[:] = [position for position in masked if position not in committed]
        passes.append(_block_pass(index, seconds, committed, pending, tokens, chance))
        if stop is not None and index >= stop:
            break
    known = {token.position for each in passes for token in each.committed}
    return DecodingTrace(
        method="d2f",
        prompt_tokens=30,
        block_size=block,
        positions=opened if stop is not None else len(tokens),
        passes=tuple(passes),
        text="".join(text for position, text in enumerate(tokens) if position in known),
        stopped_by="user" if stop is not None else "end of sequence",
    )


def _chosen(pending: list[list[int]], number: int, masked: list[int], chance: random.Random, peak: int) -> list[int]:
    """Positions a block commits in this pass: some from its left part; a block whose left neighbour is unfinished may wait."""
    if not masked:
        return []
    full = number == 0 or len(pending[number - 1]) <= 1
    count = chance.randint(1 if full else 0, peak if full else max(1, peak - 2))
    reach = masked[: max(count, len(masked) // 2 + 1)]
    return sorted(chance.sample(reach, min(count, len(reach))))


def _block_pass(
    index: int, seconds: float, committed: list[int], pending: list[list[int]], tokens: Sequence[str], chance: random.Random
) -> Pass:
    states = tuple(
        "done" if not masked else "full" if number == 0 or len(pending[number - 1]) <= 1 else "semi"
        for number, masked in enumerate(pending)
    )
    chosen = tuple(
        Committed(position=position, token=token_id(tokens[position]), text=tokens[position], confidence=round(chance.uniform(0.9, 1.0), 4))
        for position in committed
    )
    done = sum(1 for state in states if state == "done")
    return Pass(
        index=index,
        seconds=round(index * seconds, 4),
        rows=16 * (len(states) - done),
        cached=30 + 16 * done,
        cache_bytes=(30 + 16 * done) * 5120,
        committed=chosen,
        blocks=states,
    )


def long_text(count: int, seed: int = 3) -> list[str]:
    """`count` pieces of prose with line breaks, for scrolling and for timing."""
    chance = random.Random(seed)
    vocabulary = words(
        "the flow of water through a narrow pipe is measured in litres per minute "
        "and every step is shown with its unit so that nobody has to guess"
    )
    pieces: list[str] = []
    while len(pieces) < count:
        pieces.append(chance.choice(vocabulary) if chance.random() > 0.02 else "\n")
    return [piece if index == 0 or piece.startswith((" ", "\n")) else f" {piece}" for index, piece in enumerate(pieces)]
