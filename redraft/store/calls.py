"""The ledger: every request to a model with its messages, outcome and cost. Its answers are the cache.

A call is booked at its maximum cost before it is sent, and settled when its cost is known. A process that dies in
between leaves the call booked. So a budget never counts less than what was sent, despite kills, lost replies and
several processes. What a budget has spent is a single row, which triggers in `schema.sql` update in the transaction
that changes a call. And the rate limits that processes share.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import Literal

from redraft.domain import Totals, Usage
from redraft.errors import RefusedReply
from redraft.store.connection import Connection, Row, storable
from redraft.store.table import IN_LIST, RecordTable, body_of, in_list, insert_row, put_text, record_in

Role = Literal["user", "assistant", "schema"]
"""Who wrote a message; `schema` is the JSON Schema of the reply, which providers take in different ways."""
# Shorter values are no part of their own, since a row would take as much space.
_MIN = 600
_PARTS = "SELECT m.role, t.body FROM messages m JOIN message_texts t ON t.id = m.text WHERE m.call = ? ORDER BY m.idx"
# Lines between which prompts have values: fences, and the gaps between passages.
_BORDER = re.compile(r"^(</?[a-z_]+(?: [^>\n]{0,80})?>|\[…\])$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a call."""

    role: Role
    text: str


def parts_of(words: str) -> Iterator[str]:
    """Yield the parts of a text in order: each long value, and what is in between."""
    rest = ""
    for value in _BORDER.split(words):
        if len(value) >= _MIN:
            yield from filter(None, (rest, value))
            rest = ""
        else:
            rest += value
    if rest:
        yield rest


OK, SENT, LOST = "ok", "sent", "lost"
"""Outcomes of calls: answered, in flight, and in flight when their process died."""
# Attempts that the provider rejected unread. They are free and count against no budget.
TURNED_AWAY = ("rate_limited", "unsupported")
_READ = f"outcome NOT IN {TURNED_AWAY}"
_USED = "SELECT calls, usd / 1000000000000 AS usd, unpriced FROM budget_sums WHERE budget = ?"
_BEFORE = """
    SELECT count(*) AS calls FROM budget_runs JOIN calls c ON c.run = budget_runs.run
    WHERE budget = ? AND started < ? AND outcome NOT IN (?, ?)
"""
# Sums of small costs are inexact; reaching a limit to the cent does not exceed it.
_ROUNDING = 1e-9
# Few calls are in flight at a time, but a large budget has many runs.
_IN_FLIGHT = """
    SELECT id, run FROM calls c WHERE outcome = 'sent' AND id <> :booked
    AND EXISTS (SELECT 1 FROM budget_runs WHERE budget = :budget AND budget_runs.run = c.run)
"""
_ASKED = """
    SELECT outcome, run, finish_reason, max_tokens FROM calls WHERE key = :key AND outcome = 'ok' UNION ALL
    SELECT outcome, run, '', NULL FROM calls
    WHERE key = :key AND outcome = 'sent' AND coalesce(run, '') <> coalesce(:run, '')
"""
_UNLESS_ANSWERED = """
    CASE WHEN ? = 'ok' AND EXISTS (SELECT 1 FROM calls WHERE key = ? AND outcome = 'ok') THEN 'duplicate' ELSE ? END
"""
_GIVES_WAY = """
    UPDATE calls SET outcome = 'duplicate'
    WHERE key = ? AND outcome = 'ok' AND finish_reason IN (?, ?) AND max_tokens < ?
"""
_NO_LIMIT = 2**31 - 1
_FIXED = ("run", "key", "outcome")
_SUMS = """
    count(*) AS calls, coalesce(sum(prompt_tokens), 0) AS prompt_tokens,
    coalesce(sum(cached_prompt_tokens), 0) AS cached_prompt_tokens,
    coalesce(sum(completion_tokens), 0) AS completion_tokens, coalesce(sum(cost_usd), 0) AS cost_usd,
    count(*) FILTER (WHERE reply IS NOT NULL AND cost_usd IS NULL) AS unpriced
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """What is told of a request to a model. `outcome` is `ok` or an error code; `sent` while the call is in flight."""

    label: str
    prompt: str
    model: str
    attempt: int
    outcome: str
    borrowed: bool = False
    """In a list of a run's calls, whether another run made and paid for it."""
    seconds: float
    cost_usd: float | None = None
    """The cost; None if it is not known."""
    error: str = ""
    """The error; of an answer, what was unusual about the response."""
    finish_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(CallRecord):
    """One request to a model in the ledger."""

    run: str | None
    key: str
    prompt_hash: str
    sample: int
    temperature: float
    max_tokens: int | None
    started: str
    reply: str | None = None
    """The reply; None in a list of calls."""
    usage: Usage = field(default_factory=Usage)
    lost_tokens: int = 0
    """While the usage is unknown: the tokens of the prompt and of the largest possible reply."""
    booked_usd: float | None = None
    """The amount booked against a budget: the maximum until the actual cost is known."""
    waited: float | None = None
    """Seconds spent waiting for a free slot, a rate limit or the budget before it was sent."""
    messages: tuple[Message, ...] = ()
    """What is sent: the filled prompt, and the rejected reply if it is asked again. Empty in a list of calls."""
    attempts: int = 1
    """With its texts: how often its run sent the same request."""
    repaired: bool = False
    """From the cache: whether the reply could be read only after a second request."""


_COLUMNS = (
    *("run", "key", "model", "prompt", "label", "outcome", "error", "finish_reason", "max_tokens", "lost_tokens"),
    *("cost_usd", "booked_usd", "seconds", "started"),
)
"""The fields of a call with columns of their own; the usage and the reply have others."""


def _columns_of(call: Call) -> dict[str, object]:
    """Return the columns of a call, but for its reply."""
    columns = {name: getattr(call, name) for name in _COLUMNS}
    columns |= {"error": storable(call.error), "label": storable(call.label)}
    usage = call.usage
    columns |= {"prompt_tokens": usage.prompt_tokens, "cached_prompt_tokens": usage.cached_prompt_tokens}
    columns |= {"completion_tokens": usage.completion_tokens}
    return columns | {"body": body_of(call, *_COLUMNS, "reply", "messages", "borrowed", "attempts", "repaired")}


_CUT = ("length", "broken_off")
"""The finish reasons of replies that were cut off."""


def _is_cut_below(limit: int | None, row: Row) -> bool:
    """Return whether an answer was cut off at fewer tokens than `limit`, so that more room may complete it."""
    cut_at = row["max_tokens"] if row["finish_reason"] in _CUT else None
    return cut_at is not None and (limit is None or cut_at < limit)


@dataclass(frozen=True, slots=True)
class ReservationTerms:
    """What a call is booked against: a budget that several runs may share, and its limits."""

    budget_key: str
    max_calls: int | None = None
    max_cost: float | None = None


@dataclass(slots=True)
class Reservation:
    """A booked call. One that was not `sent` is released."""

    call: int | None = None
    sent: bool = False


@dataclass(eq=False)
class LimitReachedError(Exception):
    """Raised if a call could exceed a limit of `terms`, given the `calls` and `usd` already taken."""

    terms: ReservationTerms
    calls: int
    usd: float
    in_flight: set[tuple[int, str]]
    """The calls in flight and their runs, as far as a process works on them."""


class DuplicateCallError(Exception):
    """The same request was answered meanwhile, or a living process is waiting for it in another run."""


@dataclass(eq=False)
class Calls:
    """The ledger of one database."""

    _connection: Connection
    _is_alive: Callable[[str], bool]
    """Says whether a process works on a run."""

    def book(self, reservation: Reservation, call: Call, *budgets: ReservationTerms) -> None:
        """Book a call against one budget or several; `settle` records its outcome.

        Raises `LimitReachedError` if its maximum cost exceeds the limits, and `DuplicateCallError` if the same request
        is already in flight.
        """
        limited = [terms for terms in budgets if call.run and not (terms.max_calls is None and terms.max_cost is None)]
        for terms in limited:
            self.share(terms.budget_key, call.run or "")
        with self._connection.writing() as raw:
            for row in raw.execute(_ASKED, {"key": call.key, "run": call.run}).fetchall():
                is_answered = row["outcome"] == OK
                is_in_flight = not is_answered and row["run"] is not None and self._is_alive(row["run"])
                if is_in_flight or (is_answered and not _is_cut_below(call.max_tokens, row)):
                    raise DuplicateCallError
            sent = replace(call, outcome=SENT, error="", finish_reason="", usage=Usage(reported=False), cost_usd=None)
            columns = _columns_of(replace(sent, seconds=0.0))
            [row] = insert_row(raw, "calls", columns, "RETURNING id").fetchall()
            for terms in limited:
                # With this call, the budget may exceed a limit.
                budget = raw.execute(_USED, (terms.budget_key,)).fetchone()
                fits_calls = terms.max_calls is None or budget["calls"] <= terms.max_calls
                if fits_calls and (terms.max_cost is None or budget["usd"] <= terms.max_cost + _ROUNDING):
                    continue
                rows = raw.execute(_IN_FLIGHT, {"budget": terms.budget_key, "booked": row["id"]}).fetchall()
                at_work = {run for run in {other["run"] for other in rows} if self._is_alive(run)}
                in_flight = {(other["id"], other["run"]) for other in rows if other["run"] in at_work}
                usd = budget["usd"] - (call.booked_usd or 0.0)
                raise LimitReachedError(terms, budget["calls"] - 1, usd, in_flight)
            texts: dict[str, bytes] = {}
            parts: list[tuple[int, int, Role, str]] = []
            for role, body in ((message.role, part) for message in call.messages for part in parts_of(message.text)):
                content = body.encode("utf-8", "replace")
                key = hashlib.blake2b(content, digest_size=12).hexdigest()
                texts[key] = zlib.compress(content)
                parts.append((row["id"], len(parts), role, key))
            if parts:
                raw.executemany("INSERT INTO message_texts VALUES (?, ?) ON CONFLICT DO NOTHING", list(texts.items()))
                raw.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", parts)
        reservation.call = row["id"]

    def take_back(self, reservation: Reservation) -> None:
        """Delete a call that was not sent."""
        if reservation.call is not None:
            self._connection.write("DELETE FROM calls WHERE id = ?", (reservation.call,))

    def is_sent_elsewhere(self, key: str, run: str | None) -> bool:
        """Return whether a living process is sending this request in another run."""
        rows = self._connection.rows(_ASKED, {"key": key, "run": run})
        return any(row["outcome"] == SENT and row["run"] is not None and self._is_alive(row["run"]) for row in rows)

    def settle(self, reservation: Reservation, call: Call) -> None:
        """Record the outcome of a call. If the request was answered meanwhile, both answers are kept; one that was cut
        off gives way to one with more room."""
        with self._connection.writing() as raw:
            reply = put_text(raw, call.reply) if call.reply is not None else None
            if call.outcome == OK and call.run:
                raw.execute("INSERT INTO uses VALUES (?, ?) ON CONFLICT DO NOTHING", (call.run, reservation.call))
            if call.outcome == OK:
                raw.execute(_GIVES_WAY, (call.key, *_CUT, _NO_LIMIT if call.max_tokens is None else call.max_tokens))
            columns = {name: value for name, value in _columns_of(call).items() if name not in _FIXED}
            columns["reply"] = reply
            raw.execute(
                f"UPDATE calls SET outcome = {_UNLESS_ANSWERED}, {' = ?, '.join(columns)} = ? WHERE id = ?",  # noqa: S608
                (call.outcome, call.key, call.outcome, *columns.values(), reservation.call),
            )

    def mark_lost(self, run: str) -> None:
        """Mark the calls that a dead process left in flight as lost. They stay booked."""
        if self._connection.row("SELECT 1 FROM calls WHERE run = ? AND outcome = ?", (run, SENT)):
            self._connection.write("UPDATE calls SET outcome = ? WHERE run = ? AND outcome = ?", (LOST, run, SENT))

    def used(self, budget_key: str) -> tuple[int, float | None]:
        """Return the calls and dollars taken from a budget, with the maximum for calls in flight; None if a price is
        unknown."""
        row = self._connection.row(_USED, (budget_key,))
        if row is None:
            return 0, 0.0
        return row["calls"], None if row["unpriced"] else row["usd"]

    def calls_before(self, budget_key: str, moment: str) -> int:
        """Count the calls of a budget's runs that were sent before a moment."""
        row = self._connection.row(_BEFORE, (budget_key, moment, *TURNED_AWAY))
        return row["calls"] if row else 0

    def overspent(self, budget_key: str, max_cost: float | None) -> float:
        """Return by how many dollars a budget exceeds a limit."""
        spent = self.used(budget_key)[1]
        if spent is None or max_cost is None or spent <= max_cost + _ROUNDING:
            return 0.0
        return spent - max_cost

    def share(self, budget_key: str, run: str) -> None:
        """Count all past and future usage of a run against a budget."""
        if not self._connection.row("SELECT 1 FROM budget_runs WHERE budget = ? AND run = ?", (budget_key, run)):
            self._connection.write("INSERT INTO budget_runs VALUES (?, ?) ON CONFLICT DO NOTHING", (budget_key, run))

    def find(self, key: str, run: str | None, limit: int | None = None) -> Call | None:
        """Return the call with the cached answer to a request, and record that `run` used it. One that was cut off is
        none for a request with a higher `limit`, in tokens."""
        row = self._connection.row(
            "SELECT c.*, t.text AS content,"
            " EXISTS (SELECT 1 FROM calls WHERE key = c.key AND outcome = 'unreadable' AND id < c.id) AS repaired"
            " FROM calls c JOIN texts t ON t.id = c.reply WHERE key = ? AND outcome = 'ok'",
            (key,),
        )
        if row is None or _is_cut_below(limit, row):
            return None
        if run and not self._connection.row("SELECT 1 FROM uses WHERE run = ? AND call = ?", (run, row["id"])):
            self._connection.write("INSERT INTO uses VALUES (?, ?) ON CONFLICT DO NOTHING", (run, row["id"]))
        return record_in(Call, row, *_COLUMNS, reply=row["content"], repaired=bool(row["repaired"]))

    def withdraw(self, key: str, reason: str) -> None:
        """Withdraw the answer to a request: it was paid for, is recorded as refused, and is no longer cached."""
        statement = "UPDATE calls SET outcome = ?, error = ? WHERE key = ? AND outcome = 'ok'"
        self._connection.write(statement, (RefusedReply.code, reason[:500], key))

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
                *(Call, row, *_COLUMNS),
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
        messages = [
            Message(role, "".join(zlib.decompress(bytes(part["body"])).decode() for part in parts))
            for role, parts in groupby(self._connection.rows(_PARTS, (row["id"],)), itemgetter("role"))
        ]
        more = {"reply": row["content"], "messages": tuple(messages), "attempts": row["attempts"]}
        return record_in(Call, row, *_COLUMNS, **more)

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
        with self._connection.writing():
            known = self.known(identity)
            most = max(reasoning_tokens, known.reasoning_tokens or 0) or None
            self._table.put(ModelCapabilities(mode or known.mode, most), key=identity)


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """A prompt as it was when it was used."""

    hash: str
    name: str
    text: str | None
    """None if its text is not recorded."""


WINDOW = 60.0
_PAST = "DELETE FROM rate_limits WHERE at <= ?"
_IN_ORDER = "SELECT at, tokens FROM rate_limits WHERE limiter = ? ORDER BY at"


def take_turn(
    connection: Connection,
    limiter: str,
    tokens: int,
    *,
    requests_per_minute: int | None,
    tokens_per_minute: int | None,
) -> float:
    """Count a request and return 0, or return the seconds to wait before it may be sent. Callers that share limits use
    the same `limiter` name. A request larger than the limit is sent once nothing else counts against it."""
    with connection.writing() as raw:
        raw.execute(_PAST, (connection.clock() - WINDOW,))
        window = raw.execute(_IN_ORDER, (limiter,)).fetchall()
        now = connection.clock()
        wait = 0.0
        if requests_per_minute is not None and len(window) >= requests_per_minute:
            wait = window[-requests_per_minute]["at"] + WINDOW - now
        taken = sum(request["tokens"] for request in window)
        excess = taken + tokens - tokens_per_minute if tokens_per_minute is not None else 0
        for request in window:
            if excess <= 0:
                break
            excess -= request["tokens"]
            wait = max(wait, request["at"] + WINDOW - now)
        if wait <= 0:
            raw.execute("INSERT INTO rate_limits VALUES (?, ?, ?)", (limiter, now, tokens))
        return min(max(0.0, wait), WINDOW)
