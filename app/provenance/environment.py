"""What ran: package versions, number of threads, and the version of the studio's own code.

Code is named by its commit and whether files differ from it when it runs from a checkout, else by its version.

It deliberately reads no path, user, host or environment variable into the result.
"""

import functools
import importlib.metadata
import logging
import platform
import subprocess
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

_LOG = logging.getLogger(__name__)
_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = (
    "torch", "transformers", "safetensors", "tokenizers", "peft", "diffusers", "numpy", "scipy", "pydantic", "gradio", "sqlalchemy",
    "securesystemslib", "cryptography", "rfc8785",
)  # fmt: skip
"""Packages whose version may change a result or a record; absent ones are left out."""
STUDIO_VERSION = "0.1.0"


class CodeVersion(BaseModel):
    """`commit` is None outside a checkout; `dirty` is then None too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    commit: str | None = None
    dirty: bool | None = None


@functools.cache
def code_version() -> CodeVersion:
    """The version of the code of this process. Read once: what was loaded at the start is what runs."""
    if not (_ROOT / ".git").exists():
        return CodeVersion(version=STUDIO_VERSION)
    commit = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return CodeVersion(version=STUDIO_VERSION, commit=commit or None, dirty=None if changed is None or not commit else bool(changed))


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(_ROOT), *arguments], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        _LOG.info("the commit is not recorded: %s", type(error).__name__)
        return None
    return done.stdout.strip()


@functools.cache
def package_versions() -> dict[str, str]:
    """Versions of the packages that matter and are installed, Python's own included."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def describe(device_name: str, dtype: str, threads: int | None = None) -> dict[str, Any]:
    """The `environment` of a run, in the form records take it."""
    return {
        "device": device_name,
        "dtype": dtype,
        "threads": threads,
        "packages": package_versions(),
        "system": platform.system(),
        "machine": platform.machine(),
        "code": code_version().model_dump(),
    }
