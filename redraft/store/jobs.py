"""What is asked of a provider: how much within the last minute, so that all processes keep to one limit; and which
requests went out in which job, so that none of them goes out twice.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from redraft.store.calls import GATHERED
from redraft.store.connection import Connection
from redraft.store.documents import now

WINDOW = 60.0
# Thousands may have asked within a minute, and most who ask need no more of them than these two numbers.
_TAKEN = "SELECT count(*) AS requests, coalesce(sum(tokens), 0) AS tokens FROM turns WHERE gate = ?"
# Of all gates; what others are forgetting at the same time is forgotten.
_PAST = "DELETE FROM turns WHERE rowid IN (SELECT rowid FROM turns WHERE at <= ?{})"
_IN_ORDER = "SELECT at, tokens FROM turns WHERE gate = ? ORDER BY at"


class RateLimiterWindow:
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


# So long a provider keeps the answers of a job.
_KEPT_FOR = timedelta(days=30)
_UNSETTLED = """
    SELECT 1 FROM job_lines WHERE job = ? AND NOT EXISTS (SELECT 1 FROM calls WHERE key = call AND outcome = 'ok') AND (
        EXISTS (SELECT 1 FROM calls WHERE key = call AND outcome = 'sent')
        OR EXISTS (SELECT 1 FROM calls WHERE key = call AND outcome IN ('lost', 'cancelled'))
    ) LIMIT 1
"""
_MARK = """
    UPDATE calls SET error = ? WHERE outcome = 'sent'
    AND key || '-' || calls.attempt IN (SELECT job_lines.attempt FROM job_lines WHERE job = ?)
"""


def attempt_of(key: str, number: int) -> str:
    """The name of an attempt at a call, as it stands in a job."""
    return f"{key}-{number}"


@dataclass(frozen=True, slots=True)
class SentJob:
    """A job as it is on record."""

    id: str
    """By this the provider knows it too, among what a job may bear of its sender's."""
    name: str | None
    """What the provider calls it; None as long as nobody has heard of that."""


class Jobs:
    """The jobs of one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def open(self, address: str, attempts: Sequence[str]) -> SentJob:
        """Put a job on record that is about to be handed over. From now on its calls may have been sent."""
        key = secrets.token_hex(8)
        with self._connection.writing() as raw:
            gone = (_moment_before(_KEPT_FOR),)
            raw.execute("DELETE FROM job_lines WHERE job IN (SELECT id FROM jobs WHERE begun < ?)", gone)
            raw.execute("DELETE FROM jobs WHERE begun < ?", gone)
            raw.execute("INSERT INTO jobs (id, address, name, begun) VALUES (?, ?, NULL, ?)", (key, address, now()))
            raw.executemany(
                "INSERT INTO job_lines VALUES (?, ?, ?)", [(one, key, one.rpartition("-")[0]) for one in attempts]
            )
            raw.execute(_MARK, ("", key))
        return SentJob(key, None)

    def name(self, job: str, name: str) -> None:
        """Record what the provider calls it: from now on it is there, whatever becomes of this process."""
        with self._connection.writing() as raw:
            raw.execute("UPDATE jobs SET name = ? WHERE id = ?", (name, job))

    def holding(self, address: str, attempt: str) -> SentJob | None:
        """The last job at this address that an attempt went out in."""
        row = self._connection.row(
            "SELECT jobs.id, name FROM job_lines JOIN jobs ON jobs.id = job"
            " WHERE attempt = ? AND address = ? AND begun >= ? ORDER BY begun DESC LIMIT 1",
            (attempt, address, _moment_before(_KEPT_FOR)),
        )
        return SentJob(row["id"], row["name"]) if row else None

    def attempts(self, job: str) -> list[str]:
        """The names of the attempts that a job consists of."""
        rows = self._connection.rows("SELECT attempt FROM job_lines WHERE job = ? ORDER BY attempt", (job,))
        return [one["attempt"] for one in rows]

    def last_attempt(self, key: str) -> int:
        """The number of the last attempt at a call that is in a job; 1 where there is none."""
        rows = self._connection.rows("SELECT attempt FROM job_lines WHERE call = ?", (key,))
        return max((int(row["attempt"].rpartition("-")[2]) for row in rows), default=1)

    def is_settled(self, job: str) -> bool:
        """Whether it is on record what came of each call of a job."""
        return self._connection.row(_UNSETTLED, (job,)) is None

    def forget(self, job: str) -> None:
        """All of its answers are where they belong, or it never came to be, and nothing of it was sent."""
        with self._connection.writing() as raw:
            raw.execute(_MARK, (GATHERED, job))
            raw.execute("DELETE FROM job_lines WHERE job = ?", (job,))
            raw.execute("DELETE FROM jobs WHERE id = ?", (job,))


def _moment_before(time: timedelta) -> str:
    return (datetime.now(UTC) - time).isoformat(timespec="milliseconds")
