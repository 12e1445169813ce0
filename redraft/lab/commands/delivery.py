"""Delivery of results: to standard output or to files, in the chosen format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options
from redraft.cli.hints import GO_ON
from redraft.cli.overview import CommandGroup
from redraft.cli.sections import Command, command
from redraft.cli.terminal import echo_json, say
from redraft.domain import record_json
from redraft.errors import UsageError
from redraft.lab.declared import declared
from redraft.sources import write

if TYPE_CHECKING:
    from redraft.domain import Document
    from redraft.lab.experiments.experiment import Experiment
    from redraft.report.tables import Report


def window_option(otherwise: str) -> Callable[[options.F], options.F]:
    """Create `--context-tokens` for a command where its default is `otherwise`."""
    text = f"Maximum tokens of a prompt and its reply.  [default: {otherwise}]"
    return options.settings("context_tokens", default=None, help=text)


output = options.typed_option(
    "--output",
    "-o",
    section="output",
    metavar="DIR",
    help="Write the report with its tables, pictures and items there; print only the main results.",
)


run_options = options.grouped(
    options.limit_options, options.max_source, options.prices, output, options.db, options.as_json, options.quiet
)
"""The options that every experiment has; `carry_out` takes them as given."""
writer_options = options.grouped(
    options.setup_options,
    options.option(
        "--max-tokens",
        section="model",
        type=click.IntRange(16),
        metavar="N",
        found="yes",
        help="Maximum tokens of a writer's reply, not counting its reasoning.",
    ),
    options.dry_run,
    run_options,
)
"""`run_options`, `--dry-run` and the settings of the writing models."""


def carry_out(design: Experiment[Any, Any], documents: Sequence[Document], values: Mapping[str, Any]) -> int:
    """Show the plan of an experiment, or run it under the given options and deliver its report; return the exit
    code."""
    from redraft.cli import parse_options
    from redraft.cli.runner import report_end, run_experiment
    from redraft.cli.views.plans import show_plan
    from redraft.lab.experiments.experiment import is_undecided
    from redraft.store.store import Store

    limits, prices, quiet = parse_options.limits(values), parse_options.prices(values), values["quiet"]
    if values["dry_run"]:
        return show_plan(design.plan(documents, prices), as_json=values["as_json"])
    target = folder(values["output"])
    with Store(values["db"]) as store:
        outcome = run_experiment(partial(design.run, documents), store, limits, prices, quiet=quiet)
    report = outcome.report()
    deliver(report, target, as_json=values["as_json"], quiet=quiet)
    has_results, undecided = any(item.is_result for item in outcome.items), is_undecided(report)
    return report_end(outcome.complete, outcome.stopped, done=has_results, quiet=quiet, undecided=undecided)


def folder(output: str | None) -> Path | None:
    """Create the directory for the results before anything is spent on them."""
    if output is None:
        return None
    folder = Path(output).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the directory cannot be created: {error.strerror}", place=output) from error
    return folder


def deliver(report: Report, folder: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Print the report; or write it to files, and print the lines that matter."""
    from redraft.lab.experiments.published import result_files

    files = {folder / name: text for name, text in result_files(report).items()} if folder else {}
    for path, text in files.items():
        write(path, text, f"name another directory with -o, and {GO_ON}")
    if as_json:
        echo_json(record_json(report))
    else:
        click.echo(report.brief() if folder else report.to_markdown(), nl=False)
    if files and not quiet:
        say(f"{len(files)} files written to {folder}; report.md has all tables")


_MISSING = """\
The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to continue.
"""


def lab_command(name: str) -> Callable[[Callable[..., Any]], Command]:
    """Create the command of this name with its help."""
    return command(name, first=declared("commands")[name].get("first", "").split(), **_help(name))


def lab_group(name: str, *commands: Command, usual: str = "") -> click.Group:
    """Return the group of these commands with its help; `usual` is the command that runs if none is named."""
    return CommandGroup(name, commands, usual=usual, **_help(name))


def _help(name: str) -> dict[str, Any]:
    entry = declared("commands")[name]
    texts = {text: entry[text] for text in ("help", "short_help") if text in entry}
    if "examples" in entry:
        texts["epilog"] = f"\b\nExamples:\n{entry['examples']}{_MISSING if entry.get('can_be_short') else ''}"
    return texts
