"""What the harness shows: comparisons as the studio would send them, made of generated traces.

Each scene is the JSON the page would get: panes with their events or artifacts, a summary, a sweep, thumbnails. Costs come
through the studio's own ledger, so their words are the real ones.

Deliberately absent: a studio; nothing runs.
"""

from datetime import UTC, datetime
from typing import Any

from app.ledger import ledger
from app.values import (
    Cell,
    ComparisonSummary,
    FirstDifference,
    PairVerdict,
    PaneSummary,
    SettingRow,
    SweepCell,
    SweepSummary,
)
from backends.contract import Fault
from backends.parts.decoding_trace import DecodingTrace
from storage.values import ComparisonRow, MetricRow, PaneSpec, RunRow, RunState
from tests.ui_views.hostile import HOSTILE
from tests.ui_views.traces import PUMP_LEFT, PUMP_RIGHT, in_blocks, long_text, one_by_one, words
from ui.views.thumbnails import compact

COLORS = ("base", "s1", "s2", "s3")
PARTING = words(PUMP_LEFT).index(" is")
"""Where the two texts of the mock part."""
NOW = datetime(2026, 1, 5, 14, 32, tzinfo=UTC)
TITLES = {"autoregressive": "Autoregressive", "d2f": "D2F", "fast_dllm": "Fast-dLLM", "masked_diffusion": "Vanilla diffusion"}


def scene(name: str) -> dict[str, Any]:
    """The scene `name`; KeyError for an unknown one."""
    return {
        "pair": pair,
        "three": three,
        "long": lambda: texts(long_text(2000), long_text(2000), "long"),
        "hostile": hostile,
        "kept": kept,
        "broken": broken,
        "sweep1": lambda: sweep(False),
        "sweep2": lambda: sweep(True),
        "stopped": stopped,
        "plain": plain,
        "thumbs": thumbs,
        "slow": lambda: texts(words(PUMP_LEFT), words(PUMP_LEFT), "slow", ratio=0.6),
    }[name]()


def pair() -> dict[str, Any]:
    """The mock's own example: one text decoded both ways."""
    left, right = one_by_one(words(PUMP_LEFT)), in_blocks(words(PUMP_RIGHT))
    difference = FirstDifference(unit="token", index=PARTING, baseline=" is", other=" equals")
    said = PairVerdict(kind="different", promised=False, sentence=f"First difference at token {PARTING + 1}.", difference=difference)
    return {"panes": [_pane("A", left), _pane("B", right)], "summary": _summary([("autoregressive", left), ("d2f", right)], {"B": said}, 5)}


def texts(left_tokens: list[str], right_tokens: list[str], name: str, ratio: float = 1.0) -> dict[str, Any]:
    """Two traces of given texts; nearly equal texts keep the first difference late."""
    changed = [*right_tokens]
    changed[len(changed) * 3 // 4] = " instead"
    left, right = one_by_one(left_tokens), in_blocks(changed, peak=5 if ratio == 1.0 else 2)
    difference = FirstDifference(unit="token", index=len(changed) * 3 // 4, baseline=left_tokens[len(changed) * 3 // 4], other=" instead")
    said = PairVerdict(kind="different", promised=False, sentence=name, difference=difference)
    return {"panes": [_pane("A", left), _pane("B", right)], "summary": _summary([("autoregressive", left), ("d2f", right)], {"B": said}, 1)}


def kept() -> dict[str, Any]:
    """The same method twice, cache on and off: equal, as promised."""
    trace = in_blocks(words(PUMP_LEFT))
    said = PairVerdict(kind="kept", promised=True, sentence=f"Equal, as promised: {trace.positions} of {trace.positions} tokens.")
    row = SettingRow(field="kv_cache", label="Key-value cache", group="caching", values={"A": True, "B": False})
    return {"panes": [_pane("A", trace), _pane("B", trace)], "summary": _summary([("d2f", trace), ("d2f", trace)], {"B": said}, 3, (row,))}


def broken() -> dict[str, Any]:
    """Equality was promised and not kept."""
    left, right = in_blocks(words(PUMP_LEFT)), in_blocks(words(PUMP_RIGHT), seed=9)
    difference = FirstDifference(unit="token", index=PARTING, baseline=" is", other=" equals")
    said = PairVerdict(kind="broken", promised=True, sentence=f"First difference at token {PARTING + 1}.", difference=difference)
    row = SettingRow(field="kv_cache", label="Key-value cache", group="caching", values={"A": True, "B": False})
    return {"panes": [_pane("A", left), _pane("B", right)], "summary": _summary([("d2f", left), ("d2f", right)], {"B": said}, 3, (row,))}


def three() -> dict[str, Any]:
    """A baseline and two challengers."""
    traces = [
        ("autoregressive", one_by_one(words(PUMP_LEFT))),
        ("d2f", in_blocks(words(PUMP_RIGHT))),
        ("fast_dllm", in_blocks(words(PUMP_LEFT), peak=3, seed=4)),
    ]
    difference = FirstDifference(unit="token", index=PARTING, baseline=" is", other=" equals")
    verdicts = {
        "B": PairVerdict(kind="different", promised=False, sentence="", difference=difference),
        "C": PairVerdict(kind="equal", promised=False, sentence="Equal: 64 of 64 tokens. Nothing promised it."),
    }
    return {
        "panes": [_pane(letter, trace) for letter, (_, trace) in zip("ABC", traces, strict=True)],
        "summary": _summary(traces, verdicts, 3),
    }


def stopped() -> dict[str, Any]:
    """The right pane was stopped by the user with masks left."""
    left, right = one_by_one(words(PUMP_LEFT)), in_blocks(words(PUMP_RIGHT), stop=9)
    said = PairVerdict(kind="none", promised=False, sentence="Pane B was stopped: nothing to compare.")
    return {"panes": [_pane("A", left), _pane("B", right)], "summary": _summary([("autoregressive", left), ("d2f", right)], {"B": said}, 1)}


def plain() -> dict[str, Any]:
    """A method that gives a text and no trace."""
    panes = [_pane("A", one_by_one(words(PUMP_LEFT))), _pane("B", one_by_one(words(PUMP_RIGHT)))]
    for pane in panes:
        pane["artifacts"] = [artifact for artifact in pane["artifacts"] if artifact["kind"] == "text"]
        pane["events"] = []
    return {"panes": panes, "summary": None}


def hostile() -> dict[str, Any]:
    """Every hostile string as a token, a title, a setting, a metric, a fault."""
    left, right = one_by_one(list(HOSTILE)), in_blocks([*HOSTILE, "end"], block=8)
    said = PairVerdict(
        kind="different",
        promised=False,
        sentence=HOSTILE[0],
        difference=FirstDifference(unit="token", index=0, baseline=HOSTILE[1], other=HOSTILE[2]),
    )
    row = SettingRow(field="x", label=HOSTILE[3], group="sampling", values={"A": HOSTILE[4], "B": HOSTILE[5]})
    made = _summary([("d2f", left), ("d2f", right)], {"B": said}, 1, (row,))
    for index, entry in enumerate(made["ledger"]):
        entry["label"] = HOSTILE[index % len(HOSTILE)]
        entry["unit"] = HOSTILE[(index + 1) % len(HOSTILE)]
        for ratio in entry["ratios"].values():
            ratio["words"] = HOSTILE[(index + 2) % len(HOSTILE)]
    panes = [_pane("A", left), _pane("B", right)]
    for pane, text in zip(panes, HOSTILE, strict=False):
        pane["info"]["title"] = text
    swept = sweep(True)
    swept["sweep"]["sentence"] = HOSTILE[0]
    swept["comparison"]["axes"][0]["field"] = HOSTILE[1]
    for cell, text in zip(swept["sweep"]["cells"], HOSTILE, strict=False):
        for metric in cell["metrics"]:
            metric["label"], metric["unit"] = text, text
        if cell["fault"]:
            cell["fault"].update(what=text, why=text, next_step=text)
    thumb = {"kind": "decoding_trace", "data": {"widths": HOSTILE[0], "shades": HOSTILE[1]}}
    return {"panes": panes, "summary": made, **swept, "thumbs": [thumb]}


def thumbs() -> dict[str, Any]:
    """Thumbnails of runs and of a pair."""
    made = [
        {"kind": "decoding_trace", "data": compact("decoding_trace", trace.model_dump(mode="json"))}
        for trace in (
            in_blocks(words(PUMP_RIGHT)),
            one_by_one(words(PUMP_LEFT)),
            in_blocks(words(PUMP_LEFT), stop=8),
            in_blocks(long_text(600)),
        )
    ]
    made.append({"kind": "text", "data": compact("text", PUMP_LEFT)})
    made.append({"kind": "pair", "data": made[:2]})
    return {"thumbs": made}


def _pane(letter: str, trace: DecodingTrace) -> dict[str, Any]:
    dumped = trace.model_dump(mode="json")
    events = [{"type": "step", "index": each["index"], "data": each, "at": each["seconds"]} for each in dumped["passes"]]
    if trace.method == "autoregressive":
        events.insert(0, {"type": "progress", "phase": "decode", "step": 0, "total": len(trace.passes), "at": 0})
    settings = {"max_new_tokens": max(64, trace.positions)} | ({"block_size": trace.block_size} if trace.block_size > 1 else {})
    shared = {"name": "", "bytes": 0, "digest": "0" * 64, "partial": False, "record": 1}
    return {
        "info": {
            "pane": letter,
            "color": COLORS["ABCD".index(letter)],
            "method": trace.method,
            "title": TITLES.get(trace.method, trace.method),
            "baseline": letter == "A",
            "tab": "text",
            "settings": settings,
        },
        "events": events,
        "artifacts": [
            {**shared, "id": f"{letter}0", "kind": "text", "media_type": "text/plain", "json": None, "text": trace.text},
            {**shared, "id": f"{letter}1", "kind": "decoding_trace", "media_type": "application/json", "json": dumped, "text": None},
        ],
    }


def _metrics(trace: DecodingTrace, jitter: float, right: int) -> tuple[MetricRow, ...]:
    wall = trace.passes[-1].seconds + 0.01 + jitter
    return (
        MetricRow(name="wall_seconds", value=wall, unit="s", label="Wall time", better="lower"),
        MetricRow(
            name="first_output_seconds",
            value=trace.passes[0].seconds * (1 if trace.method == "autoregressive" else 2.2),
            unit="s",
            label="First output",
            better="lower",
        ),
        MetricRow(name="tokens_per_second", value=trace.positions / wall, unit="tokens/s", label="Speed", better="higher"),
        MetricRow(name="forward_passes", value=len(trace.passes), unit="passes", label="Forward passes", better="lower"),
        MetricRow(name="cache_bytes", value=max(1_440_000 + 1000 * len(trace.passes), 1), unit="bytes", label="Cache", better="lower"),
        MetricRow(
            name="peak_memory_bytes",
            value=212_000_000 + (19_000_000 if trace.method != "autoregressive" else 0),
            unit="bytes",
            label="Peak memory",
            better="lower",
        ),
        MetricRow(name="answers_right", value=right, unit="of", label="Answers right", better="higher", sample_size=40),
    )


def _run(letter: str, method: str, trace: DecodingTrace, repeat: int) -> RunRow:
    jitter = 0.01 * ((repeat * 7) % 5 - 2)
    right = {"autoregressive": 36, "d2f": 35}.get(method, 33)
    return RunRow(
        id=f"{letter}{repeat}".ljust(32, "0"),
        method=method,
        method_title=TITLES[method],
        tab="text",
        checkpoint="pocket",
        inputs={},
        settings={},
        seed=1729,
        sequence=repeat,
        state=RunState.DONE,
        created=NOW,
        pane=letter,
        repeat=repeat,
        metrics=_metrics(trace, jitter, right),
    )


def _comparison(specs: list[tuple[str, str]], repeats: int) -> ComparisonRow:
    panes = tuple(PaneSpec(pane=letter, method=method, checkpoint="pocket", settings={}) for letter, method in specs)
    return ComparisonRow(
        id="c" * 32, sequence=1, tab="text", title="Pump", inputs={}, seed=1729, repeats=repeats, baseline="A", panes=panes, created=NOW
    )


def _summary(
    traces: list[tuple[str, DecodingTrace]], verdicts: dict[str, PairVerdict], repeats: int, different: tuple[SettingRow, ...] = ()
) -> dict[str, Any]:
    letters = "ABCD"[: len(traces)]
    runs = {
        letter: [_run(letter, method, trace, repeat) for repeat in range(repeats)]
        for letter, (method, trace) in zip(letters, traces, strict=True)
    }
    panes = tuple(
        PaneSummary(
            pane=letter,
            method=method,
            method_title=TITLES[method],
            checkpoint="pocket",
            checkpoint_title="pocket, 1.3 M",
            pocket=True,
            sentence="as published",
            determinism="repeats bit for bit on CPU",
            state=RunState.DONE,
            run=runs[letter][0].id,
            runs=tuple(run.id for run in runs[letter]),
            partial=False,
            fault=None,
            artifacts=(),
        )
        for letter, (method, _) in zip(letters, traces, strict=True)
    )
    specs = [(letter, method) for letter, (method, _) in zip(letters, traces, strict=True)]
    summary = ComparisonSummary(
        comparison=_comparison(specs, repeats),
        panes=panes,
        ledger=ledger(runs, "A"),
        verdicts=verdicts,
        different=different,
        same=(),
        finished=True,
        protocol="median of 5, run in turn A B A B after one warm-up, same machine",
    )
    return summary.model_dump(mode="json")


def sweep(two: bool) -> dict[str, Any]:
    """A sweep of the commit threshold, alone or over block sizes, with waiting, running and failed cells."""
    thresholds, sizes = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95), (8, 16, 32)
    axes = ({"field": "block_size", "values": sizes, "pane": "B"}, {"field": "commit_above", "values": thresholds, "pane": "B"})
    used = axes if two else axes[1:]
    grid = [(size, threshold) for size in sizes for threshold in thresholds] if two else [(threshold,) for threshold in thresholds]
    cells = tuple(_sweep_cell(index, values, len(grid), two) for index, values in enumerate(grid))
    panes = tuple(PaneSpec(pane=cell.pane, method="d2f", checkpoint="pocket", settings={}) for cell in cells)
    comparison = ComparisonRow(
        id=("d" if two else "e") * 32,
        sequence=2,
        tab="text",
        title="Sweep",
        kind="sweep",
        inputs={},
        seed=1729,
        repeats=1,
        baseline="",
        panes=panes,
        axes=used,
        created=NOW,
    )
    summary = SweepSummary(
        comparison=comparison,
        cells=cells,
        score="answers_right",
        speed="tokens_per_second",
        seconds_left=72.0 if two else None,
        finished=not two,
        sentence="" if two else "Fastest of those with the best score: commit above 0.8 (36 of 40, one run each).",
    )
    watch = {
        "comparison": comparison.id,
        "finished": not two,
        "paused": False,
        "runs": [
            {
                "id": cell.run,
                "state": cell.state.value,
                "eta_seconds": 17.0 * (index - 13),
                "events": [{"type": "progress", "phase": "decode", "step": 8, "total": 13}],
            }
            for index, cell in enumerate(cells)
            if cell.state in (RunState.QUEUED, RunState.RUNNING)
        ],
    }
    return {"comparison": comparison.model_dump(mode="json"), "sweep": summary.model_dump(mode="json"), "watch": watch}


def _sweep_cell(index: int, values: tuple[Any, ...], count: int, two: bool) -> SweepCell:
    threshold = values[-1]
    size = values[0] if two else 16
    speed = 60 + 130 * (1 - threshold) + size * 1.5
    right = min(38, round(37 - 26 * max(0.0, 0.8 - threshold) ** 1.5 * 4 - size / 16))
    metrics = (
        MetricRow(name="tokens_per_second", value=round(speed, 2), unit="tokens/s", label="Speed", better="higher"),
        MetricRow(name="answers_right", value=right, label="Answers right", unit="of", better="higher", sample_size=40),
        MetricRow(name="forward_passes", value=round(8 + 20 * threshold), unit="passes", label="Forward passes", better="lower"),
    )
    state = RunState.DONE
    fault = None
    if two and index == 11:
        state, fault = (
            RunState.FAILED,
            Fault(
                kind="OutOfMemory",
                what="Out of memory at pass 9.",
                why="Another program took 2 GB meanwhile.",
                next_step="Lower the block size.",
            ),
        )
    elif two and index == 13:
        state = RunState.RUNNING
    elif two and index > 13:
        state = RunState.QUEUED
    return SweepCell(
        pane=f"cell{index}",
        values=values,
        run=f"{index:032x}",
        state=state,
        reused=index % 5 == 0,
        metrics=metrics if state is RunState.DONE else (),
        fault=fault,
    )


def cell(value: float, spread: float = 0.0, count: int = 1) -> Cell:
    """A ledger cell, for single tests."""
    return Cell(value=value, spread=spread, count=count)
