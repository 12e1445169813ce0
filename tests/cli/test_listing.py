"""`redraft runs`: what it lists, and that it fits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from redraft.cli.views.lists import run_lines
from redraft.report.history.summaries import RunSummary
from tests.cli.inside import Inside, keepers_court
from tests.support import story

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with keepers_court(tmp_path_factory.mktemp("listing")) as made:
        (made.folder / "other.md").write_text(story(120).text.replace("The Keeper", "The ÉTUDE of Light"), "utf-8")
        for arguments in (
            ("summarize", "other.md", "-w", "60", "-m", "extractive"),
            ("evaluate", "book.md", "poor.md"),
            ("refine", "book.md", "poor.md", "-w", "100"),
            ("pack", "build", "book.md"),
            ("experiment", "chunk-size", "book.md", "--judge", "extractive", "--sizes", "64", "--sample", "1"),
        ):
            done = made.run(*arguments, "-q")
            assert done.code in {0, 3}, done.err
        stopped = made.run("summarize", "other.md", "-m", "extractive", "--chunk-tokens", "100", "--max-calls", "1")
        assert stopped.code == 3
        yield made


def kinds(command: Inside, *arguments: str) -> list[str]:
    """The kinds of the runs that are listed, in alphabetical order."""
    return sorted(one["kind"] for one in command.run("runs", *arguments, "--json").json["runs"])


@pytest.mark.slow
def test_runs_of_experiments_are_listed_when_they_are_asked_for(command: Inside) -> None:
    usual = kinds(command)
    assert "chunk-size" not in usual
    assert kinds(command, "--all") == sorted([*usual, "chunk-size"])
    assert kinds(command, "--kind", "chunk-size") == ["chunk-size"]


def test_runs_are_found_by_kind_status_document_and_model(command: Inside) -> None:
    assert kinds(command, "--kind", "refine") == ["refine"]
    assert kinds(command, "--status", "stopped") == ["summarize"]
    assert kinds(command, "--document", "étude light") == ["summarize", "summarize"]
    document = command.run("runs", "--kind", "refine", "--json").json["runs"][0]["document"]
    assert kinds(command, "--document", document[:12]) == ["evaluate", "pack", "refine"]
    assert kinds(command, "-m", "extractive") == ["summarize", "summarize"]
    assert kinds(command, "-m", "openai:m", "--kind", "evaluate") == ["evaluate"]
    assert kinds(command, "-m", "nobody") == []
    assert len(kinds(command, "-n", "2")) == 2
    # The limit counts what is listed, not what was looked at.
    assert kinds(command, "-n", "1", "--kind", "evaluate") == ["evaluate"]


def test_nothing_found_says_so_and_is_no_failure(command: Inside) -> None:
    done = command.run("runs", "--kind", "fork")

    assert (done.code, done.out) == (0, "")
    assert "redraft runs --all" in done.err


def a_run(**changed: Any) -> RunSummary:
    """A run as long in every column as runs are."""
    long = {
        "run": "3fa2c1d0",
        "created": "2026-11-22T05:55:00.000+00:00",
        "status": "interrupted",
        "kind": "summarize",
        "strategy": "hierarchical",
        "model": "openai:gpt-5-mini-2026-01-01-preview",
        "limit": 1200,
        "title": "A very long title of a very long book by somebody",
        "scores": {"coverage": 0.5, "consistency": 0.75, "keyfact_recall": 0.25, "faithfulness": 0.9},
        "self_check": False,
        "preferred": None,
    }
    return RunSummary.model_construct(**long | changed)


@pytest.mark.parametrize("columns", [80, 100])
def test_the_list_fits_whatever_stands_in_it(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    compared = a_run(kind="compare", preferred="b", strategy="")
    several = [a_run(), a_run(self_check=True), a_run(scores={}, kind="booookscore"), compared]
    for runs in ([one] for one in several):
        assert max(map(len, run_lines(runs, NOW))) <= columns
    lines = run_lines(several, NOW)
    assert max(map(len, lines)) <= columns
    assert all("3fa2c1d0" in line and "A very long" in line for line in lines[1:])


def test_short_runs_have_every_column_and_old_ones_their_year(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    run = a_run(model="extractive", status="done", scores={"coverage": 0.5}, title="Short", created="2024-01-02T03:04")
    heads, line = run_lines([run], NOW)

    assert heads.split() == ["RUN", "WHEN", "(UTC)", "STATUS", "KIND", "DRAFTED", "MODEL", "WORDS", "SCORES", "TITLE"]
    assert "Jan 02 2024  done" in line
    assert line.endswith("cov 0.50  Short")


def test_a_status_that_there_is_not_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    command = Inside(tmp_path)
    assert command.run("runs", "--status", "done").code == 0
    done = command.run("runs", "--status", "nonsense")
    assert done.code == 2
    assert "'nonsense' is not a status" in done.err
    assert "running, waiting, done, stopped, failed, interrupted, killed" in done.err
