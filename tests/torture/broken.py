"""Ways to break redraft, so that each attack can be seen to notice. Each is done in a process of its own."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from redraft.runs import driver
from redraft.store.calls import Call
from redraft.store.checkpoints import SqliteCheckpoints
from redraft.store.reservations import Reservation, Reservations
from redraft.store.runs import Runs
from redraft.store.store import Store


def _put(owner: Any, name: str, broken: object) -> None:
    """Put something broken in the place of what is there; where nothing is, nothing would be broken."""
    assert hasattr(owner, name), f"{owner} has no {name} to break"
    setattr(owner, name, broken)


def forgetful() -> None:
    """Of what a process before has stored nothing is found again."""
    Path("redraft.checkpoints.db").unlink(missing_ok=True)
    if Path("redraft.db").exists():
        with closing(sqlite3.connect("redraft.db")) as raw, raw, suppress(sqlite3.OperationalError):
            raw.execute("DELETE FROM records WHERE kind = 'piece'")
            raw.execute("UPDATE calls SET key = 'forgotten ' || id")


def unsteady() -> None:
    """Nothing comes out twice as it did before."""
    say = click.echo
    click.echo = lambda message="", **options: say(f"{message} by process {os.getpid()}", **options)


def unresumable() -> None:
    """A run that was begun cannot be taken up."""

    async def entry(*_: Any) -> None:
        raise KeyError("draft")

    _put(driver, "_go_on", entry)


def spendthrift() -> None:
    """Budgets are not looked at."""

    _put(Reservations, "_check", lambda *_: None)


def talkative() -> None:
    """The key is stored with each call."""
    keep = Reservations.settle

    def settle(self: Reservations, reservation: Reservation, call: Call) -> None:
        keep(self, reservation, replace(call, error=os.environ["OPENAI_API_KEY"]))

    _put(Reservations, "settle", settle)


def crowded() -> None:
    """Nothing keeps two processes from working on one run, or on one request."""

    @contextmanager
    def claim(*_: Any) -> Any:
        yield

    _put(Store, "claim", claim)
    _put(Reservations, "is_sent_elsewhere", lambda *_: False)


def unfinished() -> None:
    """What is stored is not there when it is looked for: the run is not on record."""
    _put(Runs, "get", lambda *_: (_ for _ in ()).throw(KeyError("run")))


def unshielded() -> None:
    """Everybody may read the database."""
    address = SqliteCheckpoints.address

    def opened(self: SqliteCheckpoints) -> str:
        for path in self.path.parent.glob("redraft*db*"):
            path.chmod(0o644)
        return address(self)

    _put(SqliteCheckpoints, "address", opened)


BREAKS: dict[str, Callable[[], None]] = {
    evaluation.__name__: evaluation
    for evaluation in (
        forgetful,
        unsteady,
        unresumable,
        spendthrift,
        talkative,
        crowded,
        unfinished,
        unshielded,
    )
}
