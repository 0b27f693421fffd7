"""`run` and `compare`: the same requests the page sends, from the command line.

Without inputs a method's first example is used. `run` ends with 1 if the run failed or was stopped.

It deliberately has no options of its own for a method's settings: `--set name=value` reaches all of them, and a wrong name or value
is answered by the method's own fields.
"""

from typing import Annotated, Any

import typer

from app.api import Studio
from app.errors import RequestRefused
from app.values import CompareRequest, ComparisonSummary, SubmitRequest
from backends.contract import Card, Fault
from storage.values import ArtifactRow, PaneSpec, RunRow, RunState
from ui.cli_follow import follow
from ui.cli_options import assignments, opened, options_of, print_json, refused, screen, shared_inputs
from ui.cli_render import show_comparison, show_fault, show_run

Prompt = Annotated[str | None, typer.Option("--prompt", "-p", help="The prompt, for methods that read one.")]
Inputs = Annotated[str | None, typer.Option("--inputs", help="All shared inputs: a JSON object, or @file with one.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="Every random choice follows from it.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document instead of a table.")]
Title = Annotated[str, typer.Option("--title", help="A name for History.")]


def run(
    context: typer.Context,
    method: Annotated[str, typer.Argument(help="A method's key; `doctor` lists them.")],
    prompt: Prompt = None,
    inputs: Inputs = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A setting as name=value; repeat it.")] = None,
    checkpoint: Annotated[str, typer.Option("--checkpoint", help="A checkpoint's key; the method's first if not given.")] = "",
    seed: Seed = 1729,
    title: Title = "",
    seconds: Annotated[float | None, typer.Option("--seconds", min=0.001, help="Stop the run after this long.")] = None,
    json: Json = False,
) -> None:
    """Run one method and keep its output with a signed record."""
    given = shared_inputs(prompt, inputs)
    wanted = assignments(settings or ())
    with opened(options_of(context), engine="none") as reader:
        given = given or _example(reader.registry.card(method))
        _refuse(reader.check(method, checkpoint, given, wanted))
    request = SubmitRequest(
        method=method, checkpoint=checkpoint, inputs=given, settings=wanted, seed=seed, title=title, seconds_limit=seconds
    )
    with opened(options_of(context)) as studio:
        submitted = studio.submit(request)
        follow(studio, screen(to_error=True), runs=(submitted.id,))
        ended = studio.run(submitted.id)
        outputs = [studio.artifact(artifact.id) for artifact in ended.artifacts]
        _report(ended, outputs, json)
    if ended.state is not RunState.DONE:
        raise typer.Exit(1)


def compare(
    context: typer.Context,
    panes: Annotated[list[str], typer.Argument(help="METHOD, METHOD@CHECKPOINT or METHOD:name=value,…; the first is the baseline.")],
    prompt: Prompt = None,
    inputs: Inputs = None,
    seed: Seed = 1729,
    repeats: Annotated[int, typer.Option("--repeats", min=1, max=50, help="Interleaved repeats after a warm-up.")] = 1,
    title: Title = "",
    json: Json = False,
) -> None:
    """Run two to four panes on one input and print what each cost."""
    specs = tuple(_pane("ABCD"[place % 4], text) for place, text in enumerate(panes))
    if not 2 <= len(specs) <= 4:
        raise refused("A comparison has two to four panes.", f"{len(specs)} were named.", "For example: compare autoregressive d2f")
    with opened(options_of(context), engine="none") as reader:
        card = reader.registry.card(specs[-1].method)
        given = shared_inputs(prompt, inputs) or _example(card)
        for pane in specs:
            _refuse(reader.check(pane.method, pane.checkpoint, given, pane.settings))
    request = CompareRequest(tab=card.tab.value, panes=specs, inputs=given, seed=seed, repeats=repeats, title=title)
    with opened(options_of(context)) as studio:
        comparison = studio.compare(request)
        follow(studio, screen(to_error=True), comparison=comparison.id)
        summary = studio.summary(comparison.id)
        if json:
            print_json(summary.model_dump(mode="json"))
        else:
            show_comparison(screen(), summary, _texts(studio, summary))
    if any(pane.state is not RunState.DONE for pane in summary.panes):
        raise typer.Exit(1)


def _refuse(faults: tuple[Fault, ...]) -> None:
    """A wrong request is answered before workers are started for it."""
    if faults:
        raise RequestRefused(faults)


def _example(card: Card) -> dict[str, Any]:
    return dict(card.examples[0].inputs) if card.examples else {}


def _texts(studio: Studio, summary: ComparisonSummary) -> dict[str, str]:
    """What each pane wrote, where it wrote text."""
    written = {pane.pane: next((one for one in pane.artifacts if one.kind == "text"), None) for pane in summary.panes}
    return {pane: studio.artifact(one.id)[1].decode("utf-8", "replace") for pane, one in written.items() if one is not None}


def _pane(letter: str, text: str) -> PaneSpec:
    """`METHOD@CHECKPOINT:name=value,name=value`; all but the method may be left out."""
    name, _, settings = text.partition(":")
    method, _, checkpoint = name.partition("@")
    pairs = [pair for pair in settings.split(",") if pair]
    return PaneSpec(pane=letter, method=method, checkpoint=checkpoint, settings=assignments(pairs))


def _report(ended: RunRow, outputs: list[tuple[ArtifactRow, bytes]], json: bool) -> None:
    if json:
        return print_json({"run": ended.model_dump(mode="json"), "outputs": [_output(*output) for output in outputs]})
    show_run(screen(), ended, outputs)
    if ended.fault is not None:
        show_fault(screen(to_error=True), Fault.model_validate(ended.fault))


def _output(artifact: ArtifactRow, data: bytes) -> dict[str, Any]:
    """An artifact with its text, where it is text."""
    readable = artifact.media_type.startswith("text/") or artifact.media_type == "application/json"
    return artifact.model_dump(mode="json") | ({"text": data.decode("utf-8", "replace")} if readable else {})
