"""`redraft help`: the overview, a command with all its options, or all options there are."""

from __future__ import annotations

from collections.abc import Iterator

import click

from redraft.cli.sections import Command, Record, Section, command, write_sections

_OPTIONS = "options"
# An option of more commands than this has no need of their names.
_MANY = 3
_EPILOG = """\b
Examples:
  redraft help
  redraft help summarize
  redraft help pack build
  redraft help options
"""


@command("help", short_help="Show all options of a command, or of all commands.", epilog=_EPILOG)
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


def _all_options(root: click.Context) -> str:
    formatter = root.make_formatter()
    formatter.write_text(
        "All options of all commands; `redraft help COMMAND` says which of them a command takes. Most can also be"
        " set in the environment, as REDRAFT_WORDS=300, and in a file redraft.toml, as words = 300."
    )
    known: dict[Record, tuple[Section, list[str]]] = {}
    for at in _contexts(root):
        for one in at.command.options if isinstance(at.command, Command) else []:
            if record := one.get_help_record(at):
                known.setdefault(record, (one.section, []))[1].append(at.command_path.partition(" ")[2])
    names = list(dict.fromkeys(name for name, _ in known))
    records = [
        (section, (name, text if len(paths) > _MANY or alone else f"{text}  ({', '.join(paths)})"))
        for name in names
        for alone in (sum(other == name for other, _ in known) == 1,)
        for (other, text), (section, paths) in known.items()
        if other == name
    ]
    write_sections(records, formatter)
    return formatter.getvalue().rstrip("\n")


def _contexts(above: click.Context) -> Iterator[click.Context]:
    """Every command with its context, those within groups too."""
    if not isinstance(above.command, click.Group):
        yield above
        return
    for name, each in above.command.commands.items():
        yield from _contexts(click.Context(each, parent=above, info_name=name))
