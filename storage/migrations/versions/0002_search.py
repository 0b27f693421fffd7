"""Full-text search: the index of `storage.search`, filled from the runs already here.

It deliberately asks `storage.search` for the words of a run, because the index must hold what today's searches look for; the
index holds nothing that could not be built again.
"""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from storage import search
from storage.columns import Faithful

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

BATCH = 1000


def upgrade() -> None:
    """Make the index and fill it."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        # detail=none and no column sizes: nothing here asks for phrases or ranks, and the index is a third as large.
        op.execute("CREATE VIRTUAL TABLE run_search USING fts5(words, tokenize = 'ascii', detail = none, columnsize = 0, prefix = '1 2 3')")
    else:
        op.execute(
            "CREATE TABLE run_search (sequence bigint PRIMARY KEY REFERENCES runs (sequence) ON DELETE CASCADE, words tsvector NOT NULL)"
        )
        op.execute("CREATE INDEX ix_run_search_words ON run_search USING gin (words)")
    last = 0
    while rows := _rows_after(connection, last):
        search.index(connection, [(row["sequence"], search.document(row)) for row in rows])
        last = rows[-1]["sequence"]


def _rows_after(connection: sa.Connection, sequence: int) -> list[dict[str, Any]]:
    statement = sa.text(
        "SELECT runs.sequence, runs.method, d.method_title, d.title, d.note, d.tags, d.inputs, d.settings FROM runs"
        " JOIN run_details AS d ON d.sequence = runs.sequence WHERE runs.sequence > :last ORDER BY runs.sequence LIMIT :batch"
    )
    plain = Faithful()
    rows = []
    for found in connection.execute(statement, {"last": sequence, "batch": BATCH}).mappings():
        row = dict(found)
        for name in ("method", "method_title", "title", "note"):
            row[name] = plain.process_result_value(row[name], connection.dialect)
        for name in ("tags", "inputs", "settings"):
            row[name] = json.loads(row[name])
        rows.append(row)
    return rows
