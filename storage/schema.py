"""The tables as they are now. How a database gets here from any earlier version is in `storage.migrations`.

A run is two rows: `runs` is narrow (what the queue and the history filter and count by, so that 50,000 of them are scanned in
milliseconds) and `run_details` holds the rest. The full-text index is `storage.search`'s. Records carry no foreign key: they
outlive the runs they tell of, because each names the digest of the one before.

It deliberately holds no query.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)

from storage.columns import Faithful, Json, Moment, Sequence

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

comparisons = Table(
    "comparisons",
    metadata,
    Column("sequence", Sequence, primary_key=True, autoincrement=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("tab", Faithful, nullable=False),
    Column("title", Faithful, nullable=False),
    Column("kind", Faithful, nullable=False),
    Column("inputs", Json, nullable=False),
    Column("seed", Json, nullable=False),
    Column("repeats", Integer, nullable=False),
    Column("baseline", Faithful, nullable=False),
    Column("panes", Json, nullable=False),
    Column("axes", Json, nullable=False),
    Column("owner", Faithful, nullable=False),
    Column("created", Moment, nullable=False),
    sqlite_autoincrement=True,
)

runs = Table(
    "runs",
    metadata,
    Column("sequence", Sequence, primary_key=True, autoincrement=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("method", Faithful, nullable=False),
    Column("tab", Faithful, nullable=False),
    Column("checkpoint", Faithful, nullable=False),
    Column("device", Faithful, nullable=False),
    Column("owner", Faithful, nullable=False),
    Column("purpose", Faithful, nullable=False),
    Column("comparison", String(32), ForeignKey("comparisons.id"), index=True),
    Column("pane", Faithful),
    Column("repeat", Integer, nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("place", BigInteger),
    Column("claimed_by", String(32)),
    Column("partial", Boolean, nullable=False),
    Column("starred", Boolean, nullable=False),
    Column("listed", Boolean, nullable=False),
    Column("created", Moment, nullable=False),
    Column("started", Moment),
    Column("finished", Moment),
    Column("wall_seconds", Float),
    Index("ix_runs_state_place", "state", "place"),
    Index("ix_runs_chips", "tab", "state", "partial", "starred", "listed", "purpose", "owner", "method"),
    Index("ix_runs_fingerprint", "fingerprint", "state"),
    Index("ix_runs_durations", "method", "checkpoint", "state", "sequence", "wall_seconds", "purpose"),
    sqlite_autoincrement=True,
)

run_details = Table(
    "run_details",
    metadata,
    Column("sequence", Sequence, ForeignKey("runs.sequence", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("method_title", Faithful, nullable=False),
    Column("title", Faithful, nullable=False),
    Column("inputs", Json, nullable=False),
    Column("settings", Json, nullable=False),
    Column("seed", Json, nullable=False),
    Column("dtype", Faithful, nullable=False),
    Column("seconds_limit", Float),
    Column("parents", Json, nullable=False),
    Column("tags", Json, nullable=False),
    Column("note", Faithful, nullable=False),
    Column("fault", Json),
    Column("notes", Json, nullable=False),
    Column("metrics", Json, nullable=False),
    Column("checkpoint_digests", Json, nullable=False),
    Column("environment", Json, nullable=False),
    Column("preview", Json),
)

run_tags = Table(
    "run_tags",
    metadata,
    Column("tag", Faithful, primary_key=True),
    Column("sequence", Sequence, ForeignKey("runs.sequence", ondelete="CASCADE"), primary_key=True, index=True),
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("sequence", Sequence, primary_key=True, autoincrement=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("run", String(32), ForeignKey("runs.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("digest", String(64), nullable=False, index=True),
    Column("kind", Faithful, nullable=False),
    Column("name", Faithful, nullable=False),
    Column("media_type", Faithful, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("facts", Json, nullable=False),
    Column("partial", Boolean, nullable=False),
    Column("record", BigInteger),
    sqlite_autoincrement=True,
)

records = Table(
    "records",
    metadata,
    Column("sequence", Sequence, primary_key=True, autoincrement=False),
    Column("run", String(32), index=True),
    Column("artifact", String(32), index=True),
    Column("artifact_digest", String(64), index=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("previous", String(64), nullable=False, unique=True),
    Column("envelope", LargeBinary, nullable=False),
    Column("created", Moment, nullable=False),
)

presets = Table(
    "presets",
    metadata,
    Column("sequence", Sequence, primary_key=True, autoincrement=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("method", Faithful, nullable=False),
    Column("name", Faithful, nullable=False),
    Column("version", Integer, nullable=False),
    Column("settings", Json, nullable=False),
    Column("created", Moment, nullable=False),
    UniqueConstraint("method", "name", "version"),
    sqlite_autoincrement=True,
)

drafts = Table(
    "drafts",
    metadata,
    Column("owner", Faithful, primary_key=True),
    Column("tab", Faithful, primary_key=True),
    Column("data", Json, nullable=False),
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("sequence", Sequence, primary_key=True, autoincrement=True),
    Column("key", Faithful, nullable=False, unique=True),
    Column("method", Faithful, nullable=False),
    Column("spec", Json, nullable=False),
    Column("created", Moment, nullable=False),
    sqlite_autoincrement=True,
)

file_digests = Table(
    "file_digests",
    metadata,
    Column("path", Faithful, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("mtime_ns", BigInteger, nullable=False),
    Column("digest", String(64), nullable=False),
)

switches = Table(
    "switches",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", Boolean, nullable=False),
)
