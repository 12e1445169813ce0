"""What docs/papers.md says of released data, where the data are: all figures, and what the commands print."""

from __future__ import annotations

import csv
import io
import shlex
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.common import DATA
from benchmarks.papers import all_checks
from tests.cli.local_command import LocalCommand
from tests.lab.papers.page import PAGE, page_rows
from tests.lab.papers.test_commands import table

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not (DATA / "booookscore").is_dir(), reason="needs $REDRAFT_DATA"),
]
PRINTED = {row.what: row.commands[0] for row in page_rows(PAGE.read_text("utf-8")) if row.paper == "BooookScore"}


def run(command: str, folder: Path) -> str:
    """Run it in the folder of the data, with a database elsewhere."""
    inside = LocalCommand(folder, COLUMNS="100", TIKTOKEN_CACHE_DIR=str(DATA.parent / "tiktoken"))
    inside.folder = DATA / "booookscore"
    done = inside.run(*shlex.split(command)[1:])
    assert done.code == 0, done.err
    return done.out


def test_recomputed_figures_equal_the_published_ones() -> None:
    actual = list(all_checks())
    assert [(check.paper, check.where) for check in actual if not check.equal] == []
    by_paper = Counter(check.paper for check in actual)
    assert by_paper == {"LongSumEval": 11, "BooookScore": 34, "HAMLET": 31, "Traceability thesis": 17}


@pytest.mark.parametrize(
    ("what", "by_system", "shares"),
    [
        ("table 1, people; section 4", [89.4, 90.9], [3.71, 2.27, 1.21]),
        ("table 1, people, incremental", [82.3, 82.7], [7.32, 4.26, 2.76]),
    ],
)
def test_scores_and_types_of_people_and_model(
    what: str, by_system: list[float], shares: list[float], tmp_path: Path
) -> None:
    out = run(PRINTED[what], tmp_path)
    scores = table(out, "BooookScore (table 2)")
    assert [round(float(row["BooookScore"]), 1) for row in scores] == by_system
    human = [row for row in table(out, "Types of confusion") if row["system"].startswith("summary")]
    measured = {row["type"]: float(row["% of sentences"]) for row in human}
    omissions = [measured[name] for name in ("entity omission", "event omission", "causal omission")]
    assert omissions == pytest.approx(shares, abs=0.0051), "three decimals are printed"


def test_the_row_of_table_2(tmp_path: Path) -> None:
    out = run(PRINTED["table 2, figure 3, appendix G"], tmp_path)
    (score,) = table(out, "BooookScore (table 2)")
    assert (round(float(score["BooookScore"]), 1), score["sd"]) == (82.8, "0.015")
    *_, last_row = table(out, "BooookScore by length (figure 3)")
    assert round(float(last_row["Pearson"]), 2) == -0.1


@pytest.mark.parametrize(("what", "rows"), [("table 4", 400), ("appendix J", 665), ("section 3", 3394)])
def test_the_sheets(what: str, rows: int, tmp_path: Path) -> None:
    text = run(PRINTED[what], tmp_path).removeprefix("\ufeff")
    assert len(list(csv.DictReader(io.StringIO(text, newline="")))) == rows
