"""The queue: which run is next, and everything that changes the order.

The order is the number `place`, given by the store; moving deals the same numbers out again. Claiming is one transaction, so
no run is ever claimed twice.

It deliberately starts nothing: the engine claims, this part only remembers.
"""

import secrets
from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select, update

from storage.core import Core, load_run, sequence_of
from storage.rows import column_values, fetch, load_runs, select_runs
from storage.runs import insert_runs
from storage.schema import runs, switches
from storage.values import NewRun, RunRow, RunState

ANY_DEVICE = "auto"
_PAUSED = "paused"


class Queue(Core):
    """The store's part for the queue."""

    def claim(self, devices: Collection[str]) -> RunRow | None:
        """Make the first queued run that any of these devices may run a running one and return it.

        None when there is none, or while the queue is paused.
        """
        statement = (
            select(runs.c.sequence, runs.c.id)
            .where(runs.c.state == RunState.QUEUED, runs.c.device.in_([ANY_DEVICE, *devices]))
            .order_by(runs.c.place)
            .limit(1)
        )

        def work(connection: Connection) -> RunRow | None:
            found = fetch(connection, statement) if devices and not _paused(connection) else []
            if not found:
                return None
            values = {"state": RunState.RUNNING, "place": None, "started": self._clock(), "claimed_by": self._installation}
            connection.execute(update(runs).where(runs.c.sequence == found[0].sequence).values(**values))
            return load_run(connection, found[0].id)

        return self._write(work)

    def queue(self) -> tuple[RunRow, ...]:
        """Running runs by sequence, then the queued in order."""
        running = select_runs(with_preview=False).where(runs.c.state == RunState.RUNNING).order_by(runs.c.sequence)
        queued = select_runs(with_preview=False).where(runs.c.state == RunState.QUEUED).order_by(runs.c.place)
        with self._read() as connection:
            return load_runs(connection, running) + load_runs(connection, queued)

    def move(self, id: str, to: int) -> None:
        """Move a queued run to position `to` (1 is next); past either end means that end. Other runs stay where they are."""

        def work(connection: Connection) -> None:
            moved = sequence_of(connection, id)
            statement = select(runs.c.sequence, runs.c.place).where(runs.c.state == RunState.QUEUED).order_by(runs.c.place)
            waiting = fetch(connection, statement)
            order = [row.sequence for row in waiting]
            if moved not in order:
                return
            order.remove(moved)
            order.insert(min(max(to, 1) - 1, len(order)), moved)
            changed = [
                {"key": sequence, "new_place": row.place} for sequence, row in zip(order, waiting, strict=True) if sequence != row.sequence
            ]
            if changed:
                moving = update(runs).where(runs.c.sequence == bindparam("key")).values(place=bindparam("new_place"))
                connection.execute(moving, changed)

        self._write(work)

    def retry(self, id: str) -> RunRow:
        """Queue the same request again as a new run that names this one as its parent."""

        def work(connection: Connection) -> RunRow:
            old = load_run(connection, id)
            request = {name: getattr(old, name) for name in NewRun.model_fields}
            request.update(id=secrets.token_hex(16), parents=(old.id,))
            return insert_runs(connection, [NewRun(**request)], self._clock())[0]

        return self._write(work)

    def cancel_queued(self, id: str) -> bool:
        """Cancel a run that has not started; False when it has, or has ended."""

        def work(connection: Connection) -> bool:
            sequence = sequence_of(connection, id)
            waiting = (runs.c.sequence == sequence) & (runs.c.state == RunState.QUEUED)
            return self._cancel(connection, waiting) == 1

        return self._write(work)

    def cancel_all_queued(self) -> int:
        """Cancel every run that has not started; how many there were."""
        return self._write(lambda connection: self._cancel(connection, runs.c.state == RunState.QUEUED))

    @property
    def paused(self) -> bool:
        """Does the queue hold back its runs? Survives a restart."""
        with self._read() as connection:
            return _paused(connection)

    def set_paused(self, paused: bool) -> None:
        """Hold the queue back, or let it go on."""

        def work(connection: Connection) -> None:
            connection.execute(delete(switches).where(switches.c.name == _PAUSED))
            connection.execute(insert(switches).values(name=_PAUSED, value=paused))

        self._write(work)

    def _cancel(self, connection: Connection, condition: ColumnElement[bool]) -> int:
        values = {"state": RunState.CANCELLED, "place": None, "finished": self._clock()}
        return int(connection.execute(update(runs).where(condition).values(**values)).rowcount)


def _paused(connection: Connection) -> bool:
    return True in column_values(connection, select(switches.c.value).where(switches.c.name == _PAUSED))
