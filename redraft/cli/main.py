"""The `redraft` command, its exit codes, and how its failures are told."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

import click

from redraft.cli.commands.agree.group import agree
from redraft.cli.commands.batch.group import batch
from redraft.cli.commands.compare import compare
from redraft.cli.commands.compare_runs import compare_runs
from redraft.cli.commands.data.group import data
from redraft.cli.commands.diff import diff
from redraft.cli.commands.doctor import doctor
from redraft.cli.commands.evaluate import evaluate
from redraft.cli.commands.experiment.group import experiment
from redraft.cli.commands.export import export
from redraft.cli.commands.forget import forget
from redraft.cli.commands.fork import fork
from redraft.cli.commands.help import help_
from redraft.cli.commands.keyfacts import keyfacts
from redraft.cli.commands.lineage import lineage
from redraft.cli.commands.models import models
from redraft.cli.commands.pack import pack
from redraft.cli.commands.prompts import prompts
from redraft.cli.commands.read import read
from redraft.cli.commands.refine import refine
from redraft.cli.commands.resume import resume
from redraft.cli.commands.runs import runs
from redraft.cli.commands.show import show
from redraft.cli.commands.store.group import store
from redraft.cli.commands.studio import studio
from redraft.cli.commands.summarize import summarize
from redraft.cli.commands.trace import trace
from redraft.cli.commands.trust import trust
from redraft.cli.config import read_config
from redraft.cli.interrupts import INTERRUPTED, end_at_the_second
from redraft.cli.sections import Group
from redraft.cli.terminal import json_text, make_harmless, say
from redraft.errors import BudgetError, RedraftError, UsageError

DONE, FAILED, WRONG_USAGE, SHORT = 0, 1, 2, 3
_OBJECTS_BEFORE_COLLECTING = 50_000
_EXIT_CODES = {UsageError.code: WRONG_USAGE, BudgetError.code: SHORT, "interrupted": INTERRUPTED}

_EPILOG = """\b
Examples:
  redraft summarize book.txt
  redraft summarize book.md -m openai:gpt-5-mini -w 600 -o summary.md
  redraft summarize book.txt -m openai:gpt-5-mini --dry-run
  redraft evaluate book.txt summary.md
  redraft refine book.txt summary.md -g coverage=0.8 -g consistency=0.9
  redraft compare book.txt one.md other.md
  redraft keyfacts book.txt
  redraft trace 3fa2c1d0
  redraft lineage 3fa2c1d0
  redraft export 3fa2c1d0 -o dossier.html
  redraft compare-runs 3fa2c1d0 9b1c44e7 -o compare.html
  redraft resume 3fa2c1d0

Results go to stdout, everything else to stderr. Options can also be set as
REDRAFT_<OPTION> in the environment, or in a file redraft.toml.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 finished short of what was
asked (budget used up, parts left out, goals missed), 130 interrupted."""


@click.group(cls=Group, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="redraft", message="%(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Summaries of book-length documents that you can trust."""
    context.default_map = read_config(app.commands)


_WORK = (summarize, evaluate, compare, refine, batch, resume, fork, keyfacts, pack, experiment, agree, data, doctor)
_LOOK = (
    read,
    studio,
    runs,
    show,
    trace,
    diff,
    lineage,
    export,
    compare_runs,
    models,
    prompts,
    forget,
    store,
    trust,
    help_,
)
for command in (*_WORK, *_LOOK):
    app.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: run, and leave with an exit code."""
    if arguments is None:
        end_at_the_second()
    words = list(sys.argv[1:] if arguments is None else arguments)
    # While modules are loaded nothing becomes garbage, and looking for it takes a tenth of the time.
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTING)
    make_harmless()
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
    """Whether programs read what is printed: what the last `--format` says, or `--json`."""
    formats = [after for word, after in zip(words, [*words[1:], ""], strict=True) if word == "--format"]
    formats += [word.removeprefix("--format=") for word in words if word.startswith("--format=")]
    return "--json" in words or formats[-1:] == ["json"]


def _tell(words: Sequence[str], code: str, message: str, hint: str, exit_code: int, *, shown: bool = False) -> int:
    """Tell of a failure: as JSON on stdout where that was asked for, else in words on stderr."""
    if _as_json(words):
        click.echo(json_text({"error": {"code": code, "message": message, "hint": hint}}, indent=None))
    elif not shown:
        say(f"redraft: {message}")
        if hint:
            for line in hint.splitlines():
                say(f"  {line.strip()}")
    return exit_code
