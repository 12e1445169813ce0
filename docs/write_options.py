"""Writes options.md, the list of all options, from the commands themselves, and the stub file by which type checkers
know the options of Python, from the settings: python docs/write_options.py"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc, formatannotation
from pathlib import Path
from textwrap import fill, indent
from typing import get_type_hints

import click

from redraft.cli.main import app
from redraft.cli.sections import SECTIONS, Command
from redraft.fields import Section
from redraft.graphs.state import Options

FILE = Path(__file__).with_name("options.md")
STUB = FILE.parents[1] / "redraft" / "graphs" / "options.pyi"
# Options that more commands than this describe alike are listed once.
_MANY = 3
_HEAD = """# Options

    redraft help summarize          # all options of a command

`redraft COMMAND --help` lists the options that matter most. On this page every option has one line: first the options
that commands share, in groups, then each command with its groups (besides Output) and the options of its own. *Also*
names shared options with another meaning or default there. This page is written by `python docs/write_options.py`.

An option marked † can also be set in the environment, as `REDRAFT_MAX_COST=5` for `--max-cost 5`, and in a
[settings file](models.md#addresses-and-keys), as `max-cost = 5`; `redraft --config FILE COMMAND` names one. The command
line overrides the environment, and that overrides the file. Options that may be repeated are separated by spaces in the
environment and are a list in the file.
"""


_STUB_HEAD = '''"""The options of one run for type checkers, written by `python docs/write_options.py`."""

from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from redraft.graphs.state import Strategy
from redraft.settings import StrategyName
'''


@dataclass(frozen=True, slots=True)
class Told:
    """An option as one command describes it."""

    section: Section
    name: str
    text: str
    variable: bool

    @property
    def long(self) -> str:
        return next(word for word in self.name.replace(",", " ").split() if word.startswith("--"))

    def line(self) -> str:
        """Its first sentence, and the default."""
        text = " ".join(self.text.split())
        about, *default = re.split(r"(?= \[(?:default:|required))", text, maxsplit=1)
        mark = "†" if self.variable else ""
        return f"- `{self.name}`{mark}: {re.split(r'(?<=[a-z)][.]) ', about)[0]}{''.join(default)}"


def contexts(parent: click.Context) -> Iterator[click.Context]:
    """Yield every command with its context, those within groups too."""
    if not isinstance(parent.command, click.Group):
        yield parent
        return
    for name, subcommand in parent.command.commands.items():
        yield from contexts(click.Context(subcommand, parent=parent, info_name=name))


def page() -> str:
    """The page as it should be."""
    with click.Context(app, info_name="redraft") as root:
        by_command = {at: list(_told(at)) for at in contexts(root)}
    counted = Counter(one for told in by_command.values() for one in told)
    usual: dict[tuple[Section, str], Told] = {}
    for one, times in counted.most_common():
        if times > 1:
            usual.setdefault((one.section, one.long), one)
    shared = {one for one, times in counted.items() if times > _MANY} | set(usual.values())
    lines = [_HEAD]
    for section, title in SECTIONS.items():
        lines += [f"## {title}\n", *(one.line() for one in counted if one.section == section and one in shared), ""]
    lines.append("## Commands\n")
    for at, told in by_command.items():
        lines += [*_command(at, told, shared), ""]
    return "\n".join(lines)


def _told(at: click.Context) -> Iterator[Told]:
    for one in at.command.options if isinstance(at.command, Command) else []:
        if record := one.get_help_record(at):
            yield Told(one.section, *record, isinstance(one.envvar, str))


def _command(at: click.Context, told: list[Told], shared: set[Told]) -> Iterator[str]:
    """What a command does, the groups that it takes options from, and the options of its own."""
    known = {one.section for one in shared.intersection(told)} - {"output"}
    groups = [title for section, title in SECTIONS.items() if section in known]
    usage = " ".join([at.command_path, *at.command.collect_usage_pieces(at)[1:]])
    about = at.command.get_short_help_str(200)
    yield fill(f"**`{usage}`** {about}", 120, break_on_hyphens=False) + ("  " if groups else "")
    if groups:
        yield f"*{', '.join(groups)}*"
    names = {(one.section, one.long) for one in shared}
    own = [one for one in told if one not in shared]
    new = [one.line() for one in own if (one.section, one.long) not in names]
    if other := [one for one in own if (one.section, one.long) in names and one.section != "output"]:
        new.append(f"- also {', '.join(f'`{one.long}`' for one in other)}")
    yield from ["", *new] if new else []


def stub() -> str:
    """The stub file as it should be."""
    types = {name: formatannotation(hint).replace("'", '"') for name, hint in get_type_hints(Options).items()}
    types |= {"strategy": "StrategyName | Strategy"}
    fields = "\n".join(f"    {name}: {hint}" for name, hint in types.items()).replace("pathlib.", "")
    fields = re.sub(r"Optional\[(.+)\]$", r"\1 | None", fields, flags=re.MULTILINE)
    about = indent(f'"""{cleandoc(Options.__doc__ or "")}"""', "    ")
    return f"{_STUB_HEAD}\nclass Options(TypedDict, total=False):\n{about}\n\n{fields}\n"


if __name__ == "__main__":
    STUB.write_text(stub(), "utf-8")
    FILE.write_text(page(), "utf-8")
