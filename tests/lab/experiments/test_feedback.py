"""Kinds of feedback side by side."""

from __future__ import annotations

import json

import pytest

from tests.cli.inside import Inside
from tests.graphs.test_as_in_the_paper import WINDOW, command, judge

__all__ = ["command", "judge"]


@pytest.mark.nightly
def test_generic_feedback_shares_the_gains_table(command: Inside) -> None:
    summary = {"document": "book.md", "system": "A", "summary": (command.folder / "poor.md").read_text("utf-8")}
    (command.folder / "poor.jsonl").write_text(json.dumps(summary), "utf-8")
    done = command.run("experiment", "longsumeval", "book.md", *WINDOW, "-m", "openai:m", "--summaries", "poor.jsonl",
                       "--order", "paper", "--rounds", "1", "--json", "--feedback", "questions",
                       "--feedback", "findings", "--feedback", "generic")  # fmt: skip
    assert done.code == 0, done.err
    tables = {table["name"]: table["rows"] for table in done.json["tables"]}
    gained = [row for row in tables["gains"] if (row["subset"], row["metric"]) == ("all", "coverage")]
    assert [(row["feedback"], row["refined"]) for row in gained] == [
        ("questions", 1.0),
        ("findings", 1.0),
        ("generic", pytest.approx(4 / 12)),
    ]
    (structured,) = [
        row
        for row in tables["orders"]
        if (row["first"], row["second"], row["metric"]) == ("paper, findings", "paper, generic", "coverage")
    ]
    assert structured["difference"] == pytest.approx(8 / 12)
