"""Writes options.md, the list of all options, from the commands themselves: python docs/write_options.py"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

import click

from redraft.cli.commands.help import ABOUT_ALL, KnownOption, contexts, known_options
from redraft.cli.main import app
from redraft.cli.sections import SECTIONS, Command

FILE = Path(__file__).with_name("options.md")
_HEAD = f"""# Options

{fill(ABOUT_ALL, 120, break_long_words=False)}

What is given on the command line goes before the environment, and that before the file. What may be given several times
is separated by blanks in the environment, and is a list in the file.

This page has what `redraft help options` prints. It is written by `python docs/write_options.py`, and a test compares
the two.
"""


def page() -> str:
    """The page as it should be."""
    with click.Context(app, info_name="redraft") as root:
        known = known_options(root)
        return "\n".join([_HEAD, *_sections(known), *_commands(root)]) + "\n"


def _sections(known: list[KnownOption]) -> Iterator[str]:
    for section, title in SECTIONS.items():
        yield f"## {title}\n"
        yield "| option | what it does | in the environment |"
        yield "|---|---|---|"
        for one in known:
            if one.section == section:
                variable = f"`{one.variable}`" if one.variable else ""
                yield f"| `{_cell(one.name)}` | {_cell(one.text)} | {variable} |"
        yield ""


def _commands(root: click.Context) -> Iterator[str]:
    yield "## Commands\n"
    for at in contexts(root):
        names = [f"`{one.long}`" for one in at.command.options] if isinstance(at.command, Command) else []
        yield f"**`{' '.join([at.command_path, *at.command.collect_usage_pieces(at)])}`**  "
        yield fill(" ".join([at.command.get_short_help_str(200), *names]), 120, break_on_hyphens=False) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    FILE.write_text(page(), "utf-8")
