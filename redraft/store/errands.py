"""Errands: calls that one worker of a batch puts out, for another that has room to make them.

Whoever takes one has it for so many seconds, as it is with items, and what it brings goes into the ledger like the
answer to any call. The one who asks has it from there, and learns here only that it is there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from redraft.store.calls import LOST, SENT
from redraft.store.connection import Connection, Raw
from redraft.store.pot_sums import TAKEN_OF_ALL

State = Literal["open", "taken", "made", "failed", "back"]
"""`failed` is a call that nobody else need try; `back` one that whoever took it could not make."""
Place = tuple[str, str]
"""The run that a call is of, and its key in the ledger."""
_FREE = "(state = 'open' OR (state = 'taken' AND until < ?))"
_OPEN = (
    f"FROM errands WHERE batch = ? AND asker <> ? AND {_FREE}"  # noqa: S608
    " AND run NOT IN (SELECT value FROM json_each(?))"
)
_TAKE = "UPDATE errands SET state = 'taken', helper = ?, until = ? WHERE run = ? AND key = ?"
_LOSE = "UPDATE calls SET outcome = ? WHERE run = ? AND key = ? AND outcome = ?"


@dataclass(frozen=True, slots=True)
class Errand:
    """A call that somebody else may make; the request is JSON, and what is secret is no part of it."""

    run: str
    key: str
    request: str
    first: bool = False
    """Whether it comes before those that have waited longer."""

    @property
    def place(self) -> Place:
        """What tells it from others."""
        return self.run, self.key


@dataclass(frozen=True, slots=True)
class Standing:
    """What has become of an errand so far."""

    state: State
    failure: str | None = None


class Errands:
    """The errands of one database."""

    def __init__(self, connection: Connection, clock: Callable[[], float] | None = None) -> None:
        self._connection = connection
        self._clock = clock or connection.clock

    # What the one who asks does.

    def put_out(self, batch: str, asker: str, errands: Sequence[Errand]) -> None:
        """Let others have these calls."""
        with self._connection.writing() as raw:
            raw.executemany(
                "INSERT INTO errands (run, key, batch, asker, request, first, state) VALUES (?, ?, ?, ?, ?, ?, 'open')"
                " ON CONFLICT (run, key) DO NOTHING",
                [(one.run, one.key, batch, asker, one.request, one.first) for one in errands],
            )

    def standing(self, asker: str) -> dict[Place, Standing]:
        """How all stand that a worker has put out. What was not renewed is open again."""
        rows = self._connection.rows("SELECT run, key, state, until, failure FROM errands WHERE asker = ?", (asker,))
        now = self._clock()
        return {
            (row["run"], row["key"]): Standing("open")
            if row["state"] == "taken" and row["until"] < now
            else Standing(row["state"], row["failure"])
            for row in rows
        }

    def call_back(self, places: Collection[Place]) -> set[Place]:
        """Take calls back that nobody has in hand; returns those that are the asker's own again."""
        back: set[Place] = set()
        with self._connection.writing() as raw:
            for place in places:
                free = f"DELETE FROM errands WHERE run = ? AND key = ? AND {_FREE}"  # noqa: S608
                if raw.execute(free, (*place, self._clock())).rowcount:
                    _lose(raw, place)
                    back.add(place)
        return back

    def drop(self, places: Collection[Place]) -> None:
        """Forget errands, whatever became of them. Who has one in hand makes it all the same."""
        with self._connection.writing() as raw:
            raw.executemany("DELETE FROM errands WHERE run = ? AND key = ?", [tuple(one) for one in places])

    def adopt(self, run: str, asker: str) -> set[Place]:
        """Go on with a run whose asker is gone: what others have in hand is waited for, and all else is void."""
        if not self._connection.row("SELECT 1 FROM errands WHERE run = ?", (run,)):
            return set()
        with self._connection.writing() as raw:
            raw.execute("DELETE FROM errands WHERE run = ? AND (state <> 'taken' OR until < ?)", (run, self._clock()))
            rows = raw.execute("UPDATE errands SET asker = ? WHERE run = ? RETURNING key", (asker, run)).fetchall()
        return {(run, row["key"]) for row in rows}

    def clear(self, run: str) -> None:
        """Nobody asks for anything of this run any more."""
        if self._connection.row("SELECT 1 FROM errands WHERE run = ?", (run,)):
            with self._connection.writing() as raw:
                raw.execute("DELETE FROM errands WHERE run = ?", (run,))

    # What those do who have room.

    def are_open(self, batch: str, helper: str, but_of: Collection[str] = ()) -> bool:
        """Whether there is anything to take."""
        query, values = _open(batch, helper, but_of, self._clock())
        return self._connection.row(f"SELECT 1 {query} LIMIT 1", values) is not None

    def take(self, batch: str, helper: str, most: int, seconds: float, but_of: Collection[str] = ()) -> list[Errand]:
        """Up to so many calls to make, those first that have waited longest; none of some runs."""
        now = self._clock()
        query, values = _open(batch, helper, but_of, now)
        with self._connection.writing() as raw:
            chosen = f"SELECT run, key, request, first, state {query} ORDER BY first DESC, rowid LIMIT ?"
            rows = raw.execute(chosen, (*values, most)).fetchall()
            for row in rows:
                # The errand first, then its call, as whoever lets errands go has it: so neither waits for the other.
                raw.execute(_TAKE, (helper, now + seconds, row["run"], row["key"]))
                if row["state"] == "taken":
                    _lose(raw, (row["run"], row["key"]))
        return [Errand(row["run"], row["key"], row["request"], bool(row["first"])) for row in rows]

    def renew(self, helper: str, seconds: float) -> None:
        """Keep what a worker has in hand for longer."""
        with self._connection.writing() as raw:
            raw.execute(
                "UPDATE errands SET until = ? WHERE helper = ? AND state = 'taken'", (self._clock() + seconds, helper)
            )

    def settle(self, errand: Errand, helper: str, state: State, failure: str | None = None) -> None:
        """Say what became of a call that was taken. Where it is somebody else's by now that is in vain."""
        with self._connection.writing() as raw:
            raw.execute(
                "UPDATE errands SET state = ?, failure = ?, helper = NULL, until = NULL"
                " WHERE run = ? AND key = ? AND state = 'taken' AND helper = ?",
                (state, failure, *errand.place, helper),
            )


def let_go(raw: Raw, workers: Collection[str]) -> int:
    """Workers have died: what they had in hand is open again, and how much that was. What they have put out is void,
    but for what others have in hand."""
    dead = json.dumps(sorted(set(workers)))
    rows = raw.execute(
        "UPDATE errands SET state = 'open', helper = NULL, until = NULL WHERE state = 'taken'"
        " AND helper IN (SELECT value FROM json_each(?)) RETURNING run, key",
        (dead,),
    ).fetchall()
    raw.execute(TAKEN_OF_ALL, (json.dumps([row["run"] for row in rows]),))
    for row in rows:
        _lose(raw, (row["run"], row["key"]))
    raw.execute(
        "DELETE FROM errands WHERE state <> 'taken' AND asker IN (SELECT value FROM json_each(?))",
        (dead,),
    )
    return len(rows)


def _open(batch: str, helper: str, but_of: Collection[str], now: float) -> tuple[str, tuple[object, ...]]:
    return _OPEN, (batch, helper, now, json.dumps([*but_of]))


def _lose(raw: Raw, place: Place) -> None:
    """What was in flight when a worker died stays booked."""
    raw.execute(_LOSE, (LOST, *place, SENT))
