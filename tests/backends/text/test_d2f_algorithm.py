"""D2F's exactness: cache, window, mask, greedy limit, thresholds, ends, errors."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from backends.contract import MethodError, NumericalError
from backends.parts.language_models.block_attention import block_causal_mask
from backends.parts.language_models.character_tokenizer import END, MASK, build_tokenizer
from backends.parts.language_models.checkpoint import load_checkpoint
from backends.parts.language_models.decoding import DecodingStep, drain
from backends.parts.language_models.lora import merge_adapter
from backends.parts.language_models.prompts import decode_answer, encode_prompt
from backends.parts.language_models.sampling import SamplingRule
from backends.parts.language_models.tiny_checkpoints import write_dream, write_llada, write_llama
from backends.parts.language_models.transformer import DecoderStack
from backends.parts.procedural.questions import TASKS, Task, held_out
from backends.text.d2f.algorithm import Pipeline, PipelineRule, decode
from backends.text.d2f.exactness import compare_cache, leak_delta

PROMPT = list(range(20, 37))
STOPS = frozenset({END})
NO_STOP: frozenset[int] = frozenset()
RULE = PipelineRule(new_tokens=24, block_size=8, tau_add=0.1, tau_act=0.5, tau_conf=0.05)


@pytest.fixture(params=[write_llada, write_dream], ids=["llada", "dream"])
def tiny(request: pytest.FixtureRequest, tmp_path: Path) -> DecoderStack:
    write: Callable[[Path], Path] = request.param
    return load_checkpoint(write(tmp_path))


@pytest.fixture(scope="module")
def student(pocket: Path) -> DecoderStack:
    model = load_checkpoint(pocket / "llada")
    merge_adapter(model, pocket / "d2f")
    model.pack()
    return model


def steps_of(model: DecoderStack, rule: PipelineRule, stops: frozenset[int] = NO_STOP, seed: int = 0) -> list[DecodingStep]:
    return list(decode(model, PROMPT, rule, stops, torch.Generator().manual_seed(seed)))


@pytest.mark.parametrize("conf", [0.02, 0.05, 0.2])
@pytest.mark.parametrize("add", [0.1, 0.5, 1.0])
def test_the_cache_changes_no_token_in_any_pass(tiny: DecoderStack, conf: float, add: float) -> None:
    found = compare_cache(tiny, PROMPT, replace(RULE, tau_conf=conf, tau_add=add), NO_STOP)
    assert found.token_mismatches == 0
    assert found.largest_logit_delta <= 1e-4


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("block", [8, 16, 32])
def test_the_cache_is_exact_on_the_pocket_model(student: DecoderStack, task: Task, block: int) -> None:
    tokenizer = build_tokenizer()
    for question in held_out(3, task):
        found = compare_cache(student, encode_prompt(tokenizer, question.prompt), PipelineRule(block_size=block), STOPS)
        assert found.token_mismatches == 0
        assert found.largest_logit_delta <= 1e-4


@torch.inference_mode()
def test_one_window_with_two_active_blocks_equals_a_full_pass_under_the_mask(tiny: DecoderStack) -> None:
    pipeline = Pipeline(tiny, PROMPT, replace(RULE, new_tokens=16), NO_STOP)
    pipeline.append_and_activate()
    pipeline.run_pass(*pipeline.window())  # caches the prompt
    pipeline.tokens[len(PROMPT)] = 50  # the first block has begun, so the second may open
    pipeline.blocks[1].masked.remove(len(PROMPT))
    pipeline.append_and_activate()
    assert len(pipeline.blocks) == 3 and pipeline.cache is not None and pipeline.cache.length == len(PROMPT)
    start, new_rows = pipeline.window()
    assert (start, new_rows) == (len(PROMPT), 0)
    window = tiny.head(pipeline.run_pass(start, new_rows))
    mask = block_causal_mask(len(PROMPT), 8, 0, len(pipeline.tokens))
    whole = tiny(torch.tensor([pipeline.tokens]), mask=mask)
    assert (window - whole[:, start:]).abs().max() <= 1e-4


def test_later_blocks_do_not_leak_into_earlier_ones_and_the_teacher_mask_does(tiny: DecoderStack) -> None:
    ids = [*PROMPT, *range(40, 64)]
    assert leak_delta(tiny, ids, len(PROMPT), 8) <= 1e-6
    assert leak_delta(tiny, ids, len(PROMPT), 8, bidirectional=True) > 1e-3


@torch.inference_mode()
def test_single_token_blocks_equal_token_by_token_greedy_decoding(tiny: DecoderStack) -> None:
    mask_id = tiny.shape.mask_token_id
    assert mask_id is not None
    expected: list[int] = []
    for _ in range(12):
        ids = torch.tensor([[*PROMPT, *expected, mask_id]])
        mask = block_causal_mask(len(PROMPT), 1, 0, ids.shape[1])
        row = -2 if tiny.shape.predicts_next else -1
        logits = tiny(ids, mask=mask)[0, row]
        logits[mask_id] = -torch.inf
        expected.append(int(logits.argmax()))
    found = drain(decode(tiny, PROMPT, PipelineRule(new_tokens=12, block_size=1, tau_add=1.0), NO_STOP))
    assert found.tokens == expected and found.passes == 12


def test_every_position_is_committed_once_and_never_as_a_mask(tiny: DecoderStack) -> None:
    committed = [token for step in steps_of(tiny, RULE) for token in step.committed]
    assert sorted(token.position for token in committed) == list(range(24))
    assert all(token.token != tiny.shape.mask_token_id and 0 < token.confidence <= 1 for token in committed)


def test_confidence_one_commits_only_forced_tokens(tiny: DecoderStack) -> None:
    steps = steps_of(tiny, replace(RULE, tau_conf=1.0, tau_add=1.0))
    assert all(len(step.committed) == 1 for step in steps) and len(steps) == 24


def test_at_most_one_block_is_appended_a_pass_and_states_move_forward_only(tiny: DecoderStack) -> None:
    order = ["inactive", "semi", "full", "done", "cached"]
    before = ["inactive"] * 3
    for step in steps_of(tiny, RULE):
        opened = sum(now != "inactive" and was == "inactive" for now, was in zip(step.blocks, before, strict=True))
        assert opened <= 1
        assert all(order.index(now) >= order.index(was) for now, was in zip(step.blocks, before, strict=True))
        before = list(step.blocks)


def test_a_block_enters_the_cache_only_after_all_earlier_ones(tiny: DecoderStack) -> None:
    for step in steps_of(tiny, replace(RULE, tau_conf=0.03)):
        cached = [state == "cached" for state in step.blocks]
        assert cached == sorted(cached, reverse=True)


def test_a_block_that_is_not_full_may_commit_nothing(tiny: DecoderStack) -> None:
    steps = steps_of(tiny, replace(RULE, tau_act=1.0, tau_conf=0.99))
    assert any("semi" in step.blocks for step in steps)
    for step in steps:
        blocks = {token.position // 8 for token in step.committed if token.confidence <= 0.99}
        assert len(blocks) <= 1, "only the full block may be forced"


def test_skipping_what_follows_the_end_changes_no_text_and_saves_passes(tiny: DecoderStack) -> None:
    saved = 0
    rule = replace(RULE, new_tokens=48, tau_add=0.3, tau_act=0.3, tau_conf=0.9)
    for stop in set(drain(decode(tiny, PROMPT, rule, NO_STOP)).tokens):
        stops = frozenset({stop})
        finish = drain(decode(tiny, PROMPT, replace(rule, skip_after_end=False), stops))
        skip = drain(decode(tiny, PROMPT, replace(rule, skip_after_end=True), stops))
        assert skip.tokens == finish.tokens and skip.stopped_by == finish.stopped_by
        assert skip.passes <= finish.passes
        saved += finish.passes - skip.passes
    assert saved > 0, "no stop token ever came early, so the test shows nothing"


def test_sampling_is_the_same_for_the_same_seed_and_changes_with_it(tiny: DecoderStack) -> None:
    rule = replace(RULE, sampling=SamplingRule(temperature=1.0, top_p=0.95, top_k=50))
    assert steps_of(tiny, rule, seed=1) == steps_of(tiny, rule, seed=1)
    assert steps_of(tiny, rule, seed=1) != steps_of(tiny, rule, seed=2)


@pytest.mark.parametrize("kind", ["max_prob", "margin", "neg_entropy"])
def test_every_confidence_kind_completes_the_answer(tiny: DecoderStack, kind: str) -> None:
    rule = replace(RULE, sampling=SamplingRule(confidence=kind))  # type: ignore[arg-type]
    assert len(drain(decode(tiny, PROMPT, rule, NO_STOP)).tokens) == 24


def test_nan_logits_stop_and_name_the_pass(tiny: DecoderStack) -> None:
    tiny.final_norm().weight = torch.nn.Parameter(torch.full_like(tiny.final_norm().weight, torch.nan), requires_grad=False)
    with pytest.raises(NumericalError, match="pass 1"):
        drain(decode(tiny, PROMPT, RULE, NO_STOP))


def test_a_causal_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MethodError, match="no mask token"):
        drain(decode(load_checkpoint(write_llama(tmp_path)), PROMPT, RULE, NO_STOP))


def test_a_lower_threshold_never_needs_more_passes_on_predictable_text(student: DecoderStack) -> None:
    tokenizer = build_tokenizer()
    passes = []
    for threshold in (0.95, 0.9, 0.8, 0.7):
        results = [
            drain(decode(student, encode_prompt(tokenizer, question.prompt), PipelineRule(tau_conf=threshold), STOPS))
            for question in held_out(12, "conversion")
        ]
        passes.append(sum(result.passes for result in results))
    assert passes == sorted(passes, reverse=True)


def test_the_pocket_model_answers_held_out_conversions_in_few_passes(student: DecoderStack) -> None:
    tokenizer = build_tokenizer()
    right = passes = 0
    for question in held_out(20, "conversion"):
        result = drain(decode(student, encode_prompt(tokenizer, question.prompt), PipelineRule(), STOPS))
        right += decode_answer(tokenizer, result.tokens) == question.answer
        passes += result.passes
    assert right >= 18
    assert passes <= 20 * 96 / 5


def test_the_mask_token_of_the_pocket_model_is_its_configs(student: DecoderStack) -> None:
    assert student.shape.mask_token_id == MASK and student.shape.stop_token_ids == (END,)
