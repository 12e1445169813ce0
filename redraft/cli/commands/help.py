"""`redraft help`: the overview, a command with all its options, or all options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import click

from redraft.cli.sections import Command, command, write_sections
from redraft.fields import Section

_OPTIONS = "options"
# An option of more commands than this has no need of their names.
_MANY = 3
ABOUT_ALL = (
    "All options of all commands; `redraft help COMMAND` says which of them a command takes. Most can also be set in"
    " the environment, as REDRAFT_WORDS=300, and in a file redraft.toml, as words = 300."
)
_EPILOG = """\b
Examples:
  redraft help
  redraft help summarize
  redraft help pack build
  redraft help options
"""


@command("help", epilog=_EPILOG)
@click.argument("words", nargs=-1, metavar="[COMMAND | options]")
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> None:
    """Show all options of COMMAND, or of all commands; without it, the overview."""
    root = context.find_root()
    if words == (_OPTIONS,):
        click.echo(_all_options(root))
        return
    at = root
    for word in words:
        if not isinstance(at.command, click.Group):
            raise click.UsageError(f"{at.command_path} has no command {word!r}.", at)
        name, found, _ = at.command.resolve_command(at, [word])
        assert found is not None
        at = click.Context(found, parent=at, info_name=name)
    click.echo(at.command.everything(at) if isinstance(at.command, Command) else at.command.get_help(at))


@dataclass(frozen=True, slots=True)
class KnownOption:
    """An option, as all commands have it."""

    section: Section
    name: str
    """With its short form, and what it takes."""
    text: str
    """What it does, and whose it is where that needs saying."""
    variable: str
    """What sets it in the environment; empty where it is for one command at a time."""


def known_options(root: click.Context) -> list[KnownOption]:
    """Every option of every command, once, with all that commands say of it."""
    found: dict[tuple[Section, str], dict[str, list[str]]] = {}
    variables: dict[tuple[Section, str], str] = {}
    for at in contexts(root):
        for option in at.command.options if isinstance(at.command, Command) else []:
            if record := option.get_help_record(at):
                name, text = record
                which = (option.section, name)
                found.setdefault(which, {}).setdefault(text, []).append(at.command_path.partition(" ")[2])
                variables[which] = variables.get(which) or (option.envvar if isinstance(option.envvar, str) else "")
    names = [name for _, name in found]
    options = [
        KnownOption(section, name, _told(said), variables[section, name]) for (section, name), said in found.items()
    ]
    return sorted(options, key=lambda one: names.index(one.name))


def _told(said: Mapping[str, Sequence[str]]) -> str:
    """Return the help that most commands give, then what differs in others."""
    if len(said) == 1:
        return next(iter(said))
    usual = max(said, key=lambda text: len(said[text]))
    first = usual if len(said[usual]) > _MANY else f"{usual}  ({', '.join(said[usual])})"
    return "  ".join([first, *(f"In {', '.join(paths)}: {text}" for text, paths in said.items() if text != usual)])


def _all_options(root: click.Context) -> str:
    formatter = root.make_formatter()
    formatter.write_text(ABOUT_ALL)
    write_sections([(option.section, (option.name, option.text)) for option in known_options(root)], formatter)
    return formatter.getvalue().rstrip("\n")


def contexts(above: click.Context) -> Iterator[click.Context]:
    """Every command with its context, those within groups too."""
    if not isinstance(above.command, click.Group):
        yield above
        return
    for name, each in above.command.commands.items():
        yield from contexts(click.Context(each, parent=above, info_name=name))
