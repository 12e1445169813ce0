"""The commands with which docs/papers.md repeats the LongSumEval paper, and the figures that come out of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.papers_longsumeval import PAPER, checks
from tests.cli.inside import Inside
from tests.support import SAMPLE

DATA = Path(os.environ.get("REDRAFT_DATA") or SAMPLE.parents[2] / "shared" / "data")
needs_data = pytest.mark.skipif(not (DATA / "summeval").is_dir(), reason="needs $REDRAFT_DATA")
ITEMS = ("--items", "32")
"""Two documents of SummEval with the summaries of its 16 systems."""
SUMMEVAL = f"summeval={DATA}/summeval/summaries.jsonl"
THREE = (SUMMEVAL, f"qags={DATA}/qags/mturk_cnndm.jsonl", f"realsumm={DATA}/realsumm/documents.jsonl")


@pytest.fixture
def inside(tmp_path: Path) -> Inside:
    (tmp_path / "examples").symlink_to(SAMPLE.parent)
    return Inside(tmp_path)


def overview(inside: Inside, *words: str) -> list[dict[str, Any]]:
    done = inside.run("agree", "table", *words, *ITEMS, "--preset", "longsumeval", "--json")
    assert done.code == 0, done.err
    (table,) = done.json["tables"]
    return list(table["rows"])


@pytest.mark.nightly
@needs_data
def test_every_figure_that_can_be_recomputed_is_as_published() -> None:
    found = checks()
    assert len(found) >= 11
    assert [one.where for one in found if not one.equal] == []
    assert {one.paper for one in found} == {PAPER}


@pytest.mark.nightly
@needs_data
def test_table_ii(inside: Inside) -> None:
    rows = overview(inside, *THREE, "--sweep", "similarity=exact,rouge1")
    assert {"summeval", "qags", "realsumm"} <= rows[0].keys()
    per = {(row["metric"], row["per"]) for row in rows if row["method"] == "extractive"}
    assert per == {(metric, each) for metric in ("consistency", "coverage") for each in ("summaries", "systems")}
    assert {row["realsumm"] for row in rows if row["metric"] == "consistency"} == {None}


@pytest.mark.nightly
def test_table_iii(inside: Inside) -> None:
    done = inside.run("experiment", "longsumeval", "examples/the-salt-ledger.md", "-m", "extractive", "--words", "150",
                      "--order", "paper", "--feedback", "questions", "--feedback", "findings", "--feedback", "generic",
                      "--json")  # fmt: skip
    assert done.code == 0, done.err
    tables = {table["name"]: table["rows"] for table in done.json["tables"]}
    rows = [row for row in tables["gains"] if (row["subset"], row["metric"]) == ("all", "coverage")]
    gained = {row["feedback"]: row["gain"] for row in rows}
    assert gained["questions"] > 0.5
    assert gained["findings"] > 0.5
    assert gained["generic"] == 0, "the built-in model cannot follow requests in words"


@pytest.mark.nightly
@needs_data
@pytest.mark.parametrize(
    ("metric", "sweep", "settings"),
    [
        ("coverage", ["questions=3-6,6-12,9-15,12-18"], 4),
        ("consistency", ["claims=3-5,5-7,7-12", "similarity=exact,rouge1"], 6),
        ("consistency", ["threshold=0.2:0.7:0.1", "similarity=exact,rouge1"], 12),
    ],
    ids=["V", "VI", "VII"],
)
def test_tables_v_to_vii(inside: Inside, metric: str, sweep: list[str], settings: int) -> None:
    swept = [word for one in sweep for word in ("--sweep", one)]
    rows = overview(inside, SUMMEVAL, "--metric", metric, "--claims", "5-7", *swept)
    assert sum(row["method"] == "extractive" and row["per"] == "systems" for row in rows) == settings
