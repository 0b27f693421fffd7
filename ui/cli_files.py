"""`verify` and `export`: take outputs away with their records, and check any file that comes back.

`verify` needs no database: where the data folder has none it reads the file and its record alone, and ends with 1 unless the
signature holds and file and record agree.

It deliberately never overwrites a file that is already there.
"""

from pathlib import Path
from typing import Annotated

import typer

from app.errors import StudioError
from app.provenance.keys import Keys
from app.provenance.report import VerifyReport
from app.provenance.verify import SIDECAR, verify_file
from ui.cli_options import Options, opened, options_of, print_json, refused, screen
from ui.cli_render import show_report


def verify(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="An exported file, or a record (.intoto.json).")],
    record: Annotated[Path | None, typer.Option("--record", help=f"Its record, if it is not beside it as NAME{SIDECAR}.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document instead of a table.")] = False,
) -> None:
    """Check a file against its signed record."""
    report = _verify(options_of(context), file, record)
    if json:
        print_json(report.model_dump(mode="json"))
    else:
        show_report(screen(), report)
    if not report.valid:
        raise typer.Exit(1)


def _verify(options: Options, file: Path, record: Path | None) -> VerifyReport:
    try:
        sidecar = record.read_bytes() if record is not None else None
        if options.database is None and not (options.data / "diptych.sqlite3").is_file():
            return verify_file(file, sidecar, Keys.open(options.data))
        beside = file.with_name(file.name + SIDECAR)
        if sidecar is None and beside.is_file():
            sidecar = beside.read_bytes()
        with opened(options, engine="none") as studio:
            return studio.verify(file.read_bytes(), file.name, sidecar)
    except OSError as error:
        raise refused(f"{file} cannot be read.", error.strerror or str(error), "Check the path.") from error


def export(
    context: typer.Context,
    target: Annotated[str, typer.Argument(help="Id of a run, an artifact or a comparison.")],
    format: Annotated[str, typer.Argument(help="One of the formats listed without it.")] = "",
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder, or a name for the file.")] = Path(),
) -> None:
    """Write an output with its signed record beside it; without a format, list the formats."""
    with opened(options_of(context), engine="none") as studio:
        known = studio.export_formats(target)
        if not format:
            for one in known:
                typer.echo(f"{one.key:12} {one.label}")
            return
        keys = [one.key for one in known]
        if format not in keys:
            raise refused(f"“{format}” is not a format of this.", f"There are: {', '.join(keys)}.", "Pick one of these.")
        files = studio.export(target, format)
    folder, renamed = (output, "") if output.is_dir() or output == Path() else (output.parent, output.name)
    first = files[0].name
    for file in files:
        _write(folder / (file.name.replace(first, renamed, 1) if renamed else file.name), file.data)


def _write(path: Path, data: bytes) -> None:
    try:
        with path.open("xb") as target:
            target.write(data)
    except FileExistsError as error:
        raise StudioError(f"{path} is already there.", "Nothing is overwritten.", "Name another file with -o.") from error
    except OSError as error:
        raise StudioError(f"{path} cannot be written.", error.strerror or str(error), "Name another place with -o.") from error
    typer.echo(str(path))
