"""How a database comes into being and is brought up to date, and those that are not ours are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft.errors import StoreError
from redraft.store import sqlite
from redraft.store.store import Store
from tests.store.support import VERDICTS, dump, fill, intact, plain, start


@pytest.mark.slow
def test_reopened_databases_keep_their_rows(place: Path | str) -> None:
    with Store(place) as store:
        fill(store)
    before = dump(place)
    with Store(place) as store:
        assert dump(place) == before
        fill(store, "another")
        names = {run.id for run in store.runs.latest(9)}
        assert names == {"another", "abc123", "fork-of-another", "fork-of-abc123"}
        assert store.verdicts.find(list(VERDICTS)) == VERDICTS
    intact(place)


def record(place: Path | str, name: str) -> None:
    with plain(place) as database:
        if isinstance(place, Path):
            row = ("redraft", name, "2026")
            database.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES (?, ?, ?)", row)
        else:
            database.execute(f"INSERT INTO redraft_steps VALUES ('{name}')")


def test_other_versions_are_refused_unchanged(place: Path | str) -> None:
    with Store(place) as store:
        fill(store)
    record(place, "999_the_future")
    before = dump(place)
    with pytest.raises(StoreError, match="another version of redraft") as caught:
        Store(place)
    assert "use that version" in caught.value.hint
    assert dump(place) == before


def test_another_programs_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with plain(path) as database:
        database.execute("CREATE TABLE bookmarks (url)")
    with pytest.raises(StoreError, match="another program") as caught:
        Store(path)
    assert "`store`" in caught.value.hint
    assert list(dump(path)) == ["bookmarks"]


def test_a_failed_creation_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_processes_open_a_new_database_together(tmp_path: Path) -> None:
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
