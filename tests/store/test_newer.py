"""A database in which a later version has worked, whose settings this one does not know."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.inside import Inside


@pytest.mark.parametrize("column", ["settings", "limits"])
def test_a_setting_of_a_later_version_is_a_sentence(tmp_path: Path, column: str) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    command = Inside(tmp_path)
    assert command.run("summarize", "book.md", "-w", "60", "-q").code == 0
    with sqlite3.connect(command.database) as database:
        run, stored = database.execute(f"SELECT id, {column} FROM runs").fetchone()
        newer = json.dumps({**json.loads(stored), "verve": 3})
        database.execute(f"UPDATE runs SET {column} = ?, version = '9.9'", (newer,))
    database.close()

    said = f"run {run} was made by redraft 9.9: it has the setting verve, which this version"
    for arguments in (("show", run), ("resume", run), ("trace", run)):
        done = command.run(*arguments)
        assert done.code == 1, arguments
        assert said in done.err
        assert "update redraft" in done.err
    # A list goes on without it, and names it.
    listed = command.run("runs")
    assert (listed.code, listed.out) == (0, "")
    assert said in listed.err
    assert "No runs yet" not in listed.err
    assert command.run("runs", "--json").json["damaged"].keys() == {run}
