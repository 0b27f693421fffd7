"""Column types that mean the same on SQLite and PostgreSQL.

Text typed by users may hold NUL characters and lone surrogates, which PostgreSQL refuses and UTF-8 cannot encode; JSON is
kept as ASCII text so that both databases give back exactly what was given; moments are whole microseconds in UTC.

It deliberately uses no JSON operators of either database: nothing is queried inside a JSON value.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Integer, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNSTORABLE = re.compile("[\\\\\x00\ud800-\udfff]")
_ESCAPED = re.compile(r"\\([0-9a-f]{4})")

Sequence = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts by itself only in a column of exactly this type."""


class Faithful(TypeDecorator[str]):
    """Text of any characters: the few that cannot be stored are written as a backslash and four digits."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        return _UNSTORABLE.sub(lambda found: f"\\{ord(found[0]):04x}", value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or "\\" not in value:
            return value
        return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value)


class Json(TypeDecorator[Any]):
    """Any JSON value as ASCII text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


class Moment(TypeDecorator[datetime]):
    """A time in UTC as microseconds since 1970; for display only, nothing is ordered by it."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else (value - _EPOCH) // timedelta(microseconds=1)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        return None if value is None else _EPOCH + timedelta(microseconds=value)
