"""Each figure of the built-in model is called an offline check."""

from __future__ import annotations

import pytest

from redraft import DraftConfig, JudgeConfig, RefineConfig
from redraft.evaluators.metric_info import offline_checks
from tests.cli.local_command import LocalCommand

REFINE = ("refine", "book.md", "poor.md", "-m", "extractive", "-g", "coverage=0.1", "-w", "100", "--rounds", "1")
GOALS = {"coverage": 0.5, "consistency": 0.9}
JUDGING = JudgeConfig(metrics=("coverage", "consistency", "spread"))


@pytest.mark.parametrize(
    ("settings", "judging", "refinement", "checked"),
    [
        (DraftConfig(), JUDGING, RefineConfig(goals=GOALS), {"coverage", "consistency"}),
        (DraftConfig(), JUDGING, None, {"coverage", "consistency"}),
        (DraftConfig(strategy="given"), JUDGING, None, {"coverage", "consistency"}),
        (DraftConfig(model="openai:m"), JUDGING, RefineConfig(goals=GOALS), set()),
        (DraftConfig(), JUDGING.model_copy(update={"judges": ("openai:m",)}), RefineConfig(goals=GOALS), set()),
        (DraftConfig(), JUDGING.model_copy(update={"judges": ("extractive", "openai:m")}), None, set()),
        (
            DraftConfig(model="openai:m"),
            JUDGING.model_copy(update={"judges": ("extractive",)}),
            None,
            {"coverage", "consistency"},
        ),
    ],
)
def test_offline_check_by_the_built_in_model(
    settings: DraftConfig, judging: JudgeConfig, refinement: RefineConfig | None, checked: set[str]
) -> None:
    assert offline_checks(settings, judging, refinement) == checked


@pytest.mark.slow
def test_it_is_said_beside_every_figure(command: LocalCommand) -> None:
    done = command.run(*REFINE, "--json", code=0)
    assert done.json["offline_check"] is True
    assert done.json["judged_by"]["coverage"].startswith("extractive, an offline check that looks for")
    run = done.json["run"]
    for words in (("show", run), ("trace", run), ("runs",)):
        output = command.run(*words)
        assert "offline check" in output.out + output.err, words
    assert command.run("trace", run, "--json").json["result"]["offline_check"] is True
    assert command.run("runs", "--json").json["runs"][0]["offline_check"] is True
    assert command.run("export", run, "-o", "page.html", "-q").code == 0
    assert "<small>offline check</small>" in (command.folder / "page.html").read_text("utf-8")
    refused = command.run("export", run, "-o", "page.md", code=2)
    assert "name a page with -o dossier.html" in refused.err


def test_a_metric_without_a_judge_names_none(command: LocalCommand) -> None:
    done = command.run("evaluate", "book.md", "poor.md", "--judge", "extractive", "--metric", "spread")
    assert " · 0 calls · " in done.err
    assert "judged by" not in done.out + done.err


def test_queries_of_the_built_in_model_are_questions_to_the_document(command: LocalCommand) -> None:
    done = command.run("keyfacts", "book.md", "--judge", "extractive", "--set", "perspective=narrative")
    assert "\n- narrative: What does the document say about “" in done.out
