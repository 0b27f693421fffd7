"""Steps from each schema version to the next, run by Alembic without a configuration file.

All missing steps run in the transaction they are given, so a process killed in the middle leaves the old version; the
databases supported here can both undo table definitions. Each step in `versions/` is frozen: it describes the tables as they
were then and never reads `storage.schema`.

It deliberately offers no way back: an older studio refuses a newer database and says so.
"""

import logging
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection

from storage.errors import NewerVersion

_log = logging.getLogger(__name__)


def configuration() -> Config:
    """Alembic's configuration for the folder beside this file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def versions() -> tuple[str, ...]:
    """Every schema version, oldest first."""
    return tuple(step.revision for step in reversed(list(ScriptDirectory.from_config(configuration()).walk_revisions())))


def upgrade(connection: Connection, to: str = "head") -> None:
    """Bring the database to version `to` inside the connection's transaction."""
    config = configuration()
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, to)
    except CommandError as error:
        _log.warning("the database cannot be brought to the current version: %s", error)
        raise NewerVersion(
            "The database was written by another version of the studio.", "Start the version that wrote it, or install the newest."
        ) from error
