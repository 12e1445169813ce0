"""The ledger: every attempt to ask a model, what came of it, and what it cost. Its answers are the cache."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from redraft.domain import Totals, Usage
from redraft.errors import RefusedReply
from redraft.store.connection import Repository, Row
from redraft.store.records import record_in

OK, SENT, LOST = "ok", "sent", "lost"
"""Of calls: answered, in flight, and in flight when their process died."""
GATHERED = "not handed over"
"""The error of a call in flight that waits for a job: nothing of it was sent, and who dies so far owes nothing."""
# Attempts that the provider turned away unread. They cost nothing and count against no budget.
TURNED_AWAY = ("rate_limited", "unsupported")


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt. `outcome` is `ok` or the code of the error that it ended with; `sent` while it is in flight."""

    run: str | None
    key: str
    model: str
    prompt: str
    prompt_hash: str
    label: str
    sample: int
    temperature: float
    max_tokens: int | None
    attempt: int
    outcome: str
    started: str
    seconds: float
    error: str = ""
    """What was wrong; of an answer, what was odd in what it came in."""
    finish_reason: str = ""
    reply: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    """What it cost; None where nobody has said, or where the price is not known."""
    lost_tokens: int = 0
    """As long as nobody has said what was used: the tokens of its own prompt, and the reply that it was asked for."""
    booked_usd: float | None = None
    """What it counts as against a budget: the most that it can cost, until it is known what it did cost."""
    waited: float | None = None
    """The seconds before it was sent: for a place, for a limit a minute, for the budget."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An attempt as the ledger has it, without its reply. `borrowed` says that another run has made and paid it."""

    label: str
    prompt: str
    prompt_hash: str
    model: str
    outcome: str
    error: str
    started: str
    seconds: float
    usage: Usage
    cost_usd: float | None
    borrowed: bool


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """A reply that the cache holds."""

    call: int
    text: str
    finish_reason: str
    usage: Usage
    repaired: bool = False
    """Whether the model had to be asked a second time before its reply could be read."""


class Calls(Repository):
    """The ledger of one database."""

    def find(self, key: str, run: str | None) -> CachedAnswer | None:
        """The cached answer to a request, noted as used by `run`."""
        row = self._connection.row(
            "SELECT c.*, t.text AS body,"
            " EXISTS (SELECT 1 FROM calls WHERE key = c.key AND outcome = 'unreadable' AND id < c.id) AS repaired"
            " FROM calls c JOIN texts t ON t.id = c.reply WHERE key = ? AND outcome = 'ok'",
            (key,),
        )
        if row is None:
            return None
        if run and not self._connection.row("SELECT 1 FROM uses WHERE run = ? AND call = ?", (run, row["id"])):
            with self._connection.writing_beside() as raw:
                raw.execute("INSERT INTO uses VALUES (?, ?) ON CONFLICT DO NOTHING", (run, row["id"]))
        return record_in(CachedAnswer, row, call=row["id"], text=row["body"], usage=_usage(row))

    def withdraw(self, key: str, reason: str) -> None:
        """Take the answer to a request for none: it was paid for, stays on record as refused, and is cached no more."""
        self._write(
            "UPDATE calls SET outcome = ?, error = ? WHERE key = ? AND outcome = 'ok'",
            (RefusedReply.code, reason[:500], key),
        )

    def tokens_of(self, run: str, prompts: Sequence[str]) -> int:
        """The tokens, both ways, of some prompts in a run, with the answers that it took from other runs."""
        row = self._connection.row(
            "SELECT coalesce(sum(prompt_tokens + completion_tokens), 0) AS tokens FROM calls"
            " WHERE (run = :run OR id IN (SELECT call FROM uses WHERE run = :run))"
            " AND prompt IN (SELECT value FROM json_each(:prompts))",
            {"run": run, "prompts": json.dumps(list(prompts))},
        )
        return int(row["tokens"]) if row else 0

    def of(self, run: str) -> list[Recorded]:
        """Every attempt of a run in the order in which they were begun, with the answers it took from other runs."""
        rows = self._connection.rows(
            "SELECT *, coalesce(run, '') <> :run AS borrowed FROM calls"
            " WHERE run = :run OR id IN (SELECT call FROM uses WHERE run = :run) ORDER BY borrowed DESC, started, id",
            {"run": run},
        )
        return [_recorded(row) for row in rows]

    def oddities(self, run: str) -> list[str]:
        """What was odd in what a run's answers came in, by model, such as that another model has answered."""
        rows = self._connection.rows(
            "SELECT DISTINCT model, error FROM calls WHERE outcome = 'ok' AND error <> ''"
            " AND (run = :run OR id IN (SELECT call FROM uses WHERE run = :run)) ORDER BY model, error",
            {"run": run},
        )
        return [f"{row['model']}: {row['error']}" for row in rows]

    def totals(self, run: str) -> Totals:
        """What a run has used so far. `cached` counts the answers it took from other runs."""
        row = self._connection.row(
            "SELECT count(*) AS calls, coalesce(sum(prompt_tokens), 0) AS prompt,"
            " coalesce(sum(cached_prompt_tokens), 0) AS cached_prompt,"
            " coalesce(sum(completion_tokens), 0) AS completion, coalesce(sum(cost_usd), 0) AS cost,"
            " count(*) FILTER (WHERE reply IS NOT NULL AND cost_usd IS NULL) AS unpriced,"
            " count(most_tokens > 0 OR NULL) AS lost, coalesce(sum(most_tokens), 0) AS lost_tokens,"
            " coalesce(sum(booked_usd) FILTER (WHERE most_tokens > 0), 0) AS lost_usd,"
            " count((most_tokens > 0 AND booked_usd IS NULL) OR NULL) AS lost_unpriced"
            " FROM calls WHERE run = ? AND outcome NOT IN (?, ?)",
            (run, *TURNED_AWAY),
        )
        borrowed = self._connection.row(
            "SELECT count(*) AS n FROM uses u JOIN calls c ON c.id = u.call"
            " WHERE u.run = ? AND coalesce(c.run, '') <> u.run",
            (run,),
        )
        seconds = self._connection.row("SELECT seconds FROM runs WHERE id = ?", (run,))
        assert row is not None
        assert borrowed is not None
        return Totals(
            calls=row["calls"],
            cached=borrowed["n"],
            prompt_tokens=row["prompt"],
            cached_prompt_tokens=row["cached_prompt"],
            completion_tokens=row["completion"],
            cost_usd=None if row["unpriced"] else row["cost"],
            seconds=seconds["seconds"] if seconds else 0.0,
            lost=row["lost"],
            lost_tokens=row["lost_tokens"],
            lost_usd=None if row["lost_unpriced"] else row["lost_usd"],
        )

    def made_by(self, runs: Sequence[str]) -> dict[str, tuple[int, float | None]]:
        """How many calls some runs made, and what these cost, read at once; a cost of None is unknown."""
        rows = self._connection.rows(
            "SELECT run, count(*) AS calls, coalesce(sum(cost_usd), 0) AS cost,"
            " count(*) FILTER (WHERE reply IS NOT NULL AND cost_usd IS NULL) AS unpriced FROM calls"
            " WHERE run IN (SELECT value FROM json_each(?)) AND outcome NOT IN (?, ?) GROUP BY run",
            (json.dumps(list(runs)), *TURNED_AWAY),
        )
        return {row["run"]: (row["calls"], None if row["unpriced"] else row["cost"]) for row in rows}

    def pace(self, model: str) -> tuple[int, float]:
        """How many of the latest answers of a model there are, at most 200, and the mean seconds of one."""
        row = self._connection.row(
            "SELECT count(*) AS n, coalesce(avg(seconds), 0) AS mean FROM (SELECT seconds FROM calls"
            " WHERE outcome = 'ok' AND (model = ? OR substr(model, 1, ?) IN (?, ?))"
            " ORDER BY id DESC LIMIT 200) AS latest",
            (model, len(model) + 1, f"{model}@", f"{model}:"),
        )
        assert row is not None
        return row["n"], row["mean"]

    def taken_by(self, runs: Sequence[str]) -> Totals:
        """What the answers of some runs took, whoever asked for them first, each counted once: what it would take
        without what was known before. Attempts that were never answered are no part of it."""
        row = self._connection.row(
            "WITH own AS (SELECT DISTINCT c.key FROM uses u JOIN calls c ON c.id = u.call"
            " WHERE u.run IN (SELECT value FROM json_each(?)))"
            " SELECT count(*) AS calls, coalesce(sum(prompt_tokens), 0) AS prompt,"
            " coalesce(sum(cached_prompt_tokens), 0) AS cached_prompt,"
            " coalesce(sum(completion_tokens), 0) AS completion, coalesce(sum(cost_usd), 0) AS cost,"
            " count(*) - count(cost_usd) AS unpriced"
            " FROM calls WHERE key IN (SELECT key FROM own) AND reply IS NOT NULL AND outcome <> 'duplicate'",
            (json.dumps(list(runs)),),
        )
        assert row is not None
        return Totals(
            calls=row["calls"],
            prompt_tokens=row["prompt"],
            cached_prompt_tokens=row["cached_prompt"],
            completion_tokens=row["completion"],
            cost_usd=None if row["unpriced"] else row["cost"],
        )


def _recorded(row: Row) -> Recorded:
    return record_in(Recorded, row, usage=_usage(row))


def _usage(row: Row) -> Usage:
    return record_in(Usage, row, reported=bool(row["usage_reported"]))
