"""A database that nobody may write to is read all the same: from a backup, an archive, somebody else's directory."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redraft.store.store import Store
from tests.command import Command, Done
from tests.store.support import fill, started

RUN = "fork-of-abc123"
READING = (("show", RUN), ("trace", RUN), ("runs", "--json"))


def _as_anybody() -> None:
    """Root may write where nobody may, so the command gives that up."""
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


def run(command: Command, *arguments: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "redraft", *arguments],
        env=command.environment,
        capture_output=True,
        check=False,
        timeout=60,
        preexec_fn=_as_anybody if os.geteuid() == 0 else None,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    folder = tmp_path / "archive"
    folder.mkdir()
    yield Command(folder)
    folder.chmod(0o700)


def close(folder: Path) -> list[tuple[str, int]]:
    """Take the right to write from everybody."""
    for file in folder.iterdir():
        file.chmod(0o400)
    folder.chmod(0o500)
    return listed(folder)


def listed(folder: Path) -> list[tuple[str, int]]:
    return sorted((file.name, file.stat().st_size) for file in folder.iterdir())


def expect_read(command: Command) -> Any:
    """Everything is read, and no file is changed; returns the status of the first run."""
    before = close(command.folder)
    shown, traced, known = (run(command, *arguments) for arguments in READING)
    for done in (shown, traced, known):
        assert done.code == 0, done.err
        assert done.err.count("redraft:") == 0
    assert "The second draft." in shown.out
    assert listed(command.folder) == before
    return next(one["status"] for one in known.json["runs"] if one["run"] == "abc123")


@pytest.mark.nightly
def test_a_database_that_was_closed_is_read(command: Command) -> None:
    with Store(command.database) as store:
        fill(store)
    expect_read(command)


_KILLED = """
import os, sys
from pathlib import Path
from redraft.store.store import Store
from tests.store.support import fill
store = Store(Path(sys.argv[1]))
fill(store)
with store.claim("abc123"):
    store.runs.set_status("abc123", "running")
    print("ready", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.nightly
def test_a_database_that_a_process_has_died_on_is_read_with_its_log(command: Command) -> None:
    with started(_KILLED, command.database):
        pass
    assert command.database.with_name("redraft.db-wal").stat().st_size
    command.database.with_name("redraft.db-shm").unlink()
    assert expect_read(command) == "killed"


@pytest.mark.slow
def test_a_database_is_read_while_somebody_else_writes_to_it(command: Command) -> None:
    with started(_KILLED, command.database):
        assert expect_read(command) == "running"


@pytest.mark.nightly
def test_what_writes_says_that_it_cannot(command: Command) -> None:
    with Store(command.database) as store:
        fill(store)
    close(command.folder)
    for arguments in (("forget", "abc123", "--yes"), ("resume", "abc123")):
        done = run(command, *arguments)
        assert done.code == 1
        assert "name another place with --db" in done.err
        assert "Traceback" not in done.err
