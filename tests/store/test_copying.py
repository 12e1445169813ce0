"""What is copied from one database into another is there as it was, once, and beside what was there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from redraft.store.copy import CopyReport, copy
from redraft.store.reservations import ReservationTerms
from redraft.store.store import Store
from tests.postgres import database, needs_postgres
from tests.store.support import PRINTABLE, add_call, call, document, dump, fill, intact, run

WAYS = (
    "file to file",
    *(
        pytest.param(f"{one} to {other}", marks=needs_postgres)
        for one, other in (("file", "server"), ("server", "file"), ("server", "server"))
    ),
)
_OF_A_MOMENT = ("_sqlite_migrations", "redraft_steps", "rate_limits")


@pytest.fixture(params=WAYS)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """One to copy from, and one to copy to."""
    with ExitStack() as open_:
        places = [
            tmp_path / f"{at}.db" if kind == "file" else open_.enter_context(database())
            for at, kind in enumerate(request.param.split(" to "))
        ]
        one, other = (open_.enter_context(Store(place)) for place in places)
        yield one, other


def copied(one: Store, other: Store) -> CopyReport:
    return copy(one.connection, other.connection)


def records(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """All that is copied, whatever its order."""
    found = {name: sorted(rows, key=repr) for name, rows in dump(store.address).items()}
    return {name: rows for name, rows in found.items() if name not in _OF_A_MOMENT}


@pytest.mark.slow
def test_everything_is_there_as_it_was_and_nothing_twice(stores: tuple[Store, Store]) -> None:
    one, other = stores
    fill(one)
    first = copied(one, other)
    assert sorted(first.runs) == ["abc123", "fork-of-abc123"]
    assert (first.there, first.documents) == (0, 1)
    assert first.texts == len(dump(one.address)["texts"])
    assert records(other) == records(one)
    assert [found.id for found in other.runs.latest(9)] == [found.id for found in one.runs.latest(9)]
    assert copied(one, other) == CopyReport([], 2)
    assert records(other) == records(one)
    intact(other.address)


def test_two_teams_become_one(stores: tuple[Store, Store]) -> None:
    """Their runs stand side by side; what both have asked is one answer, and one of them has paid in vain."""
    one, other = stores
    for store, name in ((one, "ann"), (other, "ben")):
        store.documents.add(document(PRINTABLE))
        store.runs.add(run(name, PRINTABLE))
        add_call(store, call(f"only {name}", run=name))
        add_call(store, call("both", run=name, reply=f"said to {name}"))
        store.runs.keep_draft(name, f"By {name}.", 2, "merge")
    one.runs.add(run("cid", PRINTABLE))
    one.calls.find("both", "cid")
    one.reservations.share("budget", "ann")
    before = {name: one.calls.totals(name) for name in ("ann", "cid")}
    copied(one, other)
    assert {found.id for found in other.runs.latest(9)} == {"ann", "ben", "cid"}
    assert {name: other.calls.totals(name) for name in before} == before
    answer = other.calls.find("both", None)
    assert answer is not None
    assert answer.text == "said to ben"
    assert [found.text for found in other.runs.drafts("ann")] == ["By ann."]
    assert other.reservations.used(ReservationTerms("budget").budget_key) == one.reservations.used("budget")
    intact(other.address)


@pytest.mark.slow
def test_answers_of_runs_that_are_gone_are_copied_once(stores: tuple[Store, Store]) -> None:
    one, other = stores
    fill(one)
    one.runs.add(run("user", PRINTABLE))
    one.calls.find("key", "user")
    one.forget(["abc123"])
    copied(one, other)
    copied(one, other)
    assert records(other) == records(one)
    assert other.calls.totals("user").cached == 1


def test_many_pages_are_copied(stores: tuple[Store, Store]) -> None:
    one, other = stores
    with one.at_once():
        for n in range(1203):
            one.documents.add_text(f"text {n}")
    assert copied(one, other).texts == 1203
    assert len(dump(other.address)["texts"]) == 1203
