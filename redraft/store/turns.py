"""Turns: who has asked within the last minute, so that all processes together keep to one limit a minute."""

from __future__ import annotations

from collections.abc import Callable

from redraft.store.connection import Connection

WINDOW = 60.0
# Thousands may have asked within a minute, and most who ask need no more of them than these two numbers.
_TAKEN = "SELECT count(*) AS requests, coalesce(sum(tokens), 0) AS tokens FROM turns WHERE gate = ?"
# Of all gates; what others are forgetting at the same time is forgotten.
_PAST = "DELETE FROM turns WHERE rowid IN (SELECT rowid FROM turns WHERE at <= ?{})"
_IN_ORDER = "SELECT at, tokens FROM turns WHERE gate = ? ORDER BY at"


class Turns:
    """The turns of one database. A `gate` is what everybody calls it who keeps to the same limits."""

    def __init__(self, connection: Connection, clock: Callable[[], float] | None = None) -> None:
        self._connection = connection
        self._clock = clock or connection.clock

    def take(self, gate: str, tokens: int, *, requests_per_minute: int | None, tokens_per_minute: int | None) -> float:
        """Take a turn, and return 0; or else the seconds until there may be one.

        A request above the limit goes when nothing else did.
        """
        with self._connection.writing_beside(f"gate {gate}") as raw:
            raw.execute(_PAST.format(raw.skip_locked), (self._clock() - WINDOW,))
            taken = raw.execute(_TAKEN, (gate,)).fetchone()
            # Whoever had to wait for others has it from now on.
            now = self._clock()
            wait = 0.0
            if requests_per_minute is not None and taken["requests"] >= requests_per_minute:
                until = raw.execute(f"{_IN_ORDER} LIMIT 1 OFFSET ?", (gate, taken["requests"] - requests_per_minute))
                wait = until.fetchone()["at"] + WINDOW - now
            excess = taken["tokens"] + tokens - tokens_per_minute if tokens_per_minute is not None else 0
            if excess > 0:
                for one in raw.execute(_IN_ORDER, (gate,)):
                    excess -= one["tokens"]
                    wait = max(wait, one["at"] + WINDOW - now)
                    if excess <= 0:
                        break
            if wait <= 0:
                raw.execute("INSERT INTO turns VALUES (?, ?, ?)", (gate, now, tokens))
            return min(max(0.0, wait), WINDOW)
