"""What is known of models' replies, and the texts of the prompts that runs used."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from redraft.store.connection import Repository, storable
from redraft.store.documents import now
from redraft.store.records import record_in


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """What is known of a model's replies; None if nothing is."""

    mode: str | None = None
    """The structured-output mode that worked."""
    reasoning_tokens: int | None = None
    """The most reasoning tokens it used before an answer."""


class CapabilityStore(Repository):
    """The known capabilities of models, by identity."""

    def known(self, identity: str) -> ModelCapabilities:
        """Return what is known of a model; empty for an unknown one."""
        row = self._connection.row(
            "SELECT mode, reasoning_tokens FROM capabilities WHERE model = ?", (storable(identity),)
        )
        return ModelCapabilities(row["mode"], row["reasoning_tokens"]) if row else ModelCapabilities()

    def learn_mode(self, identity: str, mode: str) -> None:
        """Record the structured-output mode of a model."""
        self._learn("mode", identity, mode, "excluded.mode")

    def learn_reasoning(self, identity: str, tokens: int) -> None:
        """Record how many reasoning tokens a model used; the maximum is kept."""
        more = "excluded.reasoning_tokens > coalesce(capabilities.reasoning_tokens, 0)"
        learned = f"CASE WHEN {more} THEN excluded.reasoning_tokens ELSE capabilities.reasoning_tokens END"
        self._learn("reasoning_tokens", identity, tokens, learned)

    def _learn(self, column: str, identity: str, value: object, learned: str) -> None:
        with self._connection.writing() as raw:
            raw.execute(
                f"INSERT INTO capabilities (model, {column}, learned) VALUES (?, ?, ?)"  # noqa: S608
                f" ON CONFLICT (model) DO UPDATE SET {column} = {learned}, learned = excluded.learned",
                (storable(identity), value, now()),
            )


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """A prompt as it was when it was used."""

    hash: str
    name: str
    text: str


class PromptShelf(Repository):
    """The prompts in one database."""

    def keep(self, records: Iterable[PromptRecord]) -> None:
        """Store the prompts that are new: a text never changes under its hash."""
        with self._connection.writing() as raw:
            raw.executemany(
                "INSERT INTO prompts VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                [(one.hash, one.name, storable(one.text)) for one in records],
            )

    def of(self, hashes: Sequence[str]) -> Mapping[str, PromptRecord]:
        """Return the known prompts of these hashes."""
        rows = self._connection.rows(
            "SELECT * FROM prompts WHERE hash IN (SELECT value FROM json_each(?))", (json.dumps(list(hashes)),)
        )
        return {row["hash"]: record_in(PromptRecord, row) for row in rows}
