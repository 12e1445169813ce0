"""What runs have learned of the replies of models, and the texts of the prompts that they have used."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from redraft.store.connection import Repository, storable
from redraft.store.documents import now
from redraft.store.records import record_in


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """What is known of a model's replies; None where nothing is."""

    mode: str | None = None
    """The way of asking for a structured reply in which one could be read."""
    reasoning_tokens: int | None = None
    """The most tokens that it has thought before an answer."""


class CapabilityStore(Repository):
    """What is known of the models that one database has met, each by its identity."""

    def known(self, identity: str) -> ModelCapabilities:
        """Return what has been learned of a model; of an unknown one, nothing."""
        row = self._connection.row(
            "SELECT mode, reasoning_tokens FROM capabilities WHERE model = ?", (storable(identity),)
        )
        return ModelCapabilities(row["mode"], row["reasoning_tokens"]) if row else ModelCapabilities()

    def learn_mode(self, identity: str, mode: str) -> None:
        """Remember in which way a model is to be asked, in place of what was remembered."""
        self._learn("mode", identity, mode, "excluded.mode")

    def learn_reasoning(self, identity: str, tokens: int) -> None:
        """Remember how much a model has thought. It is the most of all its thoughts that counts."""
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
    """The prompts of one database."""

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
