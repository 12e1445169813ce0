"""LangGraph's checkpoints on a server, in tables beside the store's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from typing_extensions import override

from redraft.store.checkpoints import OF_RUN
from redraft.store.connection import Checkpoints
from redraft.store.postgres.connection import PostgresConnection

_TEXT_ID = "[0-9a-f]{64}"
_TABLES = {
    "checkpoints": "checkpoint::text",
    "checkpoint_blobs": "encode(blob, 'escape')",
    "checkpoint_writes": "encode(blob, 'escape')",
}


class PostgresCheckpoints(Checkpoints):
    """Those of one database."""

    def __init__(self, connection: PostgresConnection) -> None:
        self.connection = connection

    @override
    def explained(self) -> AbstractContextManager[None]:
        return self.connection.explained()

    @override
    def forget(self, runs: Sequence[str]) -> None:
        with self.connection.writing() as raw:
            for table in self._tables():
                raw.executemany(f"DELETE FROM {table} WHERE {OF_RUN}", [{"run": run} for run in runs])  # noqa: S608

    @override
    def bytes_of(self, runs: Sequence[str]) -> int:
        return sum(self._bytes(f"WHERE {OF_RUN}", {"run": run}) for run in runs)

    @override
    def texts(self, without: Sequence[str]) -> set[str]:
        named = {f"run{at}": run for at, run in enumerate(without)}
        others = " AND ".join(f"NOT {OF_RUN.replace(':run', f':{name}')}" for name in named) or "true"
        found: set[str] = set()
        for table, column in self._tables().items():
            query = f"SELECT DISTINCT (regexp_matches({column}, '{_TEXT_ID}', 'g'))[1] AS id FROM {table}"  # noqa: S608
            found |= {row["id"] for row in self.connection.rows(f"{query} WHERE {others}", named)}
        return found

    @override
    def compact(self) -> None:
        """They are compacted with the tables beside them."""

    @property
    @override
    def size(self) -> int:
        return self._bytes()

    def _bytes(self, where: str = "", named: Mapping[str, object] | None = None) -> int:
        queries = [f"SELECT sum(pg_column_size(t.*)) AS n FROM {table} t {where}" for table in self._tables()]  # noqa: S608
        rows = (self.connection.row(query, named or {}) for query in queries)
        return sum(int(row["n"] or 0) for row in rows if row)

    def _tables(self) -> dict[str, str]:
        """Those that there are: a saver makes them when it is first used."""
        rows = self.connection.rows("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        there = {row["tablename"] for row in rows}
        return {table: column for table, column in _TABLES.items() if table in there}

    @override
    def close(self) -> None:
        """They are closed with the tables beside them."""
