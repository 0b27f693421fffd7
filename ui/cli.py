"""The command line: studio, run, compare, bench, verify, export, pull, doctor.

Global options may stand before or after the command. Results go to standard output, everything else to standard error. Exit codes:
0 done, 1 something did not hold or failed, 2 the request itself was wrong.

It deliberately decides nothing: every command calls `app.api` (or the bench) and prints what it says.
"""

import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from app.errors import AccessError, RequestRefused, ResourceError, StudioError, UnknownCheckpoint, UnknownMethod, UnknownRun
from backends.contract import Fault, MethodError
from ui import cli_files, cli_machine, cli_runs
from ui.cli_options import WITH_VALUE, Options, default_data, opened, options_of, screen
from ui.cli_render import show_fault

WRONG_REQUEST = (RequestRefused, UnknownMethod, UnknownCheckpoint, UnknownRun, AccessError)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help="Diptych: methods side by side.")


@app.callback(invoke_without_command=True)
def globals_(
    context: typer.Context,
    data: Annotated[Path | None, typer.Option("--data", help="Folder for runs, files and keys.")] = None,
    database: Annotated[str | None, typer.Option("--database", help="postgresql+psycopg://… instead of SQLite in the data folder.")] = None,
    engine: Annotated[str, typer.Option("--engine", help="local, ray, or ray://host:port.")] = "local",
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda, cuda:1, …")] = "auto",
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help="7860, or a free one if that is taken.")] = None,
    listen: Annotated[str, typer.Option("--listen", help="Address to listen on; beyond this machine it demands --auth.")] = "127.0.0.1",
    auth: Annotated[list[str] | None, typer.Option("--auth", help="NAME:PASSWORD of an account; repeat it.")] = None,
    plugins: Annotated[list[Path] | None, typer.Option("--plugins", help="Folder with further methods; repeat it.")] = None,
    name: Annotated[list[str] | None, typer.Option("--name", help="Another host name this server is reached by; repeat it.")] = None,
) -> None:
    """Diptych: new generative and solving methods side by side. Without a command the studio opens."""
    context.obj = Options(
        data=(data or default_data()).expanduser().absolute(), database=database, engine=engine, device=device, port=port, listen=listen,
        auth=tuple(auth or ()), plugins=tuple(plugins or ()), names=tuple(name or ()),
    )  # fmt: skip
    if context.invoked_subcommand is None:
        studio(context)


@app.command("studio")
def studio(context: typer.Context) -> None:
    """Open the studio: serves the page until Ctrl+C."""
    from ui.server import ServerOptions, check_options, serve  # gradio takes a second to import: only this command pays for it

    options = options_of(context)
    server = ServerOptions(
        listen=options.listen, port=7860 if options.port is None else options.port, auth=_accounts(options.auth), host_names=options.names,
        data=options.data,
    )  # fmt: skip
    check_options(server)
    console = screen()
    signal.signal(signal.SIGTERM, _leave)
    with opened(options) as running:
        for problem in running.registry.problems:
            screen(to_error=True).print(f"Left out: {problem.where}: {problem.why}", markup=False)

        def announce(address: str) -> None:
            console.print(f"Diptych is at {address}\n{running.status().device}, data in {options.data}. Ctrl+C stops it.", markup=False)

        try:
            serve(running, server, announce)
        except ResourceError:  # the usual port is taken
            if options.port is not None:
                raise
            serve(running, server.model_copy(update={"port": 0}), announce)
        except KeyboardInterrupt:
            console.print("Stopped.")


def _accounts(pairs: Sequence[str]) -> tuple[tuple[str, str], ...]:
    split = [pair.partition(":") for pair in pairs]
    return tuple((name, password) for name, _, password in split)


def _leave(number: int, frame: FrameType | None) -> None:
    """SIGTERM ends the program as Ctrl+C does: workers stop, the store closes."""
    raise SystemExit(0)


for _name, _function in (
    ("run", cli_runs.run), ("compare", cli_runs.compare), ("bench", cli_machine.bench), ("verify", cli_files.verify),
    ("export", cli_files.export), ("pull", cli_machine.pull), ("doctor", cli_machine.doctor),
):  # fmt: skip
    app.command(_name)(_function)


def hoisted(arguments: Sequence[str]) -> list[str]:
    """The arguments with global options moved before the command, so that both orders work."""
    front: list[str] = []
    rest: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            rest += [word, *waiting]
            break
        if word in WITH_VALUE:
            front += [word, *waiting[:1]]
            del waiting[:1]
        else:
            (front if word.partition("=")[0] in WITH_VALUE else rest).append(word)
    return front + rest


def main(arguments: Sequence[str]) -> int:
    """Run a command; errors become sentences and an exit code."""
    try:
        app(hoisted(arguments), prog_name="launch.py")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    except (StudioError, MethodError) as error:
        fault = error.fault() if isinstance(error, StudioError) else error.fault
        _tell(getattr(error, "faults", (fault,)), "--json" in arguments)
        return 2 if isinstance(error, WRONG_REQUEST) else 1
    return 0


def _tell(faults: tuple[Fault, ...], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"errors": [fault.model_dump(mode="json") for fault in faults]}, ensure_ascii=False))
    for fault in faults:
        show_fault(screen(to_error=True), fault)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
