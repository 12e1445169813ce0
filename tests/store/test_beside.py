"""Several who write to a database on a server at the same time: beside each other, and no limit is passed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.store.calls import Reservation, ReservationTerms
from redraft.store.store import Store
from tests import postgres
from tests.postgres import needs_postgres
from tests.store.support import call, document, plain, run
from tests.store.test_budget_sums import expect_sums

pytestmark = needs_postgres
_LIMIT = 50
_PROCESSES = 8
_CALLS = 12
# Each has a run of its own, in the budget of all. Every other call is still in flight when its process ends.
_CROWD = f"""
import os, sys
from redraft.store.calls import DuplicateCallError, LimitReachedError, Reservation, ReservationTerms
from redraft.store.store import Store
from tests.store.support import call
address, what = sys.argv[1:]

def budget(store, number):
    for n in range({_CALLS}):
        reservation, made = Reservation(), call(f"{{number}} {{n}}", run=f"r{{number}}", booked_usd=1.0, cost_usd=1.0)
        try:
            store.calls.book(reservation, made, ReservationTerms("budget", max_cost={_LIMIT}.0))
        except LimitReachedError as error:
            assert (error.calls, error.usd) == ({_LIMIT}, {_LIMIT}.0)
            return
        if n % 2:
            store.calls.settle(reservation, made)

def same(store, number):
    with store.claim(f"r{{number}}"):
        for n in range({_CALLS}):
            try:
                store.calls.book(Reservation(), call(f"{{n}}", run=f"r{{number}}"), ReservationTerms("budget"))
            except DuplicateCallError:
                continue
            os.write(1, b"sent\\n")
        os.write(1, b"ready\\n")
        sys.stdin.read()

children = []
for number in range({_PROCESSES}):
    if not (child := os.fork()):
        with Store(address) as store:
            globals()[what](store, number)
        os._exit(0)
    children.append(child)
sys.exit(len([child for child in children if os.waitpid(child, 0)[1]]))
"""


@pytest.fixture
def store() -> Iterator[Store]:
    with postgres.database() as address, Store(address) as store:
        store.documents.add(document())
        for number in range(_PROCESSES):
            store.runs.add(run(f"r{number}"))
        yield store


def crowd(store: Store, what: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _CROWD, store.address, what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
    )


@pytest.mark.nightly
def test_processes_never_overrun_their_budget(store: Store) -> None:
    for number in range(_PROCESSES):
        store.calls.share("budget", f"r{number}")
    with crowd(store, "budget") as working:
        working.communicate(timeout=120)
    assert working.returncode == 0
    assert store.calls.used("budget") == (_LIMIT, _LIMIT)
    expect_sums(store)


@pytest.mark.slow
def test_one_request_is_sent_once(store: Store) -> None:
    with crowd(store, "same") as working:
        assert working.stdout is not None
        lines: list[str] = []
        # Each stays alive until all have asked for everything.
        while lines.count("ready\n") < _PROCESSES:
            lines.append(working.stdout.readline())
        working.communicate(timeout=120)
    assert working.returncode == 0
    assert lines.count("sent\n") == _CALLS


def booked(store: Store, name: str) -> None:
    store.calls.book(
        Reservation(), call(f"asked by {name}", run=name, booked_usd=1.0), ReservationTerms(f"of {name}", max_cost=9)
    )


@pytest.mark.nightly
def test_writes_survive_a_server_crash() -> None:
    with postgres.crashing() as (address, crash):
        with plain(address) as database:
            # It would have it there by itself after a while.
            database.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
            database.execute("SELECT pg_reload_conf()")
        with Store(address) as store:
            store.documents.add(document())
            store.runs.add(run("r1"))
            time.sleep(1)
            booked(store, "r1")
            crash()
        with Store(address) as store:
            assert store.calls.used("of r1") == (1, 1.0)
