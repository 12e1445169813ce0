"""The `redraft` command: what it says alone, its exit codes and its error messages."""

from __future__ import annotations

import gc
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import click

from redraft.cli.hints import SHELL
from redraft.cli.overview import CommandGroup, Commands, HelpEntry, help_texts
from redraft.cli.settings_file import NAMED_FILE, read_config
from redraft.cli.terminal import (
    DONE,
    FAILED,
    INTERRUPTED,
    SHORT,
    WRONG_USAGE,
    OutputError,
    clean_streams,
    exit_at_second_interrupt,
    json_text,
    say,
)
from redraft.errors import BudgetError, DeadlineError, RedraftError, UsageError

_OBJECTS_BEFORE_COLLECTING = 200_000
_EXIT_CODES = {
    UsageError.code: WRONG_USAGE,
    BudgetError.code: SHORT,
    DeadlineError.code: SHORT,
    "interrupted": INTERRUPTED,
}
COMMANDS = {
    name: HelpEntry(f"redraft.cli.commands.{texts['place']}", texts["does"], texts["group"])
    for name, texts in help_texts().items()
    if "place" in texts
}


@click.group(
    cls=CommandGroup,
    commands=Commands(COMMANDS),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="redraft", message="%(version)s")
@click.option("--config", metavar="FILE", help="Settings file to use, before the command: redraft --config FILE ...")
@click.pass_context
def app(context: click.Context, config: str | None) -> None:
    """Summaries of book-length documents that you can trust."""
    if config is not None and not Path(config).exists():
        raise UsageError("there is no such file", place=config)
    context.meta[NAMED_FILE] = config
    context.default_map = read_config(app.commands)
    if context.invoked_subcommand is None:
        assert isinstance(app.commands, Commands)
        default = os.environ.get("REDRAFT_MODEL") or context.default_map.get("summarize", {}).get("model", "")
        click.echo("\n".join(welcome(default, app.commands.entries)))


_KEYS = (
    ("OPENAI_API_KEY", "openai:gpt-5-mini", "langchain_openai"),
    ("ANTHROPIC_API_KEY", "anthropic:claude-sonnet-4-5", "langchain_anthropic"),
    ("GOOGLE_API_KEY", "google_genai:gemini-2.5-flash", "langchain_google_genai"),
)
"""Variables with keys, a model that each is good for, and the module that this needs."""
_WIDEST = 64


def model_here(default: str) -> tuple[str, str, str] | None:
    """Return the first language model that is at hand: the `default` of the settings, one with a key in the
    environment, or one of a server on this machine. That is why it can be used, the options that name it (none if it is
    used by default), and its name."""
    from redraft.llm import addresses
    from redraft.settings import EXTRACTIVE

    if default not in ("", EXTRACTIVE):
        return f"{default}, by your settings", "", default
    for variable, model, module in _KEYS:
        if os.environ.get(variable, "").strip() and find_spec(module):
            return f"a key in {variable}", f" -m {model}", model
    for server in addresses.local_servers(addresses.USUAL):
        if server.models:
            name = f"openai:{server.models[0]}"
            options = f" -m {shlex.quote(name)} --base-url {server.url}"
            return f"{server.kind} on this machine, with {server.models[0]}", options, name
    return None


def welcome(default: str, commands: Mapping[str, HelpEntry]) -> list[str]:
    """Return what can be done first with the model that is here, in eight lines."""
    model = model_here(default)
    if model is None:
        state = "Here: no key and no model server, so the built-in model selects sentences, offline."
        steps = [
            ("redraft summarize book.txt", "try it: text, PDF, EPUB, Word, web page"),
            ("redraft evaluate book.txt summary.md", "check a summary that you have"),
            ("redraft models", "three ways to a model on this machine, without a key"),
            ("export OPENAI_API_KEY=...", "or one with a key: then add -m openai:gpt-5-mini"),
        ]
    else:
        why, options, name = model
        state = f"Here: {why}."
        check = f"redraft models --check{options}" if options else f"redraft models --check {name}"
        steps = [
            (f"redraft summarize book.txt{options} --dry-run", "what it costs"),
            (f"redraft summarize book.txt{options} --refine", "write, judge, revise"),
            (f'redraft ask book.txt "Who?"{options}', "an answer with citations"),
            (check, "does the model work?"),
        ]
    # Servers are guests.
    servers = [(name, entry) for name, entry in commands.items() if entry.group == "Serve"]
    steps += [(f"redraft {name}", entry.does.rstrip(".").lower()) for name, entry in servers[:1]]
    steps += [("redraft --help", "all commands")]
    widest = min(_WIDEST, max(len(command) for command, _ in steps))
    lines = ["redraft summarizes long documents, checks a summary against its document, and revises it.", state]
    return [*lines, *(f"  {command.ljust(widest)}  {what}" for command, what in steps)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, turn every outcome into an exit code, and exit with it. The last format decides whether
    errors are JSON."""
    if arguments is None:
        exit_at_second_interrupt()
    words = list(sys.argv[1:] if arguments is None else arguments)
    formats = [after for word, after in pairwise(words) if word == "--format"]
    formats += [word.removeprefix("--format=") for word in words if word.startswith("--format=")]
    as_json = "--json" in words or formats[-1:] == ["json"]
    # Loading modules creates no garbage, and collection would take a tenth of the time.
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTING)
    clean_streams()
    try:
        try:
            code = int(app.main(words, prog_name="redraft", standalone_mode=False) or DONE)
        except click.ClickException as error:
            if not as_json:
                error.show()
            where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "redraft"
            hint = f"see `{where} --help`"
            code = _tell("usage", error.format_message(), hint, WRONG_USAGE, as_json=as_json, shown=True)
        except RedraftError as error:
            exit_code = next((_EXIT_CODES[kind] for kind in error.codes if kind in _EXIT_CODES), FAILED)
            code = _tell(error.code, str(error), SHELL.render(error.fix), exit_code, as_json=as_json)
        except (KeyboardInterrupt, click.Abort):
            code = _tell("interrupted", "interrupted", "", INTERRUPTED, as_json=as_json)
        sys.stdout.flush()
    except OutputError as error:
        # The interpreter must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = DONE
        if not error.reader_left:
            say(f"redraft: stdout cannot be written: {error}")
            say("  a finished run is stored: see `redraft runs` and `redraft show`")
            code = FAILED
    if arguments is None:
        # Skip the collection at exit, too.
        gc.freeze()
    sys.exit(code)


def _tell(code: str, message: str, hint: str, exit_code: int, *, as_json: bool, shown: bool = False) -> int:
    """Print an error as JSON on stdout if JSON was asked for, else as text on stderr."""
    if as_json:
        click.echo(json_text({"error": {"code": code, "message": message, "hint": hint}}, indent=None))
    elif not shown:
        say(f"redraft: {message}")
        if hint:
            for line in hint.splitlines():
                say(f"  {line.strip()}")
    return exit_code
