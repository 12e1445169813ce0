"""Stored results: what is read, what is refused with its file and field, and what is drawn of them again."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import record_json
from redraft.errors import UsageError
from redraft.lab.experiments.published import DRAWN, read_results, report_page, result_files, sections
from redraft.report.tables import Report, Table, plain

GAPS = Table(
    "gaps",
    "Recall gap",
    "Best less worst.",
    "Rests on 2 of 2 items.",
    ("perspective", "model", "root", "branch", "leaf", "whole", "items"),
    (("narrative", "a", 0.5, None, 0.25, 0.125, 1), ("narrative", "b", 0.0, 0.5, 0.75, 1.0, 1)),
)
REPORT = Report("hamlet", "HAMLET", ("models: a, b",), {"seed": 1}, (GAPS,), [{"id": "x"}], ("b has gaps",))


def kept(folder: Path, report: Report = REPORT) -> Path:
    folder.mkdir()
    for name, text in result_files(report).items():
        (folder / name).write_text(text, "utf-8")
    return folder


def test_written_results_are_read_and_drawn_equally(tmp_path: Path) -> None:
    folder = kept(tmp_path / "results")
    (results,) = read_results([str(folder)])
    assert (results.name, results.title, results.about, results.headline) == (
        "hamlet",
        "HAMLET",
        REPORT.about,
        REPORT.headline,
    )
    (table,) = results.shown
    assert table.table == GAPS
    marked = replace(REPORT, title=f"On {plain('a_b[1].jsonl')}", headline=(plain("C:\\x_y: 1"),))
    (read,) = read_results([str(kept(tmp_path / "marked", marked))])
    assert (read.title, read.headline) == ("On a_b[1].jsonl", ("C:\\x_y: 1",)), "without the marks of Markdown"
    (picture,) = table.pictures
    (embedded,) = re.findall(r"base64,([^\"]*)", picture)
    svg = b64decode(embedded).decode()
    for name, colour in re.findall(r"(--colour-\d): ?(#\w+)", svg.partition("@media")[0]):
        svg = svg.replace(f"var({name})", colour if colour != "#fdfcf9" else "#ffffff")
    assert svg.partition("</style>")[2] == (folder / "gaps.svg").read_text("utf-8").partition("</style>")[2]


def test_nested_folders_and_older_results_are_read(tmp_path: Path) -> None:
    old = {"experiment": "mine", "settings": {}, "tables": [record_json(GAPS)], "items": [{"id": 1}]}
    kept(tmp_path / "one")
    (tmp_path / "old.json").write_text(json.dumps(old), "utf-8")
    actual = read_results([f"{tmp_path}/", str(tmp_path / "old.json")])
    assert [results.place for results in actual] == [f"{tmp_path}/one", str(tmp_path / "old.json")]
    assert [bool(results.shown[0].pictures) for results in actual] == [True, False], (
        "nobody knows how that experiment is drawn"
    )


def test_an_exported_page_names_the_command_of_each_run(tmp_path: Path) -> None:
    runs = Table("runs", "Runs", "", "", ("item", "run"), (("a", "01ABC"),))
    page = report_page(read_results([str(kept(tmp_path / "a", replace(REPORT, tables=(runs,))))]))
    assert "<code>redraft trace 01ABC</code>" in page


def test_results_are_grouped_by_experiment(tmp_path: Path) -> None:
    kept(tmp_path / "a")
    kept(tmp_path / "b")
    kept(tmp_path / "c", Report("other", "Other", (), {}, (GAPS,), []))
    first, second = sections(read_results([str(tmp_path)]))
    assert [result_set.letter for result_set in first.sets] == ["A", "B"]
    assert [panel.letter for panel in first.lines[0]] == ["A", "B"]
    assert [result_set.letter for result_set in second.sets] == ["C"]
    page = report_page(read_results([str(tmp_path)]))
    assert "3 sets of results, 3 tables, 2 pictures" in page
    assert len({*page.split('id="')[1:]}) == len(page.split('id="')[1:]), "no id comes twice"


def test_unknown_tables_are_shown_without_pictures(tmp_path: Path) -> None:
    for at, (experiment, name) in enumerate(DRAWN):
        odd = Table(name, "T", "", "", ("n",), ((1,),))
        kept_file = tmp_path / f"{at}.json"
        kept_file.write_text(json.dumps({"experiment": experiment, "tables": [record_json(odd)]}), "utf-8")
        (table,) = read_results([str(kept_file)])[0].shown
        assert (table.pictures, "a different form" in table.undrawn) == ((), True), experiment


def _changed(**fields: Any) -> dict[str, Any]:
    return {"experiment": "hamlet", "settings": {}, "tables": [{**record_json(GAPS), **fields}]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no JSON", "invalid JSON"),
        ("[]", "should be"),
        ("{}", "tables: field required"),
        (json.dumps({"experiment": "hamlet", "tables": {}}), "tables: "),
        (json.dumps(_changed(columns="all")), "tables.0.columns: "),
        (json.dumps(_changed(columns=["a", "a"], rows=[])), "tables.0: two columns have the same name"),
        (json.dumps(_changed(rows=[{"model": ["a"]}])), "tables.0.rows.0.model: a text, a number or null was expected"),
        (json.dumps(_changed(rows=[{}, {"model": True}])), "tables.0.rows.1.model: a text"),
        (json.dumps(_changed(rows=[{"whole": float("nan")}])), "tables.0.rows.0.whole: the number is too large"),
        (json.dumps(_changed(rows=[{"whole": 10**30}])), "tables.0.rows.0.whole: the number is too large"),
        (json.dumps(_changed(rows=[{"evil": 1}])), "tables.0: row 0 has 'evil', which is not a column"),
        (f'{{"experiment": "x", "tables": [], "settings": {"[" * 5000}', "invalid JSON"),
    ],
)
def test_bad_results_name_file_and_field(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "tables.json"
    file.write_text(content, "utf-8")
    with pytest.raises(UsageError) as error:
        read_results([str(tmp_path)])
    assert message in error.value.message
    assert error.value.place == str(file)


def test_folders_without_results_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no tables\.json in it"):
        read_results([str(tmp_path)])
    with pytest.raises(UsageError, match="cannot be read"):
        read_results([str(tmp_path / "none.json")])
