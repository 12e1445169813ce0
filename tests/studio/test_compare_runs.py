"""`redraft compare-runs`, as it is typed, on what the built-in model drafts and judges."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.local_command import LocalCommand
from tests.pages.support import SAMPLE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[LocalCommand, list[str]]:
    """Two summaries of the sample book, of different lengths, drafted and judged by the built-in model."""
    command = LocalCommand(tmp_path_factory.mktemp("two"), COLUMNS="100")
    runs = []
    for words in ("100", "300"):
        options = f"-w {words} --refine -g coverage=0.9 --rounds 1 --json -q".split()
        done = command.run("summarize", str(SAMPLE), *options, code=3)
        runs.append(done.json["run"])
    return command, runs


def test_the_forms_say_the_same(two: tuple[LocalCommand, list[str]]) -> None:
    command, runs = two
    read = command.run("compare-runs", *runs, "--format", "json").json
    assert [run["result"]["run"] for run in read["runs"]] == runs
    assert [run["label"] for run in read["runs"]] == [
        "extractive, hierarchical, 100 words",
        "extractive, hierarchical, 300 words",
    ]
    assert read["settings"] == {"words": [100, 300]}
    result = command.run("show", runs[1], "--json").json
    coverage = read["runs"][1]["scores"]["coverage"]
    assert coverage["score"] == read["runs"][1]["result"]["scores"]["coverage"] == result["scores"]["coverage"]
    assert coverage["interval"]["low"] <= coverage["score"] <= coverage["interval"]["high"]
    flips = [part for part in read["items"] if part["standing"] == "flipped"]
    assert flips
    difference, *_ = read["differences"]
    values = [[verdict["value"] for verdict in item["verdicts"].values()] for item in read["items"]]
    both = [(a, b) for a, b in values if a is not None and b is not None]
    assert difference["pairs"] == len(both)
    assert difference["difference"] == pytest.approx(sum(a - b for a, b in both) / len(both))
    markdown = command.run("compare-runs", *runs, "--format", "markdown").out
    command.run("compare-runs", *runs, "-o", "scores.html", "-q")
    page = (command.folder / "scores.html").read_text("utf-8")
    intervals = re.findall(r" \[(0\.\d\d to \d\.\d\d)\]", page)
    assert intervals
    assert all(f"({interval})" in markdown for interval in intervals), "page and Markdown round alike"
    assert re.search(r"\| words +\| +1?\d\d \| +[23]\d\d \|", markdown), markdown
    assert f"coverage, A minus B: {difference['difference']:+.2f} (" in markdown
    assert "overage is higher for " in markdown or "difference in coverage" in markdown
    assert markdown.count("\n- only B: ") == min(10, len(flips))
    assert command.run("compare-runs", *runs, "-o", "c.json", "-q").err == ""
    assert (command.folder / "c.json").read_text("utf-8").startswith('{\n  "format": 3')


def test_incomparable_runs_are_refused(two: tuple[LocalCommand, list[str]]) -> None:
    command, runs = two
    for words, message in (
        ([runs[0]], "you gave only one run"),
        ([runs[0], runs[0]], "is given twice"),
        ([*runs, "--format", "pdf"], "'pdf' is not one of"),
        ([*runs, "-o", "compare.pdf"], "PDF files cannot be written"),
        ([*runs, "-o", "nowhere/compare.html"], "its directory does not exist"),
    ):
        done = command.run("compare-runs", *words)
        assert done.code == 2, words
        assert message in done.err
    assert command.run("compare-runs", runs[0], "ffffffff").code == 1
    (command.folder / "part.md").write_text("The lighthouse was built in 1901. It was closed in 1974.", "utf-8")
    run = command.run("evaluate", "part.md", "part.md", "--metric", "coverage", "--json", "-q").json["run"]
    done = command.run("compare-runs", runs[0], run)
    assert (done.code, "these runs are of different documents: " in " ".join(done.err.split())) == (2, True)
    assert re.search(r"`redraft runs --document [0-9a-f]{8}` lists the runs on the first", done.err)
    (command.folder / "begun.md").write_text("# The Salt Ledger\n\nThe lighthouse was built in 1901.", "utf-8")
    run = command.run("evaluate", "begun.md", "part.md", "--metric", "coverage", "--json", "-q").json["run"]
    done = command.run("compare-runs", runs[0], run)
    assert re.search(r"The Salt Ledger \([0-9a-f]{8}\), The Salt Ledger \([0-9a-f]{8}\)", done.err)


def test_what_is_stored_leads_to_it(two: tuple[LocalCommand, list[str]]) -> None:
    command, runs = two
    command.run("compare", *runs, code=2, err="SOURCE... A B; stored runs: redraft compare-runs RUN RUN")
    done = command.run("compare", str(SAMPLE), *runs, code=2, err="does not compare summaries")
    assert done.err.rstrip().endswith("; and compare both: redraft compare-runs RUN RUN")
    judged = command.run("evaluate", *runs, "--metric", "consistency", "--json").json["run"]
    refined = command.run("refine", *runs, "-g", "consistency=0.1", "--json").json["run"]
    read = command.run("compare-runs", judged, refined, "--format", "json").json
    assert read["runs"][1]["label"].endswith(", refined by edits")


def test_nothing_of_this_machine_is_in_it(two: tuple[LocalCommand, list[str]]) -> None:
    command, runs = two
    for form in ("html", "json"):
        text = command.run("compare-runs", *runs, "--format", form).out
        assert str(command.folder) not in text
        assert str(Path.home()) not in text
