"""What a database on a server has to be: shared by many who write at the same time, and behind a password."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from redraft.batches.queue import Batch, Batches, BatchItemRow
from redraft.errors import RedraftError, StoreError
from redraft.store.calls import Reservation, ReservationTerms, take_turn
from redraft.store.connection import is_only_here, shown
from redraft.store.store import Store
from tests import postgres
from tests.postgres import needs_postgres
from tests.store.support import call, document, fill, plain, run, started
from tests.store.test_budget_sums import expect_sums

pytestmark = needs_postgres
_SECRET = "s3cret%2Fword"


@pytest.fixture
def address() -> Iterator[str]:
    with postgres.database() as address:
        yield address


@pytest.mark.slow
def test_another_programs_database_is_refused(address: str) -> None:
    with plain(address) as database:
        database.execute("CREATE TABLE public.redraft_has_nothing_to_do_with_this (n integer)")
    with pytest.raises(StoreError, match="no database there"):
        Store(address, must_exist=True)
    with plain(address) as database:
        database.execute("CREATE SCHEMA redraft")
        database.execute("CREATE TABLE redraft.accounts (n integer)")
    with pytest.raises(StoreError, match="another program"):
        Store(address)
    with plain(address) as database:
        database.execute("DROP TABLE redraft.accounts")
    Store(address).close()


@pytest.mark.parametrize(
    ("address", "shown_address"),
    [
        ("postgresql://ann:pw@db.example/books", "postgresql://ann@db.example/books"),
        ("postgres://ann:p@w:x@db/books?sslmode=require", "postgres://ann@db/books?sslmode=require"),
        ("postgresql:///books?host=/tmp/a&password=pw&user=ann", "postgresql:///books?host=/tmp/a&user=ann"),
        ("postgresql://ann@[::1]:5433/books?sslpassword=pw", "postgresql://ann@[::1]:5433/books"),
        ("postgresql://db/books", "postgresql://db/books"),
        ("C:\\books:password@home.db", "C:\\books:password@home.db"),
    ],
)
def test_addresses_are_shown_without_password(address: str, shown_address: str) -> None:
    assert shown(address) == shown_address


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/home/ann/redraft.db", True),
        ("postgresql://ann:p@localhost/books", True),
        ("postgresql://ann@127.0.0.1:5432/books", True),
        ("postgresql://ann@[::1]:5432/books", True),
        ("postgresql:///books?host=/run/postgresql", True),
        ("postgresql://%2Frun%2Fpostgresql/books", True),
        ("postgresql:///books", True),
        ("postgresql://ann:p@10.0.0.7/books", False),
        ("postgresql://ann@[2001:db8::7]/books", False),
        ("postgresql://ann@db.example.org:5433/books", False),
        ("postgresql://localhost,db.example.org/books", False),
        ("postgresql:///books?host=db.example.org", False),
        ("postgresql:///books?service=team", False),
    ],
)
def test_local_addresses_are_recognized(place: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    assert is_only_here(place) is expected
    monkeypatch.setenv("PGHOST", "db.example.org")
    assert is_only_here("postgresql:///books") is False


@pytest.mark.slow
def test_leases_go_by_the_servers_clock(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = time.time()
    with Store(address) as store:
        Batches(store).open(Batch("b", {}, {}))
        Batches(store).add("b", [BatchItemRow("0", "0"), BatchItemRow("1", "1")])
        assert len(Batches(store).lease("b", "right", 1, 60.0)) == 1
        assert take_turn(store.connection, "g", 1, requests_per_minute=1, tokens_per_minute=None) == 0
    for ahead, leased in ((-3600.0, 1), (3600.0, 0), (0.0, 0)):
        monkeypatch.setattr(time, "time", lambda ahead=ahead: moment + ahead)
        with Store(address) as store:
            assert abs(store.connection.clock() - moment) < 30
            assert len(Batches(store).lease("b", f"ahead by {ahead}", 2, 60.0)) == leased
            assert 30 < take_turn(store.connection, "g", 1, requests_per_minute=1, tokens_per_minute=None) <= 60
            assert {item.deaths for item in Batches(store).items("b")} == {0}


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{_SECRET}@127.0.0.1:9/books?connect_timeout=2",
        f"postgresql://ann:{_SECRET}%zz@127.0.0.1/books",
        f"postgresql://ann@127.0.0.1:nine/books?password={_SECRET}",
        f"postgresql:///books?host=127.0.0.1&port=9&password={_SECRET}&nonsense=1",
    ],
)
def test_connection_errors_hide_the_password(address: str) -> None:
    with pytest.raises(RedraftError) as caught:
        Store(address)
    message = f"{caught.value} {caught.value.hint} {caught.value.place}"
    assert "s3cret" not in message
    assert caught.value.hint


@pytest.mark.slow
def test_no_row_has_the_password(address: str) -> None:
    secret = address.replace("postgres:@", "postgres:s3cret@")
    assert secret != address
    with Store(secret) as store:
        fill(store)
        with pytest.raises(StoreError) as caught:
            store.runs.add(run("none", "no such document"))
        assert "s3cret" not in str(caught.value)
    assert "s3cret" not in str(postgres.dump(address))


def test_every_character_is_kept(address: str) -> None:
    strange = [
        "\x00",
        "a\x00b",
        "\U0010ffff",
        "\U0010ffff0",
        "\U0010ffff1\x00\U0010ffff",
        "'; DROP TABLE texts; --",
        "%s ?1 :run $1",
    ]
    with Store(address) as store:
        assert [store.documents.text(store.documents.add_text(text)) for text in strange] == strange
        store.documents.add(replace(document("other"), title="a\x00\U0010ffffb"))
        assert store.documents.title(document("other").id) == "a\x00\U0010ffffb"


@pytest.mark.nightly
def test_restart_of_the_server_keeps_claims() -> None:
    with postgres.restartable() as (address, restart), Store(address) as store, Store(address) as second:
        fill(store)
        with store.claim("abc123"):
            restart()
            store.runs.set_status("abc123", "running")
            assert store.runs.get("abc123").status == "running"
            assert second.is_claimed("abc123")
            restart()
            with second.claim("abc123"), pytest.raises(StoreError, match="another process has resumed run abc123"):
                store.runs.set_status("abc123", "done")
            assert second.runs.get("abc123").status == "running"


@pytest.mark.slow
def test_a_dead_writer_blocks_nobody(address: str) -> None:
    code = """
import sys
from redraft.store.table import put_text
from redraft.store.store import Store
with Store(sys.argv[1]) as store, store.transaction():
    store.documents.add_text("half")
    print("ready", flush=True)
    sys.stdin.read()
"""
    with Store(address) as store:
        with started(code, address):
            pass
        key = store.documents.add_text("whole")
        assert [row[0] for row in postgres.dump(address)["texts"]] == [key]


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
