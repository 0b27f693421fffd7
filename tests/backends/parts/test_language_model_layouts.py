"""The shared stack under published key names, against transformers and against itself."""

import json
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from backends.contract import CheckpointError
from backends.parts.language_models.checkpoint import load_checkpoint
from backends.parts.language_models.layouts import build_model
from backends.parts.language_models.shape import shape_from_config
from backends.parts.language_models.tiny_checkpoints import DREAM_7B_CONFIG, LLADA_8B_CONFIG, write_dream, write_llada, write_llama

WRITERS = {"llada": write_llada, "dream": write_dream, "llama": write_llama}


def random_ids(vocabulary: int, count: int = 24) -> torch.Tensor:
    return torch.randint(3, vocabulary - 2, (1, count), generator=torch.Generator().manual_seed(5))


def test_llama_logits_equal_transformers_on_the_same_weights(tmp_path: Path) -> None:
    model = load_checkpoint(write_llama(tmp_path))
    reference = transformers.LlamaForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    ids = random_ids(model.shape.vocabulary)
    with torch.inference_mode():
        assert (model(ids, causal=True) - reference(ids).logits).abs().max() <= 1e-5


def test_pocket_autoregressive_logits_equal_transformers_on_the_same_weights(pocket: Path) -> None:
    model = load_checkpoint(pocket / "autoregressive")
    model.pack()
    reference = transformers.LlamaForCausalLM.from_pretrained(pocket / "autoregressive", dtype=torch.float32).eval()
    ids = random_ids(model.shape.vocabulary, 120)
    with torch.inference_mode():
        assert (model(ids, causal=True) - reference(ids).logits).abs().max() <= 1e-4


def test_qwen2_biases_and_grouped_queries_equal_transformers(tmp_path: Path) -> None:
    folder = write_dream(tmp_path)
    model = load_checkpoint(folder)
    config = json.loads((folder / "config.json").read_text())
    qwen = {**config, "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}
    (folder / "config.json").write_text(json.dumps(qwen))
    reference = transformers.Qwen2ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = random_ids(model.shape.vocabulary)
    with torch.inference_mode():
        torch.testing.assert_close(model(ids, causal=True), reference(ids).logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("layout", WRITERS)
def test_packing_changes_no_logits_and_no_key_names(layout: str, tmp_path: Path) -> None:
    model = load_checkpoint(WRITERS[layout](tmp_path))
    names = set(model.state_dict())
    ids = random_ids(model.shape.vocabulary)
    with torch.inference_mode():
        plain = model(ids)
        model.pack()
        assert (model(ids) - plain).abs().max() <= 1e-5
    assert set(model.state_dict()) == names


@pytest.mark.parametrize("layout", WRITERS)
def test_rows_fed_in_two_windows_with_a_cache_equal_one_full_pass(layout: str, tmp_path: Path) -> None:
    model = load_checkpoint(WRITERS[layout](tmp_path))
    ids = random_ids(model.shape.vocabulary)
    mask = torch.ones(24, 24, dtype=torch.bool)
    mask[:10, 10:] = False  # the first window cannot see the second
    with torch.inference_mode():
        whole = model(ids, mask=mask)
        cache = model.new_cache(24)
        model.hidden(ids[:, :10], cache=cache)
        cache.commit(10)
        second = model.head(model.hidden(ids[:, 10:], start=10, cache=cache))
    assert (second - whole[:, 10:]).abs().max() <= 1e-5


def test_a_cache_cannot_shrink_or_overflow(tmp_path: Path) -> None:
    cache = load_checkpoint(write_llada(tmp_path)).new_cache(8)
    cache.commit(4)
    with pytest.raises(ValueError, match="from 4 to 3"):
        cache.commit(3)
    with pytest.raises(ValueError, match="capacity 8"):
        cache.commit(9)
    assert cache.bytes_held() == 4 * 2 * 2 * 4 * 8 * 4  # positions, keys and values, layers, heads, width, bytes


@pytest.mark.parametrize(
    ("config", "parameters", "samples"),
    [
        (
            LLADA_8B_CONFIG,
            8_015_581_184,
            {
                "model.transformer.wte.weight": (126464, 4096),
                "model.transformer.blocks.31.q_proj.weight": (4096, 4096),
                "model.transformer.blocks.0.ff_proj.weight": (12288, 4096),
                "model.transformer.blocks.0.ff_out.weight": (4096, 12288),
                "model.transformer.blocks.7.attn_norm.weight": (4096,),
                "model.transformer.ln_f.weight": (4096,),
                "model.transformer.ff_out.weight": (126464, 4096),
            },
        ),
        (
            DREAM_7B_CONFIG,
            7_615_616_512,
            {
                "model.embed_tokens.weight": (152064, 3584),
                "model.layers.27.self_attn.k_proj.weight": (512, 3584),
                "model.layers.0.self_attn.q_proj.bias": (3584,),
                "model.layers.0.mlp.down_proj.weight": (3584, 18944),
                "model.norm.weight": (3584,),
                "lm_head.weight": (152064, 3584),
            },
        ),
    ],
    ids=["llada-8b", "dream-7b"],
)
def test_the_published_sizes_have_the_published_names(config: dict, parameters: int, samples: dict) -> None:
    with torch.device("meta"):
        model = build_model(shape_from_config(config))
    found = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    assert {name: found.get(name) for name in samples} == samples
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    folder = write_llama(tmp_path)
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.norm.weight"]
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"lacks 1 keys: model\.norm\.weight"):
        load_checkpoint(folder)


def test_a_surplus_key_is_named(tmp_path: Path) -> None:
    folder = write_llama(tmp_path)
    tensors = load_file(folder / "model.safetensors")
    tensors["model.layers.9.mlp.up_proj.weight"] = torch.zeros(1)
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"model\.layers\.9\.mlp\.up_proj"):
        load_checkpoint(folder)


def test_a_misshapen_key_is_named_with_both_shapes(tmp_path: Path) -> None:
    folder = write_llama(tmp_path)
    tensors = load_file(folder / "model.safetensors")
    tensors["model.norm.weight"] = torch.zeros(7)
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"model\.norm\.weight is \(7,\), not \(32,\)"):
        load_checkpoint(folder)


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    folder = write_llada(tmp_path)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(CheckpointError, match="00002-of-00002"):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model_type": "mamba"}, "mamba"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "rotary scaling"),
        ({"hidden_size": None}, "hidden_size"),
        ({"head_dim": 16}, "head_dim"),
    ],
)
def test_a_config_that_is_not_implemented_is_refused(change: dict, says: str, tmp_path: Path) -> None:
    folder = write_llama(tmp_path)
    config = json.loads((folder / "config.json").read_text()) | change
    config = {name: value for name, value in config.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=says):
        load_checkpoint(folder)


def test_remote_code_in_a_config_is_never_imported(tmp_path: Path) -> None:
    folder = write_llada(tmp_path)
    config = json.loads((folder / "config.json").read_text()) | {"auto_map": {"AutoModel": "evil.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text("raise SystemExit('ran')")
    assert load_checkpoint(folder).shape.layers == 2
