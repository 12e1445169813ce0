"""Where a database is: in files that are nobody else's business, in memory, or not there at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from redraft.errors import RunError, StoreError, UsageError
from redraft.settings import Limits
from redraft.store.store import Store
from tests.command import Command
from tests.judges import Court, Keepers, Lazy, Said, Sheet, told
from tests.store.support import fill
from tests.support import SAMPLE

POOR = told(1, wrong={2: "Bob"})


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


class Looking(Keepers):
    """Looks at the files while a run is at work."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen: dict[str, int] = {}

    def edit(self, sheet: Sheet) -> Said:
        self.seen |= modes(self.folder)
        return super().edit(sheet)


@pytest.mark.slow
async def test_nobody_else_can_read_any_of_the_files(tmp_path: Path) -> None:
    script = Looking(tmp_path)
    court = Court(tmp_path, script)
    result = await court.refine(POOR)
    names = {f"redraft{part}.db{end}" for part in ("", ".checkpoints") for end in ("", "-wal", "-shm")}
    assert set(script.seen) == names | {f"redraft.db.{result.run.id}.lock"}
    assert set(script.seen.values()) == {0o600}
    court.store.close()


async def test_checkpoints_that_everybody_could_read_are_closed_to_them(tmp_path: Path) -> None:
    court = Court(tmp_path)
    court.store.checkpoints.path.touch()
    court.store.checkpoints.path.chmod(0o644)
    await court.refine(POOR)
    assert modes(tmp_path)["redraft.checkpoints.db"] == 0o600
    court.store.close()


async def test_files_that_were_opened_to_a_group_stay_open_to_it(tmp_path: Path) -> None:
    court = Court(tmp_path)
    court.store.path.chmod(0o660)
    court.store.checkpoints.path.touch()
    court.store.checkpoints.path.chmod(0o664)
    await court.refine(POOR)
    assert (modes(tmp_path)["redraft.db"], modes(tmp_path)["redraft.checkpoints.db"]) == (0o660, 0o660)
    court.store.close()


@pytest.mark.slow
def test_a_log_may_go_at_any_moment(tmp_path: Path) -> None:
    """SQLite removes it when another run closes the last connection."""
    with Store(tmp_path / "redraft.db") as store:
        log = Path(f"{store.checkpoints.path}-wal")
        done = threading.Event()

        def come_and_go() -> None:
            while not done.is_set():
                log.touch(0o644)
                log.unlink(missing_ok=True)

        other = threading.Thread(target=come_and_go)
        other.start()
        try:
            for _ in range(3000):
                store.checkpoints.address()
        finally:
            done.set()
            other.join()


@pytest.mark.slow
async def test_a_database_in_memory_makes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    court = Court(tmp_path / "elsewhere", Lazy())
    court.store = Store(":memory:")
    stopped = await court.refine(POOR, rounds=3, limits=Limits(max_calls=12))
    assert stopped.run.status == "stopped"
    with court.store.claim(stopped.run.id):
        assert court.store.is_claimed(stopped.run.id)
        with pytest.raises(RunError, match="in use"), court.store.claim(stopped.run.id):
            pass
        with pytest.raises(RunError, match="in use"):
            court.store.forget([stopped.run.id])
    court.forget()
    done = await court.resume(stopped.run.id, Limits(max_calls=200))
    assert done.run.status == "done"
    assert done.rounds[0] == stopped.rounds[0]
    kept = court.store.checkpoints.size
    assert court.store.forget([done.run.id]).bytes > 0
    assert court.store.checkpoints.size < kept
    assert court.store.runs.latest(9) == []
    court.store.close()
    assert set(modes(tmp_path)) == {"elsewhere"}


def test_two_databases_in_memory_know_nothing_of_each_other() -> None:
    with Store(":memory:") as one, Store(":memory:") as other:
        fill(one)
        assert other.runs.latest(9) == []
        assert one.checkpoints.address() != other.checkpoints.address()


def test_a_database_that_must_be_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "mistyped.db"
    with pytest.raises(StoreError, match=r"mistyped\.db: there is no database there") as caught:
        Store(path, must_exist=True)
    assert "`store`" in caught.value.hint
    assert list(tmp_path.iterdir()) == []
    with Store(path) as store:
        fill(store)
    with Store(path, must_exist=True) as store:
        assert len(store.runs.latest(9)) == 2


def test_a_server_needs_what_the_extra_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redraft.plugins.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="psycopg") as caught:
        Store("postgresql://ann:s3cret@127.0.0.1/books")
    assert caught.value.hint == 'pip install "redraft[postgres]"'
    assert "s3cret" not in str(caught.value)


def test_the_usual_database_need_not_be_there_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redraft.store.store.default_path", lambda: tmp_path / "redraft.db")
    with Store(must_exist=True) as store:
        assert store.runs.latest(9) == []


def test_a_run_that_waits_for_a_person_waits_whoever_lives(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        fill(store)
        store.runs.set_status("abc123", "waiting")
        assert store.status(store.runs.get("abc123")) == "waiting"
        with store.claim("abc123"):
            assert store.status(store.runs.get("abc123")) == "waiting"


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
def test_every_file_of_a_whole_run_is_private_whatever_the_umask(tmp_path: Path) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    data.mkdir()
    work.mkdir()
    source = SAMPLE.read_text("utf-8")[:4000]
    (work / "book.md").write_text(source, "utf-8")
    command = Command(work, REDRAFT_DB=str(data / "redraft.db"))
    made: dict[str, set[str]] = {}
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
        for name, *found in (line.split() for line in done.stderr.splitlines() if line.startswith("redraft.")):
            made.setdefault(name, set()).update(found)
    names = {f"redraft{part}.db{end}" for part in ("", ".checkpoints") for end in ("", "-wal", "-shm")}
    assert made.keys() > names
    assert any(name.endswith(".lock") for name in made)
    assert {mode for found in made.values() for mode in found} == {"600"}
