"""Every command of docs/papers.md runs as it stands there, with the built-in model, on the sample and on files of the
released formats; what it must print is said here for each row."""

from __future__ import annotations

import csv
import io
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest

from benchmarks import papers, papers_thesis
from benchmarks.common import VOCABULARY
from benchmarks.papers_booookscore import level_limits
from redraft.cli.terminal import DONE, SHORT
from tests.cli.local_command import LocalCommand
from tests.command import Command, Completed
from tests.lab.papers.files import story, write_files
from tests.lab.papers.page import PAGE, PageRow, page_rows, sentence_commands
from tests.support import SAMPLE

PAPERS = ("LongSumEval", "BooookScore", "HAMLET", "The traceability thesis")
ROWS = page_rows(PAGE.read_text("utf-8"))
Check = Callable[[Sequence[Completed], Path], None]


def table(text: str, title: str) -> list[dict[str, str]]:
    """Return the rows of a printed table."""
    lines = [line for line in text.partition(f"## {title}")[2].partition("\n## ")[0].splitlines() if line[:1] == "|"]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(head, row, strict=True)) for row in rows]


def csv_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def sheet(rows: int) -> Check:
    """A sheet of so many rows on stdout."""

    def check(done: Sequence[Completed], _: Path) -> None:
        text = io.StringIO(done[0].out.removeprefix("\ufeff"), newline="")
        assert len(list(csv.DictReader(text))) == rows

    return check


def figures_agree(done: Sequence[Completed], _: Path) -> None:
    *_, last = done[0].out.splitlines()
    assert re.fullmatch(r"(\d\d+) of \1 figures equal the published ones\.", last)


def table_ii(done: Sequence[Completed], _: Path) -> None:
    rows = table(done[0].out, "Agreement with people")
    actual = {(row["method"], row["metric"], row["similarity"], row["per"]): row for row in rows}
    systems, summaries = (actual["extractive", "consistency", "rouge1", per] for per in ("systems", "summaries"))
    assert (systems["summeval"], systems["qags"], systems["realsumm"]) == ("1.000", "–", "–")
    assert summaries["summeval"].startswith("1.000")
    assert actual["extractive", "coverage", "–", "summaries"]["realsumm"] != "–"
    assert ("QuestEval-like (extractive)", "consistency", "–", "systems") in actual


def swept(settings: int) -> Check:
    """Tables V to VII: so many settings of the judge."""

    def check(done: Sequence[Completed], _: Path) -> None:
        rows = table(done[0].out, "Agreement with people")
        assert sum(row["method"] == "extractive" and row["per"] == "summaries" for row in rows) == settings

    return check


def table_iii(_: Sequence[Completed], folder: Path) -> None:
    rows = csv_rows(folder / "gains" / "gains.csv")
    coverage = {
        row["feedback"]: (float(row["initial"]), float(row["refined"]))
        for row in rows
        if (row["order"], row["subset"], row["metric"]) == ("paper", "all", "coverage")
    }
    (initial, unchanged), *answered = (coverage[name] for name in ("generic", "questions", "findings"))
    assert initial == unchanged < 0.6, "the built-in model cannot follow requests in words"
    assert answered == [(initial, 1.0)] * 2, "every missing key sentence is added"


def table_iv(done: Sequence[Completed], folder: Path) -> None:
    questions, answered = (csv_rows(folder / name) for name in ("questions.csv", "answers.csv"))
    assert {row["dimension"] for row in questions} == {"key information", "answerable", "complete"}
    assert {row["dimension"] for row in answered} == {"relevant", "no answer", "consistent"}
    assert {row["dimension"] for row in table(done[2].out, "Quality")} >= {"key information", "mean"}


def booookscores(**by_file: float) -> Check:
    def check(done: Sequence[Completed], _: Path) -> None:
        rows = table(done[0].out, "BooookScore (table 2)")
        assert {Path(row["system"]).stem: float(row["BooookScore"]) for row in rows} == {
            name.replace("_", "-"): score for name, score in by_file.items()
        }
        assert table(done[0].out, "BooookScore by length (figure 3)")

    return check


def precision(done: Sequence[Completed], _: Path) -> None:
    rows = table(done[0].out, "Precision of annotations (appendix J)")
    assert [(row["annotations"], row["agree"], row["precision"]) for row in rows] == [
        ("human", "1", "1.000"),
        ("model", "1", "1.000"),
    ]


def preferred(done: Sequence[Completed], _: Path) -> None:
    rows = table(done[0].out, "Preferences (table 4)")
    assert {tuple(row.values())[1:] for row in rows} == {("4", "0", "0", "4")}


def rouge_l(done: Sequence[Completed], _: Path) -> None:
    assert "ROUGE-L" in done[0].out


def a_summary(done: Sequence[Completed], _: Path) -> None:
    assert 500 < len(done[0].out.split()) < 650


def hamlet(_: Sequence[Completed], folder: Path) -> None:
    table_names = ("recall", "gaps", "faithfulness", "errors", "length", "sizes", "pruning", "judges")
    assert all(csv_rows(folder / "results" / f"{name}.csv") for name in table_names)
    chunk, full = csv_rows(folder / "results" / "judges.csv")
    assert (chunk["reference"], full["reference"]) == ("chunk", "full text")
    assert float(chunk["faithfulness"]) < float(full["faithfulness"])


def table_2(done: Sequence[Completed], folder: Path) -> None:
    rows = csv_rows(folder / "facts.csv")
    assert f"{len(rows)} of " in done[0].err
    assert "accurate to ±5.0% (98%)" in done[0].err
    assert {row["judgment"] for row in table(done[1].out, "Validity of key facts")} == {"pass", "fail"}


def queries(_: Sequence[Completed], folder: Path) -> None:
    assert {row["dimension"] for row in csv_rows(folder / "queries.csv")} == {"naturalness", "relevance"}


def table_3(done: Sequence[Completed], _: Path) -> None:
    judges = [row["judge"] for row in table(done[1].out, "Verification of sentences")]
    assert judges == ["extractive", "extractive, full text"]


def judges_differ(done: Sequence[Completed], _: Path) -> None:
    assert re.search(r"they differ on [1-9]\d* of \d+ rows", done[0].out)


def table_9(_: Sequence[Completed], folder: Path) -> None:
    assert len(csv_rows(folder / "sizes" / "chunk_sizes.csv")) == 4


def thesis(done: Sequence[Completed], folder: Path) -> None:
    assert "abstained rightly" in done[0].out
    files = {path.name for path in (folder / "results").iterdir()}
    pictures = (
        "position_densities_1",
        "fact_steps_1",
        "fact_trends_1",
        "fact_phases_1",
        "accuracy_by_third_and_length",
    )
    assert {f"{name}.svg" for name in pictures} <= files
    assert csv_rows(folder / "results" / "position_halves.csv")
    types = {row["type"] for row in csv_rows(folder / "results" / "similarities.csv")}
    assert {"abstractive", "binary", "extractive", "unanswerable"} <= types


def planned(done: Sequence[Completed], _: Path) -> None:
    rows = table(done[0].out, "Estimated cost")
    assert {"drafting, direct", "aligning facts", "answers", "verdicts"} <= {row["step"] for row in rows}


def by_dataset(_: Sequence[Completed], folder: Path) -> None:
    rows = csv_rows(folder / "results" / "position_halves.csv")
    assert {row["set"] for row in rows} == {"the-salt-ledger"}


def table_4_1(done: Sequence[Completed], _: Path) -> None:
    (row,) = table(done[0].out, "Statistics of sets")
    assert (row["form"], row["documents"], row["summaries"]) == ("squality", "2", "8")
    assert float(row["CRT"]) > 1


CHECKS: dict[tuple[str, str], Check] = {
    ("LongSumEval", "I"): figures_agree,
    ("LongSumEval", "II"): table_ii,
    ("LongSumEval", "III"): table_iii,
    ("LongSumEval", "IV"): table_iv,
    ("LongSumEval", "V"): swept(4),
    ("LongSumEval", "VI"): swept(6),
    ("LongSumEval", "VII"): swept(12),
    ("BooookScore", "table 1, people; section 4"): booookscores(summary_gpt4_4096_hier=97.5, gpt4_4096_hier=95.0),
    ("BooookScore", "table 1, people, incremental"): booookscores(summary_gpt4_4096_inc=97.5, gpt4_4096_inc=95.0),
    ("BooookScore", "table 2, figure 3, appendix G"): booookscores(gpt4_2048_inc=96.0),
    ("BooookScore", "table 4"): sheet(40),
    ("BooookScore", "table 4, released answers"): preferred,
    ("BooookScore", "appendix J"): sheet(3),
    ("BooookScore", "appendix J, released answers"): precision,
    ("BooookScore", "section 3"): sheet(40),
    ("BooookScore", "table 5"): rouge_l,
    ("BooookScore", "appendix A"): a_summary,
    ("BooookScore", "all figures"): figures_agree,
    ("HAMLET", "tables 4 to 8, 13, 14, figure 3, 5.2, appendix C"): hamlet,
    ("HAMLET", "table 2"): table_2,
    ("HAMLET", "queries (4)"): queries,
    ("HAMLET", "table 3"): table_3,
    ("HAMLET", "table 3 without people"): judges_differ,
    ("HAMLET", "table 9"): table_9,
    ("HAMLET", "table 8 chunks, tables 2 and 4, sample"): figures_agree,
    ("The traceability thesis", "tables 6.1, 6.2, figures 6.1 to 6.6"): thesis,
    ("The traceability thesis", "6.1 and 6.2 with all settings"): planned,
    ("The traceability thesis", "by dataset, with references"): by_dataset,
    ("The traceability thesis", "table 4.1"): table_4_1,
    ("The traceability thesis", "steps, phases, 6.3's averages"): figures_agree,
}
SHORT_ALLOWED = "redraft experiment hamlet "
"""The built-in judge has no verdict on some answers."""


@cache
def recomputed() -> Completed:
    """`python -m benchmarks.papers`, with what data this machine has."""
    with redirect_stdout(io.StringIO()) as out:
        code = papers.main()
    return Completed(code, out.getvalue(), "")


def run(inside: LocalCommand, command: str) -> Completed:
    """Run a command of the page: `$D` and `FILE` are ours."""
    if command == "python -m benchmarks.papers":
        done = recomputed()
    else:
        name, *words = shlex.split(command.replace("$D", ".").replace("FILE", "references.json"))
        assert name == "redraft", command
        done = inside.run(*words)
    allowed = (DONE, SHORT) if command.startswith(SHORT_ALLOWED) else (DONE,)
    assert done.code in allowed, (command, done.err)
    return done


def test_every_row_has_a_check() -> None:
    assert sorted({(row.paper, row.what) for row in ROWS}) == sorted(CHECKS)
    assert {row.paper for row in ROWS} == set(PAPERS)
    assert sentence_commands(PAGE.read_text("utf-8")) == {
        "python -m benchmarks.papers",
        "python -m benchmarks.papers_thesis",
    }


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_the_commands_of_a_paper(paper: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(SAMPLE.parent)
    write_files(tmp_path)
    inside = LocalCommand(tmp_path, COLUMNS="100")
    for row in ROWS:
        if row.paper == paper:
            CHECKS[row.paper, row.what]([run(inside, command) for command in row.commands], tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not VOCABULARY.is_dir(), reason="the models' vocabulary is not on this machine")
@pytest.mark.parametrize("row", [row for row in ROWS if "$" in row.cost and str(SAMPLE.name) in row.commands[0]])
def test_a_plan_with_language_models_costs_what_the_page_says(row: PageRow, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(SAMPLE.parent)
    writer, judge = "openai:gpt-4o-mini", "openai:gpt-4o"
    models = {"extractive": writer, "openai:a": writer, "openai:b": judge}
    words = [models.get(word, word) for word in shlex.split(row.commands[0])[1:] if word != "--dry-run"]
    if "--judge" in words:
        words[words.index("--judge") + 1] = judge
    elif row.paper == "The traceability thesis":
        words += ["--judge", judge]
    elif row.paper == "BooookScore":
        words += ["-m", writer]
    keys = {"OPENAI_API_KEY": "none", "TIKTOKEN_CACHE_DIR": str(VOCABULARY)}
    # In a process of its own, since the tests' processes remember that they lack the vocabulary.
    process = Command(tmp_path, COLUMNS="200", **keys).start(*words, "--dry-run")
    plan, _ = process.communicate(timeout=300)
    calls, _, cost = row.cost.partition(" calls, ")
    if row.paper == "BooookScore":
        assert re.search(rf"calls +\| about {calls}, .*cost +\| {re.escape(cost)} ", plan, re.DOTALL)
    else:
        *_, total = table(plan, "Estimated cost")
        assert (total["calls"], f"${float(total['USD']):.2f}") == (calls, cost)


@pytest.mark.slow
def test_the_ways_to_place_sentences_are_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(papers_thesis, "stories", lambda: [story(n % 3) for n in range(4)])
    with patch.object(sys, "argv", ["papers_thesis"]):
        papers_thesis.main()
    head, lineage, likeness = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "right"
    assert lineage.split()[0] == "lineage"
    assert likeness.split()[0] == "TF-IDF"


@pytest.mark.slow
def test_the_booookscore_preset_has_the_papers_limits(tmp_path: Path) -> None:
    assert level_limits(40)[:2] == [585, 900]
    assert level_limits(200)[:3] == [380, 585, 900]
    (tmp_path / "examples").symlink_to(SAMPLE.parent)
    command_line = ("summarize", "examples/the-salt-ledger.md", "--preset", "booookscore", "--dry-run")
    section_3 = LocalCommand(tmp_path).run(*command_line, "--chunk-tokens", "4096", "--words", "780")
    assert "hierarchical, about 780 words, at most 1,200 tokens" in section_3.err + section_3.out
