"""The texts of the prompts that runs have used, by the hashes under which these have them on record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from redraft.store.connection import Connection, storable
from redraft.store.records import record_in


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """A prompt as it was when it was used."""

    hash: str
    name: str
    text: str


class PromptShelf:
    """The prompts of one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def keep(self, records: Iterable[PromptRecord]) -> None:
        """Store those that are not there yet: a text never changes under its hash."""
        with self._connection.writing() as raw:
            raw.executemany(
                "INSERT INTO prompts VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                [(one.hash, one.name, storable(one.text)) for one in records],
            )

    def of(self, hashes: Sequence[str]) -> Mapping[str, PromptRecord]:
        """By hash those that are known."""
        rows = self._connection.rows(
            "SELECT * FROM prompts WHERE hash IN (SELECT value FROM json_each(?))", (json.dumps(list(hashes)),)
        )
        return {row["hash"]: record_in(PromptRecord, row) for row in rows}
