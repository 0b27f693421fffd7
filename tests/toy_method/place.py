"""Writes the toy into a plug-in folder, weights included, as a user would who was sent it.

Where: a plug-in folder holds one folder a method, each with `card.py`.

It deliberately copies the files and links nothing: the copy must work by itself.
"""

import importlib
import json
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

FILES = ("card.py", "settings.py", "method.py", "claims.py", "README.md")


def place_toy(plugins: Path, name: str = "toy_rotation") -> Path:
    """The folder of the toy below `plugins`."""
    folder = plugins / name
    (folder / "weights").mkdir(parents=True)
    for file in FILES:
        shutil.copy(Path(__file__).parent / file, folder)
    (folder / "weights" / "config.json").write_text(json.dumps({"letters": 26}), encoding="utf-8")
    save_file({"table": np.arange(26, dtype=np.int64)}, folder / "weights" / "model.safetensors")
    importlib.invalidate_caches()
    return plugins
