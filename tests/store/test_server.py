"""What a database on a server has to be besides what every database is: shared by many, and behind a password."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from redraft.errors import RedraftError, RunError, StoreError
from redraft.store.addresses import is_only_here, shown
from redraft.store.batches import Batch, BatchItemRow
from redraft.store.store import Store
from tests import postgres
from tests.postgres import needs_postgres
from tests.store.support import call, document, fill, plain, run, started, wait_until_free

pytestmark = needs_postgres
_SECRET = "s3cret%2Fword"


@pytest.fixture
def address() -> Iterator[str]:
    with postgres.database() as made:
        yield made


def columns_of_a_file(path: Path) -> dict[str, list[tuple[str, bool]]]:
    """By table its columns, and whether each must have a value."""
    with Store(path), plain(path) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            table: [(row[1], bool(row[3] or row[5])) for row in database.execute(f"PRAGMA table_info({table})")]
            for table in tables
            if not table.startswith(("_", "sqlite"))
        }


def columns_on_a_server(address: str) -> dict[str, list[tuple[str, bool]]]:
    found: dict[str, list[tuple[str, bool]]] = {}
    with Store(address), plain(address) as database:
        query = "SELECT table_name, column_name, is_nullable FROM information_schema.columns WHERE table_schema = ?"
        for table, column, nullable in database.execute(f"{query} ORDER BY ordinal_position", ("redraft",)):
            if column != "rowid":
                found.setdefault(table, []).append((column, nullable == "NO"))
    del found["redraft_steps"]
    return found


@pytest.mark.slow
def test_the_tables_are_those_of_a_file(tmp_path: Path, address: str) -> None:
    assert columns_on_a_server(address) == columns_of_a_file(tmp_path / "redraft.db")


@pytest.mark.slow
def test_indexes_and_references_are_those_of_a_file(tmp_path: Path, address: str) -> None:
    path = tmp_path / "redraft.db"
    with Store(path), plain(path) as database:
        query = (
            "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND name NOT LIKE 'idx__sqlite%'"
        )
        indexes = {row[0] for row in database.execute(query)}
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        references = Counter(
            (table, target)
            for table in tables
            for target in {(row[0], row[2]) for row in database.execute(f"PRAGMA foreign_key_list({table})")}
        )
    with Store(address), plain(address) as database:
        query = "SELECT indexname FROM pg_indexes WHERE schemaname = 'redraft' AND indexname NOT LIKE '%key'"
        assert {row[0] for row in database.execute(query)} == indexes
        found = database.execute("SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint"
                                 " WHERE contype = 'f'").fetchall()  # fmt: skip
    assert Counter(found) == Counter((table, target[1]) for table, target in references)


@pytest.mark.slow
def test_a_database_that_must_be_there_is_not_made(address: str) -> None:
    with pytest.raises(StoreError, match="no database there"):
        Store(address, must_exist=True)
    with Store(address) as store:
        fill(store)
    with Store(address, must_exist=True) as store:
        assert len(store.runs.latest(9)) == 2


@pytest.mark.slow
def test_the_database_of_another_program_is_refused(address: str) -> None:
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
    ("given", "seen"),
    [
        ("postgresql://ann:pw@db.example/books", "postgresql://ann@db.example/books"),
        ("postgres://ann:p@w:x@db/books?sslmode=require", "postgres://ann@db/books?sslmode=require"),
        ("postgresql:///books?host=/tmp/a&password=pw&user=ann", "postgresql:///books?host=/tmp/a&user=ann"),
        ("postgresql://ann@[::1]:5433/books?sslpassword=pw", "postgresql://ann@[::1]:5433/books"),
        ("postgresql://db/books", "postgresql://db/books"),
        ("C:\\books:password@home.db", "C:\\books:password@home.db"),
    ],
)
def test_an_address_is_shown_without_its_password(given: str, seen: str) -> None:
    assert shown(given) == seen


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
def test_it_is_known_which_databases_other_machines_can_reach(
    place: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    assert is_only_here(place) is expected
    monkeypatch.setenv("PGHOST", "db.example.org")
    assert is_only_here("postgresql:///books") is False


@pytest.mark.slow
def test_leases_and_turns_go_by_the_clock_of_the_server(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = time.time()
    with Store(address) as store:
        store.batches.open(Batch("b", {}, {}))
        store.batches.add("b", [BatchItemRow("0", "0"), BatchItemRow("1", "1")])
        assert len(store.batches.lease("b", "right", 1, 60.0)) == 1
        assert store.rate_limits.take("g", 1, requests_per_minute=1, tokens_per_minute=None) == 0
    for ahead, leased in ((-3600.0, 1), (3600.0, 0), (0.0, 0)):
        monkeypatch.setattr(time, "time", lambda ahead=ahead: moment + ahead)
        with Store(address) as store:
            assert abs(store.connection.clock() - moment) < 30
            assert len(store.batches.lease("b", f"ahead by {ahead}", 2, 60.0)) == leased
            assert 30 < store.rate_limits.take("g", 1, requests_per_minute=1, tokens_per_minute=None) <= 60
            assert {item.deaths for item in store.batches.items("b")} == {0}


def test_a_server_is_told_to_look_whether_a_machine_is_still_there() -> None:
    """What a machine holds that is gone without a word is held until the server notices, by itself in two hours."""
    from redraft.store.postgres import arguments

    given = arguments("postgresql://db.example.org/books")
    told = dict(one.removeprefix("-c ").split("=") for one in re.findall(r"-c \S+", given["options"]))
    assert int(told["tcp_keepalives_idle"]) + 4 * int(told["tcp_keepalives_interval"]) <= 60
    assert given["tcp_user_timeout"] <= 60_000


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{_SECRET}@127.0.0.1:9/books?connect_timeout=2",
        f"postgresql://ann:{_SECRET}%zz@127.0.0.1/books",
        f"postgresql://ann@127.0.0.1:nine/books?password={_SECRET}",
        f"postgresql:///books?host=127.0.0.1&port=9&password={_SECRET}&nonsense=1",
    ],
)
def test_a_server_that_cannot_be_reached_is_a_sentence_without_the_password(address: str) -> None:
    with pytest.raises(RedraftError) as caught:
        Store(address)
    told = f"{caught.value} {caught.value.hint} {caught.value.place}"
    assert "s3cret" not in told
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


def test_every_character_is_kept_and_nul_with_it(address: str) -> None:
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


# Many processes on one database: one that has imported everything divides itself.
_CROWD = """
import os, sys
from redraft.errors import RunError
from redraft.store.store import Store
address, what = sys.argv[1:]

def leases(store, number):
    while taken := store.batches.lease("b", f"w{number}", 2):
        for item in taken:
            os.write(1, f'{item.idx}\\n'.encode())
            assert store.batches.settle(item, "done")

def texts(store, number):
    for n in range(30):
        store.documents.add_text(f"common {n % 7}")
        store.judgments.keep_verdicts({f"{(n * number) % 5}": str(number), f"{n % 5}": str(number)})
    try:
        with store.claim("r"):
            print("claimed", flush=True)
            sys.stdin.read()
    except RunError:
        pass

children = []
for number in range(8):
    if not (child := os.fork()):
        with Store(address) as store:
            globals()[what](store, number)
        os._exit(0)
    children.append(child)
if what == "texts":
    print("ready", flush=True)
failed = [child for child in children if os.waitpid(child, 0)[1]]
sys.exit(len(failed))
"""


def crowd(address: str, what: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _CROWD, address, what],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=Path(__file__).parent.parent.parent,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.nightly
def test_many_processes_take_each_item_once(address: str) -> None:
    with Store(address) as store:
        store.batches.open(Batch("b", {}, {}))
        store.batches.add("b", [BatchItemRow(f"{n}.txt", f"{n}") for n in range(80)])
        taken = Counter(map(int, crowd(address, "leases")))
        assert taken == dict.fromkeys(range(80), 1)
        assert store.batches.counts("b").done == 80


@pytest.mark.nightly
def test_many_processes_share_texts_and_one_has_the_run(address: str) -> None:
    with Store(address) as store:
        assert crowd(address, "texts").count("claimed") >= 1
        assert len(postgres.dump(address)["texts"]) == 7
        assert len(store.judgments.verdicts([str(n) for n in range(5)])) == 5


_WORKING = """
import sys
from redraft.store.store import Store
with Store(sys.argv[1]) as store, store.claim("abc123"):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.nightly
def test_a_claim_keeps_others_out_and_ends_with_its_process(address: str) -> None:
    with Store(address) as store:
        fill(store)
        with started(_WORKING, address):
            assert store.is_claimed("abc123")
            with pytest.raises(RunError, match="in use by another process"), store.claim("abc123"):
                raise AssertionError
        wait_until_free(store, "abc123")
        with store.claim("abc123"):
            assert store.is_claimed("abc123")
            with pytest.raises(RunError, match="in use by another process"), store.claim("abc123"):
                raise AssertionError
        assert not store.is_claimed("abc123")


@pytest.mark.nightly
def test_a_server_that_is_started_anew_is_gone_on_with_and_claims_with_it() -> None:
    with postgres.restartable() as (address, restart), Store(address) as store, Store(address) as other:
        fill(store)
        with store.claim("abc123"):
            restart()
            store.runs.set_status("abc123", "running")
            assert store.runs.get("abc123").status == "running"
            assert other.is_claimed("abc123")
            restart()
            with other.claim("abc123"), pytest.raises(StoreError, match="another process has resumed run abc123"):
                store.runs.set_status("abc123", "done")
            assert other.runs.get("abc123").status == "running"


@pytest.mark.slow
def test_a_writer_that_dies_in_the_midst_holds_nobody_up(address: str) -> None:
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


@pytest.mark.slow
def test_a_call_in_flight_is_known_to_others(address: str) -> None:
    from redraft.store.reservations import DuplicateCallError, Reservation, ReservationTerms

    with Store(address) as store, Store(address) as other:
        for name in ("one", "two"):
            store.documents.add(document())
            store.runs.add(run(name))
        with store.claim("one"):
            store.reservations.book(Reservation(), call(run="one"), ReservationTerms("one"))
            with pytest.raises(DuplicateCallError):
                other.reservations.book(Reservation(), call(run="two"), ReservationTerms("two"))
        other.reservations.book(Reservation(), call(run="two"), ReservationTerms("two"))


@pytest.mark.slow
def test_leasing_waits_for_no_other_writer_and_takes_what_nobody_else_takes(address: str) -> None:
    with Store(address) as store, Store(address) as other, ThreadPoolExecutor(1) as pool:
        store.batches.open(Batch("b", {}, {}))
        store.batches.add("b", [BatchItemRow(f"{n}.txt", f"{n}") for n in range(4)])
        with store.connection.rolled_back() as raw:
            raw.execute("SELECT 1 FROM items WHERE batch = 'b' AND idx = 0 FOR UPDATE")
            taken = pool.submit(other.batches.lease, "b", "w", 2).result(timeout=10)
            assert [item.idx for item in taken] == [1, 2]
            assert pool.submit(other.batches.renew, "b", "w").result(timeout=10) == {(1, 1), (2, 1)}
            assert pool.submit(other.batches.settle, taken[0], "done").result(timeout=10)
        assert [item.idx for item in other.batches.lease("b", "w", 2)] == [0, 3]
