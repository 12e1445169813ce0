"""What the commands of `redraft experiment` have in common: working to an end, and delivering the report."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options
from redraft.errors import BudgetError, UsageError

if TYPE_CHECKING:
    from redraft.cli.views.progress import Display
    from redraft.reports.report import Report

DONE, FAILED, SHORT = 0, 1, 3
_GO_ON = "repeat the command: what is done is not done again"

output = options.typed_option(
    "--output",
    "-o",
    section="output",
    metavar="DIR",
    help="Write the report, the tables and the items there, besides stdout.",
)


def closed(complete: bool, stopped: BudgetError | None, *, done: bool, quiet: bool) -> int:
    """Say what is missing, and how to go on; returns the exit code."""
    from redraft.cli.terminal import say

    if complete:
        return DONE
    if not quiet:
        say(
            f"{stopped.message}\n  go on: repeat the command with a higher limit"
            if stopped
            else f"something failed: see the last table\n  go on: {_GO_ON}"
        )
    return SHORT if stopped or done else FAILED


def work(task: Callable[[Display], Coroutine[Any, Any, Any]], *, quiet: bool) -> Any:
    """Run to the end, or to a stop that tells how to go on."""
    import asyncio

    from redraft.cli.running import StoppedError, until_stopped
    from redraft.cli.views.progress import open_progress

    with open_progress(quiet=quiet) as progress:
        try:
            return asyncio.run(until_stopped(task(progress)))
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise StoppedError(f"go on: {_GO_ON}") from None


def folder(output: str | None) -> Any:
    """The directory for the results, made before anything is spent on what shall go into it."""
    from pathlib import Path

    if output is None:
        return None
    folder = Path(output).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the directory cannot be made: {error.strerror}", place=output) from error
    return folder


def deliver(report: Report, folder: Any, *, as_json: bool, quiet: bool) -> None:
    """Write the files, and print the report."""
    from redraft.cli.files import write
    from redraft.cli.terminal import say
    from redraft.cli.views.render import echo_json

    files = report.files() if folder else {}
    for name, text in files.items():
        write(folder / name, text, f"name another directory with -o, and {_GO_ON}")
    if as_json:
        echo_json(report.to_json())
    else:
        click.echo(report.to_markdown(), nl=False)
    if files and not quiet:
        say(f"{len(files)} files written to {folder}")
