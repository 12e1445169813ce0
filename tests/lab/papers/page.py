"""The commands of docs/papers.md, as they stand there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "papers.md"
_CODE = re.compile(r"`([^`]+)`")
_STARTS = ("redraft ", "python -m ")


@dataclass(frozen=True)
class PageRow:
    """A row of a table: the paper, what of it is repeated, and the commands that do it."""

    paper: str
    what: str
    commands: tuple[str, ...]
    cost: str
    """What the command costs with language models, as the last column has it."""


def page_rows(page: str) -> list[PageRow]:
    """Return the rows that have commands; what begins with an option is added to the paper's first redraft command."""
    actual: list[PageRow] = []
    for section in page.split("\n## ")[1:]:
        paper, first = section.partition("\n")[0], ""
        for line in section.splitlines():
            if not line.startswith("| "):
                continue
            what, cell = line.removeprefix("| ").split(" | ")[:2]
            commands = [f"{first} {match}" if match.startswith("--") else match for match in _CODE.findall(cell)]
            assert all(command.startswith(_STARTS) for command in commands), f"{what}: what is no command cannot be run"
            first = first or next((command for command in commands if command.startswith("redraft ")), "")
            if commands:
                actual.append(PageRow(paper, what, tuple(commands), line.rstrip(" |").rpartition(" | ")[2]))
    return actual


def sentence_commands(page: str) -> set[str]:
    """Return the commands outside of tables."""
    text = "\n".join(line for line in page.splitlines() if not line.startswith("|"))
    return {match for match in _CODE.findall(text) if match.startswith(_STARTS)}
