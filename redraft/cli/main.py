"""The `redraft` command, its exit codes, and how its failures are told."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

import click

from redraft.cli.comparing import compare
from redraft.cli.config import read_config
from redraft.cli.experiments import experiment
from redraft.cli.forget import forget
from redraft.cli.judging import evaluate, fork, refine
from redraft.cli.keyfacts import keyfacts
from redraft.cli.packs import pack
from redraft.cli.prompts import prompts
from redraft.cli.runs import runs, show
from redraft.cli.summarize import resume, summarize
from redraft.cli.traces import diff, trace
from redraft.errors import BudgetError, RedraftError, UsageError

DONE, FAILED, WRONG_USAGE, SHORT, INTERRUPTED = 0, 1, 2, 3, 130
_EXIT_CODES = {UsageError.code: WRONG_USAGE, BudgetError.code: SHORT, "interrupted": INTERRUPTED}

_EPILOG = """\b
Examples:
  redraft summarize book.txt
  redraft summarize book.md --model openai:gpt-5-mini --words 600 -o summary.md
  redraft summarize book.txt --model openai:gpt-5-mini --dry-run
  redraft evaluate book.txt summary.md
  redraft compare book.txt summary.md other.md
  redraft refine book.txt summary.md --goal coverage=0.8 --goal consistency=0.9
  redraft compare book.txt one.md other.md
  redraft keyfacts book.txt
  redraft trace 3fa2c1d0
  redraft resume 3fa2c1d0
\b
Results go to stdout, everything else to stderr. Options can also be set as
REDRAFT_<OPTION> in the environment, or in a file redraft.toml.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 finished short of what was
asked (budget used up, parts left out, goals missed), 130 interrupted."""


@click.group(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="redraft", message="%(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Summaries of book-length documents that you can trust."""
    context.default_map = read_config(app.commands)


_WORK = (summarize, evaluate, compare, refine, resume, fork, keyfacts, pack, experiment)
_LOOK = (runs, show, trace, diff, forget, prompts)
for command in (*_WORK, *_LOOK):
    app.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: run, and leave with an exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has had enough. The interpreter must not complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = DONE
    sys.exit(code)


def _run(words: Sequence[str]) -> int:
    """Run a command; turn whatever happens into an exit code."""
    try:
        code = app.main(words, prog_name="redraft", standalone_mode=False)
    except click.ClickException as error:
        if not _as_json(words):
            error.show()
        return _tell(words, "usage", error.format_message(), "see `redraft --help`", WRONG_USAGE, shown=True)
    except RedraftError as error:
        return _tell(words, error.code, str(error), error.hint, _EXIT_CODES.get(error.code, FAILED))
    except (KeyboardInterrupt, click.Abort):
        return _tell(words, "interrupted", "interrupted", "", INTERRUPTED)
    return int(code or DONE)


def _as_json(words: Sequence[str]) -> bool:
    return "--json" in words


def _tell(words: Sequence[str], code: str, message: str, hint: str, exit_code: int, *, shown: bool = False) -> int:
    """Tell of a failure: as JSON on stdout where that was asked for, else in words on stderr."""
    if _as_json(words):
        click.echo(json.dumps({"error": {"code": code, "message": message, "hint": hint}}, ensure_ascii=False))
    elif not shown:
        click.echo(f"redraft: {message}", err=True)
        if hint:
            click.echo(f"  {hint}", err=True)
    return exit_code
