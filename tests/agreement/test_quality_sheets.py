"""Sheets on the quality of questions and answers (LongSumEval, table IV), and how they are read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import Inside, keepers_court

QUESTIONS, NAMED = 12, 4
"""The questions of the paper's range, and the keepers that the summary names."""


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Inside]:
    with keepers_court(tmp_path) as court:
        yield court


def sheet(command: Inside, what: str) -> list[dict[str, str]]:
    judged = command.run("evaluate", "book.md", "poor.md", "--preset", "longsumeval", "--json").json["run"]
    done = command.run("agree", "sheet", judged, "--what", what, "--people", "1")
    assert done.code == 0, done.err
    return list(csv.DictReader(io.StringIO(done.out.removeprefix("\ufeff"), newline="")))


def read(command: Inside, rows: list[dict[str, str]], no: str) -> dict[str, dict[str, Any]]:
    """What is read of a sheet on which a person says yes to everything but what contains these words."""
    for row in rows:
        row["person 1"] = "no" if no in row["question"] + row["asked"] else "yes"
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    (command.folder / "filled.csv").write_text(out.getvalue(), "utf-8")
    done = command.run("agree", "read", "filled.csv", "--json")
    assert done.code == 0, done.err
    (table,) = [one for one in done.json["tables"] if one["name"] == "validity"]
    return {row["dimension"]: row for row in table["rows"]}


@pytest.mark.slow
def test_questions_are_rated_one_by_one_and_together(command: Inside) -> None:
    rows = sheet(command, "questions")
    assert len(rows) == 2 * QUESTIONS + 1
    assert sum(row["asked"].startswith("Do these questions cover") for row in rows) == 1
    found = read(command, rows, "number 3 called")
    # The list of all questions has these words, too.
    assert {name: (row["rows"], row["right"]) for name, row in found.items() if name != "mean"} == {
        "key information": (QUESTIONS, pytest.approx(1 - 1 / QUESTIONS)),
        "answerable": (QUESTIONS, pytest.approx(1 - 1 / QUESTIONS)),
        "complete": (1, 0.0),
    }


@pytest.mark.slow
def test_an_answer_is_relevant_and_either_consistent_or_rightly_none(command: Inside) -> None:
    rows = sheet(command, "answers")
    assert len(rows) == 2 * (QUESTIONS + NAMED)
    assert sum(row["answer"] == "(no answer)" for row in rows) == 2 * (QUESTIONS - NAMED)
    found = read(command, rows, "Is it right that")
    assert {name: (row["rows"], row["right"]) for name, row in found.items() if name != "mean"} == {
        "relevant": (QUESTIONS + NAMED, 1.0),
        "no answer": (QUESTIONS - NAMED, 0.0),
        "consistent": (2 * NAMED, 1.0),
    }
