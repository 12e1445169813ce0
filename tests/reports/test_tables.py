"""Tables and items: what they show, and that nothing in a document's title or query can do harm there."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from redraft.domain import Evaluation, Finding, record_json
from redraft.evaluators.metric_info import WITHOUT_JUDGE
from redraft.llm.nli import claim_question
from redraft.report.markdown.evaluation import brief_finding, metric_line
from redraft.report.tables import Report, Table, items_csv


def table(*rows: tuple[str | int | float | None, ...]) -> Table:
    return Table("t", "A table", "What it is.", "Rests on all.", ("name", "value"), rows)


def body(table: Table) -> list[str]:
    return table.to_markdown().splitlines()[4:]


def test_tables_are_written_in_each_format() -> None:
    assert body(table(("one", 0.123456), ("three", 2 / 3), ("none", None))) == [
        "| name  | value |",
        "| ----- | ----: |",
        "| one   | 0.123 |",
        "| three | 0.667 |",
        "| none  |     – |",
    ]
    assert body(table()) == ["None."]
    numbers = table(("one", 2 / 3), ("none", None))
    assert numbers.to_csv() == "name,value\none,0.6666666666666666\nnone,\n"
    assert record_json(numbers)["rows"] == [{"name": "one", "value": 2 / 3}, {"name": "none", "value": None}]
    assert (table().to_csv(), record_json(table())["rows"]) == ("name,value\n", [])
    texts = ("a | b\n| c", "<script>", "[here](javascript:x)", "`code` *bold*", "word " * 100)
    rows = table(*((text, 1) for text in texts))
    cells = [line.split(" | ", 1)[0].strip("| ") for line in body(rows)[2:]]
    assert cells[:4] == [r"a \| b \| c", r"\<script\>", r"\[here\](javascript:x)", r"\`code\` \*bold\*"]
    assert len(cells[4]) < 100, "long text is shortened for people only"
    assert len(rows.to_csv()) > 400


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.000"), (0.00042, "0.00042"), (-0.0002, "-0.0002"), (1234.567, "1,234.6"), (12345, "12,345"), (0, "0")],
)
def test_numbers_are_not_rounded_to_nothing(value: float, text: str) -> None:
    assert body(table(("x", value)))[2] == f"| x    | {text.rjust(5)} |"


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", " \n=1"])
def test_no_text_is_a_formula(text: str) -> None:
    cell = next(csv.DictReader(io.StringIO(table((text, -1.5)).to_csv())))
    assert cell["name"].startswith("'")
    assert cell["value"] == "-1.5", "a number is a number"


@pytest.mark.parametrize("text", ["a, b", 'a "quoted" one', "two\nlines", "two\r\nlines", "a;b"])
def test_text_stays_in_its_csv_cell(text: str) -> None:
    rows = list(csv.reader(io.StringIO(table((text, 1)).to_csv())))
    assert rows[1:] == [[" ".join(text.split()), "1"]]


FACTS = [{"text": "A.", "supported": True}, {"text": "B.", "supported": None}, {"supported": False}]
DRAFTED = {"id": "a", "score": 0.5, "usage": None, "runs": {"drafting": "r1"}, "kinds": ["x", None, "y"]}
ITEMS = [
    DRAFTED | {"done": True, "facts": FACTS},
    {"id": "=1+1", "score": None, "usage": {"calls": 2, "by": {"judge": 1}}, "runs": {}, "failure": {"code": "x\ny"}},
]


def test_items_are_lines_and_columns() -> None:
    *lines, end = Report("r", "R", (), {}, (), ITEMS).files()["items.jsonl"].split("\n")
    assert ([json.loads(line) for line in lines], end) == (ITEMS, "")
    head, *rows = csv.reader(io.StringIO(items_csv(ITEMS)))
    columns = "id score runs.drafting kinds done facts facts.supported usage.calls usage.by.judge failure.code"
    assert head == columns.split()
    assert rows == [
        ["a", "0.5", "r1", "x; ; y", "true", "3", "1", "", "", ""],
        ["'=1+1", "", "", "", "", "", "", "2", "1", "x y"],
    ]
    assert items_csv([]) == "\n"


def test_a_brief_finding_quotes_the_sentence_of_a_claim() -> None:
    sentence = f"{'The bank was rotten and ' * 9}it fell."
    asked = Finding("consistency", "inconsistent", "correct", "It says no.", sentence, claim_question(sentence))
    brief = brief_finding(asked)
    assert brief.startswith("inconsistent: “The bank was rotten")
    assert brief.endswith("…”"), "a quote that is shortened is closed"
    assert brief_finding(asked, standalone=False) == "inconsistent: It says no."


def test_a_score_that_no_judge_gives_counts_no_items() -> None:
    scored = Evaluation("dates", 1, "scored", 0.5, judged=1)
    assert metric_line(scored) == "dates 0.50: 1 item judged, 0 findings"
    assert metric_line(replace(scored, details={WITHOUT_JUDGE: True})) == "dates 0.50: 0 findings"
    assert "3 claims judged" in metric_line(replace(scored, metric="consistency", judged=3))
