"""How a database comes into being and is brought up to date, and those that are not ours are left alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from redraft.domain import Gap, Parent, Usage
from redraft.errors import StoreError
from redraft.store import sqlite
from redraft.store.calls import CachedAnswer, ModelCapabilities
from redraft.store.store import Store
from tests.store.support import (
    AGREEMENT,
    ASKED,
    FAILED,
    JUDGING,
    MODEL,
    PARENTS,
    PRINTABLE,
    REFINEMENT,
    STANDING,
    TROUBLE,
    VERDICTS,
    document,
    dump,
    evaluation,
    fill,
    intact,
    keyfacts,
    pack,
    piece,
    plain,
    rounds,
    start,
    typed,
)


def expect_drafted(store: Store) -> None:
    book = document(PRINTABLE)
    assert store.documents.get(book.id) == book
    assert len(store.documents.chunks(book.id, "estimate", 2048)) == 2
    found = store.runs.get("abc123")
    assert found.draft is not None
    assert store.runs.draft(found.draft).text == "The draft."
    assert store.runs.pieces("abc123") == [piece()]
    assert store.runs.gaps("abc123") == [Gap(1, "refused", "would not")]
    assert store.calls.find("key", None) == CachedAnswer(1, "reply to key", "stop", Usage(5, 4, 3, 2))
    assert store.calls.totals("abc123").calls == 1
    assert (found.kind, found.judging, found.refinement, found.parent) == ("summarize", None, None, None)
    assert store.ancestry.of("abc123") == {"0/0/0": PARENTS, found.draft: (Parent.of_piece(piece()),)}
    assert store.ancestry.links("links-1") == "[[0, 10, []]]"
    assert store.ancestry.vectors(book.id, "cut", "weights") == b"\x00\x01"
    assert store.capabilities.known(MODEL) == ModelCapabilities("tools", 700)


def expect_judged(store: Store, fork: str) -> None:
    found = store.runs.get(fork)
    first, second = (draft.id for draft in store.runs.drafts(fork))
    assert (found.judging, found.refinement, found.parent) == (JUDGING, REFINEMENT, fork.removeprefix("fork-of-"))
    assert (found.draft, found.why) == (second, "Nöthing is left.")
    assert store.packs.get("pack-1") == store.packs.find(found.document, "made from this") == pack(text=PRINTABLE)
    assert store.keyfacts.latest(found.document) == keyfacts(text=PRINTABLE)
    assert store.typed.latest(found.document) == typed(text=PRINTABLE)
    assert store.judgments.of(first) == {"coverage": evaluation(), "consistency": FAILED}
    assert store.judgments.rounds(fork) == rounds(first, second)
    assert store.judgments.verdicts(list(VERDICTS)) == VERDICTS
    assert store.agreements.of(STANDING) == store.agreements.all() == [AGREEMENT]


def expect_batch(store: Store) -> None:
    batch = store.batches.get("batch-of-abc123")
    assert (batch.asked, batch.limits, batch.folder, batch.status) == (ASKED, {"max_cost": 1.5}, "/out/ö", "open")
    first, second = store.batches.items(batch.name)
    one = (first.source, first.file, first.state, first.run, first.short)
    assert one == ("/in/ä.txt", "ä", "done", "abc123", True)
    assert (second.document, second.priority, second.error) == (document(PRINTABLE).id, 3, TROUBLE)


@pytest.mark.slow
def test_a_database_that_is_opened_again_keeps_its_rows_and_takes_others(place: Path | str) -> None:
    with Store(place) as store:
        fill(store)
    with Store(place) as store:
        fill(store, "another")
        expect_drafted(store)
        expect_judged(store, "fork-of-abc123")
        expect_judged(store, "fork-of-another")
        expect_batch(store)
        names = {run.id for run in store.runs.latest(9)}
        assert names == {"another", "abc123", "fork-of-another", "fork-of-abc123"}
    intact(place)


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "redraft.db"
    for _ in range(2):
        with Store(path) as store:
            pass
    assert len(dump(path)["_sqlite_migrations"]) == 1
    assert store.checkpoints.path == path.with_name("redraft.checkpoints.db")
    (tmp_path / "empty.db").touch()
    with Store(tmp_path / "empty.db") as store:
        fill(store)


def record(place: Path | str, name: str) -> None:
    with plain(place) as database:
        if isinstance(place, Path):
            row = ("redraft", name, "2026")
            database.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES (?, ?, ?)", row)
        else:
            database.execute(f"INSERT INTO redraft_steps VALUES ('{name}')")


def test_a_newer_or_old_database_is_refused_and_left_as_it_is(place: Path | str) -> None:
    with Store(place) as store:
        fill(store)
    for step, said, hint in (
        ("999_the_future", "newer redraft", "upgrade"),
        ("m024_candidates", "before 0.1.0", "redraft export RUN"),
        ("101_tables", "before 0.1.0", "redraft export RUN"),
        ("006_comparisons", "before 0.1.0", "redraft pack export"),
    ):
        record(place, step)
        before = dump(place)
        with pytest.raises(StoreError, match=said) as caught:
            Store(place)
        assert hint in caught.value.hint
        assert dump(place) == before


def test_the_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with plain(path) as database:
        database.execute("CREATE TABLE bookmarks (url)")
    with pytest.raises(StoreError, match="another program") as caught:
        Store(path)
    assert "`store`" in caught.value.hint
    assert list(dump(path)) == ["bookmarks"]


def test_a_schema_that_cannot_be_created_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "redraft.db"
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "schema_statements", lambda: ["CREATE TABLE texts (id);", "nonsense;"])
        patch.setattr("redraft.store.store.SqliteConnection", sqlite.SqliteConnection)
        with pytest.raises(StoreError):
            Store(path)
    assert dump(path) == {}
    with Store(path) as store:
        fill(store)


_OPEN = """
import sys
from redraft.store.store import Store
print("ready", flush=True)
sys.stdin.readline()
with Store(sys.argv[1]) as store:
    store.documents.add_text(sys.argv[2])
"""


@pytest.mark.nightly
def test_several_processes_may_open_a_new_database_at_once(tmp_path: Path) -> None:
    processes = [start(_OPEN, tmp_path / "redraft.db", number) for number in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0] * 4
    assert sorted(text for _, text in dump(tmp_path / "redraft.db")["texts"]) == ["0", "1", "2", "3"]


@pytest.mark.nightly
def test_several_threads_may_open_a_new_database_at_once(tmp_path: Path) -> None:
    gate = threading.Barrier(6)

    def open_and_write(path: Path, number: int) -> None:
        gate.wait()
        with Store(path) as store:
            store.documents.add_text(str(number))

    with ThreadPoolExecutor(6) as pool:
        for round_ in range(20):
            path = tmp_path / f"{round_}.db"
            list(pool.map(open_and_write, [path] * 6, range(6)))
            assert len(dump(path)["texts"]) == 6
