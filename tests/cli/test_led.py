"""`--policy agent` and `--decider`: a model says what is mended; and `--strategy` takes whatever is installed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.local_command import LocalCommand, judging_folder
from tests.judges import PerfectModel, ScriptedReply, Sheet, summary_of

REFINE = ("refine", "book.md", "poor.md", "-g", "coverage=1", "-g", "consistency=1", "-w", "100", "--policy", "agent")


class Leading(PerfectModel):
    """Keeps the decisions that were asked for."""

    def __init__(self) -> None:
        self.decisions: list[Sheet] = []

    def decide(self, sheet: Sheet) -> ScriptedReply:
        self.decisions.append(sheet)
        return super().decide(sheet)

    def revise(self, sheet: Sheet) -> ScriptedReply:
        return summary_of(1, 2, 3) if "Summarize the document above" in sheet.text else super().revise(sheet)


@pytest.fixture
def leading() -> Leading:
    return Leading()


@pytest.fixture
def command(tmp_path: Path, leading: Leading) -> Iterator[LocalCommand]:
    with judging_folder(tmp_path, leading) as command:
        yield command


def test_the_plan_names_the_decider(command: LocalCommand) -> None:
    planned = command.run(*REFINE, "--set", "decider=openai:lead", "--dry-run").out
    assert "decider " in planned
    assert "openai:lead" in planned
    assert "decider" not in command.run(*REFINE, "--dry-run").out


@pytest.mark.slow
def test_fork_led_by_another_model(command: LocalCommand, leading: Leading) -> None:
    first = command.run(*REFINE[:-2], "--json").json["run"]
    assert leading.decisions == []
    forked = command.run(
        "fork", first, "--round", "0", "--policy", "agent", "--set", "decider=openai:lead", "--json", code=0
    )
    assert models_asked(command, forked.json["run"])["decide"] == {"openai:lead"}


def models_asked(command: LocalCommand, run: str) -> dict[str, set[str]]:
    """The models of a run's calls by prompt, without their addresses and versions."""
    with sqlite3.connect(command.database) as database:
        rows = database.execute("SELECT prompt, model FROM calls WHERE run = ?", (run,)).fetchall()
    found: dict[str, set[str]] = {}
    for prompt, model in rows:
        name = "extractive" if model.startswith("extractive") else model.partition("@")[0]
        found.setdefault(prompt, set()).add(name)
    return found


def test_a_decider_that_decides_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    refused = LocalCommand(tmp_path).run(
        "summarize", "book.md", "--refine", "--set", "decider=extractive", "--dry-run", code=2
    )
    assert "decider: the policy editor has no use for it" in refused.err
    assert "add --policy agent" in refused.err
