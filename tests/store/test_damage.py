"""Damaged, newer and read-only databases: what can be read is read, and the rest is named."""

from __future__ import annotations

import ctypes
import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redraft.batches.sources import check, paths_allowed
from redraft.errors import RunError, StoreError, UsageError
from redraft.store.store import Store
from tests.cli.local_command import LocalCommand
from tests.command import Command, Completed
from tests.store.support import fill, started
from tests.support import SAMPLE

DAMAGE = {
    "body cut off": "UPDATE runs SET body = substr(body, 1, 20) WHERE id = ?",
    "body of another kind": "UPDATE runs SET body = '[1]' WHERE id = ?",
    "bytes that are no UTF-8": "UPDATE runs SET body = CAST(x'7bff7d' AS TEXT) WHERE id = ?",
    "settings of another kind": "UPDATE runs SET body = json_set(body, '$.order.settings', json('[1]')) WHERE id = ?",
    "limits": "UPDATE runs SET body = json_set(body, '$.order.limits', json('null')) WHERE id = ?",
    "no hashes": "UPDATE runs SET body = json_remove(body, '$.prompt_hashes') WHERE id = ?",
    "kind": "UPDATE runs SET body = json_set(body, '$.order.kind', 'nothing') WHERE id = ?",
    "draft": "UPDATE drafts SET body = '[' WHERE run = ?",
}


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[LocalCommand, str, str]:
    folder = tmp_path_factory.mktemp("damage")
    command = LocalCommand(folder)
    first, second = (command.run("summarize", str(SAMPLE), "-w", n, "--json").json["run"] for n in ("60", "80"))
    return command, first, second


def damaged(first: LocalCommand, bad: str, what: str, folder: Path) -> LocalCommand:
    """A command with a copy of the database in which a run is damaged."""
    command = LocalCommand(folder)
    for file in command.database.parent.glob("*.db*"):
        file.unlink()
    with sqlite3.connect(first.database) as source, sqlite3.connect(command.database) as copy:
        source.backup(copy)
        copy.execute("PRAGMA foreign_keys=OFF")
        copy.execute(DAMAGE[what], (bad,))
    source.close()
    copy.close()
    return command


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_run_spoils_no_other(two_runs: tuple[LocalCommand, str, str], what: str, tmp_path: Path) -> None:
    first, bad, good = two_runs
    command = damaged(first, bad, what, tmp_path)
    listed = command.run("runs", "--json")
    assert listed.code == 0, listed.err
    assert good in [run["run"] for run in listed.json["runs"]]
    for name in ("show", "trace"):
        assert command.run(name, good).code == 0
        done = command.run(name, bad)
        if done.code != 0:
            assert bad in done.err
    if what == "draft":
        assert command.run("show", bad).code == 1
        return
    assert bad in listed.json["damaged"]
    assert f"run {bad}" in command.run("runs").err
    with Store(command.database) as store, pytest.raises(RunError, match=bad):
        store.runs.get(bad)


def state(folder: Path) -> dict[str, tuple[str, int]]:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return {file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns) for file in files}


WRITER = """
import sys
from redraft.store.store import Store
store = Store(sys.argv[1])
store.capabilities.learn("m", mode="tools")
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("open_elsewhere", [False, True])
def test_reading_changes_no_file(tmp_path: Path, open_elsewhere: bool) -> None:
    """In no byte of any file, whether another process has the database open or nobody does."""
    path = tmp_path / "redraft.db"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        if not open_elsewhere:
            writer.communicate()
        before = state(tmp_path)
        with Store(path, to_read=True, only_read=True) as store:
            assert store.capabilities.known("m").mode == "tools"
            assert store.runs.latest(5) == []
            assert state(tmp_path) == before
        assert state(tmp_path) == before
        if open_elsewhere:
            writer.communicate()


def test_a_reader_creates_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no database there"):
        Store(tmp_path / "redraft.db", only_read=True)
    assert state(tmp_path) == {}


@pytest.mark.parametrize("path", ["../secret.md", "/etc/hostname", "~/secret.md", "link.md", "in/../../secret.md"])
def test_lines_name_no_file_elsewhere(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("A secret.", "utf-8")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "own.md").write_text("A text.", "utf-8")
    lines = folder / "lines.jsonl"
    lines.write_text('{"path": "own.md"}\n', "utf-8")
    assert check([str(lines)]) == 1
    lines.write_text(f'{{"path": "{path}"}}\n', "utf-8")
    with pytest.raises(UsageError, match="outside its folder"):
        check([str(lines)])
    paths_allowed.set(True)
    try:
        assert check([str(lines)]) == 1
    finally:
        paths_allowed.set(False)


@pytest.mark.parametrize("part", ["settings", "limits"])
def test_settings_of_later_versions_are_named(tmp_path: Path, part: str) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    command = LocalCommand(tmp_path)
    assert command.run("summarize", "book.md", "-w", "60", "-q").code == 0
    with sqlite3.connect(command.database) as database:
        (run,) = database.execute("SELECT id FROM runs").fetchone()
        newer = f"json_set(body, '$.order.{part}.verve', 3, '$.version', '9.9')"
        database.execute(f"UPDATE runs SET body = {newer}")
    database.close()

    message = f"run {run} was made by redraft 9.9: this version does not know its settings ({part}.verve: is not"
    for arguments in (("show", run), ("resume", run), ("trace", run)):
        done = command.run(*arguments)
        assert done.code == 1, arguments
        assert message in done.err
        assert "update redraft" in done.err
    # A list goes on without it, and names it.
    listed = command.run("runs")
    assert (listed.code, listed.out) == (0, "")
    assert message in listed.err
    assert "No runs yet" not in listed.err
    assert command.run("runs", "--json").json["damaged"].keys() == {run}


RUN = "fork-of-abc123"
READING = (("show", RUN), ("trace", RUN), ("runs", "--json"))


def _as_anybody() -> None:
    """Root may write where nobody may, so the command gives that up."""
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


def run_as_anybody(command: Command, *arguments: str) -> Completed:
    done = subprocess.run(
        [sys.executable, "-m", "redraft", *arguments],
        env=command.environment,
        capture_output=True,
        check=False,
        timeout=60,
        preexec_fn=_as_anybody if os.geteuid() == 0 else None,
    )
    return Completed(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    folder = tmp_path / "archive"
    folder.mkdir()
    yield Command(folder)
    folder.chmod(0o700)


def close(folder: Path) -> list[tuple[str, int]]:
    for file in folder.iterdir():
        file.chmod(0o400)
    folder.chmod(0o500)
    return listed(folder)


def listed(folder: Path) -> list[tuple[str, int]]:
    return sorted((file.name, file.stat().st_size) for file in folder.iterdir())


def expect_read(command: Command) -> Any:
    """Everything is read, and no file is changed; returns the status of the first run."""
    before = close(command.folder)
    summary, trace, runs = (run_as_anybody(command, *arguments) for arguments in READING)
    for done in (summary, trace, runs):
        assert done.code == 0, done.err
        assert done.err.count("redraft:") == 0
    assert "The second draft." in summary.out
    assert listed(command.folder) == before
    return next(run["status"] for run in runs.json["runs"] if run["run"] == "abc123")


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


@pytest.mark.slow
def test_a_database_in_use_is_read(command: Command) -> None:
    with started(_KILLED, command.database):
        assert expect_read(command) == "running"


@pytest.mark.nightly
def test_writing_commands_name_the_place(command: Command) -> None:
    with Store(command.database) as store:
        fill(store)
    close(command.folder)
    for arguments in (("forget", "abc123", "--yes"), ("resume", "abc123")):
        done = run_as_anybody(command, *arguments)
        assert done.code == 1
        assert "name another place with --db" in done.err
        assert "Traceback" not in done.err
