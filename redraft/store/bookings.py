"""Bookings: a call is in the ledger at its most before it is sent, and is settled when it is known what came of it.

Whoever dies in between leaves the call booked. So what counts against a budget is never less than what was sent, over
kills, lost replies, and all the processes that draw on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from redraft.store.calls import LOST, OK, SENT, Call
from redraft.store.connection import Connection, Raw, storable
from redraft.store.documents import put_text
from redraft.store.jobs import attempt_of
from redraft.store.pot_sums import USED

# A sum of many small costs is not exact, and a limit that is met to the cent is not passed.
_ROUNDING = 1e-9
# Few calls are in flight at a time, and of a large pot there are many runs.
_IN_FLIGHT = """
    SELECT DISTINCT run FROM calls c WHERE outcome = 'sent'
    AND EXISTS (SELECT 1 FROM pots WHERE pot = ? AND pots.run = c.run)
"""
_WAITED_FOR = """
    DELETE FROM calls WHERE key = ? AND attempt = ? AND outcome IN ('lost', 'cancelled')
    AND EXISTS (SELECT 1 FROM job_lines WHERE job_lines.attempt = ?)
"""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a call may be booked under: a pot that several runs may draw on, and how much may be taken from it."""

    pot: str
    max_calls: int | None = None
    max_cost: float | None = None


@dataclass(slots=True)
class Booking:
    """A call on record, once it is. One that was not `sent` is taken back."""

    call: int | None = None
    sent: bool = False


class NoRoomError(Exception):
    """A call that could pass a limit, beside the `calls` and the `usd` that are taken already."""

    def __init__(self, calls: int, usd: float, runs: set[str]) -> None:
        super().__init__(calls, usd)
        self.calls = calls
        self.usd = usd
        self.runs = runs
        """The runs that have calls in flight, as far as a process works on them."""


class AskedElsewhereError(Exception):
    """The same has been answered meanwhile, or a living process is asking it in another run: that answer will do."""


class Bookings:
    """The calls in flight of one database. `is_alive` says whether a process works on a run."""

    def __init__(self, connection: Connection, is_alive: Callable[[str], bool]) -> None:
        self._connection = connection
        self._is_alive = is_alive

    def book(self, booking: Booking, call: Call, terms: Terms) -> None:
        """Book a call, for `settle` to say what came of it.

        Raises a `NoRoomError` where the limits leave no room for it at its most, and an `AskedElsewhereError` where the
        same is being asked already.
        """
        with self._connection.writing() as raw:
            answered = raw.execute("SELECT 1 FROM calls WHERE key = ? AND outcome = 'ok'", (call.key,)).fetchone()
            if answered or self._is_sent_elsewhere(raw, call.key, call.run):
                raise AskedElsewhereError
            # A call that is in a job already is waited for again: it is one, and is booked once.
            raw.execute(_WAITED_FOR, (call.key, call.attempt, attempt_of(call.key, call.attempt)))
            if call.run and not (terms.max_calls is None and terms.max_cost is None):
                raw.execute("INSERT INTO pots VALUES (?, ?) ON CONFLICT DO NOTHING", (terms.pot, call.run))
                self._check(raw, call, terms)
            columns = {
                "run": call.run,
                "key": call.key,
                "model": call.model,
                "prompt": call.prompt,
                "prompt_hash": call.prompt_hash,
                "label": storable(call.label),
                "sample": call.sample,
                "temperature": call.temperature,
                "max_tokens": call.max_tokens,
                "attempt": call.attempt,
                "started": call.started,
                "most_tokens": call.most_tokens,
                "booked_usd": call.booked_usd,
            }
            names, places = ", ".join(columns), ", ".join("?" * len(columns))
            booked = raw.execute(
                "INSERT INTO calls (outcome, error, finish_reason, prompt_tokens, completion_tokens,"  # noqa: S608
                f" cached_prompt_tokens, reasoning_tokens, usage_reported, seconds, {names})"
                f" VALUES ('{SENT}', '', '', 0, 0, 0, 0, 0, 0, {places}) RETURNING id",
                tuple(columns.values()),
            ).fetchone()
        booking.call = booked["id"]

    def take_back(self, booking: Booking) -> None:
        """Forget a call that was not sent."""
        if booking.call is not None:
            with self._connection.writing() as raw:
                raw.execute("DELETE FROM calls WHERE id = ?", (booking.call,))

    def _check(self, raw: Raw, call: Call, terms: Terms) -> None:
        used = raw.execute(USED, (terms.pot,)).fetchone()
        fits_calls = terms.max_calls is None or used["calls"] < terms.max_calls
        cost = used["usd"] + (call.booked_usd or 0.0)
        if not fits_calls or (terms.max_cost is not None and cost > terms.max_cost + _ROUNDING):
            waiting = {row["run"] for row in raw.execute(_IN_FLIGHT, (terms.pot,))}
            raise NoRoomError(used["calls"], used["usd"], {run for run in waiting if self._is_alive(run)})

    def is_sent_elsewhere(self, key: str, run: str | None) -> bool:
        """Whether a living process is asking this in another run."""
        return self._is_sent_elsewhere(self._connection, key, run)

    def _is_sent_elsewhere(self, raw: Raw | Connection, key: str, run: str | None) -> bool:
        query, given = "SELECT run FROM calls WHERE key = ? AND outcome = 'sent' AND run IS NOT ?", (key, run)
        rows = raw.rows(query, given) if isinstance(raw, Connection) else raw.execute(query, given).fetchall()
        return any(row["run"] and self._is_alive(row["run"]) for row in rows)

    def settle(self, booking: Booking, call: Call) -> None:
        """Record what came of a call. Where somebody has answered the same meanwhile, the answer is kept beside it."""
        usage = call.usage
        with self._connection.writing() as raw:
            reply = put_text(raw, call.reply) if call.reply is not None else None
            taken = (
                call.outcome == OK
                and raw.execute("SELECT 1 FROM calls WHERE key = ? AND outcome = 'ok'", (call.key,)).fetchone()
            )
            raw.execute(
                "UPDATE calls SET outcome = ?, error = ?, finish_reason = ?, reply = ?, prompt_tokens = ?,"
                " completion_tokens = ?, cached_prompt_tokens = ?, reasoning_tokens = ?, usage_reported = ?,"
                " cost_usd = ?, seconds = ?, waited = ?, most_tokens = ?, booked_usd = ? WHERE id = ?",
                (
                    "duplicate" if taken else call.outcome,
                    storable(call.error),
                    call.finish_reason,
                    reply,
                    usage.prompt_tokens,
                    usage.completion_tokens,
                    usage.cached_prompt_tokens,
                    usage.reasoning_tokens,
                    int(usage.reported),
                    call.cost_usd,
                    call.seconds,
                    call.waited,
                    call.most_tokens,
                    call.booked_usd,
                    booking.call,
                ),
            )
            if call.outcome == OK and call.run:
                raw.execute("INSERT INTO uses VALUES (?, ?) ON CONFLICT DO NOTHING", (call.run, booking.call))

    def give_up(self, run: str) -> None:
        """What a process left in flight that has died is lost, and stays booked."""
        if self._connection.row("SELECT 1 FROM calls WHERE run = ? AND outcome = ?", (run, SENT)):
            with self._connection.writing() as raw:
                raw.execute("UPDATE calls SET outcome = ? WHERE run = ? AND outcome = ?", (LOST, run, SENT))

    def used(self, pot: str) -> tuple[int, float | None]:
        """The calls and the dollars that are taken from a pot, those in flight at their most; None without a price."""
        row = self._connection.row(USED, (pot,))
        if row is None:
            return 0, 0.0
        return row["calls"], None if row["unpriced"] else row["usd"]

    def share(self, pot: str, run: str) -> None:
        """Count all that a run has used, and will use, as taken from a pot."""
        if not self._connection.row("SELECT 1 FROM pots WHERE pot = ? AND run = ?", (pot, run)):
            with self._connection.writing() as raw:
                raw.execute("INSERT INTO pots VALUES (?, ?) ON CONFLICT DO NOTHING", (pot, run))
