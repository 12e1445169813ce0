"""Where a database is: in files that are nobody else's business, in memory, or not there at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from redraft.errors import RunError, StoreError, UsageError
from redraft.settings import Limits
from redraft.store.store import Store
from tests.command import Command
from tests.judges import Harness, LazyReviser, summary_of
from tests.store.support import fill
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
