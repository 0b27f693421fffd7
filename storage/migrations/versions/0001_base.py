"""The first schema: runs and their details, comparisons, artifacts, records, presets, drafts, checkpoints.

A database of this version may still be opened years later: later steps build on exactly these columns.
It deliberately repeats the tables of its day in plain types instead of importing the current ones.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

COUNTER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


def _text(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _counter() -> sa.Column[int]:
    return sa.Column("sequence", COUNTER, primary_key=True, autoincrement=True)


def _comparisons(tables: sa.MetaData) -> None:
    sa.Table(
        "comparisons",
        tables,
        _counter(),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        *_text("tab", "title", "kind", "inputs", "seed"),
        sa.Column("repeats", sa.Integer, nullable=False),
        *_text("baseline", "panes", "axes", "owner"),
        sa.Column("created", sa.BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )


def _runs(tables: sa.MetaData) -> None:
    sa.Table(
        "runs",
        tables,
        _counter(),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        *_text("method", "tab", "checkpoint", "device", "owner", "purpose"),
        sa.Column("comparison", sa.String(32), sa.ForeignKey("comparisons.id"), index=True),
        sa.Column("pane", sa.Text),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("place", sa.BigInteger),
        sa.Column("claimed_by", sa.String(32)),
        sa.Column("partial", sa.Boolean, nullable=False),
        sa.Column("starred", sa.Boolean, nullable=False),
        sa.Column("listed", sa.Boolean, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("started", sa.BigInteger),
        sa.Column("finished", sa.BigInteger),
        sa.Column("wall_seconds", sa.Float),
        sa.Index("ix_runs_state_place", "state", "place"),
        sa.Index("ix_runs_chips", "tab", "state", "partial", "starred", "listed", "purpose", "owner", "method"),
        sa.Index("ix_runs_fingerprint", "fingerprint", "state"),
        sa.Index("ix_runs_durations", "method", "checkpoint", "state", "sequence", "wall_seconds", "purpose"),
        sqlite_autoincrement=True,
    )


def _details(tables: sa.MetaData) -> None:
    sa.Table(
        "run_details",
        tables,
        sa.Column("sequence", COUNTER, sa.ForeignKey("runs.sequence", ondelete="CASCADE"), primary_key=True, autoincrement=False),
        *_text("method_title", "title", "inputs", "settings", "seed", "dtype"),
        sa.Column("seconds_limit", sa.Float),
        *_text("parents", "tags", "note"),
        sa.Column("fault", sa.Text),
        *_text("notes", "metrics", "checkpoint_digests", "environment"),
        sa.Column("preview", sa.Text),
    )
    sa.Table(
        "run_tags",
        tables,
        sa.Column("tag", sa.Text, primary_key=True),
        sa.Column("sequence", COUNTER, sa.ForeignKey("runs.sequence", ondelete="CASCADE"), primary_key=True, index=True),
    )


def _artifacts(tables: sa.MetaData) -> None:
    sa.Table(
        "artifacts",
        tables,
        _counter(),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("run", sa.String(32), sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("digest", sa.String(64), nullable=False, index=True),
        *_text("kind", "name", "media_type"),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        *_text("facts"),
        sa.Column("partial", sa.Boolean, nullable=False),
        sa.Column("record", sa.BigInteger),
        sqlite_autoincrement=True,
    )
    sa.Table(
        "records",
        tables,
        sa.Column("sequence", COUNTER, primary_key=True, autoincrement=False),
        sa.Column("run", sa.String(32), index=True),
        sa.Column("artifact", sa.String(32), index=True),
        sa.Column("artifact_digest", sa.String(64), index=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("previous", sa.String(64), nullable=False, unique=True),
        sa.Column("envelope", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
    )


def _kept_choices(tables: sa.MetaData) -> None:
    sa.Table(
        "presets",
        tables,
        _counter(),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        *_text("method", "name"),
        sa.Column("version", sa.Integer, nullable=False),
        *_text("settings"),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("method", "name", "version"),
        sqlite_autoincrement=True,
    )
    sa.Table(
        "drafts",
        tables,
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("tab", sa.Text, primary_key=True),
        *_text("data"),
    )
    sa.Table(
        "checkpoints",
        tables,
        _counter(),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        *_text("method", "spec"),
        sa.Column("created", sa.BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    sa.Table(
        "file_digests",
        tables,
        sa.Column("path", sa.Text, primary_key=True),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("mtime_ns", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
    )
    sa.Table("switches", tables, sa.Column("name", sa.String(32), primary_key=True), sa.Column("value", sa.Boolean, nullable=False))


def upgrade() -> None:
    """Make the tables."""
    tables = sa.MetaData(naming_convention=NAMES)
    _comparisons(tables)
    _runs(tables)
    _details(tables)
    _artifacts(tables)
    _kept_choices(tables)
    tables.create_all(op.get_bind(), checkfirst=False)
