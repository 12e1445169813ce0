"""The commands that only read are quick, because they import nothing that works."""

from __future__ import annotations

import pytest

from tests.cli.local_command import LocalCommand
from tests.command import seconds_of

# How much longer than importing the libraries that every command needs: 1.3 to 1.9 on a quiet machine.
MOST_OF_LIBRARIES = 2.2
LIBRARIES = "import click, jinja2, pydantic, sqlite_utils"
WORKERS = ("langgraph", "openai", "langchain_core", "langchain_openai", "sklearn", "scipy", "tiktoken")
PROGRAM = f"""
import sys
from redraft.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert end.code == 0, end.code
found = [name for name in {WORKERS!r} if name in sys.modules]
assert not found, found
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        "runs",
        "runs --json --kind refine",
        "show RUN",
        "show RUN --pieces --json",
        "trace RUN",
        "trace RUN --all",
        "diff RUN",
        "pack list",
        "pack export book.md",
        "prompts list",
        "prompts show merge",
    ],
)
def test_a_reading_command_takes_no_time(refined_run: tuple[LocalCommand, str], arguments: str) -> None:
    command, run = refined_run
    words = arguments.replace("RUN", run).split()

    # Side by side, so that a slow or a busy machine slows both down.
    assert any(
        seconds_of(command, PROGRAM, *words) < MOST_OF_LIBRARIES * seconds_of(command, LIBRARIES) for _ in range(3)
    )
