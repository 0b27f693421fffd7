"""What a running method tells the studio: a stream of small frozen values.

A method's `run` is a generator of these. Progress and Step are for the live view, Preview is what would be kept if the run
ended now, Metric and Note stay with the run, Produced hands over a finished artifact.

It deliberately carries no identity: run ids, digests and times are added by the engine.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Better = Literal["lower", "higher"] | None


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


class Artifact(_Value):
    """Something worth keeping.

    Parameters
    ----------
    kind: what a viewer and the exporters key on: "text", "decoding_trace", "image", "mesh", …
    name: short role inside the run, unique there ("answer", "trace"); becomes part of file names.
    media_type: RFC 6838 type of `data`.
    data: the bytes themselves.
    facts: small JSON values about it (length, bounds, formula, …).
    partial: the run had not finished when this was taken.
    """

    kind: str
    name: str
    media_type: str
    data: bytes
    facts: dict[str, Any] = Field(default_factory=dict)
    partial: bool = False


class Progress(_Value):
    """Where the run is: `step` of `total` (None: unknown) of `phase` ("load", "decode", …)."""

    type: Literal["progress"] = "progress"
    phase: str
    step: int
    total: int | None = None


class Step(_Value):
    """One step of the algorithm for the live view; `data` is defined by the artifact kind the method produces."""

    type: Literal["step"] = "step"
    index: int
    data: dict[str, Any]


class Preview(_Value):
    """The output so far. If the run is stopped, killed or interrupted, the last preview is kept as a partial artifact."""

    type: Literal["preview"] = "preview"
    artifact: Artifact


class Metric(_Value):
    """A measured number with its unit.

    `better` says which direction is good, None when neither is. `sample_size` is set for a score over several cases
    (then `value` counts the good ones, shown as "36 of 40").
    """

    type: Literal["metric"] = "metric"
    name: str
    value: float
    unit: str = ""
    label: str
    better: Better = None
    sample_size: int | None = None


class Note(_Value):
    """A sentence the user should read beside the output."""

    type: Literal["note"] = "note"
    level: Literal["info", "warning"]
    text: str


class Produced(_Value):
    """A finished artifact: the engine stores it by digest and signs its record."""

    type: Literal["produced"] = "produced"
    artifact: Artifact


Event = Annotated[Progress | Step | Preview | Metric | Note | Produced, Field(discriminator="type")]
