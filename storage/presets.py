"""What users keep besides runs: presets, drafts, checkpoints they added; and the digests of files already read.

A preset saved again under its name becomes its next version; drafts and digests are overwritten.
It deliberately checks no settings: a preset may be older than its method, the app says so when it is used.
"""

import secrets
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from storage.core import Core, checked_id
from storage.errors import NotFound
from storage.rows import column_values, decoding, fetch, load_presets, number
from storage.schema import checkpoints, drafts, file_digests, presets
from storage.values import CheckpointRow, PresetRow


class Presets(Core):
    """The store's part for presets, drafts, checkpoints and known digests."""

    def save_preset(self, method: str, name: str, settings: Mapping[str, Any]) -> PresetRow:
        """Keep settings under a name; the same name again is a new version, the old ones stay."""

        def work(connection: Connection) -> PresetRow:
            same = (presets.c.method == method) & (presets.c.name == name)
            last = number(connection, select(func.max(presets.c.version)).where(same)) or 0
            row = PresetRow(
                id=secrets.token_hex(16), method=method, name=name, version=last + 1, settings=dict(settings), created=self._clock()
            )
            connection.execute(insert(presets).values(**row.model_dump()))
            return row

        return self._write(work)

    def presets(self, method: str) -> tuple[PresetRow, ...]:
        """Every version of every preset of a method, in the order they were saved."""
        with self._read() as connection:
            statement = select(presets).where(presets.c.method == method).order_by(presets.c.sequence)
            return load_presets(connection, statement)

    def delete_preset(self, id: str) -> None:
        """Delete one version of a preset."""

        def work(connection: Connection) -> None:
            if connection.execute(delete(presets).where(presets.c.id == checked_id("preset", id))).rowcount == 0:
                raise NotFound("preset", id)

        self._write(work)

    def save_draft(self, owner: str, tab: str, data: Mapping[str, Any]) -> None:
        """Keep what somebody has filled in on a tab and not yet run."""

        def work(connection: Connection) -> None:
            connection.execute(delete(drafts).where(drafts.c.owner == owner, drafts.c.tab == tab))
            connection.execute(insert(drafts).values(owner=owner, tab=tab, data=dict(data)))

        self._write(work)

    def draft(self, owner: str, tab: str) -> dict[str, Any] | None:
        """What somebody had filled in on a tab; None when nothing was kept."""
        with self._read() as connection:
            found = column_values(connection, select(drafts.c.data).where(drafts.c.owner == owner, drafts.c.tab == tab))
        return dict(found[0]) if found else None

    def add_checkpoint(self, key: str, method: str, spec: Mapping[str, Any]) -> CheckpointRow:
        """Keep a checkpoint a user added; the same key again replaces it."""

        def work(connection: Connection) -> CheckpointRow:
            row = CheckpointRow(key=key, method=method, spec=dict(spec), created=self._clock())
            connection.execute(delete(checkpoints).where(checkpoints.c.key == key))
            connection.execute(insert(checkpoints).values(**row.model_dump()))
            return row

        return self._write(work)

    def checkpoints(self, method: str = "") -> tuple[CheckpointRow, ...]:
        """Checkpoints users added, of one method or of all, in the order they were added."""
        statement = select(checkpoints.c.key, checkpoints.c.method, checkpoints.c.spec, checkpoints.c.created)
        if method:
            statement = statement.where(checkpoints.c.method == method)
        with self._read() as connection:
            rows = fetch(connection, statement.order_by(checkpoints.c.sequence))
            with decoding():
                return tuple(CheckpointRow(**row._mapping) for row in rows)

    def remove_checkpoint(self, key: str) -> None:
        """Forget a checkpoint a user added; its files are not touched."""

        def work(connection: Connection) -> None:
            if connection.execute(delete(checkpoints).where(checkpoints.c.key == key)).rowcount == 0:
                raise NotFound("checkpoint", repr(key))

        self._write(work)

    def known_digest(self, path: str, size: int, mtime_ns: int) -> str | None:
        """The digest this file had when it was last read, if size and time are still the same."""
        same = (file_digests.c.path == str(path)) & (file_digests.c.size == size) & (file_digests.c.mtime_ns == mtime_ns)
        with self._read() as connection:
            found = column_values(connection, select(file_digests.c.digest).where(same))
        return str(found[0]) if found else None

    def remember_digest(self, path: str, size: int, mtime_ns: int, digest: str) -> None:
        """Remember a file's digest together with its size and time."""

        def work(connection: Connection) -> None:
            connection.execute(delete(file_digests).where(file_digests.c.path == str(path)))
            connection.execute(insert(file_digests).values(path=str(path), size=size, mtime_ns=mtime_ns, digest=digest))

        self._write(work)
