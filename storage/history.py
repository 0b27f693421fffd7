"""History: finding runs again, and what a user writes on them.

Pages are by key (`before` a sequence), newest first, so page 1,000 costs what page 1 costs. The chips' counts and the total
come from one grouped statement over the narrow table. Warm-ups are not history, and unless asked for neither are repeats and the
further cells of a sweep: they are reached through their comparison.

It deliberately deletes no record: the chain must hold after the runs are gone.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Dialect, FromClause, Row, delete, exists, false, func, insert, select, update

from storage import search
from storage.core import sequence_of, sequences_of
from storage.rows import batches, column_values, fetch, load_runs, select_runs
from storage.runs import SWEEP, WARMUP
from storage.schema import artifacts, comparisons, run_details, run_tags, runs
from storage.sweeping import Sweeping
from storage.values import HistoryPage, HistoryQuery, RunState

PARTIAL = "partial"
"""Accepted by `HistoryQuery.state` besides the states: runs that ended early and left something."""

_LARGEST_SEQUENCE = 2**63 - 1


class History(Sweeping):
    """The store's part for history."""

    def history(self, query: HistoryQuery) -> HistoryPage:
        """One page of runs, newest first, with the number of all matches and the counts of the filter chips."""
        with self._read() as connection:
            source, key, base = _matches(connection.dialect, query)
            groups = _facets(connection, source, base)
            # First which runs, from the narrow table alone; their wide rows are read once the page is known.
            page = select(runs.c.sequence).select_from(source).where(*base, *_chip_conditions(query)).order_by(key.desc())
            if query.before is not None:
                page = page.where(key < min(query.before, _LARGEST_SEQUENCE))
            found = column_values(connection, page.limit(query.limit + 1))
            wanted = runs.c.sequence.in_(found[: query.limit])
            rows = load_runs(connection, select_runs(with_preview=False).where(wanted).order_by(runs.c.sequence.desc()))
        return HistoryPage(
            runs=rows,
            total=sum(row.number for row in groups if _chosen(row, query)),
            next_before=rows[-1].sequence if len(found) > len(rows) else None,
            counts=_counts(groups),
        )

    def star(self, id: str, starred: bool) -> None:
        """Mark or unmark a run as a favourite."""

        def work(connection: Connection) -> None:
            sequence = sequence_of(connection, id)
            connection.execute(update(runs).where(runs.c.sequence == sequence).values(starred=starred))

        self._write(work)

    def tag(self, id: str, tags: Sequence[str]) -> None:
        """Give a run exactly these tags."""
        wanted = list(dict.fromkeys(tags))

        def change(connection: Connection, sequence: int) -> dict[str, Any]:
            connection.execute(delete(run_tags).where(run_tags.c.sequence == sequence))
            if wanted:
                connection.execute(insert(run_tags), [{"sequence": sequence, "tag": name} for name in wanted])
            return {"tags": wanted}

        self._edit(id, change)

    def annotate(self, id: str, note: str) -> None:
        """Write a run's note."""
        self._edit(id, lambda _connection, _sequence: {"note": note})

    def rename(self, id: str, title: str) -> None:
        """Give a run a title."""
        self._edit(id, lambda _connection, _sequence: {"title": title})

    def delete_runs(self, ids: Sequence[str]) -> int:
        """Delete runs that are not running, their artifacts and the files nobody else uses; how many runs were deleted.

        Their records stay.
        """
        count, digests = self._write(lambda connection: _delete(connection, ids))
        self._remove_unreferenced(digests)
        return count

    def _edit(self, id: str, change: Callable[[Connection, int], Mapping[str, Any]]) -> None:
        def work(connection: Connection) -> None:
            sequence = sequence_of(connection, id)
            values = change(connection, sequence)
            connection.execute(update(run_details).where(run_details.c.sequence == sequence).values(**values))
            _index_again(connection, sequence)

        self._write(work)


def _index_again(connection: Connection, sequence: int) -> None:
    details = run_details.c
    statement = select(
        runs.c.method, details.method_title, details.title, details.note, details.tags, details.inputs, details.settings
    ).join_from(runs, run_details, runs.c.sequence == details.sequence)
    (row,) = fetch(connection, statement.where(runs.c.sequence == sequence))
    search.forget(connection, [sequence])
    search.index(connection, [(sequence, search.document(row._asdict()))])


def _matches(dialect: Dialect, query: HistoryQuery) -> tuple[FromClause, ColumnElement[Any], list[ColumnElement[bool]]]:
    """What the whole page is about, by search, method, tag and owner: a table, its sequences, the conditions."""
    conditions: list[ColumnElement[bool]] = [runs.c.purpose != WARMUP if query.all_repeats else runs.c.listed]
    if query.owner is not None:
        conditions.append(runs.c.owner == query.owner)
    if query.method:
        conditions.append(runs.c.method == query.method)
    if query.tag:
        conditions.append(exists().where(run_tags.c.sequence == runs.c.sequence, run_tags.c.tag == query.tag))
    if not query.text.strip():
        return runs, runs.c.sequence, conditions
    found = search.matching(dialect, query.text)
    if found is None:
        return runs, runs.c.sequence, [false()]
    index, key, condition = found
    return index.join(runs, runs.c.sequence == key), key, [*conditions, condition]


def _chip_conditions(query: HistoryQuery) -> list[ColumnElement[bool]]:
    """What the filter chips choose."""
    conditions: list[ColumnElement[bool]] = []
    if query.tab:
        conditions.append(runs.c.tab == query.tab)
    if query.starred:
        conditions.append(runs.c.starred)
    if query.state == PARTIAL:
        conditions.append(runs.c.partial)
    elif query.state:
        conditions.append(runs.c.state == query.state if query.state in set(RunState) else false())
    return conditions


def _facets(connection: Connection, source: FromClause, base: Sequence[ColumnElement[bool]]) -> Sequence[Row[*tuple[Any, ...]]]:
    keys = (runs.c.tab, runs.c.state, runs.c.partial, runs.c.starred)
    return fetch(connection, select(*keys, func.count().label("number")).select_from(source).where(*base).group_by(*keys))


def _chosen(group: Row[*tuple[Any, ...]], query: HistoryQuery) -> bool:
    state = not query.state or (group.partial if query.state == PARTIAL else group.state == query.state)
    return bool(state and (not query.tab or group.tab == query.tab) and (not query.starred or group.starred))


def _counts(groups: Sequence[Row[*tuple[Any, ...]]]) -> dict[str, int]:
    """Matches by chip; every chip counts as if it alone were chosen."""
    counts: Counter[str] = Counter({"all": 0, "starred": 0, "partial": 0, "failed": 0})
    for group in groups:
        counts["all"] += group.number
        counts[group.tab] += group.number
        counts["starred"] += group.number * group.starred
        counts["partial"] += group.number * group.partial
        counts["failed"] += group.number * (group.state == RunState.FAILED)
    return dict(counts)


def _delete(connection: Connection, ids: Sequence[str]) -> tuple[int, list[str]]:
    known = sorted(sequences_of(connection, list(ids)).values())
    digests: set[str] = set()
    comparisons_left: set[str] = set()
    count = 0
    for some in batches(known):
        chosen = runs.c.sequence.in_(some) & (runs.c.state != RunState.RUNNING)
        doomed = fetch(connection, select(runs.c.id, runs.c.sequence, runs.c.comparison).where(chosen))
        files = select(artifacts.c.digest).where(artifacts.c.run.in_([row.id for row in doomed]))
        digests.update(column_values(connection, files))
        comparisons_left.update(row.comparison for row in doomed if row.comparison)
        sequences = [row.sequence for row in doomed]
        search.forget(connection, sequences)
        count += connection.execute(delete(runs).where(runs.c.sequence.in_(sequences))).rowcount
    for comparison in comparisons_left:
        first = select(func.min(runs.c.sequence)).where(runs.c.comparison == comparison, runs.c.purpose == SWEEP)
        connection.execute(update(runs).where(runs.c.sequence == first.scalar_subquery()).values(listed=True))
        unused = ~exists().where(runs.c.comparison == comparison)
        connection.execute(delete(comparisons).where(comparisons.c.id == comparison, unused))
    return count, sorted(digests)
