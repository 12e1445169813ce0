"""Damage to one run costs that run, and looking leaves no trace."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from redraft.batches.sources import allow_paths, check
from redraft.errors import RunError, StoreError, UsageError
from redraft.store.store import Store
from redraft.studio.run_views import RunFilter, RunRows
from tests.cli.inside import Inside
from tests.support import SAMPLE

DAMAGE = {
    "settings cut off": "UPDATE runs SET settings = substr(settings, 1, 20) WHERE id = ?",
    "settings of another kind": "UPDATE runs SET settings = '[1]' WHERE id = ?",
    "bytes that are no UTF-8": "UPDATE runs SET settings = CAST(x'7bff7d' AS TEXT) WHERE id = ?",
    "limits": "UPDATE runs SET limits = 'null' WHERE id = ?",
    "hashes": "UPDATE runs SET prompt_hashes = '{' WHERE id = ?",
    "kind": "UPDATE runs SET kind = 'nothing' WHERE id = ?",
    "an error that is none": "UPDATE runs SET status = 'failed', error = '{{' WHERE id = ?",
    "notes of the draft": "UPDATE drafts SET notes = '[' WHERE run = ?",
}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> tuple[Inside, str, str]:
    """A database of two runs."""
    folder = tmp_path_factory.mktemp("damage")
    command = Inside(folder)
    made = [command.run("summarize", str(SAMPLE), "-w", words, "--json").json["run"] for words in ("60", "80")]
    return command, made[0], made[1]


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_run_costs_no_other_one(here: tuple[Inside, str, str], what: str, tmp_path: Path) -> None:
    first, bad, good = here
    command = Inside(tmp_path)
    for file in command.database.parent.glob("*.db*"):
        file.unlink()
    with sqlite3.connect(first.database) as whole, sqlite3.connect(command.database) as copy:
        whole.backup(copy)
        copy.execute("PRAGMA foreign_keys=OFF")
        copy.execute(DAMAGE[what], (bad,))
    whole.close()
    copy.close()
    listed = command.run("runs", "--json")
    assert listed.code == 0, listed.err
    assert good in [run["run"] for run in listed.json["runs"]]
    for name in ("show", "trace"):
        assert command.run(name, good).code == 0
        done = command.run(name, bad)
        if done.code != 0:
            assert bad in done.err
    with Store(command.database, to_read=True) as store:
        rows = RunRows(store).listed(RunFilter())
    assert good in [row.run for row in rows.rows]
    if what == "notes of the draft":
        assert command.run("show", bad).code == 1
        return
    assert bad in listed.json["damaged"]
    assert f"run {bad}" in command.run("runs").err
    assert bad in rows.damaged
    with Store(command.database) as store, pytest.raises(RunError, match=bad):
        store.runs.get(bad)


def state(folder: Path) -> dict[str, tuple[str, int]]:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return {file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns) for file in files}


WRITER = """
import sys
from redraft.store.store import Store
store = Store(sys.argv[1])
store.capabilities.learn_mode("m", "tools")
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("open_elsewhere", [False, True])
def test_who_only_reads_leaves_no_trace(tmp_path: Path, open_elsewhere: bool) -> None:
    """In no byte of any file, whether another process has the database open or nobody does."""
    path = tmp_path / "redraft.db"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        if not open_elsewhere:
            other.communicate()
        before = state(tmp_path)
        with Store(path, to_read=True, only_read=True) as store:
            assert store.capabilities.known("m").mode == "tools"
            assert store.runs.latest(5) == []
            assert state(tmp_path) == before
        assert state(tmp_path) == before
        if open_elsewhere:
            other.communicate()


def test_who_only_reads_sees_what_others_write_later(tmp_path: Path) -> None:
    Store(tmp_path / "redraft.db").close()
    with Store(tmp_path / "redraft.db", only_read=True) as store:
        assert store.capabilities.known("m").mode is None
        with Store(tmp_path / "redraft.db") as other:
            other.capabilities.learn_mode("m", "tools")
            assert store.capabilities.known("m").mode == "tools"
        assert store.capabilities.known("m").mode == "tools"


def test_who_only_reads_makes_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no database there"):
        Store(tmp_path / "redraft.db", only_read=True)
    assert state(tmp_path) == {}


@pytest.mark.parametrize("name", ["x.docx", "x.pdf", "x.DOCX"])
def test_an_export_is_no_page_under_another_name(here: tuple[Inside, str, str], name: str) -> None:
    command, run, _ = here
    done = command.run("export", run, "-o", name)
    assert done.code == 2
    assert f"not {name[2:].upper()}" in done.err
    assert not (command.folder / name).exists()


@pytest.mark.parametrize("path", ["../secret.md", "/etc/hostname", "~/secret.md", "link.md", "in/../../secret.md"])
def test_a_line_of_a_stranger_names_no_file_elsewhere(tmp_path: Path, path: str) -> None:
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
    allow_paths()
    try:
        assert check([str(lines)]) == 1
    finally:
        allow_paths(False)


def test_the_command_lets_lines_name_other_files_where_it_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("The keeper kept the light. " * 40, "utf-8")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "lines.jsonl").write_text('{"path": "../a.md"}\n', "utf-8")
    command = Inside(tmp_path)
    refused = command.run("batch", "in/lines.jsonl", "-w", "60", "--dry-run")
    assert refused.code == 2
    assert "--allow-paths" in refused.err
    assert command.run("batch", "in/lines.jsonl", "-w", "60", "--dry-run", "--allow-paths").code == 0
