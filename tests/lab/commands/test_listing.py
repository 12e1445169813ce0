"""Runs of experiments in the list of runs."""

from __future__ import annotations

import pytest

from tests.cli.local_command import LocalCommand
from tests.cli.test_listing import kinds


@pytest.mark.slow
def test_runs_of_experiments_are_listed_on_request(command: LocalCommand) -> None:
    assert command.run("evaluate", "book.md", "poor.md", "-q").code == 0
    experiment = ("experiment", "chunk-size", "book.md", "--judge", "extractive", "--sizes", "64", "--sample", "1")
    assert command.run(*experiment, "-q").code in {0, 3}
    usual = kinds(command)
    assert "chunk-size" not in usual
    assert kinds(command, "--all") == sorted([*usual, "chunk-size"])
    assert kinds(command, "--kind", "chunk-size") == ["chunk-size"]
