"""Errands: each is in one hand at a time, comes back when that is cold, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.store.batches import Batch, NewItem
from redraft.store.bookings import Booking, Terms
from redraft.store.errands import Errand, Errands, Standing
from redraft.store.store import Store
from tests.store.support import call, document, run

SECONDS = 10.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    with Store(place) as made:
        made.documents.add(document())
        made.runs.add(run("r"))
        made.runs.add(run("s"))
        yield made


@pytest.fixture
def errands(store: Store, clock: Clock) -> Errands:
    """Three that ann has put out."""
    made = Errands(store.connection, clock)
    made.put_out("b", "ann", [Errand("r", f"k{n}", f'{{"n": {n}}}') for n in range(3)])
    return made


def outcomes(store: Store) -> list[str]:
    return [row["outcome"] for row in store.connection.rows("SELECT outcome FROM calls ORDER BY id")]


def book(store: Store, key: str) -> None:
    """A call in flight."""
    store.bookings.book(Booking(), call(run="r", key=key), Terms("pot"))


def test_each_is_taken_once_and_the_first_that_was_put_out_is_the_first(errands: Errands) -> None:
    assert not errands.are_open("b", "ann"), "nobody helps himself"
    assert not errands.are_open("another", "bob")
    assert [one.key for one in errands.take("b", "bob", 2, SECONDS)] == ["k0", "k1"]
    assert errands.take("b", "cid", 2, SECONDS) == [Errand("r", "k2", '{"n": 2}')]
    assert not errands.are_open("b", "dan")
    assert errands.take("b", "dan", 2, SECONDS) == []


def test_what_much_waits_for_comes_first(errands: Errands) -> None:
    errands.put_out("b", "ann", [Errand("r", "merge", "{}", first=True)])
    assert [one.key for one in errands.take("b", "bob", 2, SECONDS)] == ["merge", "k0"]


def test_none_is_taken_of_a_run_that_a_helper_cannot_work_on(errands: Errands) -> None:
    errands.put_out("b", "ann", [Errand("s", "k", "{}")])
    assert errands.are_open("b", "bob", {"r"})
    assert [one.run for one in errands.take("b", "bob", 9, SECONDS, {"r"})] == ["s"]
    assert not errands.are_open("b", "bob", {"r"})


def test_the_one_who_asks_hears_what_became_of_each(errands: Errands) -> None:
    for state, failure in (("made", None), ("failed", "{}"), ("back", None)):
        (one,) = errands.take("b", "bob", 1, SECONDS)
        errands.settle(one, "bob", state, failure)  # type: ignore[arg-type]
    assert errands.standing("ann") == {
        ("r", "k0"): Standing("made"),
        ("r", "k1"): Standing("failed", "{}"),
        ("r", "k2"): Standing("back"),
    }
    assert errands.standing("bob") == {}
    assert not errands.are_open("b", "cid")
    errands.drop([("r", "k0"), ("r", "k2")])
    assert [*errands.standing("ann")] == [("r", "k1")]


def test_only_what_nobody_has_in_hand_is_called_back(errands: Errands) -> None:
    errands.take("b", "bob", 1, SECONDS)
    assert errands.call_back([("r", "k0"), ("r", "k1")]) == {("r", "k1")}
    assert {key for _, key in errands.standing("ann")} == {"k0", "k2"}


def test_what_is_not_renewed_is_open_again_and_its_call_is_lost(errands: Errands, store: Store, clock: Clock) -> None:
    errands.take("b", "bob", 2, SECONDS)
    book(store, "k0")
    book(store, "k1")
    clock.now += SECONDS - 1
    errands.renew("bob", SECONDS)
    clock.now += SECONDS - 1
    assert errands.call_back([("r", "k0")]) == set()
    clock.now += 2
    assert errands.standing("ann")["r", "k0"] == Standing("open")
    assert errands.are_open("b", "cid")
    (one,) = errands.take("b", "cid", 1, SECONDS)
    assert (one.key, outcomes(store)) == ("k0", ["lost", "sent"])
    errands.settle(one, "bob", "made")
    assert errands.standing("ann")["r", "k0"] == Standing("taken"), "it is another's by now"
    assert errands.call_back([("r", "k1")]) == {("r", "k1")}
    assert outcomes(store) == ["lost", "lost"]


def test_of_a_worker_that_died_all_is_free_at_once(errands: Errands, store: Store) -> None:
    store.batches.open(Batch("b", {}, {}))
    store.batches.add("b", [NewItem("x", "x")])
    (item,) = store.batches.lease("b", "ann", 1)
    errands.take("b", "bob", 1, SECONDS)
    book(store, "k0")
    assert store.batches.release("b", "bob", "it was shot") == 1
    assert errands.standing("ann")["r", "k0"] == Standing("open")
    assert outcomes(store) == ["lost"]
    errands.take("b", "cid", 1, SECONDS)
    assert store.batches.release("b", "ann", "it was shot") == 1
    assert errands.standing("ann") == {("r", "k0"): Standing("taken")}, "only what somebody has in hand is left"
    assert not errands.are_open("b", "dan")
    assert errands.adopt("r", "eve") == {("r", "k0")}
    assert errands.standing("eve") == {("r", "k0"): Standing("taken")}
    assert errands.adopt("s", "eve") == set()
    errands.clear("r")
    assert errands.standing("eve") == {}
    assert item.run is None


def test_who_takes_up_a_run_finds_nothing_that_is_cold_or_over(errands: Errands, clock: Clock) -> None:
    made, _ = errands.take("b", "bob", 2, SECONDS)
    errands.settle(made, "bob", "made")
    clock.now += SECONDS + 1
    assert errands.adopt("r", "eve") == set()
    assert errands.standing("ann") == {}


def test_a_silent_worker_loses_what_it_had_put_out_with_its_document(store: Store, errands: Errands) -> None:
    store.batches.open(Batch("b", {}, {}))
    store.batches.add("b", [NewItem("x", "x")])
    store.batches.lease("b", "ann", 1, seconds=-1.0)
    assert len(store.batches.lease("b", "cid", 1)) == 1
    assert errands.standing("ann") == {}


def test_places_are_empty_once_no_document_waits(store: Store) -> None:
    store.batches.open(Batch("b", {}, {}))
    store.batches.add("b", [NewItem(f"{n}", f"{n}") for n in range(3)])
    assert store.batches.left_empty("b", 8) == 0
    store.batches.lease("b", "ann", 2)
    assert store.batches.left_empty("b", 8) == 0
    store.batches.lease("b", "bob", 2)
    assert store.batches.left_empty("b", 8) == 5
    assert store.batches.left_empty("b", 2) == 0
