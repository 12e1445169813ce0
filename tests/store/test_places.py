"""Where a database is, how it comes into being and is brought up to date, and which are not ours."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from redraft.errors import RunError, StoreError, UsageError
from redraft.settings import Limits
from redraft.store import sqlite
from redraft.store.store import Store
from tests.command import Command
from tests.judges import Harness, LazyReviser, summary_of
from tests.store.support import VERDICTS, dump, fill, intact, plain, start
from tests.support import SAMPLE

POOR = summary_of(1, wrong={2: "Bob"})


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("database", "before", "after"), [(0o600, 0o644, 0o600), (0o660, 0o664, 0o660)], ids=["private", "of a group"]
)
async def test_checkpoints_are_as_private_as_the_database(
    tmp_path: Path, database: int, before: int, after: int
) -> None:
    harness = Harness(tmp_path)
    harness.store.path.chmod(database)
    harness.store.checkpoints.path.touch()
    harness.store.checkpoints.path.chmod(before)
    await harness.refine(POOR)
    assert (modes(tmp_path)["redraft.db"], modes(tmp_path)["redraft.checkpoints.db"]) == (database, after)
    harness.store.close()


@pytest.mark.slow
async def test_a_database_in_memory_makes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    harness = Harness(tmp_path / "elsewhere", LazyReviser())
    harness.store = Store(":memory:")
    stopped = await harness.refine(POOR, rounds=3, limits=Limits(max_calls=12))
    assert stopped.run.status == "stopped"
    with harness.store.claim(stopped.run.id):
        assert harness.store.is_claimed(stopped.run.id)
        with pytest.raises(RunError, match="in use"), harness.store.claim(stopped.run.id):
            pass
        with pytest.raises(RunError, match="in use"):
            harness.store.forget([stopped.run.id])
    harness.clear_sheets()
    done = await harness.resume(stopped.run.id, Limits(max_calls=200))
    assert done.run.status == "done"
    assert done.rounds[0] == stopped.rounds[0]
    size = harness.store.checkpoints.size
    assert harness.store.forget([done.run.id]).bytes > 0
    assert harness.store.checkpoints.size < size
    assert harness.store.runs.latest(9) == []
    harness.store.close()
    assert set(modes(tmp_path)) == {"elsewhere"}


def test_a_required_database_is_not_created(place: Path | str) -> None:
    with pytest.raises(StoreError, match="there is no database there") as caught:
        Store(place, must_exist=True)
    assert "`store`" in caught.value.hint
    assert not isinstance(place, Path) or list(place.parent.iterdir()) == []
    with Store(place) as store:
        fill(store)
    with Store(place, must_exist=True) as store:
        assert len(store.runs.latest(9)) == 2


def test_a_server_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redraft.plugins.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="psycopg") as caught:
        Store("postgresql://ann:s3cret@127.0.0.1/books")
    assert caught.value.hint == 'pip install "redraft[postgres]"'
    assert "s3cret" not in str(caught.value)


_WATCHED = """
import os, sys
from pathlib import Path
os.umask(0)
from redraft.cli.main import main
folder, made = Path(sys.argv[1]), {}

def note(event, arguments):
    # Whatever is opened, renamed or removed: what lies there at that moment is noted.
    if event in ("open", "os.remove", "os.rename", "sqlite3.connect"):
        for file in os.scandir(folder):
            made.setdefault(file.name, set()).add(file.stat().st_mode & 0o777)

sys.addaudithook(note)
try:
    main(sys.argv[2:])
finally:
    for name, modes in sorted(made.items()):
        print(name, *(f"{mode:o}" for mode in modes), file=sys.stderr)
"""


@pytest.mark.slow
def test_all_files_are_private_despite_umask(tmp_path: Path) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    data.mkdir()
    work.mkdir()
    source = SAMPLE.read_text("utf-8")[:4000]
    (work / "book.md").write_text(source, "utf-8")
    command = Command(work, REDRAFT_DB=str(data / "redraft.db"))
    modes_of: dict[str, set[str]] = {}
    for arguments in (
        ("refine", "book.md", "book.md", "-w", "80", "--rounds", "1"),
        ("forget", "--older-than", "0d", "--yes"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", _WATCHED, str(data), *arguments],
            cwd=work,
            env={**command.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode in {0, 3}, done.stderr
        for name, *octal in (line.split() for line in done.stderr.splitlines() if line.startswith("redraft.")):
            modes_of.setdefault(name, set()).update(octal)
    names = {f"redraft{part}.db{end}" for part in ("", ".checkpoints") for end in ("", "-wal", "-shm")}
    assert modes_of.keys() > names
    assert any(name.endswith(".lock") for name in modes_of)
    assert {mode for octal in modes_of.values() for mode in octal} == {"600"}


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
