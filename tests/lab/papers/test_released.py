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


@pytest.mark.parametrize(("what", "rows"), [("table 4", 400), ("appendix J", 665), ("section 3", 3394)])
def test_the_sheets(what: str, rows: int, tmp_path: Path) -> None:
    text = run(PRINTED[what], tmp_path).removeprefix("\ufeff")
    assert len(list(csv.DictReader(io.StringIO(text, newline="")))) == rows
