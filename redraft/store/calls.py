"""The ledger: every request to a model with its messages, outcome and cost. Its answers are the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from redraft.domain import Totals, Usage
from redraft.errors import RefusedReply
from redraft.store.connection import Connection, Row, storable
from redraft.store.messages import Message, read_messages
from redraft.store.table import IN_LIST, RecordTable, body_of, in_list, record_in

OK, SENT, LOST = "ok", "sent", "lost"
"""Outcomes of calls: answered, in flight, and in flight when their process died."""
# Attempts that the provider rejected unread. They are free and count against no budget.
TURNED_AWAY = ("rate_limited", "unsupported")
_READ = f"outcome NOT IN {TURNED_AWAY}"
_SUMS = """
    count(*) AS calls, coalesce(sum(prompt_tokens), 0) AS prompt_tokens,
    coalesce(sum(cached_prompt_tokens), 0) AS cached_prompt_tokens,
    coalesce(sum(completion_tokens), 0) AS completion_tokens, coalesce(sum(cost_usd), 0) AS cost_usd,
    count(*) FILTER (WHERE reply IS NOT NULL AND cost_usd IS NULL) AS unpriced
"""


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
    """The reply; None in a list of calls."""
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
    """What is sent: the filled prompt, and the rejected reply if it is asked again. Empty in a list of calls."""
    borrowed: bool = False
    """In a list of a run's calls, whether another run made and paid for it."""
    attempts: int = 1
    """With its texts: how often its run sent the same request."""
    repaired: bool = False
    """From the cache: whether the reply could be read only after a second request."""


COLUMNS = (
    *("run", "key", "model", "prompt", "label", "outcome", "error", "finish_reason", "max_tokens", "lost_tokens"),
    *("cost_usd", "booked_usd", "seconds", "started"),
)
"""The fields of a call with columns of their own; the usage and the reply have others."""


def columns_of(call: Call) -> dict[str, object]:
    """Return the columns of a call, but for its reply."""
    columns = {name: getattr(call, name) for name in COLUMNS}
    columns |= {"error": storable(call.error), "label": storable(call.label)}
    usage = call.usage
    columns |= {"prompt_tokens": usage.prompt_tokens, "cached_prompt_tokens": usage.cached_prompt_tokens}
    columns |= {"completion_tokens": usage.completion_tokens}
    return columns | {"body": body_of(call, *COLUMNS, "reply", "messages", "borrowed", "attempts", "repaired")}


CUT = ("length", "broken_off")
"""The finish reasons of replies that were cut off."""


def is_cut_below(limit: int | None, row: Row) -> bool:
    """Return whether an answer was cut off at fewer tokens than `limit`, so that more room may complete it."""
    cut_at = row["max_tokens"] if row["finish_reason"] in CUT else None
    return cut_at is not None and (limit is None or cut_at < limit)


class Calls:
    """The ledger of one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, key: str, run: str | None, limit: int | None = None) -> Call | None:
        """Return the call with the cached answer to a request, and record that `run` used it. One that was cut off is
        none for a request with a higher `limit`, in tokens."""
        row = self._connection.row(
            "SELECT c.*, t.text AS content,"
            " EXISTS (SELECT 1 FROM calls WHERE key = c.key AND outcome = 'unreadable' AND id < c.id) AS repaired"
            " FROM calls c JOIN texts t ON t.id = c.reply WHERE key = ? AND outcome = 'ok'",
            (key,),
        )
        if row is None or is_cut_below(limit, row):
            return None
        if run and not self._connection.row("SELECT 1 FROM uses WHERE run = ? AND call = ?", (run, row["id"])):
            with self._connection.writing() as raw:
                raw.execute("INSERT INTO uses VALUES (?, ?) ON CONFLICT DO NOTHING", (run, row["id"]))
        return record_in(Call, row, *COLUMNS, reply=row["content"], repaired=bool(row["repaired"]))

    def withdraw(self, key: str, reason: str) -> None:
        """Withdraw the answer to a request: it was paid for, is recorded as refused, and is no longer cached."""
        statement = "UPDATE calls SET outcome = ?, error = ? WHERE key = ? AND outcome = 'ok'"
        with self._connection.writing() as raw:
            raw.execute(statement, (RefusedReply.code, reason[:500], key))

    def of(self, run: str) -> list[Call]:
        """Return every call of a run in the order in which they started, including answers from the cache."""
        rows = self._connection.rows(
            "SELECT *, coalesce(run, '') <> :run AS borrowed FROM calls"
            " WHERE run = :run OR id IN (SELECT call FROM uses WHERE run = :run) ORDER BY borrowed DESC, started, id",
            {"run": run},
        )
        # What cannot cost anything has cost nothing, with or without an answer.
        return [
            record_in(
                *(Call, row, *COLUMNS),
                borrowed=bool(row["borrowed"]),
                cost_usd=row["cost_usd"] if row["booked_usd"] != 0 else 0.0,
            )
            for row in rows
        ]

    def texts_of(self, run: str, number: int) -> Call | None:
        """Return a call of a run with its texts, by its number in the order of `of`."""
        row = self._connection.row(
            "SELECT c.*, t.text AS content, (SELECT count(*) FROM calls o"
            " WHERE o.key = c.key AND coalesce(o.run, '') = coalesce(c.run, '')) AS attempts"
            " FROM calls c LEFT JOIN texts t ON t.id = c.reply"
            " WHERE c.run = :run OR c.id IN (SELECT call FROM uses WHERE run = :run)"
            " ORDER BY coalesce(c.run, '') <> :run DESC, c.started, c.id LIMIT 1 OFFSET :before",
            {"run": run, "before": number - 1},
        )
        if row is None:
            return None
        with self._connection.session() as raw:
            messages = read_messages(raw, row["id"])
        return record_in(Call, row, *COLUMNS, reply=row["content"], messages=messages, attempts=row["attempts"])

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
        (row,) = self._connection.rows(
            f"SELECT {_SUMS}, (SELECT count(*) FROM uses u JOIN calls o ON o.id = u.call"  # noqa: S608
            " WHERE u.run = :run AND coalesce(o.run, '') <> u.run) AS cached,"
            " coalesce((SELECT seconds FROM runs WHERE id = :run), 0) AS seconds,"
            " count(lost_tokens > 0 OR NULL) AS lost, coalesce(sum(lost_tokens), 0) AS lost_tokens,"
            " coalesce(sum(booked_usd) FILTER (WHERE lost_tokens > 0), 0) AS lost_usd,"
            " count((lost_tokens > 0 AND booked_usd IS NULL) OR NULL) AS lost_unpriced"
            f" FROM calls WHERE run = :run AND {_READ}",
            {"run": run},
        )
        lost_usd = None if row["lost_unpriced"] else row["lost_usd"]
        more = {name: row[name] for name in ("cached", "seconds", "lost", "lost_tokens")}
        return replace(_totals_in(row), **more, lost_usd=lost_usd)

    def made_by(self, runs: Sequence[str]) -> dict[str, tuple[int, float | None]]:
        """Return how many calls some runs made, and their cost, read at once; a cost of None is unknown."""
        rows = self._connection.rows(
            f"SELECT run, {_SUMS} FROM calls WHERE run {IN_LIST} AND {_READ} GROUP BY run",  # noqa: S608
            (in_list(runs),),
        )
        return {row["run"]: (row["calls"], _totals_in(row).cost_usd) for row in rows}

    def pace(self, model: str) -> tuple[int, float]:
        """Return the number of a model's latest answers, at most 200, and their mean seconds."""
        (row,) = self._connection.rows(
            "SELECT count(*) AS n, coalesce(avg(seconds), 0) AS mean FROM (SELECT seconds FROM calls"
            " WHERE outcome = 'ok' AND (model = ? OR substr(model, 1, ?) IN (?, ?))"
            " ORDER BY id DESC LIMIT 200) AS latest",
            (model, len(model) + 1, f"{model}@", f"{model}:"),
        )
        return row["n"], row["mean"]

    def taken_by(self, runs: Sequence[str]) -> Totals:
        """Return the usage behind the answers of some runs, each answer counted once, whichever run paid for it: what
        they would cost without a cache. Calls that were never answered do not count."""
        (row,) = self._connection.rows(
            "WITH own AS (SELECT DISTINCT c.key FROM uses u JOIN calls c ON c.id = u.call"  # noqa: S608
            f" WHERE u.run {IN_LIST}) SELECT {_SUMS} FROM calls"
            " WHERE key IN (SELECT key FROM own) AND reply IS NOT NULL AND outcome <> 'duplicate'",
            (in_list(runs),),
        )
        return _totals_in(row)


def _totals_in(row: Row) -> Totals:
    """Return the sums in a row."""
    sums = {name: row[name] for name in ("calls", "prompt_tokens", "cached_prompt_tokens", "completion_tokens")}
    return Totals(**sums, cost_usd=None if row["unpriced"] else row["cost_usd"])


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """What is known about a model's replies; None where nothing is known."""

    mode: str | None = None
    """The structured-output mode that worked."""
    reasoning_tokens: int | None = None
    """The most reasoning tokens it used before an answer."""


class CapabilityStore:
    """The known capabilities of models, by identity."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._table = RecordTable(connection, "knowledge", ModelCapabilities, ("kind", "key"), "capabilities")

    def known(self, identity: str) -> ModelCapabilities:
        """Return what is known of a model; empty for an unknown one."""
        return self._table.first(key=identity) or ModelCapabilities()

    def learn(self, identity: str, *, mode: str = "", reasoning_tokens: int = 0) -> None:
        """Record the structured-output mode of a model, or how many reasoning tokens it used, of which the maximum is
        kept."""
        with self._connection.writing() as raw:
            known = self.known(identity)
            most = max(reasoning_tokens, known.reasoning_tokens or 0) or None
            self._table.put(ModelCapabilities(mode or known.mode, most), raw=raw, key=identity)


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """A prompt as it was when it was used."""

    hash: str
    name: str
    text: str | None
    """None if its text is not recorded."""
