"""The card of a method: everything the studio must know before it loads anything.

A method's folder holds `card.py` with one value `CARD`. Registry, page, command line and HTTP API are derived from it.

It deliberately holds no loading code; `ResolvedCheckpoint` is what the engine hands to `Method.load`.
"""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from backends.contract.fields import Inputs, Settings


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tab(StrEnum):
    """The studio's tabs, in page order."""

    TEXT = "text"
    IMAGE = "image"
    SHAPE = "shape"
    MOLECULE = "molecule"
    FIGURE = "figure"
    CODE = "code"
    SOLVE = "solve"


class Determinism(StrEnum):
    """What a replay promises on the same device and number format."""

    BIT_EXACT = "bit_exact"
    TOLERANCE = "tolerance"
    NONE = "none"


class Paper(_Frozen):
    title: str
    authors: str
    year: int
    arxiv: str = ""


class Source(_Frozen):
    """One folder of files a checkpoint is made of.

    `kind` says how it is found: "pocket" (below assets/pocket), "package" (a file or folder inside an installed package:
    `location` is "package:relative/path"), "hub" (a repository id), "folder" (an absolute path the user named).
    """

    role: str = "base"
    kind: Literal["pocket", "package", "hub", "folder"]
    location: str
    revision: str = ""
    allow_patterns: tuple[str, ...] = ("*.json", "*.safetensors", "tokenizer*", "*.txt", "*.model")
    bytes: int = 0
    licence: str = ""


class Checkpoint(_Frozen):
    """Weights a method can run with. `sources` has one entry a role ("base", "adapter", …)."""

    key: str
    title: str
    sources: tuple[Source, ...]
    parameters: int = 0
    memory_bytes: int = 0
    """Resident bytes when loaded, before any run; an estimate for published weights."""
    dtype: str = "float32"
    note: str = ""
    pocket: bool = False
    """A small checkpoint trained here; results with it are labelled "pocket"."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Facts a method's loader needs and the files do not hold (stop token ids, fingerprints)."""

    @property
    def bytes(self) -> int:
        """Download or disk size of all sources."""
        return sum(source.bytes for source in self.sources)

    @property
    def licence(self) -> str:
        """Licences of all sources, each once."""
        return ", ".join(dict.fromkeys(source.licence for source in self.sources if source.licence))


class ResolvedCheckpoint(_Frozen):
    """A checkpoint whose files are on this machine: role -> folder (or file), and file digests once known."""

    checkpoint: Checkpoint
    paths: dict[str, Path]
    digests: dict[str, str] = Field(default_factory=dict)
    """"role/relative/path" -> sha256 hex of each weight file."""


class Preset(_Frozen):
    """Built-in settings with a source ("LLaDA, GSM8K; paper table 1")."""

    name: str
    settings: dict[str, Any]
    source: str = ""


class Example(_Frozen):
    """A filled-in first comparison. `panes` lists (method key, settings overrides); empty means baseline and this method."""

    title: str
    inputs: dict[str, Any]
    panes: tuple[tuple[str, dict[str, Any]], ...] = ()
    checkpoints: tuple[str, ...] = ()
    """One checkpoint key for each pane; empty means each method's first one."""
    repeats: int = 1
    seed: int = 1729
    point: str = ""
    """What the user will see, in a sentence."""


class Estimate(_Frozen):
    """What a run will need: bytes beyond the loaded weights, seconds if known."""

    bytes: int
    seconds: float | None = None


class Card(_Frozen):
    """See the module. `check(inputs, settings, checkpoint)` raises SettingError or InputError for what pydantic cannot see."""

    key: str = Field(pattern=r"^[a-z][a-z0-9_]{1,39}$")
    title: str
    tab: Tab
    summary: str
    paper: Paper
    licence: str
    inputs: type[Inputs]
    settings: type[Settings]
    checkpoints: tuple[Checkpoint, ...]
    outputs: tuple[str, ...]
    determinism: Determinism
    tolerance: float = 0.0
    baseline: str = ""
    """Key of the method that stands in the left pane when the tab opens; empty: this one is a baseline itself."""
    limits: str = ""
    """What this method is known to lose or not to do, said in the page."""
    examples: tuple[Example, ...] = ()
    presets: tuple[Preset, ...] = ()
    sweep: tuple[str, ...] = ()
    """Settings worth sweeping, best first."""
    folder_roles: tuple[str, ...] = ("base",)
    """Roles a checkpoint made of the user's own folders must name; empty: folders are not accepted."""
    devices: tuple[str, ...] = ("cpu", "cuda")
    order: int = 100
    check: Callable[[Any, Any, Checkpoint], None] | None = None
    estimate: Callable[[Any, Any, Checkpoint], Estimate] | None = None

    def checkpoint(self, key: str) -> Checkpoint:
        """The listed checkpoint `key`; KeyError if there is none."""
        for found in self.checkpoints:
            if found.key == key:
                return found
        raise KeyError(key)
