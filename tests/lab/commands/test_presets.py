"""Presets in the commands of research."""

from __future__ import annotations

import json

import pytest

import redraft
from redraft.lab.commands.experiment import experiment, thesis
from tests.cli.local_command import LocalCommand
from tests.support import story
from tests.test_presets import USES_NOTHING, command

__all__ = ["command"]


@pytest.mark.slow
def test_agreement_follows_the_preset(command: LocalCommand) -> None:
    lines = [{"text": story(60).text, "summary": "It tells of the keeper.", "human": {"label": n}} for n in (0, 1)]
    (command.folder / "own.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    report = command.run("agree", "own.jsonl", "--preset", "longsumeval", "--json").json
    assert report["settings"]["metrics"] == ["consistency"]
    assert (report["settings"]["judging"]["claims"], report["settings"]["judging"]["similarity"]) == ([4, 10], "rouge1")
    report = command.run("agree", "own.jsonl", "--preset", "booookscore", "--json").json
    assert (report["settings"]["metrics"], report["settings"]["judging"]["batch"]) == (["booookscore"], 1)


def test_every_experiment_takes_a_preset() -> None:
    actual = {name: experiment_command for name, experiment_command in experiment.commands.items() if name != "report"}
    assert len(actual) > 6
    assert all(any(option.name == "preset" for option in value.params) for value in actual.values())


def test_the_thesis_sets_options_of_its_experiment() -> None:
    assert redraft.preset("thesis").experiment.keys() <= {param.name for param in thesis.params}


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("longsumeval", "experiment hamlet book.md -m extractive --judge extractive"),
        ("longsumeval", "experiment context book.md -m extractive"),
        ("booookscore", "experiment chunk-size book.md --judge extractive"),
        ("longsumeval", "experiment booookscore --summaries summary.json"),
    ],
)
def test_presets_of_other_experiments_are_refused(command: LocalCommand, name: str, run: str) -> None:
    refused = command.run(*run.split(), "--preset", name)
    assert refused.code == 2
    assert USES_NOTHING.format(name) in refused.err
    assert "add --refine" not in refused.err
