"""What is forgotten is gone from the files, and whoever stays lacks nothing."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from redraft.errors import RunError, StoreError
from redraft.store.store import Store
from tests.judges import Harness, LazyReviser, summary_of
from tests.store.support import (
    PRINTABLE,
    add_call,
    call,
    document,
    dump,
    fill,
    intact,
    pack,
    piece,
    plain,
    run,
    started,
    wait_until_free,
)

_WORKING = """
import sys
from redraft.store.store import Store
with Store(sys.argv[1]) as store, store.claim(sys.argv[2]):
    print("ready", flush=True)
    sys.stdin.readline()
"""
GOOD, POOR = summary_of(*range(1, 7)), summary_of(1, 2)
in_a_file = pytest.mark.parametrize("place", ["file"], indirect=True)


def rows(place: Path | str) -> dict[str, int]:
    """How many there are of each kind that is of a document or a run."""
    of_models = {"_sqlite_migrations", "redraft_steps", "knowledge", "rate_limits"}
    return {name: len(rows) for name, rows in dump(place).items() if rows and name not in of_models}


@pytest.mark.slow
def test_nothing_is_left_of_a_run(store: Store, place: Path | str) -> None:
    fill(store)
    with plain(place) as database:
        database.execute("DELETE FROM artifacts WHERE kind IN ('pack', 'keyfacts')")
    freed = store.forget(["fork-of-abc123", "abc123"])
    assert (freed.runs, freed.documents) == (("fork-of-abc123", "abc123"), (document(PRINTABLE).id,))
    assert (freed.replies, freed.texts) == (1, 6)
    assert rows(place) == {}


@pytest.mark.slow
def test_a_document_goes_with_its_runs(store: Store, place: Path | str) -> None:
    fill(store)
    store.documents.add(document())
    store.runs.add(run("another"))
    store.packs.add(pack("pack-2"), "made from that")
    store.verdicts.put({"nobody's": "yes"}, keep=True)
    freed = store.forget(documents=[document(PRINTABLE).id])
    assert set(freed.runs) == {"abc123", "fork-of-abc123"}
    assert rows(place) == {"documents": 1, "runs": 1, "artifacts": 1, "texts": 1, "cache": 1}
    intact(place)


@pytest.mark.slow
def test_a_fork_keeps_everything_it_has(store: Store, place: Path | str) -> None:
    fill(store)
    before = {name: getattr(store.runs, name)("fork-of-abc123") for name in ("get", "drafts", "pieces")}
    rounds = store.rounds.of("fork-of-abc123")
    store.forget(["abc123"])
    assert {name: getattr(store.runs, name)("fork-of-abc123") for name in before} == before
    assert store.rounds.of("fork-of-abc123") == rounds
    assert store.runs.get("fork-of-abc123").parent == "abc123"
    with pytest.raises(RunError):
        store.runs.get("abc123")
    intact(place)


def test_replies_go_with_their_last_run(store: Store, place: Path | str) -> None:
    store.documents.add(document())
    for name in ("one", "two"):
        store.runs.add(run(name))
    add_call(store, call("own", run="one"))
    add_call(store, call("shared", "unreadable", run="one", reply="nonsense"))
    add_call(store, call("shared", run="one"))
    add_call(store, call("tried", "rate_limited", run="one", reply=None))
    add_call(store, call("lost", "unreadable", run="one", reply="more nonsense"))
    answer = store.calls.find("shared", "two")
    assert answer is not None
    assert answer.repaired

    assert store.forget(["one"]).replies == 2
    assert store.calls.find("shared", "two") == replace(answer, run=None)
    assert store.calls.totals("two").cached == 1
    assert [store.calls.find(key, None) for key in ("own", "tried", "lost")] == [None] * 3
    intact(place)
    assert store.forget(["two"]).replies == 2
    assert rows(place) == {}


def test_unreadable_replies_go_with_their_answer(store: Store, place: Path | str) -> None:
    store.documents.add(document())
    store.runs.add(run("one"))
    add_call(store, call("asked", "unreadable", run="one", reply="nonsense"))
    add_call(store, call("asked", run="one"))
    assert store.forget(["one"]).replies == 2
    assert rows(place) == {}


@pytest.mark.slow
def test_a_preview_deletes_nothing(store: Store, place: Path | str) -> None:
    fill(store)
    before = dump(place)
    foreseen = store.forget(["abc123"], dry_run=True)
    assert dump(place) == before
    freed = store.forget(["abc123"])
    assert replace(freed, bytes=0) == replace(foreseen, bytes=0)


@pytest.mark.slow
def test_runs_at_work_are_refused(store: Store, place: Path | str) -> None:
    fill(store)
    before = dump(place)
    with pytest.raises(RunError, match="no run nobody"):
        store.forget(["abc123", "nobody"])
    with started(_WORKING, place, "abc123"):
        for runs, documents in ((["fork-of-abc123", "abc123"], []), ([], [document(PRINTABLE).id])):
            with pytest.raises(RunError, match="in use"):
                store.forget(runs, documents=documents)
        assert dump(place) == before
    wait_until_free(store, "abc123")
    store.forget(["fork-of-abc123", "abc123"])


@pytest.mark.slow
def test_texts_of_active_runs_stay(store: Store, place: Path | str) -> None:
    fill(store)
    store.runs.add(run("at-work", PRINTABLE))
    with started(_WORKING, place, "at-work"):
        kept = store.documents.add_text("The first draft.", "at-work")
        assert store.forget(["fork-of-abc123"]).texts > 0
        assert store.documents.text(kept) == "The first draft."
    wait_until_free(store, "at-work")
    store.forget(["abc123"])
    assert store.documents.text(kept) == "The first draft."
    assert store.forget(["at-work"]).texts > 0
    with pytest.raises(StoreError, match="no text"):
        store.documents.text(kept)


def test_added_texts_stay_until_a_run_has_used_them(store: Store) -> None:
    fill(store)
    unused, given = (store.documents.add_text(text) for text in ("Nobody judges this.", "The first draft."))
    store.forget(["abc123"])
    assert store.documents.text(given) == "The first draft."
    store.forget(["fork-of-abc123"])
    with pytest.raises(StoreError, match="no text"):
        store.documents.text(given)
    assert store.documents.text(unused) == "Nobody judges this."


@in_a_file
def test_files_shrink(store: Store, place: Path) -> None:
    fill(store)
    for name in ("large", "small"):
        store.runs.add(run(name, PRINTABLE))
        for n in range(200):
            text = f"{name} {n} " * (500 if name == "large" else 1)
            store.runs.add_piece(name, piece(n, text))
    foreseen = store.forget(["large"], dry_run=True).bytes
    with plain(place) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = place.stat().st_size
    freed = store.forget(["large"])
    assert freed.trouble == ""
    assert freed.bytes == size - place.stat().st_size > 1_000_000
    assert place.with_name("redraft.db-wal").stat().st_size == 0
    assert 0.5 < foreseen / freed.bytes < 1.5
    assert b"large 7 large 7" not in place.read_bytes()
    assert len(store.runs.pieces("small")) == 200


@in_a_file
def test_locked_files_lose_their_rows_too(store: Store, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store)

    def locked(raw: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr("redraft.store.sqlite.compact", locked)
    freed = store.forget(["abc123"])
    assert "locked" in freed.trouble
    assert [run.id for run in store.runs.latest(9)] == ["fork-of-abc123"]


def threads(store: Store) -> set[str]:
    with plain(store.checkpoints.path) as saver:
        tables = ("checkpoints", "writes")
        return {row[0] for table in tables for row in saver.execute(f"SELECT thread_id FROM {table}")}


@pytest.mark.slow
async def test_checkpoints_go_with_their_run(tmp_path: Path) -> None:
    harness = Harness(tmp_path, LazyReviser())
    runs = [(await harness.refine(POOR, rounds=2, settings={"sample": n})).run.id for n in range(2)]
    with plain(harness.store.checkpoints.path) as saver:
        for name in (f"run-{runs[0]}", f"run-{runs[0]}-judge", runs[0], f"run-{runs[0]}0", f"{runs[0]}0"):
            saver.execute("INSERT INTO checkpoints (thread_id, checkpoint_id) VALUES (?, 'x')", (name,))
    before = threads(harness.store)
    assert {f"run-{run}" for run in runs} <= before
    harness.store.forget([runs[0]])
    after = threads(harness.store)
    assert after == {f"run-{runs[0]}0", f"{runs[0]}0", f"run-{runs[1]}"}
    assert runs[0].encode() + b"-" not in harness.store.checkpoints.path.read_bytes()
    assert (await harness.resume(runs[1])).run.status == "done"
    harness.store.close()


_KILLED = """
import os, sys
from redraft.store import sqlite
from redraft.store.store import Store
sqlite.SqliteCheckpoints.forget = lambda self, runs: os._exit(9)
with Store(sys.argv[1]) as store:
    print("ready", flush=True)
    store.forget(["fork-of-abc123", "abc123"])
"""


@pytest.mark.slow
@in_a_file
def test_a_killed_deletion_can_be_repeated(store: Store, place: Path) -> None:
    fill(store)
    with started(_KILLED, place) as process:
        assert process.wait(30) == 9
    assert {run.id for run in store.runs.latest(9)} == {"abc123", "fork-of-abc123"}
    store.forget(["fork-of-abc123", "abc123"])
    assert store.runs.latest(9) == []
    intact(place)
