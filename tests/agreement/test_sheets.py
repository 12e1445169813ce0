"""Sheets for people: how large a sample must be, what stands in them, and what is read of them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from redraft.domain import Document
from redraft.errors import UsageError
from redraft.lab.agreement.sheets import (
    Around,
    SheetRow,
    drawn,
    majority,
    margin_of,
    needed,
    read_sheets,
    share_of,
    written,
)


@pytest.mark.parametrize(("population", "size"), [(100, 80), (500, 217), (1_000, 278), (10_000, 370), (1_000_000, 384)])
def test_a_sample_is_as_large_as_the_published_table_says(population: int, size: int) -> None:
    """Krejcie and Morgan (1970), table 1: 95 % sure, off by no more than 5 points. They round, and this rounds up."""
    assert needed(population, 0.05) in (size, size + 1)


def test_hamlets_samples_are_large_enough_for_what_it_says_of_them() -> None:
    """98 % sure within 5 points: of 23,333 key facts it looks at 1,185, and at 600 of the others."""
    assert needed(23_333, 0.05, 0.98) == 529
    assert needed(10**9, 0.05, 0.98) == 542
    assert margin_of(600, 10**9, 0.98) == pytest.approx(0.0475, abs=0.0001)
    assert (margin_of(0, 10), margin_of(10, 10), margin_of(1, 1)) == (None, 0.0, 0.0)


def test_a_share_has_wilsons_interval() -> None:
    """Newcombe (1998), table I, method 3: 81 of 263 is 0.2553 to 0.3662, and 0 of 20 is 0 to 0.1611."""
    share, interval = share_of(81, 263)
    assert share == pytest.approx(0.3080, abs=0.00005)
    assert interval == (pytest.approx(0.2553, abs=0.00005), pytest.approx(0.3662, abs=0.00005))
    assert share_of(0, 20)[1] == (0.0, pytest.approx(0.1611, abs=0.00005))
    assert share_of(0, 0) == (None, None)


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    everything = list(range(100))
    assert drawn(everything, 10, 0) == drawn(everything, 10, 0) == sorted(drawn(everything, 10, 0))
    assert drawn(everything, 10, 0) != drawn(everything, 10, 1)
    assert drawn(everything, 100, 0) == drawn(everything, 200, 5) == everything


def _sheet(*texts: str) -> str:
    questions = [SheetRow(f"run/claims/{n}", {"sentence": text}, True, "") for n, text in enumerate(texts)]
    return written(questions, "claims", 2)


def test_no_cell_is_taken_for_a_formula_and_the_judge_is_not_quoted() -> None:
    hostile = ['=HYPERLINK("http://x")', "+1", "-2", "@SUM(A1)", "\t=1", "two\n=lines", "plain"]
    rows = list(csv.reader(io.StringIO(_sheet(*hostile).lstrip("\ufeff"), newline="")))
    assert rows[0] == ["id", "sentence", "asked", "person 1", "person 2"]
    assert [row[1] for row in rows[1:]] == [*(f"'{text}" for text in hostile[:5]), "two\n=lines", "plain"]
    assert all(row[3:] == ["", ""] for row in rows[1:])
    assert "right" not in _sheet("plain").replace("support all of this", "")


RAIN = "It rained all day. " * 200
BOOK = Document("d", "The Ferry", f"=1+1 begins it. The ferry sank in March. {RAIN}The mill burned down in May.")


def test_the_passages_are_those_that_the_verdict_rests_on_and_those_nearest_to_the_words() -> None:
    end = BOOK.text.index("The mill")
    both = Around(BOOK, "estimate").passages("When did the ferry sink?", (end, end + 8))
    first, last = both.split("\n[...]\n")
    assert "The ferry sank in March." in first
    assert "The mill burned down in May." in last
    assert "mill" not in Around(BOOK, "estimate").passages("When did the ferry sink?", None)
    assert Around(BOOK, "estimate").passages("zebra", None) == ""


def test_a_passage_that_begins_like_a_formula_is_none() -> None:
    passage = Around(BOOK, "estimate").passages("When did the ferry sink?", None)
    assert passage.startswith("=1+1")
    rows = list(csv.reader(io.StringIO(_sheet(passage).lstrip("\ufeff"), newline="")))
    assert rows[1][1] == f"'{passage}"


def filled(folder: Path, name: str, *rows: str, head: str = "id,sentence,asked,person 1,person 2") -> str:
    (folder / name).write_text("\n".join([head, *rows]) + "\n", "utf-8-sig")
    return str(folder / name)


def test_answers_of_several_files_stand_beside_each_other(tmp_path: Path) -> None:
    one = filled(tmp_path, "a.csv", "r/claims/a,s,q,yes,No.", "r/claims/b,s,q,?,", "r/claims/c,s,q,maybe,1")
    other = filled(tmp_path, "b.csv", "r/claims/b;s;q;YES", "r/claims/d;s;q;n", head="id;sentence;asked;person 1")
    what, read = read_sheets([one, other])
    assert (what, read.runs) == ("claims", ["r"])
    assert read.by_row == {
        "r/claims/a": [True, False, None],
        "r/claims/b": [None, None, True],
        "r/claims/c": [None, True, None],
        "r/claims/d": [None, None, False],
    }
    [trouble] = read.troubles
    assert trouble.place.endswith("a.csv, row 4")
    assert "'maybe' is neither yes nor no" in trouble.message


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
    with pytest.raises(UsageError, match=message):
        read_sheets([filled(tmp_path, "a.csv", *rows, head=head)])


def test_the_majority_is_more_than_half_of_those_who_answer() -> None:
    assert [majority(one) for one in ([True, False], [None, None], [], [True, None], [True, False, False])] == [
        *[None] * 3,
        True,
        False,
    ]
