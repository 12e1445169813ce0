"""`--policy agent` and `--decider`: a model says what is mended; and `--strategy` takes whatever is installed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.graphs.plan import Planner
from redraft.graphs.strategies import Strategy, direct_graph
from redraft.prompts import summarization
from tests.chatserver import ChatServer
from tests.cli.local_command import LocalCommand, judging_folder
from tests.judges import PerfectModel, ScriptedReply, Sheet, summary_of
from tests.plugged import installed, package

REFINE = ("refine", "book.md", "poor.md", "-g", "coverage=1", "-g", "consistency=1", "-w", "100", "--policy", "agent")
AT_ONCE = Strategy("at-once", direct_graph, Planner.direct, (summarization.SUMMARIZE_WHOLE,))


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


@pytest.fixture
def hasty(tmp_path: Path) -> Iterator[None]:
    """A package with a strategy is installed."""
    offered = {"redraft.strategies": {"at-once": f"{__name__}:AT_ONCE"}}
    with installed(package(tmp_path / "site", offered, "hasty")):
        yield


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "judges"), [((), {"openai:m"}), (("--judge", "openai:judge"), {"openai:judge"})], ids=["before", "named"]
)
def test_writers_judge_differs_from_a_new_model(command: LocalCommand, more: tuple[str, ...], judges: set[str]) -> None:
    drafted = command.run("summarize", "book.md", "-w", "100", "--json", code=0)
    first = drafted.json["run"]
    at = ("--set", f"judge_base_url={command.environment['OPENAI_BASE_URL']}") if more else ()
    with ChatServer(lambda request: '{"text": "No."}') as server:
        made = ("-m", "openai:other", "--base-url", server.base_url, "-g", "coverage=1", "--rounds", "1")
        forked = command.run("fork", first, "--round", "0", *made, *more, *at, "--json", code=(0, 3))
        asked = {request.model for request in server.seen}
    assert asked == {"other"}, "the judge keeps its address"
    summary_of = models_asked(command, forked.json["run"])
    assert summary_of["edit"] == {"openai:other"}
    assert summary_of["ask_document"] == judges


def models_asked(command: LocalCommand, run: str) -> dict[str, set[str]]:
    """The models of a run's calls by prompt, without their addresses and versions."""
    with sqlite3.connect(command.database) as database:
        rows = database.execute("SELECT prompt, model FROM calls WHERE run = ?", (run,)).fetchall()
    found: dict[str, set[str]] = {}
    for prompt, model in rows:
        name = "extractive" if model.startswith("extractive") else model.partition("@")[0]
        found.setdefault(prompt, set()).add(name)
    return found


@pytest.mark.usefixtures("hasty")
def test_installed_strategy_drafts_and_is_listed(command: LocalCommand) -> None:
    arguments = ("summarize", "book.md", "-m", "extractive", "-w", "40", "--strategy", "at-once")
    done = command.run(*arguments, "--json", code=0)
    assert done.json["strategy"] == "at-once"
    assert done.json["words"] <= 40
    assert command.run(*arguments, "--dry-run", "--json").json["calls"] == 1
    assert "hierarchical, incremental, direct, at-once." in " ".join(command.run("help", "summarize").out.split())


def test_a_decider_that_decides_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    refused = LocalCommand(tmp_path).run(
        "summarize", "book.md", "--refine", "--set", "decider=extractive", "--dry-run", code=2
    )
    assert "decider: the policy editor has no use for it" in refused.err
    assert "add --policy agent" in refused.err
