"""A disk that is full in the midst of a batch: whoever waits for what cannot be stored comes to an end, too."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from redraft.batches.engine import Engine, Worker, WorkerExit, WorkerPool
from redraft.batches.worker import Tell, WorkerTerms
from redraft.errors import RedraftError, StoreError
from redraft.llm.budget import Budget
from redraft.store.calls import Calls, Reservation
from redraft.store.store import Store
from tests.batches.test_work import documents, folder, opened
from tests.store.support import call, document, run

__all__ = ["folder"]
FULL = StoreError("database or disk is full")


def full(*_: object) -> None:
    raise FULL


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store(tmp_path / "x.db") as store:
        store.documents.add(document())
        store.runs.add(run("r"))
        yield store


async def fails(budget: Budget, store: Store, booked: asyncio.Event, *, sent: bool) -> None:
    """A call that the disk is full for, while another waits for its room."""
    async with budget.reserved(store.calls, call("a", run="r")) as reservation:
        booked.set()
        await asyncio.sleep(0.1)
        reservation.sent = sent
        raise FULL


async def waits(budget: Budget, store: Store, booked: asyncio.Event) -> None:
    await booked.wait()
    async with budget.reserved(store.calls, call("b", run="r")) as reservation:
        reservation.sent = True


async def both(*tasks: Any) -> list[Any]:
    async with asyncio.timeout(5):
        return await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("sent", [False, True])
async def test_waiting_calls_hear_of_a_full_disk(store: Store, monkeypatch: pytest.MonkeyPatch, sent: bool) -> None:
    def take_back(_: Calls, reservation: Reservation) -> None:
        if reservation.call is not None:
            raise FULL

    monkeypatch.setattr(Calls, "take_back", take_back)
    budget, booked = Budget(max_calls=1, max_cost=None, budget_key="p"), asyncio.Event()
    with store.claim("r"):
        ends = await both(fails(budget, store, booked, sent=sent), waits(budget, store, booked))

    assert ends == [FULL, FULL]
    assert not budget.in_flight


class Doomed(Worker):
    """A worker that cannot store that it cannot store."""

    pid = 1

    def ended(self) -> WorkerExit:
        return WorkerExit("disk is full", for_good=True)

    def stop(self, *, at_once: bool = False) -> None: ...


def test_full_disks_start_no_new_worker(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Doomed] = []

    def start(terms: WorkerTerms, _: Tell) -> Doomed:
        started.append(Doomed(terms))
        return started[-1]

    monkeypatch.setattr("redraft.batches.queue.Batches.release", full)
    documents(folder, 3)
    opened(store, folder)

    with (
        pytest.raises(RedraftError, match="no worker can continue: disk is full"),
        WorkerPool(store, Engine(start, 2), WorkerTerms(str(store.path), "b", "", 0, 2), str) as worker_pool,
    ):
        worker_pool.repair()

    assert len(started) == 2
