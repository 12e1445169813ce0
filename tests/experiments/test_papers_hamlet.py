"""The commands of docs/papers.md about HAMLET, with the built-in model."""

from __future__ import annotations

import csv
import os
import shlex
from pathlib import Path

import pytest

from benchmarks import papers_hamlet
from benchmarks.common import DATA
from redraft.cli.terminal import DONE, SHORT
from tests.cli.inside import Inside
from tests.support import SAMPLE

HAMLET = (
    "experiment hamlet examples/the-salt-ledger.md -m extractive --judge extractive --preset hamlet --words 150"
    " --full-text --keyfact-chunks 4000+ --keyfact-chunks 2000+ -o results"
)
SHEETS = (
    "agree sheet --experiment results --what facts --margin 0.05 --confidence 0.98 -o facts.csv",
    "agree read facts.csv",
    "agree sheet --experiment results --what queries -o queries.csv",
    "agree sheet --experiment results --what verification -o gold.csv",
    "agree read gold.csv --experiment results",
    "agree judges --experiment results --what verification",
    "experiment chunk-size examples/the-salt-ledger.md --judge extractive -o sizes",
)
TABLES = [
    "summaries",
    "recall",
    "gaps",
    "faithfulness",
    "errors",
    "length",
    "sizes",
    "pruning",
    "paths",
    "judges",
    "chunks",
]


@pytest.mark.nightly
def test_every_command_of_the_page_runs(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(SAMPLE.parent)
    command = Inside(tmp_path, COLUMNS="100")
    # The built-in judge has too few verdicts on some answers.
    assert command.run(*shlex.split(HAMLET)).code in (DONE, SHORT)
    assert {f"{name}.csv" for name in TABLES} <= set(os.listdir(tmp_path / "results"))
    with (tmp_path / "results" / "judges.csv").open(encoding="utf-8") as file:
        chunk, full = csv.DictReader(file)
    assert (chunk["reference"], full["reference"]) == ("chunk", "full text")
    assert float(chunk["faithfulness"]) < float(full["faithfulness"])
    for one in SHEETS:
        done = command.run(*shlex.split(one))
        assert done.code == DONE, (one, done.err)


@pytest.mark.nightly
@pytest.mark.skipif(not DATA.is_dir(), reason="needs REDRAFT_DATA")
def test_the_published_figures_come_out() -> None:
    found = papers_hamlet.checks()
    assert [one.where for one in found if not one.equal] == []
    assert sum(one.where.startswith("table 8") for one in found) == 16
