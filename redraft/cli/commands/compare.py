"""`redraft compare`: which of two summaries of a document is better."""

from __future__ import annotations

from typing import Any

import click

from redraft.cli import given as asked
from redraft.cli import options
from redraft.cli.sections import command
from redraft.cli.terminal import reading
from redraft.errors import UsageError
from redraft.settings import Compare
from redraft.sources import STDIN

_EPILOG = """\b
Examples:
  redraft compare book.txt one.md other.md
  redraft compare book.txt one.md other.md -m openai:gpt-5-mini --repeat 3
  redraft compare book.txt one.md other.md --judge openai:a --judge openai:b
  redraft summarize book.txt -q | redraft compare book.txt mine.md - --json

A judge that prefers one summary in one order and sees a tie in the other leans
to it; one that prefers whichever comes first, or last, has no preference. Both
count as a tie, and are shown. A judge reads the document if it fits beside the
summaries (--context-tokens). The exit code is 3 when no judge gave a verdict
in both orders, or the budget is used up.
"""


@command(
    epilog=_EPILOG,
    first=("model", "base-url", "context-tokens", "judge", "repeat", "max-cost", "dry-run", "db", "json", "quiet"),
)
@options.sources
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@options.panel_options
@options.repeat
@options.asking_options
@options.store_options
def compare(sources: tuple[str, ...], first: str, second: str, **given: Any) -> int:
    """Ask which of A and B is the better summary of SOURCE. One of them may be - for stdin.

    Each judge decides overall, and on detail, structure and logic. It is asked twice, with A first and with B first,
    since judges may favour a position.
    """
    quiet = given["quiet"]
    reading(*sources, first, second, quiet=quiet)
    from redraft.cli.runner import carry_out
    from redraft.runs.execute import check_summaries
    from redraft.runs.prepare import RunSpec

    if [*sources, first, second].count(STDIN) > 1:
        raise UsageError("only one of SOURCE, A and B can be stdin", hint="give the others as files")
    settings, purpose = asked.settings(given), Compare(judging=asked.judging_no_draft(given))
    a, b = asked.text(first, quiet=quiet), asked.text(second, quiet=quiet)
    check_summaries(a, b)
    return carry_out(asked.document_at(sources, given), settings, RunSpec(purpose, given=a, other=b), given)
