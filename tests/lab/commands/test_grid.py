"""`redraft experiment grid`: what drafts are asked for, and what cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.local_command import LocalCommand
from tests.judges import island

GRID = ("experiment", "grid", "book.md", "-m", "extractive", "--words", "40", "--metric", "spread")


@pytest.fixture
def inside(tmp_path: Path) -> LocalCommand:
    (tmp_path / "book.md").write_text(island(40).text, "utf-8")
    return LocalCommand(tmp_path)


@pytest.mark.slow
def test_drafts_of_beginnings_are_judged_in_full(inside: LocalCommand) -> None:
    words = ("--query", "Who keeps the lamp?", "--language", "English", "--set", "until=300", "--metric", "coverage")
    done = inside.run(*GRID, *words, "--json", "-q")
    assert done.code == 0, done.err
    (contestant,) = done.json["settings"]["contestants"]
    settings = {name: contestant["settings"][name] for name in ("query", "language", "until")}
    assert settings == {"query": "Who keeps the lamp?", "language": "English", "until": 300}
    (score,) = (row for row in table(done.json, "scores") if row["metric"] == "spread")
    assert score["score"] < 0.5
    assert inside.run(*GRID, *words, "--json", "-q").out == done.out


def table(report: dict[str, object], name: str) -> list[dict[str, object]]:
    """The rows of a table."""
    tables = report["tables"]
    assert isinstance(tables, list)
    return next(table["rows"] for table in tables if table["name"] == name)


def test_undecided_judges_are_not_asked_again(inside: LocalCommand) -> None:
    undecided = (*GRID[:-2], "--metric", "booookscore")
    done = inside.run(*undecided, "--json")
    assert done.code == 1
    assert {row["code"] for row in table(done.json, "failures")} == {"undecided"}
    assert {row["status"] for row in table(done.json, "summaries")} == {"undecided"}
    assert "the judge could not decide" in done.err
    assert "choose another judge" in done.err
    assert "repeat the command" not in done.err
