"""Whatever becomes of calls, runs and budgets, the row of a budget is the sum of its calls."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from typing_extensions import override

from redraft.store.calls import TURNED_AWAY, DuplicateCallError, LimitReachedError, Reservation, ReservationTerms
from redraft.store.store import Store
from tests.postgres import database, needs_postgres
from tests.store.support import call, document, fill, run

_SUM = """
    SELECT budget, count(*) AS calls, sum(round(coalesce(booked_usd, 0) * 1000000000000)) AS usd,
    count(*) - count(booked_usd) AS unpriced FROM budget_runs JOIN calls ON calls.run = budget_runs.run
    WHERE outcome NOT IN ('rate_limited', 'unsupported') GROUP BY budget
"""
_BUDGETS = st.sampled_from(["p", "q"])
_RUNS = st.sampled_from(["a", "b", "c"])
_DOLLARS = st.none() | st.floats(0, 50) | st.sampled_from([0.1, 0.2, 0.3, 1e-9])
_ENDS = st.sampled_from(["ok", "timeout", "unreadable", "lost", *TURNED_AWAY])


class Budgets(RuleBasedStateMachine):
    """Two processes that book, settle, take back, die, share, forget and copy."""

    place: Path | str

    @initialize()
    def begin(self) -> None:
        self.closing = ExitStack()
        self.store = self.closing.enter_context(Store(self.new_place()))
        self.other = self.closing.enter_context(Store(self.store.address))
        self.alive = {"a", "b", "c"}
        for name in sorted(self.alive):
            self.add(name)
        self.booked: list[tuple[Reservation, str, str]] = []
        self.number = 0

    def new_place(self) -> Path | str:
        return Path(self.closing.enter_context(tempfile.TemporaryDirectory())) / "redraft.db"

    def add(self, name: str) -> None:
        self.store.documents.add(document())
        self.store.runs.add(run(name))

    @rule(budget_key=_BUDGETS, name=_RUNS, dollars=_DOLLARS, limited=st.booleans())
    def book(self, budget_key: str, name: str, dollars: float | None, limited: bool) -> None:
        if name not in self.alive:
            return
        self.number += 1
        terms, reservation = ReservationTerms(budget_key, max_cost=100.0 if limited else None), Reservation()
        store = call(f"k{self.number}", run=name, booked_usd=dollars)
        try:
            self.other.calls.book(reservation, store, terms)
        except (LimitReachedError, DuplicateCallError):
            return
        self.booked.append((reservation, name, store.key))

    @precondition(lambda self: self.booked)
    @rule(at=st.integers(0, 9), outcome=_ENDS, dollars=_DOLLARS)
    def settle(self, at: int, outcome: str, dollars: float | None) -> None:
        reservation, name, key = self.booked.pop(at % len(self.booked))
        if name in self.alive:
            ended = call(key, outcome, run=name, booked_usd=dollars, cost_usd=dollars)
            self.store.calls.settle(reservation, ended)

    @precondition(lambda self: self.booked)
    @rule(at=st.integers(0, 9))
    def take_back(self, at: int) -> None:
        self.store.calls.take_back(self.booked.pop(at % len(self.booked))[0])

    @rule(name=_RUNS)
    def die(self, name: str) -> None:
        self.other.calls.mark_lost(name)

    @rule(budget_key=_BUDGETS, name=_RUNS)
    def share(self, budget_key: str, name: str) -> None:
        if name in self.alive:
            self.store.calls.share(budget_key, name)

    @rule(name=_RUNS)
    def forget(self, name: str) -> None:
        if name in self.alive:
            self.store.forget([name])
            self.alive.remove(name)
            # Nobody settles the call of a run that was forgotten: it is not forgotten while somebody works on it.
            self.booked = [entry for entry in self.booked if entry[1] != name]

    @rule(name=_RUNS)
    def begin_again(self, name: str) -> None:
        if name not in self.alive:
            self.add(name)
            self.alive.add(name)

    @rule()
    def break_off(self) -> None:
        """Whoever is cut off in the midst of a transaction has changed nothing."""
        with pytest.raises(ZeroDivisionError), self.store.connection.writing() as raw:  # noqa: PT012
            raw.execute("UPDATE calls SET booked_usd = 7")
            raw.execute("DELETE FROM budget_runs")
            raise ZeroDivisionError

    @invariant()
    def each_row_is_the_sum(self) -> None:
        if not hasattr(self, "store"):
            return
        expect_sums(self.store)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.closing.close()


def expect_sums(store: Store) -> None:
    rows = {row["budget"]: dict(row) for row in store.connection.rows("SELECT * FROM budget_sums")}
    budget_runs = {row["budget"] for row in store.connection.rows("SELECT budget FROM budget_runs")}
    summed = {row["budget"]: dict(row) for row in store.connection.rows(_SUM)}
    assert rows == {
        budget_key: summed.get(budget_key, {"budget": budget_key, "calls": 0, "usd": 0.0, "unpriced": 0})
        for budget_key in budget_runs
    }


class BudgetsOnAServer(Budgets):
    @override
    def new_place(self) -> Path | str:
        return self.closing.enter_context(database())


TestBudgets = Budgets.TestCase
TestBudgets.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
TestBudgetsOnAServer = needs_postgres(BudgetsOnAServer.TestCase)
TestBudgetsOnAServer.settings = settings(max_examples=3, stateful_step_count=25, deadline=None)


def test_budgets_begin_with_nothing_spent(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        fill(store)
        for budget_key, name in (("p", "abc123"), ("q", "abc123"), ("none", "fork-of-abc123")):
            store.calls.share(budget_key, name)
        expect_sums(store)
        assert store.calls.used("p")[0] == 1
        assert store.calls.used("none") == store.calls.used("nobody's") == (0, 0.0)
