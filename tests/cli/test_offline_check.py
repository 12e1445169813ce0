"""Each figure of the built-in model is called an offline check."""

from __future__ import annotations

import pytest

from redraft import DraftConfig, JudgeConfig, RefineConfig
from redraft.evaluators.metric_info import offline_checks
from tests.cli.local_command import LocalCommand

REFINE = ("refine", "book.md", "poor.md", "-m", "extractive", "-g", "coverage=0.1", "-w", "100", "--rounds", "1")


@pytest.mark.parametrize(
    ("model", "judges", "checked"),
    [
        ("extractive", None, {"coverage", "consistency"}),
        ("openai:m", ("extractive",), {"coverage", "consistency"}),
        ("openai:m", None, set()),
        ("extractive", ("openai:m",), set()),
        ("extractive", ("extractive", "openai:m"), set()),
    ],
)
def test_offline_check_by_the_built_in_model(model: str, judges: tuple[str, ...] | None, checked: set[str]) -> None:
    judging = JudgeConfig(metrics=("coverage", "consistency", "spread"), **({"judges": judges} if judges else {}))  # type: ignore[arg-type]
    for refinement in (None, RefineConfig(goals={"coverage": 0.5, "consistency": 0.9})):
        assert offline_checks(DraftConfig(model=model), judging, refinement) == checked


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
    assert command.run("export", run, "-o", "page.md", "-q").code == 0
    assert "(offline check)" in (command.folder / "page.md").read_text("utf-8")
