"""The ledger: every request to a model, its outcome and its cost. Its answers are the cache."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from redraft.domain import Totals, Usage
from redraft.errors import RefusedReply
from redraft.store.connection import Repository, Row
from redraft.store.messages import MESSAGES, Message, messages_in, quoted_by
from redraft.store.records import record_in

OK, SENT, LOST = "ok", "sent", "lost"
"""Outcomes of calls: answered, in flight, and in flight when their process died."""
GATHERED = "not handed over"
"""The error of a call that waits for a provider batch: nothing was sent, so a process that dies now owes nothing."""
# Attempts that the provider rejected unread. They are free and count against no budget.
TURNED_AWAY = ("rate_limited", "unsupported")


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model. `outcome` is `ok` or an error code; `sent` while the call is in flight."""

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
    """The error; of an answer, what was unusual about the response."""
    finish_reason: str = ""
    reply: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    """The cost; None if it is not known."""
    lost_tokens: int = 0
    """While the usage is unknown: the tokens of the prompt and of the largest possible reply."""
    booked_usd: float | None = None
    """The amount booked against a budget: the maximum until the actual cost is known."""
    waited: float | None = None
    """Seconds spent waiting for a free slot, a rate limit or the budget before it was sent."""
    messages: tuple[Message, ...] = ()
    """What is sent: the filled prompt, and the rejected reply if it is asked again."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A stored call without its reply. `borrowed` means that another run made and paid for it."""

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
class CallTexts:
    """What was sent and received in a call."""

    messages: tuple[Message, ...]
    """Empty for a call made before messages were stored."""
    reply: str | None
    finish_reason: str
    attempt: int
    attempts: int
    """How often its run sent the same request."""
    run: str | None
    """The run that made it; None once that is deleted."""


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """A cached reply."""

    call: int
    text: str
    finish_reason: str
    usage: Usage
    repaired: bool = False
    """Whether the reply could be read only after a second request."""


class Calls(Repository):
    """The ledger of one database."""

    def find(self, key: str, run: str | None) -> CachedAnswer | None:
        """Return the cached answer to a request, and record that `run` used it."""
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
        """Withdraw the answer to a request: it was paid for, is recorded as refused, and is no longer cached."""
        self._write(
            "UPDATE calls SET outcome = ?, error = ? WHERE key = ? AND outcome = 'ok'",
            (RefusedReply.code, reason[:500], key),
        )

    def tokens_of(self, run: str, prompts: Sequence[str]) -> int:
        """Return the prompt and completion tokens of some prompts in a run, including answers from the cache."""
        row = self._connection.row(
            "SELECT coalesce(sum(prompt_tokens + completion_tokens), 0) AS tokens FROM calls"
            " WHERE (run = :run OR id IN (SELECT call FROM uses WHERE run = :run))"
            " AND prompt IN (SELECT value FROM json_each(:prompts))",
            {"run": run, "prompts": json.dumps(list(prompts))},
        )
        return int(row["tokens"]) if row else 0

    def of(self, run: str) -> list[RecordedCall]:
        """Return every call of a run in the order in which they started, including answers from the cache."""
        rows = self._connection.rows(
            "SELECT *, coalesce(run, '') <> :run AS borrowed FROM calls"
            " WHERE run = :run OR id IN (SELECT call FROM uses WHERE run = :run) ORDER BY borrowed DESC, started, id",
            {"run": run},
        )
        return [_recorded(row) for row in rows]

    def texts_of(self, run: str, number: int) -> CallTexts | None:
        """Return the texts of a call of a run, by its number in the order of `of`."""
        row = self._connection.row(
            "SELECT c.id, c.run, c.finish_reason, c.attempt, t.text AS reply, (SELECT count(*) FROM calls o"
            " WHERE o.key = c.key AND coalesce(o.run, '') = coalesce(c.run, '')) AS attempts"
            " FROM calls c LEFT JOIN texts t ON t.id = c.reply"
            " WHERE c.run = :run OR c.id IN (SELECT call FROM uses WHERE run = :run)"
            " ORDER BY coalesce(c.run, '') <> :run DESC, c.started, c.id LIMIT 1 OFFSET :before",
            {"run": run, "before": number - 1},
        )
        if row is None:
            return None
        parts = self._connection.rows(MESSAGES, (row["id"],))
        quoted = self._connection.row("SELECT text FROM texts WHERE id = ?", (quoted_by(parts),))
        return record_in(CallTexts, row, messages=messages_in(parts, quoted["text"] if quoted else ""))

    def oddities(self, run: str) -> list[str]:
        """Return irregular responses to a run by model, such as an answer by another model."""
        rows = self._connection.rows(
            "SELECT DISTINCT model, error FROM calls WHERE outcome = 'ok' AND error <> ''"
            " AND (run = :run OR id IN (SELECT call FROM uses WHERE run = :run)) ORDER BY model, error",
            {"run": run},
        )
        return [f"{row['model']}: {row['error']}" for row in rows]

    def totals(self, run: str) -> Totals:
        """Return the usage of a run. `cached` counts answers taken from other runs."""
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
        """Return how many calls some runs made, and their cost, read at once; a cost of None is unknown."""
        rows = self._connection.rows(
            "SELECT run, count(*) AS calls, coalesce(sum(cost_usd), 0) AS cost,"
            " count(*) FILTER (WHERE reply IS NOT NULL AND cost_usd IS NULL) AS unpriced FROM calls"
            " WHERE run IN (SELECT value FROM json_each(?)) AND outcome NOT IN (?, ?) GROUP BY run",
            (json.dumps(list(runs)), *TURNED_AWAY),
        )
        return {row["run"]: (row["calls"], None if row["unpriced"] else row["cost"]) for row in rows}

    def pace(self, model: str) -> tuple[int, float]:
        """Return the number of a model's latest answers, at most 200, and their mean seconds."""
        row = self._connection.row(
            "SELECT count(*) AS n, coalesce(avg(seconds), 0) AS mean FROM (SELECT seconds FROM calls"
            " WHERE outcome = 'ok' AND (model = ? OR substr(model, 1, ?) IN (?, ?))"
            " ORDER BY id DESC LIMIT 200) AS latest",
            (model, len(model) + 1, f"{model}@", f"{model}:"),
        )
        assert row is not None
        return row["n"], row["mean"]

    def taken_by(self, runs: Sequence[str]) -> Totals:
        """Return the usage behind the answers of some runs, each answer counted once, whichever run paid for it: what
        they would cost without a cache. Calls that were never answered do not count."""
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


def _recorded(row: Row) -> RecordedCall:
    return record_in(RecordedCall, row, usage=_usage(row))


def _usage(row: Row) -> Usage:
    return record_in(Usage, row, reported=bool(row["usage_reported"]))
