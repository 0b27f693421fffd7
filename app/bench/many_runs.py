"""A history of many runs, made in seconds: some hundreds are added through the store, the rest are copies of them in SQL.

The history's speed is measured on it (in the test suite and by `bench studio`).

It deliberately works on a fresh SQLite store only, and the copies have no artifacts.
"""

import secrets
from random import Random

from sqlalchemy import Connection, text

from storage.schema import run_details, runs
from storage.store import Store
from storage.values import NewRun, RunState

DISTINCT = 500
TABS = ("text", "image", "shape", "solve")
OWNERS = ("", "ann", "bob")


def fill_history(store: Store, count: int, seed: int = 0) -> None:
    """Put `count` finished runs (a multiple of 500) into an empty store. Each prompt holds the word "story"."""
    random = Random(seed)
    vocabulary = [f"word{number}" for number in range(2000)]
    originals = store.add_runs([_request(random, vocabulary) for _ in range(DISTINCT)])
    if [run.sequence for run in originals] != list(range(1, DISTINCT + 1)) or count % DISTINCT:
        raise ValueError(f"the store must be new, and the number of runs a multiple of {DISTINCT}")
    store._write(lambda connection: _copy(connection, count // DISTINCT - 1))


def _request(random: Random, vocabulary: list[str]) -> NewRun:
    tab = random.choice(TABS)
    return NewRun(
        id=secrets.token_hex(16),
        method=f"{tab}-{random.randint(1, 4)}",
        method_title="A method",
        tab=tab,
        checkpoint="pocket",
        inputs={"prompt": "story " + " ".join(random.choices(vocabulary, k=15))},
        settings={f"setting_{number}": round(random.random(), 3) for number in range(12)},
        seed=random.randint(0, 2**32),
        title=" ".join(random.choices(vocabulary, k=3)),
        owner=random.choice(OWNERS),
    )


def _copy(connection: Connection, copies: int) -> None:
    """Give every original `copies` copies, numbered on; then let all of them have ended in different ways."""
    narrow = ", ".join(column.name for column in runs.c if column.name not in ("sequence", "id"))
    wide = ", ".join(column.name for column in run_details.c if column.name != "sequence")
    numbers = "WITH RECURSIVE copy(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM copy WHERE i < :copies)"
    new = f"copy.i * {DISTINCT} +"
    for statement in (
        f"{numbers} INSERT INTO runs (sequence, id, {narrow})"
        f" SELECT {new} sequence, lower(hex(randomblob(16))), {narrow} FROM copy, runs WHERE sequence <= {DISTINCT}",
        f"{numbers} INSERT INTO run_details (sequence, {wide}) SELECT {new} sequence, {wide} FROM copy, run_details",
        f"{numbers} INSERT INTO run_search (rowid, words) SELECT {new} rowid, words FROM copy, run_search",
    ):
        connection.execute(text(statement), {"copies": copies})
    ended = {"done": RunState.DONE, "failed": RunState.FAILED}
    connection.execute(
        text(
            "UPDATE runs SET place = NULL, state = CASE sequence % 17 WHEN 0 THEN :failed ELSE :done END,"
            " partial = sequence % 13 = 0, starred = sequence % 11 = 0"
        ),
        ended,
    )
