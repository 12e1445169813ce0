"""What tables look like, and that nothing in a document's title or query can do harm there."""

from __future__ import annotations

import csv
import io
import json

import pytest

from redraft.domain import record_json
from redraft.report.tables import Table


def table(*rows: tuple[str | int | float | None, ...], columns: tuple[str, ...] = ("name", "value")) -> Table:
    return Table("t", "A table", "What it is.", "Rests on all.", columns, rows)


def body(made: Table) -> list[str]:
    return made.to_markdown().splitlines()[4:]


def test_markdown_has_three_decimals_and_even_columns() -> None:
    made = table(("one", 0.123456), ("three", 2 / 3), ("none", None))
    assert body(made) == [
        "| name  | value |",
        "| ----- | ----: |",
        "| one   | 0.123 |",
        "| three | 0.667 |",
        "| none  |     – |",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0.000"), (0.00042, "0.00042"), (-0.0002, "-0.0002"), (1234.567, "1,234.6"), (12345, "12,345"), (0, "0")],
)
def test_what_is_there_is_not_rounded_to_nothing(value: float, shown: str) -> None:
    assert body(table(("x", value)))[2] == f"| x    | {shown.rjust(5)} |"


def test_nothing_is_rounded_away_for_programs() -> None:
    made = table(("one", 2 / 3), ("none", None))
    assert made.to_csv() == "name,value\none,0.6666666666666666\nnone,\n"
    assert record_json(made)["rows"] == [{"name": "one", "value": 2 / 3}, {"name": "none", "value": None}]


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", " \n=1"])
def test_no_text_is_a_formula_in_a_spreadsheet(text: str) -> None:
    cell = next(csv.DictReader(io.StringIO(table((text, -1.5)).to_csv())))
    assert cell["name"].startswith("'")
    assert cell["value"] == "-1.5", "a number is a number"


@pytest.mark.parametrize("text", ["a, b", 'a "quoted" one', "two\nlines", "two\r\nlines", "a;b"])
def test_text_in_csv_stays_in_its_cell(text: str) -> None:
    found = list(csv.reader(io.StringIO(table((text, 1)).to_csv())))
    assert found[1] == [" ".join(text.split()), "1"]
    assert len(found) == 2


def test_text_in_markdown_stays_in_its_cell() -> None:
    made = table(("a | b\n| c", 1), ("<script>", 2), ("[here](javascript:x)", 3), ("`code` *bold*", 4))
    assert [line.split(" | ", 1)[0].strip("| ") for line in body(made)[2:]] == [
        r"a \| b \| c",
        r"\<script\>",
        r"\[here\](javascript:x)",
        r"\`code\` \*bold\*",
    ]


def test_long_text_is_cut_for_people_only() -> None:
    made = table(("word " * 100, 1))
    assert len(body(made)[2]) < 100
    assert len(made.to_csv()) > 400


def test_a_table_without_rows_says_so() -> None:
    assert body(table()) == ["None."]
    assert table().to_csv() == "name,value\n"
    assert json.dumps(record_json(table())["rows"]) == "[]"
