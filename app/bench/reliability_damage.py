"""A byte of the database changed anywhere: the store opens, or refuses by name (reliability figure A11).

A small store with something in every table is copied, one random byte of its file is changed, and every question the store
knows is asked, then some changes are made. Each may be refused with one of `storage.errors`; any other exception is a fault.

It deliberately does not ask whether the damage is found: a byte inside a prompt is a prompt of one other letter.
"""

import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from storage.database import FILE_NAME
from storage.errors import StoreError
from storage.store import Store
from storage.values import ArtifactRow, HistoryQuery, NewRun, PaneSpec, RunState

RUNS, ENDED = 12, 8
HEADER_BYTES = 100
"""Every tenth change hits the file's header, which a uniform choice would nearly always miss."""


@dataclass
class DamageReport:
    """How often the store opened or refused to, and every exception that was not one of its own."""

    opened: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)


def change_bytes(folder: Path, changes: int, seed: int = 0) -> DamageReport:
    """Figure A11: so many copies of a store, each with one changed byte."""
    original = folder / "original"
    runs, comparison = _make_store(original)
    random = Random(seed)
    report = DamageReport()
    for number in range(changes):
        copy = Path(shutil.copytree(original, folder / str(number)))
        _change_one_byte(copy / FILE_NAME, random, in_header=number % 10 == 0)
        _use(copy, runs, comparison, report)
        shutil.rmtree(copy)
    return report


def _change_one_byte(file: Path, random: Random, in_header: bool) -> None:
    place = random.randrange(HEADER_BYTES if in_header else file.stat().st_size)
    with file.open("rb+") as opened:
        opened.seek(place)
        byte = opened.read(1)[0]
        opened.seek(place)
        opened.write(bytes([byte ^ random.randrange(1, 256)]))


def _use(folder: Path, runs: list[str], comparison: str, report: DamageReport) -> None:
    try:
        with Store.open(None, folder) as store:
            report.opened += 1
            for ask in (*_questions(store, runs, comparison), *_changes(store, runs)):
                try:
                    ask()
                except StoreError:
                    continue
                except Exception as error:  # the one thing this trial looks for
                    report.faults.append(f"{type(error).__name__}: {error}")
    except StoreError:
        report.refused += 1
    except Exception as error:  # the same, while opening
        report.faults.append(f"{type(error).__name__}: {error}")


def _questions(store: Store, runs: list[str], comparison: str) -> list[Callable[[], Any]]:
    return [
        *(partial(store.run, run) for run in runs),
        *(partial(store.history, query) for query in (HistoryQuery(), HistoryQuery(text="words"), HistoryQuery(tag="tag"))),
        *(store.integrity, store.queue, store.checkpoints, partial(getattr, store, "paused"), lambda: list(store.records())),
        *(partial(store.runs, runs), partial(store.record, 3), partial(store.find_done, "f" * 64)),
        *(partial(store.comparison, comparison), partial(store.comparison_runs, comparison), partial(store.presets, "trial")),
        *(partial(store.draft, "ann", "text"), partial(store.known_digest, "/x", 1, 1), partial(store.typical_seconds, "trial", "none")),
    ]


def _changes(store: Store, runs: list[str]) -> list[Callable[[], Any]]:
    return [
        *(store.recover, partial(store.claim, ["cpu"]), partial(store.move, runs[-1], 1), partial(store.retry, runs[0])),
        *(
            partial(store.annotate, runs[1], "note"),
            partial(store.add_runs, [_request("")]),
            partial(store.finish, runs[9], RunState.FAILED),
        ),
        *(partial(store.add_artifact, runs[0], _artifact(b"new"), _sign), partial(store.delete_runs, runs[:3])),
        *(partial(store.save_preset, "trial", "name", {}), partial(store.set_paused, True), store.cancel_all_queued),
    ]


def _make_store(folder: Path) -> tuple[list[str], str]:
    with Store.open(None, folder) as store:
        panes = (PaneSpec(pane="A", method="trial", checkpoint="none", settings={}),)
        comparison = store.add_comparison(tab="text", title="t", inputs={}, seed=1, repeats=1, baseline="A", panes=panes)
        runs = store.add_runs([_request(f"Run {number}", comparison.id) for number in range(RUNS)])
        for run in runs[:ENDED]:
            store.claim(["cpu"])
            store.add_artifact(run.id, _artifact(run.id.encode("ascii")), _sign)
            store.tag(run.id, ["tag"])
            store.finish(run.id, RunState.DONE)
        store.save_preset("trial", "name", {"steps": 1})
        store.save_draft("ann", "text", {"prompt": "x"})
        store.add_checkpoint("key", "trial", {"title": "x"})
        store.remember_digest("/x", 1, 1, "0" * 64)
        store.set_paused(False)
    return [run.id for run in runs], comparison.id


def _request(title: str, comparison: str | None = None) -> NewRun:
    fields = {"method": "trial", "method_title": "Trial", "tab": "text", "checkpoint": "none", "fingerprint": "f" * 64, "title": title}
    return NewRun(
        id=secrets.token_hex(16), inputs={"prompt": "a few words"}, settings={"steps": 1}, seed=1, comparison=comparison, pane="A", **fields
    )


def _artifact(data: bytes) -> dict[str, object]:
    return {"kind": "bytes", "name": "output", "media_type": "application/octet-stream", "data": data}


def _sign(row: ArtifactRow, previous: str, sequence: int) -> bytes:
    return f"{sequence} {previous} {row.id} {row.digest}".encode("ascii")
