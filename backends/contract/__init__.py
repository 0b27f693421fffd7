"""What a method is, in types: card, inputs, settings, checkpoints, events, artifacts, claims and errors.

Source: the studio's own design (README, "Architecture"). Everything here is plain pydantic and the standard library, so
that the web process can read every card without importing a numerical library.

It deliberately holds no behaviour: finding cards is `app.registry`, running methods is `app.engine`.
"""

from backends.contract.card import Card, Checkpoint, Determinism, Estimate, Example, Paper, Preset, ResolvedCheckpoint, Source, Tab
from backends.contract.claims import BadInput, BenchContext, Claim, ClaimResult, Verdict
from backends.contract.errors import (
    Cancelled,
    CheckpointError,
    DeadlineExceeded,
    Fault,
    InputError,
    MethodError,
    NumericalError,
    OutOfMemory,
    SettingError,
)
from backends.contract.events import Artifact, Better, Event, Metric, Note, Preview, Produced, Progress, Step
from backends.contract.fields import FieldSpec, Group, Inputs, Settings, field_specs, input_field, setting
from backends.contract.method import Context, Method

__all__ = [
    "Artifact",
    "BadInput",
    "BenchContext",
    "Better",
    "Cancelled",
    "Card",
    "Checkpoint",
    "CheckpointError",
    "Claim",
    "ClaimResult",
    "Context",
    "DeadlineExceeded",
    "Determinism",
    "Estimate",
    "Event",
    "Example",
    "Fault",
    "FieldSpec",
    "Group",
    "InputError",
    "Inputs",
    "Method",
    "MethodError",
    "Metric",
    "Note",
    "NumericalError",
    "OutOfMemory",
    "Paper",
    "Preset",
    "Preview",
    "Produced",
    "Progress",
    "ResolvedCheckpoint",
    "SettingError",
    "Settings",
    "Source",
    "Step",
    "Tab",
    "Verdict",
    "field_specs",
    "input_field",
    "setting",
]
