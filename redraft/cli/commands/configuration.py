"""`redraft help`: all options of a command; and `redraft prompts`: templates to copy and override."""

from __future__ import annotations

from pathlib import Path

import click

from redraft.cli import options
from redraft.cli.sections import Command, CommandGroup, command
from redraft.errors import UsageError

_set = options.option(
    *("--prompts", "choice"),
    section="model",
    metavar="SET|DIR",
    default="standard",
    found="prompts",
    help="The set to look at.",
)


@command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]")
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> None:
    """Show all options of COMMAND; without it, the overview. docs/options.md lists the options of all commands."""
    parent = context.find_root()
    for word in words:
        if not isinstance(parent.command, click.Group):
            raise click.UsageError(f"{parent.command_path} has no command {word!r}.", parent)
        name, subcommand, _ = parent.command.resolve_command(parent, [word])
        assert subcommand is not None
        parent = click.Context(subcommand, parent=parent, info_name=name)
    last = parent.command
    click.echo(last.everything(parent) if isinstance(last, Command) else last.get_help(parent))


@click.group(cls=CommandGroup)
def prompts() -> None:
    """List, show and export the prompts."""


@prompts.command("list")
@_set
@options.as_json
def list_prompts(choice: str, as_json: bool) -> None:
    """List the prompts with their hashes."""
    from redraft.cli.views.markdown import show_record
    from redraft.prompts.book import PROMPTS, PromptBook
    from redraft.report.markdown.evaluation import table

    book = PromptBook(choice)
    listed, rows = [], [["prompt", "hash", "", "purpose"]]
    for name, prompt in PROMPTS.items():
        about = {"name": name, "hash": book.hash(prompt), "overridden": name in book.overridden}
        variables = sorted(prompt.given.model_fields)
        listed.append({**about, "temperature": prompt.temperature, "variables": variables, "purpose": prompt.purpose})
        rows.append([name, book.hash(prompt)[:8], "own" * (name in book.overridden), prompt.purpose])
    show_record({"prompts": listed}, table(rows) + "\n", as_json=as_json)


@prompts.command("show")
@click.argument("name")
@_set
def show_prompt(name: str, choice: str) -> None:
    """Show the template of the prompt NAME."""
    from redraft.prompts.book import PromptBook

    click.echo(PromptBook(choice).source(name).rstrip("\n"))


@prompts.command("export")
@click.argument("directory")
@_set
@options.typed_option("--force", is_flag=True, help="Overwrite existing files.")
def export_prompts(directory: str, choice: str, force: bool) -> None:
    """Write every template to DIRECTORY, to be changed and used with --prompts DIRECTORY."""
    from redraft.prompts.book import PROMPTS, SUFFIX, PromptBook

    book, target = PromptBook(choice), Path(directory).expanduser()
    files = {target / f"{name}{SUFFIX}": book.source(name) for name in PROMPTS}
    if not force and (existing := [str(path) for path in files if path.exists()]):
        raise UsageError(f"{existing[0]} exists already", hint="overwrite it with --force, or use another directory")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, source in files.items():
            path.write_text(source, "utf-8")
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", place=str(target)) from error
    click.echo(f"{len(files)} templates written to {target}; use them with --prompts {target}", err=True)
