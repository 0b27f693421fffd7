"""Which code ran: the studio's version, and its commit when it runs from a checkout.

`dirty` says whether files differ from the commit. Packages and devices are described by the worker that used them.

It deliberately reads no path, user, host or environment variable into the result.
"""

import functools
import logging
import subprocess
from pathlib import Path

from pydantic import BaseModel, ConfigDict

_LOG = logging.getLogger(__name__)
_ROOT = Path(__file__).resolve().parents[2]
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
