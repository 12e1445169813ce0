"""`redraft models`, `prompts` and `help`: the models in use, the templates of prompts, and all options of a command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options, parse_options
from redraft.cli.hints import SHELL
from redraft.cli.overview import CommandGroup, help_texts
from redraft.cli.sections import EVERY, Command, command
from redraft.cli.settings_file import named_tables
from redraft.cli.terminal import DONE, FAILED, echo_json, show_markdown, show_record
from redraft.errors import UsageError
from redraft.order import OrderParts
from redraft.settings import EXTRACTIVE, ModelSettings, RefineConfig

if TYPE_CHECKING:
    from redraft.runs.model_check import RosterEntry
    from redraft.store.store import Store

# A question that takes longer is no short one.
_PATIENCE = 60.0
# No model has such a name.
_EVERY_ROLE = "*"


@command()
@options.typed_option(
    "--check",
    section="model",
    metavar="[NAME]",
    is_flag=False,
    flag_value=_EVERY_ROLE,
    help="Check that this model works, and how it takes structured replies; without NAME, the models of all roles.",
)
@options.judge_options
@options.settings("validator", "decider")
@options.model_options
@options.settings("timeout")
@options.prices
@options.db
@options.as_json
def models(check: str | None, db: str | None, as_json: bool, **values: Any) -> int:
    """Show the models that write, judge, validate and decide, with their windows, prices and reply formats; and the
    model servers on this machine.
    """
    from redraft.cli.views.plans import roster_markdown
    from redraft.llm import addresses
    from redraft.runs.model_check import roster
    from redraft.store.store import Store

    tables, table = named_tables(ModelSettings), parse_options.prices(values)
    if check and check not in (_EVERY_ROLE, EXTRACTIVE) and ":" not in check and check not in tables:
        choices = f"choose from: {', '.join(tables)}" if tables else "there are none"
        raise UsageError(
            f"there is no model {check!r}", hint=f"name a table [models.NAME] ({choices}), or PROVIDER:NAME"
        )
    alone = bool(check) and check != _EVERY_ROLE
    with Store(db) as store:
        if alone:
            settings = parse_options.settings({**values, "model": check})
            first, *_ = roster(OrderParts(settings=settings), {}, table, store, check, SHELL)
            entries = [first.model_copy(update={"role": None})]
        else:
            settings, panel = parse_options.settings(values), parse_options.judging_without_draft(values)
            refinement = RefineConfig(goals={}, decider=values["decider"])
            parts = OrderParts(settings=settings, judging=panel, refinement=refinement)
            writes_as = values["model"] if values["model"] in tables else None
            entries = roster(parts, tables, table, store, writes_as, SHELL)
        if check:
            checked = [entry for entry in entries if entry.role or alone]
            return _check(checked, store, values["timeout"] or _PATIENCE, as_json=as_json, alone=alone)
    local_servers = addresses.local_servers(addresses.USUAL)
    nearby = [{"kind": server.kind, "base_url": server.url, "models": server.models} for server in local_servers]
    content = {"models": [entry.model_dump(mode="json") for entry in entries], "nearby": nearby}
    ways = "" if any(server.models for server in local_servers) else f"\n{help_texts()['models']['without_key']}"
    show_record(content, roster_markdown(entries, local_servers) + ways, as_json=as_json)
    return DONE


def _check(entries: Sequence[RosterEntry], store: Store, timeout: float, *, as_json: bool, alone: bool) -> int:
    """Ask each model, one after the other, and say what works. One that was named alone is one object as JSON."""
    import asyncio

    from redraft.cli.views.plans import check_markdown
    from redraft.runs.model_check import check

    results = []
    for entry in entries:
        results.append(asyncio.run(check(entry, store, timeout, SHELL)))
        if not as_json:
            show_markdown(check_markdown(results[-1]))
    if as_json:
        content = [result.model_dump(mode="json") for result in results]
        echo_json(content[0] if alone else {"checked": content})
    return DONE if all(result.works for result in results) else FAILED


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
    parent.meta[EVERY] = True
    click.echo(parent.command.get_help(parent))


@click.group(cls=CommandGroup)
def prompts() -> None:
    """List, show and export the prompts."""


@prompts.command("list", cls=Command)
@_set
@options.as_json
def list_prompts(choice: str, as_json: bool) -> None:
    """List the prompts with their hashes."""
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


@prompts.command("show", cls=Command)
@click.argument("name")
@_set
def show_prompt(name: str, choice: str) -> None:
    """Show the template of the prompt NAME."""
    from redraft.prompts.book import PromptBook

    click.echo(PromptBook(choice).source(name).rstrip("\n"))


@prompts.command("export", cls=Command)
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
