"""`bench`, `pull` and `doctor`: what this machine measures, lacks and can fetch.

`bench` prints figures with the claims about them and ends with 1 unless every claim holds. `pull` names size and licence before it
fetches anything. `doctor` says of each missing piece how to get it.

It deliberately fetches nothing without being asked, and never lowers a claim.
"""

import json as jsonlib
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from app.bench import TARGETS, bench_all
from app.errors import UnknownCheckpoint
from app.registry import Registry
from backends.contract import Verdict
from ui.cli_options import opened, options_of, print_json, refused, screen
from ui.cli_render import quantity, show_verdict
from ui.doctor import examine, show_examination

Json = Annotated[bool, typer.Option("--json", help="One JSON document instead of a table.")]


def bench(
    context: typer.Context,
    target: Annotated[str, typer.Argument(help="A method's key, studio, reliability, or all.")],
    quick: Annotated[bool, typer.Option("--quick", help="The size the test suite can afford; only some claims are judged.")] = False,
    json: Json = False,
) -> None:
    """Measure a method, the studio itself, or its reliability, and judge the claims."""
    registry = Registry.discover(options_of(context).plugins)
    methods = [card.key for card in registry.cards]
    known = (*methods, *TARGETS, "all")
    if target not in known:
        raise refused(f"There is nothing called “{target}” to measure.", f"There are: {', '.join(known)}.", "Pick one.")
    chosen = (*methods, *TARGETS) if target == "all" else (target,)
    progress = screen(to_error=True)
    verdicts: list[Verdict] = []
    for verdict in bench_all(registry, chosen, quick, lambda line: progress.print(line, markup=False, style="dim")):
        verdicts.append(verdict)
        if not json:
            show_verdict(screen(), verdict)
    if json:
        documents = [jsonlib.loads(verdict.model_dump_json()) for verdict in verdicts]
        print_json(documents if target == "all" else documents[0])
    if not all(verdict.holds for verdict in verdicts):
        raise typer.Exit(1)


def pull(
    context: typer.Context,
    method: Annotated[str, typer.Argument(help="A method's key.")],
    checkpoint: Annotated[str, typer.Argument(help="A checkpoint's key; without it, what there is.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Accept the licence without being asked.")] = False,
) -> None:
    """Fetch a published checkpoint; size and licence are shown first, an interrupted pull goes on where it ended."""
    console = screen()
    with opened(options_of(context), engine="none") as studio:
        studio.registry.card(method)
        rows = {row.key: row for row in studio.model_rows() if row.method == method}
        if not checkpoint:
            for row in rows.values():
                state = "here" if row.here else "can be pulled" if row.pullable else "not here"
                console.print(f"{row.key:28} {quantity(row.bytes, 'bytes'):>9}  {state:14} {row.licence:20} {row.title}", markup=False)
            return
        if checkpoint not in rows:
            raise UnknownCheckpoint(f"{method} has no checkpoint “{checkpoint}”.", f"Known here: {', '.join(rows)}.", "Pick one of these.")
        row = rows[checkpoint]
        if row.here:
            console.print(f"{row.title} is already here: {row.why}.", markup=False)
            return
        size = quantity(row.bytes, "bytes") if row.bytes else "of a size the hub will tell"
        console.print(f"{row.title}: {size}, licence {row.licence}.", markup=False)
        if not yes and not typer.confirm("Accept the licence and fetch it?"):
            raise typer.Exit(1)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=screen(to_error=True)) as bar:
            task = bar.add_task(row.title, total=None)

            def show(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)

            studio.pull(method, checkpoint, show, accept_licence=True)
        console.print(f"{row.title} is here now.", markup=False)


def doctor(context: typer.Context, json: Json = False) -> None:
    """Say what this machine has, what is missing, and how to get it."""
    examination = examine(options_of(context))
    if json:
        print_json(examination.model_dump(mode="json"))
    else:
        show_examination(screen(), examination)
    if not examination.well:
        raise typer.Exit(1)
