"""Sheets for people: how large a sample must be, what stands in them, and what is read of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.domain import Document
from redraft.errors import UsageError
from redraft.lab.agreement.sheets import (
    SheetRow,
    cited_and_nearest,
    draw_sample,
    majority,
    margin_of_error,
    read_answers,
    sample_size,
    sheet_csv,
    sheet_kind,
)
from redraft.text.retrieval import Passages
from redraft.text.tokens import tokenizer_named
from tests.cli.local_command import LocalCommand, judging_folder
from tests.lab.sheets import Rows, fill, tables


@pytest.mark.parametrize(("population", "size"), [(100, 80), (500, 217), (1_000, 278), (10_000, 370), (1_000_000, 384)])
def test_sample_sizes_equal_the_published_table(population: int, size: int) -> None:
    """Krejcie and Morgan (1970), table 1: 95 % sure, off by no more than 5 points. They round, and this rounds up."""
    assert sample_size(population, 0.05) in (size, size + 1)


def test_hamlets_samples_reach_their_stated_margins() -> None:
    """98 % sure within 5 points: of 23,333 key facts it looks at 1,185, and at 600 of the others."""
    assert sample_size(23_333, 0.05, 0.98) == 529
    assert sample_size(10**9, 0.05, 0.98) == 542
    assert margin_of_error(600, 10**9, 0.98) == pytest.approx(0.0475, abs=0.0001)
    assert (margin_of_error(0, 10), margin_of_error(10, 10), margin_of_error(1, 1)) == (None, 0.0, 0.0)


def test_the_same_sample_is_drawn_again() -> None:
    everything = list(range(100))
    assert draw_sample(everything, 10) == draw_sample(everything, 10) == sorted(draw_sample(everything, 10))
    assert len(draw_sample(everything, 10)) == 10
    assert draw_sample(everything, 100) == draw_sample(everything, 200) == everything


def _sheet(*texts: str) -> str:
    questions = [SheetRow(f"run/claims/{n}", {"sentence": text}, True, "", "Is it so?") for n, text in enumerate(texts)]
    return sheet_csv(questions, 2)


def test_cells_are_no_formulas_and_hide_verdicts() -> None:
    hostile = ['=HYPERLINK("http://x")', "+1", "-2", "@SUM(A1)", "\t=1", "two\n=lines", "plain"]
    rows = list(csv.reader(io.StringIO(_sheet(*hostile).lstrip("\ufeff"), newline="")))
    assert rows[0] == ["id", "sentence", "asked", "person 1", "person 2"]
    assert [row[1] for row in rows[1:]] == [*(f"'{text}" for text in hostile[:5]), "two\n=lines", "plain"]
    assert all(row[3:] == ["", ""] for row in rows[1:])
    assert "right" not in _sheet("plain").replace("support all of this", "")


RAIN = "It rained all day. " * 200
BOOK = Document("d", "The Ferry", f"=1+1 begins it. The ferry sank in March. {RAIN}The mill burned down in May.")


def shown(question: str, place: tuple[int, int] | None = None) -> str:
    return cited_and_nearest(BOOK, Passages(BOOK, tokenizer_named("estimate")), question, place)


def test_passages_are_the_cited_and_nearest_ones() -> None:
    end = BOOK.text.index("The mill")
    both = shown("When did the ferry sink?", (end, end + 8))
    first, last = both.split("\n[...]\n")
    assert "The ferry sank in March." in first
    assert "The mill burned down in May." in last
    assert "mill" not in shown("When did the ferry sink?")
    assert shown("zebra") == ""


def filled(folder: Path, name: str, *rows: str, head: str = "id,sentence,asked,person 1,person 2") -> str:
    (folder / name).write_text("\n".join([head, *rows]) + "\n", "utf-8-sig")
    return str(folder / name)


def test_answers_of_several_files_are_combined(tmp_path: Path) -> None:
    first_file = filled(tmp_path, "a.csv", "r/claims/a,s,q,yes,No.", "r/claims/b,s,q,?,", "r/claims/c,s,q,maybe,1")
    second_file = filled(tmp_path, "b.csv", "r/claims/b;s;q;YES", "r/claims/d;s;q;n", head="id;sentence;asked;person 1")
    files = [first_file, second_file]
    assert sheet_kind(files) == "claims"
    answers, [(place, message)] = read_answers(files, "claims")
    assert answers == {
        "r/claims/a": [True, False, None],
        "r/claims/b": [None, None, True],
        "r/claims/c": [None, True, None],
        "r/claims/d": [None, None, False],
    }
    assert place.endswith("a.csv, row 4")
    assert "'maybe' is neither yes nor no" in message


@pytest.mark.parametrize(
    ("rows", "head", "message"),
    [
        (["r/claims/a,s,q"], "id,sentence,asked", "no column for a person"),
        (["r/claims/a,yes", "r/facts/b,no"], "id,person 1", "different kinds of sheets"),
        (["row 1,yes"], "id,person 1", "different kinds of sheets"),
        ([], "id,person 1", "no column for a person"),
    ],
)
def test_what_is_no_sheet_is_refused(tmp_path: Path, rows: list[str], head: str, message: str) -> None:
    path = filled(tmp_path, "a.csv", *rows, head=head)
    with pytest.raises(UsageError, match=message):
        read_answers([path], sheet_kind([path]))


def test_a_majority_exceeds_half_of_the_answers() -> None:
    assert [majority(answers) for answers in ([True, False], [None, None], [], [True, None], [True, False, False])] == [
        *[None] * 3,
        True,
        False,
    ]


QUESTIONS, NAMED = 12, 4
"""The questions of the paper's range, and the keepers that the summary names."""


@pytest.fixture
def command(tmp_path: Path) -> Iterator[LocalCommand]:
    with judging_folder(tmp_path) as harness:
        yield harness


def sheet(command: LocalCommand, what: str, no: str) -> tuple[Rows, dict[str, tuple[int, float]]]:
    """The sheet on a run, filled in by a person who says yes to everything but what contains these words; and the
    number of rows and the share of yes by dimension, as read from it."""
    run = command.run("evaluate", "book.md", "poor.md", "--preset", "longsumeval", "--json").json["run"]
    done = command.run("agree", "sheet", run, "--what", what, "--people", "1", "-o", "sheet.csv")
    assert done.code == 0, done.err
    rows = fill(command.folder / "sheet.csv", lambda row: no not in row["question"] + row["asked"])
    read = tables(command.run("agree", "read", "sheet.csv", "--json"))["validity"]
    return rows, {row["dimension"]: (row["rows"], row["right"]) for row in read if row["dimension"] != "mean"}


@pytest.mark.slow
def test_questions_are_rated_singly_and_together(command: LocalCommand) -> None:
    # The list of all questions has these words, too.
    rows, actual = sheet(command, "questions", "number 3 called")
    assert len(rows) == 2 * QUESTIONS + 1
    assert sum(row["asked"].startswith("Do these questions cover") for row in rows) == 1
    assert actual == {
        "key information": (QUESTIONS, pytest.approx(1 - 1 / QUESTIONS)),
        "answerable": (QUESTIONS, pytest.approx(1 - 1 / QUESTIONS)),
        "complete": (1, 0.0),
    }


@pytest.mark.slow
def test_answers_are_rated_by_three_criteria(command: LocalCommand) -> None:
    rows, actual = sheet(command, "answers", "Is it right that")
    assert len(rows) == 2 * (QUESTIONS + NAMED)
    assert sum(row["answer"] == "(no answer)" for row in rows) == 2 * (QUESTIONS - NAMED)
    assert actual == {
        "relevant": (QUESTIONS + NAMED, 1.0),
        "no answer": (QUESTIONS - NAMED, 0.0),
        "consistent": (2 * NAMED, 1.0),
    }
