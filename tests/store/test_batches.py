"""Leases of items, against a plain model of them: each item has one worker at most, and none is lost or done twice."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from redraft.batches.queue import MAX_CRASHES, Batch, Batches, BatchItemRow
from redraft.errors import RunError, UsageError
from redraft.store.calls import WINDOW, take_turn
from redraft.store.connection import Connection
from redraft.store.sqlite import SqliteConnection
from redraft.store.store import Store
from tests.store.support import add_call, call, document, run

WORKERS = ("ann", "bob", "cid")
SECONDS = 10.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@cache
def migrated() -> SqliteConnection:
    connection = SqliteConnection(Path(":memory:"))
    connection.prepare()
    return connection


def in_memory() -> Connection:
    connection = SqliteConnection(Path(":memory:"))
    migrated().raw.backup(connection.raw)
    return connection


class Leasing(RuleBasedStateMachine):
    """Workers that lease, renew, settle, hand back, die and fall silent, in any order."""

    @initialize(priorities=st.lists(st.integers(-1, 1), min_size=1, max_size=6))
    def begin(self, priorities: list[int]) -> None:
        self.clock = Clock()
        self.connection = in_memory()
        self.batches = Batches(cast("Store", SimpleNamespace(connection=self.connection)), self.clock)
        self.batches.open(Batch("b", {}, {}))
        self.batches.add(
            "b", [BatchItemRow(f"{n}.txt", f"{n}", priority=priority) for n, priority in enumerate(priorities)]
        )
        self.held: dict[int, BatchItemRow] = {}
        self.old: list[BatchItemRow] = []
        self.until: dict[int, float] = {}
        self.ended: dict[int, str] = {}
        self.deaths = dict.fromkeys(range(len(priorities)), 0)
        self.priorities = priorities

    def _lose(self, idx: int) -> None:
        self.old.append(self.held.pop(idx))
        self.deaths[idx] += 1
        if self.deaths[idx] == MAX_CRASHES:
            self.ended[idx] = "aside"

    def _expire(self) -> None:
        for idx in [number for number in self.held if self.until[number] < self.clock.now]:
            self._lose(idx)

    @rule(worker=st.sampled_from(WORKERS), count=st.integers(1, 4))
    def lease(self, worker: str, count: int) -> None:
        items = self.batches.lease("b", worker, count, SECONDS)
        self._expire()
        mine = [item for item in self.held.values() if item.worker == worker]
        free = [idx for idx in self.deaths if idx not in self.held and idx not in self.ended]
        assert len(items) <= count
        for item in items:
            assert item.idx in free, "nobody else has it, and it is not done"
            self.held[item.idx], self.until[item.idx] = item, self.clock.now + SECONDS
        suspects = [item for item in items if self.deaths[item.idx]]
        if suspects:
            assert len(items) == 1, "at what a worker has died before, one works alone"
            assert not mine
        if any(self.deaths[item.idx] for item in mine):
            assert not items
        elif any(self.deaths[idx] == 0 for idx in free) or (free and not mine):
            assert items, "there is something to do, and nobody who does it"
        if items and not suspects and count >= len(free):
            remaining = [idx for idx in free if idx not in {item.idx for item in items}]
            assert all(self.priorities[item.idx] >= max((self.priorities[i] for i in remaining if not self.deaths[i]),
                                                       default=-9) for item in items)  # fmt: skip

    @rule(worker=st.sampled_from(WORKERS))
    def renew(self, worker: str) -> None:
        ours = {(item.idx, item.attempts) for item in self.held.values() if item.worker == worker}
        assert self.batches.renew("b", worker, SECONDS) == ours
        for idx, _ in ours:
            self.until[idx] = self.clock.now + SECONDS

    @rule(draw=st.data(), state=st.sampled_from(("done", "failed", "waiting")))
    @precondition(lambda self: self.held)
    def settle(self, draw: Any, state: Any) -> None:
        item = self.held.pop(draw.draw(st.sampled_from(sorted(self.held))))
        assert self.batches.settle(item, state)
        self.old.append(item)
        if state != "waiting":
            self.ended[item.idx] = state

    @rule(draw=st.data())
    @precondition(lambda self: self.old)
    def settle_an_old_lease(self, draw: Any) -> None:
        assert not self.batches.settle(draw.draw(st.sampled_from(self.old)), "done")

    @rule(worker=st.sampled_from(WORKERS))
    def die(self, worker: str) -> None:
        lost = [item.idx for item in self.held.values() if item.worker == worker]
        assert self.batches.release("b", worker, "it was shot") == len(lost)
        for idx in lost:
            self._lose(idx)

    @rule(seconds=st.floats(0.1, 2 * SECONDS))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def try_again(self) -> None:
        self.batches.open(Batch("b", {}, {}))
        for idx in [number for number, state in self.ended.items() if state in ("failed", "aside")]:
            del self.ended[idx]
            self.deaths[idx] = 0

    @invariant()
    def nothing_is_lost(self) -> None:
        if not hasattr(self, "batches"):
            return
        for item in self.batches.items("b"):
            state = "leased" if item.idx in self.held else self.ended.get(item.idx, "waiting")
            assert (item.state, item.deaths) == (state, self.deaths[item.idx])
            assert (item.worker is None) == (state != "leased")
        counts = self.batches.counts("b")
        assert counts.all == len(self.deaths)
        assert counts.ended == len(self.ended)

    def teardown(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()


_servers = ExitStack()
atexit.register(_servers.close)


TestLeasing = Leasing.TestCase
TestLeasing.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def test_progress_between_deaths_resets_their_count(store: Store) -> None:
    store.documents.add(document())
    store.runs.add(run("r"))
    Batches(store).open(Batch("b", {}, {}))
    Batches(store).add("b", [BatchItemRow("x", "x")])
    for n in range(2 * MAX_CRASHES):
        (item,) = Batches(store).lease("b", "w", 1)
        Batches(store).change(item, run="r")
        add_call(store, call(run="r", key=f"answer {n}"))
        Batches(store).release("b", "w", "it was shot")
    (item,) = Batches(store).items("b")
    assert (item.state, item.deaths) == ("waiting", 1)
    for _ in range(MAX_CRASHES - 1):
        Batches(store).lease("b", "w", 1)
        Batches(store).release("b", "w", "it was shot")
    (item,) = Batches(store).items("b")
    assert item.state == "aside"
    assert item.error is not None
    assert "it was shot" in item.error["message"]


def test_only_open_batches_are_worked_on(store: Store) -> None:
    Batches(store).open(Batch("b", {"words": 1}, {}))
    Batches(store).add("b", [BatchItemRow("x", "x")])
    for status in ("paused", "stopped", "cancelled"):
        Batches(store).set_status("b", status)  # type: ignore[arg-type]
        assert Batches(store).lease("b", "w", 1) == []
    Batches(store).set_status("b", "stopped", {"code": "budget", "message": "", "hint": ""})
    assert Batches(store).get("b").status == "cancelled", "a cancelled batch stays so"
    Batches(store).open(Batch("b", {"words": 1}, {"max_cost": 2}))
    assert len(Batches(store).lease("b", "w", 1)) == 1
    with pytest.raises(UsageError, match="other settings"):
        Batches(store).open(Batch("b", {"words": 2}, {}))
    with pytest.raises(RunError, match="no batch"):
        Batches(store).get("c")


def test_items_have_unique_files_on_any_disk(store: Store) -> None:
    Batches(store).open(Batch("b", {}, {}))
    names = ["a", "A", "a-2", "a", "ä", "Ä", "a-4"]
    added = [BatchItemRow(f"{n}/{name}", name) for n, name in enumerate(names)]
    assert Batches(store).add("b", added) == len(names)
    assert Batches(store).add("b", added) == 0
    files = [item.file for item in Batches(store).items("b")]
    assert files[0] == "a"
    assert len({file.lower() for file in files if file.isascii()}) == 5
    assert len(set(files)) == len(names)


@pytest.mark.slow
@given(st.lists(st.tuples(st.floats(0, 30), st.integers(1, 50)), max_size=40), st.integers(1, 5), st.integers(50, 100))
def test_no_minute_exceeds_its_rate_limit(requested: list[tuple[float, int]], requests: int, tokens: int) -> None:
    clock, connection = Clock(), in_memory()
    vars(connection)["clock"], counted = clock, []
    for pause, size in requested:
        clock.now += pause
        while wait := take_turn(connection, "g", size, requests_per_minute=requests, tokens_per_minute=tokens):
            assert wait <= WINDOW + 1e-6
            clock.now += wait + 1e-6
        counted.append((clock.now, size))
    connection.close()
    for at, _ in counted:
        within = [size for when, size in counted if at - WINDOW < when - 1e-6 <= at]
        assert len(within) <= requests
        assert sum(within) <= tokens
    assert all(first[0] <= second[0] for first, second in pairwise(counted))
