"""Full-text search over runs: FTS5 on SQLite, a tsvector on PostgreSQL, with one and the same idea of a word.

Words are cut here, not in the database: Unicode letters and digits, case and accents folded, each ideograph by itself. Both
indexes hold exactly these words, so a search finds the same runs on both. Every word of a search matches as a beginning
("trans" finds "transformer"), and all must match.

It deliberately ranks nothing: history is ordered by sequence.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnClause, ColumnElement, Connection, Dialect, TableClause, cast, column, delete, table, text
from sqlalchemy.dialects.postgresql import TSQUERY

_IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(f"[{_IDEOGRAPH}]|[^\\W_{_IDEOGRAPH}]+")
LONGEST_WORD = 64
MOST_WORDS = 4000
MOST_CHARACTERS = 200_000
"""Per field. A prompt of megabytes is found by its beginning, and stays below the limits of both indexes."""

_search: TableClause = table("run_search", column("rowid"), column("sequence"), column("words"))


def words(sentence: str) -> Iterator[str]:
    """The words of a text as both indexes hold them."""
    folded = unicodedata.normalize("NFKD", sentence[:MOST_CHARACTERS]).casefold()
    plain = "".join(character for character in folded if not unicodedata.combining(character))
    for found in _WORD.finditer(unicodedata.normalize("NFC", plain)):
        yield found[0][:LONGEST_WORD]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
    elif value is not None:
        yield str(value)


def _prompts(inputs: Mapping[str, Any]) -> Iterator[str]:
    for value in inputs.values():
        yield from _strings(value)


def document(row: Mapping[str, Any]) -> list[str]:
    """The words a run is found by: title, note, tags, method, the text of its inputs, names and values of its settings."""
    texts = [row["title"], row["note"], *row["tags"], row["method"], row["method_title"], *_prompts(row["inputs"])]
    found: dict[str, None] = {}
    for sentence in (*texts, *_strings(row["settings"])):
        for word in words(sentence):
            found[word] = None
            if len(found) == MOST_WORDS:
                return list(found)
    return list(found)


def index(connection: Connection, entries: Iterable[tuple[int, list[str]]]) -> None:
    """Add runs to the index: their sequence and words. They must not be in it yet."""
    if connection.dialect.name == "sqlite":
        rows: list[dict[str, Any]] = [{"sequence": sequence, "words": " ".join(found)} for sequence, found in entries]
        statement = "INSERT INTO run_search (rowid, words) VALUES (:sequence, :words)"
    else:
        rows = [{"sequence": sequence, "words": found} for sequence, found in entries]
        statement = "INSERT INTO run_search (sequence, words) VALUES (:sequence, array_to_tsvector(CAST(:words AS text[])))"
    if rows:
        connection.execute(text(statement), rows)


def forget(connection: Connection, sequences: Sequence[int]) -> None:
    """Take runs out of the index."""
    key = _search.c.rowid if connection.dialect.name == "sqlite" else _search.c.sequence
    connection.execute(delete(_search).where(key.in_(sequences)))


def matching(dialect: Dialect, sentence: str) -> tuple[TableClause, ColumnClause[Any], ColumnElement[bool]] | None:
    """What to join runs with to find those that hold every word of `sentence`; None when it holds no word at all.

    Returns the index, its column of sequences, and the condition on it.
    """
    wanted = list(dict.fromkeys(words(sentence)))
    if not wanted:
        return None
    # Words hold letters and digits only, so neither query language can be spoken through them.
    if dialect.name == "sqlite":
        query = " AND ".join(f'"{word}"*' for word in wanted)
        return _search, _search.c.rowid, column("run_search").bool_op("MATCH")(query)
    query = " & ".join(f"'{word}':*" for word in wanted)
    return _search, _search.c.sequence, _search.c.words.bool_op("@@")(cast(query, TSQUERY))
