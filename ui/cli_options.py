"""What every command shares: the global options, opening the studio with them, and reading values from the command line.

A value after "=" is read as JSON where it is JSON ("true", "0.5", "null") and as text where it is not, so that quoting is rarely
needed; `--inputs` takes a JSON object or "@file" with one.

Deliberately absent: checks of ranges. The method's own fields do that, and their messages name the option.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import platformdirs
import typer
from pydantic import BaseModel, ConfigDict
from rich.console import Console

from app.api import Studio
from app.errors import RequestRefused
from backends.contract import Fault

WITH_VALUE = ("--data", "--database", "--engine", "--device", "--port", "--listen", "--auth", "--plugins", "--name")


class Options(BaseModel):
    """The global options as given."""

    model_config = ConfigDict(frozen=True)

    data: Path
    database: str | None = None
    engine: str = "local"
    device: str = "auto"
    port: int | None = None
    listen: str = "127.0.0.1"
    auth: tuple[str, ...] = ()
    plugins: tuple[Path, ...] = ()
    names: tuple[str, ...] = ()


def default_data() -> Path:
    """The user's data folder for this program."""
    return Path(platformdirs.user_data_dir("diptych", appauthor=False))


def options_of(context: typer.Context) -> Options:
    """The global options of this call."""
    found = context.find_object(Options)
    return found if found is not None else Options(data=default_data())


@contextmanager
def opened(options: Options, *, engine: str | None = None) -> Iterator[Studio]:
    """The studio these options describe, closed at the end; `engine` "none" opens it to read only."""
    chosen = engine or options.engine
    studio = Studio.open(options.data, database=options.database, engine=chosen, device=options.device, plugins=options.plugins)
    try:
        yield studio
    finally:
        studio.close()


def screen(to_error: bool = False) -> Console:
    """Where a command writes: results to standard output, progress and errors to standard error."""
    return Console(stderr=to_error, highlight=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False, default=str))


def assignments(pairs: Sequence[str]) -> dict[str, Any]:
    """`key=value` pairs as settings."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator or not name.strip():
            raise refused(f"“{pair}” is not a setting.", "A setting is written name=value.", "For example: --set temperature=0.7")
        found[name.strip()] = value(text)
    return found


def value(text: str) -> Any:
    """`text` as JSON, or as itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def shared_inputs(prompt: str | None, given: str | None) -> dict[str, Any]:
    """The inputs of `--inputs` (a JSON object or @file) with `--prompt` on top; empty if neither was given."""
    inputs = _object(given) if given else {}
    return inputs | ({"prompt": prompt} if prompt is not None else {})


def _object(given: str) -> dict[str, Any]:
    try:
        text = Path(given[1:]).expanduser().read_text(encoding="utf-8") if given.startswith("@") else given
        found = json.loads(text)
    except (OSError, ValueError) as error:
        raise refused("The inputs cannot be read.", str(error), "Give a JSON object, or @file with one.") from error
    if not isinstance(found, dict):
        example = """For example: --inputs '{"prompt": "…"}'"""
        raise refused("The inputs are not a JSON object.", f"They are a {type(found).__name__}.", example)
    return found


def refused(what: str, why: str, next_step: str, field: str | None = None) -> RequestRefused:
    """A wrong use of the command line in the studio's three parts."""
    return RequestRefused((Fault(kind="InputError", what=what, why=why, next_step=next_step, field=field),))
