"""What tests of the command line share: a directory with the island of the keepers, and a run that refined."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.local_command import LocalCommand, judging_folder


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCommand]:
    """One directory for all: what one test stores is there for the next, as on anybody's machine."""
    with judging_folder(tmp_path_factory.mktemp("keepers")) as command:
        yield command


@pytest.fixture(scope="module")
def refined_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[LocalCommand, str]:
    """A database with a run that refined, and its id."""
    with judging_folder(tmp_path_factory.mktemp("refined")) as command:
        done = command.run("refine", "book.md", "poor.md", "-g", "coverage=1", "-w", "100", "--json", code=0)
        return command, done.json["run"]
