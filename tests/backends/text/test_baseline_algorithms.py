"""The baselines: plain diffusion, Fast-dLLM, autoregressive decoding."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers

from backends.contract import NumericalError
from backends.parts.language_models.baselines.causal_models import LibraryModel, StackModel
from backends.parts.language_models.checkpoint import load_checkpoint
from backends.parts.language_models.decoding import answer_is_final, cut_at_stop, drain
from backends.parts.language_models.layouts import LlamaModel
from backends.parts.language_models.sampling import SamplingRule
from backends.parts.language_models.tiny_checkpoints import write_dream, write_llada, write_llama
from backends.parts.language_models.transformer import DecoderStack
from backends.text.autoregressive import algorithm as causal
from backends.text.fast_dllm import algorithm as fast
from backends.text.masked_diffusion import algorithm as plain

PROMPT = list(range(20, 37))
NO_STOP: frozenset[int] = frozenset()


@pytest.fixture(params=[write_llada, write_dream], ids=["llada", "dream"])
def tiny(request: pytest.FixtureRequest, tmp_path: Path) -> DecoderStack:
    write: Callable[[Path], Path] = request.param
    return load_checkpoint(write(tmp_path))


@pytest.fixture
def stack(tmp_path: Path) -> StackModel:
    model = load_checkpoint(write_llama(tmp_path / "llama"))
    assert isinstance(model, LlamaModel)
    return StackModel(model)


@pytest.mark.parametrize(("steps", "block"), [(24, 24), (12, 24), (12, 8), (9, 8), (3, 8)])
def test_plain_diffusion_takes_the_steps_it_was_given(tiny: DecoderStack, steps: int, block: int) -> None:
    made = list(plain.decode(tiny, PROMPT, plain.DiffusionRule(new_tokens=24, block_size=block, steps=steps), NO_STOP))
    assert len(made) == steps
    assert sorted(token.position for step in made for token in step.committed) == list(range(24))


@torch.inference_mode()
def test_plain_diffusion_commits_the_most_confident_position_first(tiny: DecoderStack) -> None:
    mask_id = tiny.shape.mask_token_id
    assert mask_id is not None
    logits = tiny(torch.tensor([[*PROMPT, *[mask_id] * 8]]))[0]
    rows = logits[len(PROMPT) - 1 : -1] if tiny.shape.predicts_next else logits[len(PROMPT) :]
    rows[:, mask_id] = -torch.inf
    best = rows.softmax(-1).max(-1)
    first = next(plain.decode(tiny, PROMPT, plain.DiffusionRule(new_tokens=8, block_size=8, steps=8), NO_STOP)).committed[0]
    assert first.position == int(best.values.argmax()) and first.token == int(best.indices[first.position])


def test_blocks_of_plain_diffusion_are_filled_in_order(tiny: DecoderStack) -> None:
    made = plain.decode(tiny, PROMPT, plain.DiffusionRule(new_tokens=24, block_size=8, steps=24), NO_STOP)
    blocks = [token.position // 8 for step in made for token in step.committed]
    assert blocks == sorted(blocks)


def test_random_order_and_temperature_depend_on_the_seed_alone(tiny: DecoderStack) -> None:
    rule = plain.DiffusionRule(new_tokens=8, block_size=8, steps=8, remasking="random", temperature=0.7)
    runs = [list(plain.decode(tiny, PROMPT, rule, NO_STOP, torch.Generator().manual_seed(seed))) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] and runs[0] != runs[2]


def test_guidance_doubles_the_rows_and_changes_the_answer(tiny: DecoderStack) -> None:
    rule = plain.DiffusionRule(new_tokens=8, block_size=8, steps=8)
    without, guided = (list(plain.decode(tiny, PROMPT, replace(rule, guidance_scale=scale), NO_STOP)) for scale in (0.0, 4.0))
    assert guided[0].rows == 2 * without[0].rows
    assert [step.committed for step in guided] != [step.committed for step in without]


def test_nothing_above_the_threshold_means_one_token_a_pass(tiny: DecoderStack) -> None:
    made = list(fast.decode(tiny, PROMPT, fast.ParallelRule(new_tokens=24, block_size=8, threshold=1.1), NO_STOP))
    assert len(made) == 24 and all(len(step.committed) == 1 for step in made)


def test_fast_dllm_without_cache_at_one_token_a_pass_equals_plain_diffusion(tiny: DecoderStack) -> None:
    parallel = drain(fast.decode(tiny, PROMPT, fast.ParallelRule(new_tokens=24, block_size=8, threshold=1.1), NO_STOP))
    reference = drain(plain.decode(tiny, PROMPT, plain.DiffusionRule(new_tokens=24, block_size=8, steps=24), NO_STOP))
    assert parallel.tokens == reference.tokens


@pytest.mark.parametrize("cache", ["prefix", "dual"])
def test_a_cache_feeds_fewer_rows_and_freezes_the_rest(tiny: DecoderStack, cache: str) -> None:
    rule = fast.ParallelRule(new_tokens=24, block_size=8, threshold=1.1, cache=cache)  # type: ignore[arg-type]
    made = list(fast.decode(tiny, PROMPT, rule, NO_STOP))
    length = len(PROMPT) + 24
    assert [made[0].rows, made[8].rows, made[16].rows] == [length] * 3, "the first pass of a block covers everything"
    expected = {"prefix": [24, 16, 8], "dual": [8, 8, 8]}[cache]
    assert [made[1].rows, made[9].rows, made[17].rows] == expected
    assert all(step.rows + step.cached == length for step in made)
    assert made[1].cache_bytes > 0


@torch.inference_mode()
def test_a_dual_cache_pass_equals_attention_over_frozen_rows(tiny: DecoderStack) -> None:
    """By hand: the block's rows attend to keys and values that the full pass left behind, with their own overwritten."""
    mask_id = tiny.shape.mask_token_id
    assert mask_id is not None
    window = fast_window(tiny, "dual", len(PROMPT) + 16)
    ids = torch.tensor([[*PROMPT, *[mask_id] * 16]])
    start, end = len(PROMPT), len(PROMPT) + 8
    window.hidden(ids, start, end, True)
    assert window.cache is not None
    frozen = [keys.clone() for keys in window.cache.keys]
    ids[0, start] = 60
    hidden, first = window.hidden(ids, start, end, False)
    assert first == start and hidden.shape[1] == 8
    for before, after in zip(frozen, window.cache.keys, strict=True):
        assert torch.equal(before[:, :, :start], after[:, :, :start]) and torch.equal(before[:, :, end:], after[:, :, end:])
        assert not torch.equal(before[:, :, start:end], after[:, :, start:end])


def fast_window(model: DecoderStack, kind: str, length: int):  # type: ignore[no-untyped-def]
    from backends.parts.language_models.baselines.confidence_parallel import Window

    return Window(model, kind, length)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("confidences", "factor", "count"),
    [
        ([0.99, 0.98, 0.5], 0.1, 2),
        ([0.99, 0.98, 0.5], 0.01, 1),
        ([0.9, 0.9, 0.9], 10.0, 3),
        ([0.5, 0.4], 0.1, 1),
        ([0.99, 0.97, 0.96], 0.1, 2),
    ],
)
def test_the_factor_rule_takes_the_largest_allowed_number(confidences: list[float], factor: float, count: int) -> None:
    rule = fast.ParallelRule(threshold=None, factor=factor)
    assert fast.select(confidences, confidences, rule, 1) == list(range(count))


def test_a_fixed_number_a_pass_follows_the_schedule(tiny: DecoderStack) -> None:
    rule = fast.ParallelRule(new_tokens=24, block_size=8, threshold=None, steps=9)
    assert [len(step.committed) for step in fast.decode(tiny, PROMPT, rule, NO_STOP)] == [3, 3, 2] * 3


@pytest.mark.parametrize("stop", range(5, 125, 7))
def test_skipping_after_the_end_changes_no_text(tiny: DecoderStack, stop: int) -> None:
    stops = frozenset({stop})
    for decode, rule in (
        (plain.decode, plain.DiffusionRule(new_tokens=24, block_size=8, steps=24)),
        (fast.decode, fast.ParallelRule(new_tokens=24, block_size=8, threshold=0.1)),
    ):
        whole, skipped = (drain(decode(tiny, PROMPT, replace(rule, skip_after_end=skip), stops)) for skip in (False, True))  # type: ignore[operator, type-var]
        assert skipped.tokens == whole.tokens and skipped.passes <= whole.passes


def test_the_answer_is_final_only_when_nothing_before_its_end_is_masked() -> None:
    assert answer_is_final([5, 6, 1, 2, 2], 2, frozenset({1}))
    assert not answer_is_final([5, 2, 1, 6], 2, frozenset({1}))
    assert not answer_is_final([5, 6, 7], 2, frozenset({1}))
    assert cut_at_stop([5, 6, 1, 7], frozenset({1})) == ([5, 6], "end of sequence")
    assert cut_at_stop([5, 6], frozenset({1})) == ([5, 6], "length")


def test_autoregressive_cache_changes_no_token(stack: StackModel) -> None:
    runs = [list(causal.decode(stack, PROMPT, causal.NextTokenRule(new_tokens=24, cache=cache), NO_STOP)) for cache in (True, False)]
    assert [step.committed[0].token for step in runs[0]] == [step.committed[0].token for step in runs[1]]
    assert [step.rows for step in runs[0]] == [len(PROMPT), *[1] * 23]
    assert [step.rows for step in runs[1]] == [len(PROMPT) + index for index in range(24)]
    assert runs[1][-1].cache_bytes == 0 < runs[0][-1].cache_bytes


@pytest.mark.parametrize("cache", [True, False])
def test_greedy_decoding_equals_transformers_generate(tmp_path: Path, cache: bool) -> None:
    folder = write_llama(tmp_path)
    reference = transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    wanted = reference.generate(
        torch.tensor([PROMPT]),
        attention_mask=torch.ones(1, len(PROMPT), dtype=torch.long),
        max_new_tokens=16,
        do_sample=False,
        eos_token_id=None,
    )
    ours = load_checkpoint(folder)
    assert isinstance(ours, LlamaModel)
    for model in (StackModel(ours), LibraryModel(reference)):
        found = drain(causal.decode(model, PROMPT, causal.NextTokenRule(new_tokens=16, cache=cache), NO_STOP))
        assert found.tokens == wanted[0, len(PROMPT) :].tolist()


def test_decoding_stops_at_a_stop_token_and_leaves_it_out(stack: StackModel) -> None:
    whole = drain(causal.decode(stack, PROMPT, causal.NextTokenRule(new_tokens=12), NO_STOP)).tokens
    stop = whole[5]
    cut = drain(causal.decode(stack, PROMPT, causal.NextTokenRule(new_tokens=12), frozenset({stop})))
    assert cut.tokens == whole[: whole.index(stop)] and cut.stopped_by == "end of sequence"
    assert cut.passes == whole.index(stop) + 1


def test_sampled_decoding_repeats_with_its_seed(stack: StackModel) -> None:
    rule = causal.NextTokenRule(new_tokens=12, sampling=SamplingRule(temperature=1.5, top_k=40))
    runs = [drain(causal.decode(stack, PROMPT, rule, NO_STOP, torch.Generator().manual_seed(seed))).tokens for seed in (3, 3, 4)]
    assert runs[0] == runs[1] and runs[0] != runs[2]


def test_nan_logits_name_the_pass_in_every_baseline(tiny: DecoderStack, stack: StackModel) -> None:
    for model in (tiny, stack.stack):
        model.final_norm().weight = torch.nn.Parameter(torch.full_like(model.final_norm().weight, torch.nan), requires_grad=False)
    for decoding in (
        plain.decode(tiny, PROMPT, plain.DiffusionRule(new_tokens=8, block_size=8, steps=8), NO_STOP),
        fast.decode(tiny, PROMPT, fast.ParallelRule(new_tokens=8, block_size=8), NO_STOP),
        causal.decode(stack, PROMPT, causal.NextTokenRule(new_tokens=8), NO_STOP),
    ):
        with pytest.raises(NumericalError, match="pass 1"):
            drain(decoding)
