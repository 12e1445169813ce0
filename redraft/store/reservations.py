"""Reservations: a call is booked at its maximum cost before it is sent, and settled when its cost is known.

A process that dies in between leaves the call booked. So a budget never counts less than what was sent, despite kills,
lost replies and several processes. What a budget has spent is a single row, which triggers in `schema.sql` update in
the transaction that changes a call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from redraft.domain import Usage
from redraft.store.calls import CUT, LOST, OK, SENT, TURNED_AWAY, Call, columns_of, is_cut_below
from redraft.store.connection import Connection, Transaction
from redraft.store.messages import put_messages
from redraft.store.table import insert_row, put_text

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


class LimitReachedError(Exception):
    """Raised if a call could exceed a limit of `terms`, given the `calls` and `usd` already taken."""

    def __init__(self, terms: ReservationTerms, calls: int, usd: float, in_flight: set[tuple[int, str]]) -> None:
        super().__init__(calls, usd)
        self.terms = terms
        self.calls = calls
        self.usd = usd
        self.in_flight = in_flight
        """The calls in flight and their runs, as far as a process works on them."""


class DuplicateCallError(Exception):
    """The same request was answered meanwhile, or a living process is waiting for it in another run."""


class Reservations:
    """The calls in flight of one database. `is_alive` says whether a process works on a run."""

    def __init__(self, connection: Connection, is_alive: Callable[[str], bool]) -> None:
        self._connection = connection
        self._is_alive = is_alive

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
                if is_in_flight or (is_answered and not is_cut_below(call.max_tokens, row)):
                    raise DuplicateCallError
            sent = replace(call, outcome=SENT, error="", finish_reason="", usage=Usage(reported=False), cost_usd=None)
            columns = columns_of(replace(sent, seconds=0.0))
            [row] = insert_row(raw, "calls", columns, "RETURNING id").fetchall()
            for terms in limited:
                self._check(raw, row["id"], call, terms)
            put_messages(raw, row["id"], call.messages)
        reservation.call = row["id"]

    def take_back(self, reservation: Reservation) -> None:
        """Delete a call that was not sent."""
        if reservation.call is not None:
            with self._connection.writing() as raw:
                raw.execute("DELETE FROM calls WHERE id = ?", (reservation.call,))

    def _check(self, raw: Transaction, booked: int, call: Call, terms: ReservationTerms) -> None:
        """Raise `LimitReachedError` if the budget including this call exceeds a limit."""
        budget = raw.execute(_USED, (terms.budget_key,)).fetchone()
        fits_calls = terms.max_calls is None or budget["calls"] <= terms.max_calls
        if fits_calls and (terms.max_cost is None or budget["usd"] <= terms.max_cost + _ROUNDING):
            return
        rows = raw.execute(_IN_FLIGHT, {"budget": terms.budget_key, "booked": booked}).fetchall()
        at_work = {run for run in {row["run"] for row in rows} if self._is_alive(run)}
        in_flight = {(row["id"], row["run"]) for row in rows if row["run"] in at_work}
        raise LimitReachedError(terms, budget["calls"] - 1, budget["usd"] - (call.booked_usd or 0.0), in_flight)

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
                raw.execute(_GIVES_WAY, (call.key, *CUT, _NO_LIMIT if call.max_tokens is None else call.max_tokens))
            columns = {name: value for name, value in columns_of(call).items() if name not in _FIXED}
            columns["reply"] = reply
            raw.execute(
                f"UPDATE calls SET outcome = {_UNLESS_ANSWERED}, {' = ?, '.join(columns)} = ? WHERE id = ?",  # noqa: S608
                (call.outcome, call.key, call.outcome, *columns.values(), reservation.call),
            )

    def mark_lost(self, run: str) -> None:
        """Mark the calls that a dead process left in flight as lost. They stay booked."""
        if self._connection.row("SELECT 1 FROM calls WHERE run = ? AND outcome = ?", (run, SENT)):
            with self._connection.writing() as raw:
                raw.execute("UPDATE calls SET outcome = ? WHERE run = ? AND outcome = ?", (LOST, run, SENT))

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
            with self._connection.writing() as raw:
                raw.execute("INSERT INTO budget_runs VALUES (?, ?) ON CONFLICT DO NOTHING", (budget_key, run))
