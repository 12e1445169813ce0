"""The commands that only read are quick, because they import nothing that works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.nightly
def test_offending_command_would_be_caught_at_work(refined_run: tuple[LocalCommand, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "summarize", "book.md", "-w", "20", "-m", "extractive", "-q"],
        cwd=refined_run[0].folder,
        env={**os.environ, **refined_run[0].environment, "REDRAFT_DB": str(tmp_path / "own.db")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "langgraph" in done.stderr
