"""What the built-in model says of its own work is called a self-check, and no goal."""

from __future__ import annotations

import pytest

from redraft import DraftConfig, JudgeConfig, RefineConfig
from redraft.errors import UsageError
from redraft.evaluators.metric_info import refuse_self_check, self_checks
from tests.cli.inside import Inside

REFINE = ("refine", "book.md", "poor.md", "-m", "extractive", "-g", "coverage=0.1", "-w", "100", "--rounds", "1")
GOALS = {"coverage": 0.5, "consistency": 0.9}
JUDGING = JudgeConfig(metrics=("coverage", "consistency", "spread"))


@pytest.mark.parametrize(
    ("settings", "judging", "refinement", "checked"),
    [
        (DraftConfig(), JUDGING, RefineConfig(goals=GOALS), {"coverage", "consistency"}),
        (DraftConfig(), JUDGING, None, {"coverage", "consistency"}),
        (DraftConfig(strategy="given"), JUDGING, RefineConfig(goals=GOALS), {"coverage", "consistency"}),
        # A summary that somebody brings along it has not written.
        (DraftConfig(strategy="given"), JUDGING, None, set()),
        (DraftConfig(model="openai:m"), JUDGING, RefineConfig(goals=GOALS), set()),
        (DraftConfig(), JUDGING.model_copy(update={"judges": ("openai:m",)}), RefineConfig(goals=GOALS), set()),
        (DraftConfig(), JUDGING.model_copy(update={"judges": ("extractive", "openai:m")}), None, set()),
        (DraftConfig(model="openai:m"), JUDGING.model_copy(update={"judges": ("extractive",)}), None, set()),
    ],
)
def test_it_is_one_where_the_built_in_model_alone_judges_what_it_writes(
    settings: DraftConfig, judging: JudgeConfig, refinement: RefineConfig | None, checked: set[str]
) -> None:
    assert self_checks(settings, judging, refinement) == checked
    if refinement is None or not checked:
        refuse_self_check(settings, judging, refinement)
        return
    with pytest.raises(UsageError, match="consistency and coverage cannot be goals"):
        refuse_self_check(settings, judging, refinement)
    refuse_self_check(settings, judging, refinement.model_copy(update={"allow_self_check": True}))
    # Nobody is asked for how evenly a document is told of.
    refuse_self_check(settings, judging, refinement.model_copy(update={"goals": {"spread": 0.5}}))


def test_goals_on_it_are_refused_before_anything_is_stored(command: Inside) -> None:
    for more in ((), ("--dry-run",)):
        done = command.run(*REFINE, *more)
        assert done.code == 2, done.out
        assert "that is a self-check and says nothing about quality, so coverage cannot be a goal" in done.err
        assert "--allow-self-check" in done.err
    assert command.run("runs", "--json").json["runs"] == []
    assert command.run(*REFINE, "--judge", "openai:m", "--dry-run").code == 0


@pytest.mark.slow
def test_it_is_said_beside_every_figure(command: Inside) -> None:
    done = command.run(*REFINE, "--allow-self-check", "--json")
    assert done.code == 3, done.err
    assert done.json["self_check"] is True
    assert done.json["certificates"]["coverage"]["self_check"] is True
    run = done.json["run"]
    for words in (("show", run), ("trace", run), ("runs",)):
        shown = command.run(*words)
        assert "self-check" in shown.out + shown.err, words
    assert command.run("trace", run, "--json").json["result"]["self_check"] is True
    assert command.run("runs", "--json").json["runs"][0]["self_check"] is True
    assert command.run("export", run, "-o", "page.html", "-q").code == 0
    assert "<small>self-check</small>" in (command.folder / "page.html").read_text("utf-8")
    assert command.run("export", run, "-o", "page.md", "-q").code == 0
    assert "(self-check)" in (command.folder / "page.md").read_text("utf-8")


@pytest.mark.slow
def test_what_another_model_judges_is_none(command: Inside) -> None:
    done = command.run("refine", "book.md", "poor.md", "-g", "coverage=1", "-w", "100", "--json")
    assert done.code == 0, done.err
    assert done.json["self_check"] is False
    shown = command.run("show", done.json["run"])
    assert "self-check" not in shown.out + shown.err
    # Neither is what the built-in model says of a summary that it has not written.
    judged = command.run("evaluate", "book.md", "poor.md", "-m", "extractive", "--metric", "consistency", "--json")
    assert judged.json["self_check"] is False
