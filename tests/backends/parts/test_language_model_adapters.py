"""LoRA adapters in PEFT's layout."""

import json
from pathlib import Path

import peft
import pytest
import torch
from safetensors.torch import load_file, save_file

from backends.contract import CheckpointError, ResolvedCheckpoint, Source
from backends.parts.language_models.checkpoint import load_checkpoint
from backends.parts.language_models.loading import adapter_warnings, load_diffusion
from backends.parts.language_models.lora import attach_loaded, merge_adapter, set_enabled
from backends.parts.language_models.tiny_checkpoints import write_adapter, write_dream, write_llada
from backends.parts.text_checkpoints import llada_8b

IDS = torch.randint(5, 100, (1, 20), generator=torch.Generator().manual_seed(1))


@pytest.fixture(params=[write_llada, write_dream], ids=["llada", "dream"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return request.param(tmp_path / "base")


@torch.inference_mode()
def test_merged_equals_unmerged(base: Path, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "adapter", base)
    merged, unmerged = load_checkpoint(base), load_checkpoint(base)
    merge_adapter(merged, adapter)
    attach_loaded(unmerged, adapter)
    plain = load_checkpoint(base)(IDS)
    assert (merged(IDS) - unmerged(IDS)).abs().max() <= 1e-4
    assert (merged(IDS) - plain).abs().max() > 1e-2, "the adapter changes nothing, so the test shows nothing"


@torch.inference_mode()
def test_adapter_off_with_full_attention_equals_the_base(base: Path, tmp_path: Path) -> None:
    model = load_checkpoint(base)
    set_enabled(attach_loaded(model, write_adapter(tmp_path / "adapter", base)), False)
    assert (model(IDS) - load_checkpoint(base)(IDS)).abs().max() <= 1e-5


@torch.inference_mode()
def test_peft_reads_the_same_adapter_to_the_same_logits(base: Path, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "adapter", base)
    ours = load_checkpoint(base)
    merge_adapter(ours, adapter)
    network = load_checkpoint(base)
    config = peft.LoraConfig(r=4, lora_alpha=4, target_modules=list(network.adapter_targets))
    peft.inject_adapter_in_model(config, network)
    tensors = {name.removeprefix("base_model.model."): tensor for name, tensor in load_file(adapter / "adapter_model.safetensors").items()}
    renamed = {name.replace(".weight", ".default.weight"): tensor for name, tensor in tensors.items()}
    outcome = network.load_state_dict(renamed, strict=False)
    assert not outcome.unexpected_keys
    network.refresh()
    assert (network(IDS) - ours(IDS)).abs().max() <= 1e-4


def test_a_wrong_rank_names_the_keys(base: Path, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "adapter", base)
    config = json.loads((adapter / "adapter_config.json").read_text()) | {"r": 8}
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=r"lora_A\.weight is \(4, 32\), not \(8, 32\)"):
        merge_adapter(load_checkpoint(base), adapter)


def test_missing_adapter_keys_are_named(base: Path, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "adapter", base)
    tensors = load_file(adapter / "adapter_model.safetensors")
    gone = next(name for name in tensors if "lora_B" in name)
    del tensors[gone]
    save_file(tensors, adapter / "adapter_model.safetensors")
    with pytest.raises(CheckpointError, match=gone.replace(".", r"\.")):
        merge_adapter(load_checkpoint(base), adapter)


def test_an_adapter_for_another_architecture_is_refused(tmp_path: Path) -> None:
    dream, llada = write_dream(tmp_path / "dream"), write_llada(tmp_path / "llada")
    with pytest.raises(CheckpointError, match="o_proj"):
        merge_adapter(load_checkpoint(llada), write_adapter(tmp_path / "adapter", dream))


@pytest.mark.parametrize("change", [{"use_dora": True}, {"use_rslora": True}, {"peft_type": "IA3"}, {"bias": "all"}])
def test_adapter_kinds_that_are_not_implemented_are_refused(change: dict, tmp_path: Path) -> None:
    base = write_llada(tmp_path / "base")
    adapter = write_adapter(tmp_path / "adapter", base)
    config = json.loads((adapter / "adapter_config.json").read_text()) | change
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="not implemented"):
        merge_adapter(load_checkpoint(base), adapter)


def resolved(base: Path, adapter: Path, location: str) -> ResolvedCheckpoint:
    checkpoint = llada_8b("x", "X", Source(kind="hub", location=location), Source(role="adapter", kind="hub", location="authors/adapter"))
    return ResolvedCheckpoint(checkpoint=checkpoint, paths={"base": base, "adapter": adapter})


def test_an_instruct_adapter_on_the_base_checkpoint_warns(tmp_path: Path) -> None:
    base = write_llada(tmp_path / "base")
    adapter = write_adapter(tmp_path / "adapter", base, base_name="/data/models/LLaDA-8B-Instruct")
    warned = adapter_warnings(resolved(base, adapter, "GSAI-ML/LLaDA-8B-Base"), base, adapter)
    assert len(warned) == 1 and "LLaDA-8B-Instruct" in warned[0] and "LLaDA-8B-Base" in warned[0]
    assert adapter_warnings(resolved(base, adapter, "GSAI-ML/LLaDA-8B-Instruct"), base, adapter) == []


def test_other_base_weights_than_the_adapter_was_trained_on_warn(pocket: Path, tmp_path: Path) -> None:
    other = write_llada(tmp_path / "other")
    assert adapter_warnings(resolved(pocket / "llada", pocket / "d2f", "llada"), pocket / "llada", pocket / "d2f") == []
    warned = adapter_warnings(resolved(other, pocket / "d2f", "llada"), other, pocket / "d2f")
    assert len(warned) == 1 and "fingerprints differ" in warned[0]


def test_the_loader_merges_the_adapter_and_collects_stop_ids(tmp_path: Path) -> None:
    base = write_llada(tmp_path / "base")
    model = load_diffusion(resolved(base, write_adapter(tmp_path / "adapter", base), "GSAI-ML/LLaDA-8B-Instruct"), "cpu", "float32")
    assert model.adapted
    assert {1, 3, 126081, 126348} <= model.stops  # config, end of turn, and what the checkpoint's entry adds
