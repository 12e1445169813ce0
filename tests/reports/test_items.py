"""Items as lines of JSON and as a table for spreadsheets."""

from __future__ import annotations

import csv
import io
import json

from redraft.report.tables import items_csv, items_jsonl

ITEMS = [
    {
        "id": "a",
        "score": 0.5,
        "usage": None,
        "runs": {"drafting": "r1"},
        "kinds": ["x", None, "y"],
        "done": True,
        "facts": [{"text": "A.", "supported": True}, {"text": "B.", "supported": None}, {"supported": False}],
    },
    {"id": "=1+1", "score": None, "usage": {"calls": 2, "by": {"judge": 1}}, "runs": {}, "failure": {"code": "x\ny"}},
]


def test_each_item_is_a_line_that_reads_back() -> None:
    lines = items_jsonl(ITEMS).split("\n")
    assert [json.loads(line) for line in lines[:-1]] == ITEMS
    assert lines[-1] == ""


def test_what_is_within_has_a_column_for_each_of_its_parts_and_what_is_not_there_is_empty() -> None:
    head, *rows = csv.reader(io.StringIO(items_csv(ITEMS)))
    columns = "id score runs.drafting kinds done facts facts.supported usage.calls usage.by.judge failure.code"
    assert head == columns.split()
    assert rows == [
        ["a", "0.5", "r1", "x; ; y", "true", "3", "1", "", "", ""],
        ["'=1+1", "", "", "", "", "", "", "2", "1", "x y"],
    ]
    assert items_csv([]) == "\n"
