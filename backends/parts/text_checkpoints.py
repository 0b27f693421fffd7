"""The text checkpoints that several methods share.

What it does: lists the pocket and the published masked diffusion models and adapters once, with licence, bytes and memory.
Where: D2F specification, sections 1 and 5; sizes of published weights are parameters times two bytes.
What it does not do: it finds and downloads nothing.
"""

from __future__ import annotations

from backends.contract import Checkpoint, Source

GIB = 1 << 30
POCKET_LICENCE = "same as this project"
LLADA_BYTES = 16_030_000_000
DREAM_BYTES = 15_230_000_000
ADAPTER_BYTES = 134_000_000
LLADA_STOPS = {"stop_token_ids": [126081, 126348]}

POCKET_BASE = Source(role="base", kind="pocket", location="llada", bytes=2_630_000, licence=POCKET_LICENCE)
LLADA_INSTRUCT = Source(role="base", kind="hub", location="GSAI-ML/LLaDA-8B-Instruct", bytes=LLADA_BYTES, licence="MIT")
LLADA_BASE = Source(role="base", kind="hub", location="GSAI-ML/LLaDA-8B-Base", bytes=LLADA_BYTES, licence="MIT")
DREAM_BASE = Source(role="base", kind="hub", location="Dream-org/Dream-v0-Base-7B", bytes=DREAM_BYTES, licence="Apache-2.0")
DREAM_INSTRUCT = Source(role="base", kind="hub", location="Dream-org/Dream-v0-Instruct-7B", bytes=DREAM_BYTES, licence="Apache-2.0")
D2F_LLADA = Source(role="adapter", kind="hub", location="SJTU-Deng-Lab/D2F_LLaDA_Instruct_8B_Lora", bytes=ADAPTER_BYTES, licence="MIT")
D2F_DREAM_BASE = Source(
    role="adapter", kind="hub", location="SJTU-Deng-Lab/D2F_Dream_Base_7B_Lora", bytes=ADAPTER_BYTES, licence="Apache-2.0"
)
D2F_DREAM_INSTRUCT = Source(
    role="adapter", kind="hub", location="SJTU-DENG-Lab/D2F_Dream_Instruct_7B_Lora", bytes=ADAPTER_BYTES, licence="Apache-2.0"
)


def llada_8b(key: str, title: str, *sources: Source, note: str = "") -> Checkpoint:
    """LLaDA-8B with what comes beside it."""
    return Checkpoint(
        key=key,
        title=title,
        sources=sources,
        parameters=8_020_000_000,
        memory_bytes=LLADA_BYTES + GIB,
        dtype="bfloat16",
        note=note,
        options=LLADA_STOPS,
    )


def dream_7b(key: str, title: str, *sources: Source, note: str = "") -> Checkpoint:
    """Dream-7B with what comes beside it."""
    return Checkpoint(
        key=key, title=title, sources=sources, parameters=7_620_000_000, memory_bytes=DREAM_BYTES + GIB, dtype="bfloat16", note=note
    )


def pocket(key: str, title: str, *sources: Source, parameters: int = 1_312_160, note: str = "") -> Checkpoint:
    """A model trained by this project."""
    return Checkpoint(
        key=key, title=title, sources=sources, parameters=parameters, memory_bytes=60_000_000, dtype="float32", note=note, pocket=True
    )


DIFFUSION_CHECKPOINTS = (
    pocket("pocket", "Pocket LLaDA", POCKET_BASE, note="1.3 M parameters, one token a character; knows unit conversions and DNA duplexes."),
    llada_8b("llada_8b_instruct", "LLaDA-8B-Instruct", LLADA_INSTRUCT),
    llada_8b("llada_8b_base", "LLaDA-8B-Base", LLADA_BASE),
    dream_7b("dream_7b_instruct", "Dream-v0-Instruct-7B", DREAM_INSTRUCT),
    dream_7b("dream_7b_base", "Dream-v0-Base-7B", DREAM_BASE),
)
