"""`redraft diff`: what changed from one draft of a run to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from redraft.cli import hints, options
from redraft.cli.given import store_to_read
from redraft.cli.sections import command
from redraft.domain import record_json
from redraft.errors import RunError, UsageError

if TYPE_CHECKING:
    from redraft.report.history.trace import RunTrace

_EPILOG = """\b
Examples:
  redraft diff 3fa2c1d0
  redraft diff 3fa2 0 2
"""


@command(epilog=_EPILOG)
@click.argument("run_id", metavar="RUN")
@click.argument("rounds", metavar="[A B]", type=click.IntRange(min=0), nargs=-1)
@options.db
@options.as_json
def diff(run_id: str, rounds: tuple[int, ...], db: str | None, as_json: bool) -> int:
    """Show what changed between the drafts of rounds A and B of RUN, and which findings each change fixed.

    Without A and B these are the first draft and the run's result.
    """
    from redraft.cli.views import history
    from redraft.cli.views.render import show
    from redraft.report.history.changes import difference
    from redraft.report.history.results import document_read
    from redraft.report.history.trace import read_trace
    from redraft.text.languages import reading

    if len(rounds) not in {0, 2}:
        raise UsageError("give two rounds or none", hint="see `redraft diff --help`")
    with store_to_read(db) as store:
        read = read_trace(store, run_id)
        document = document_read(store, read.run)
    before, after = (read.turn(number) for number in rounds or _ends(read))
    with reading(document):
        found = difference(before, after)
    content = {"run": read.run.id, "from": before.heading(), "to": after.heading(), **record_json(found)}
    show(content, history.diff_lines(found, before, after, document), as_json=as_json)
    return 0


def _ends(read: RunTrace) -> tuple[int, int]:
    """The rounds of the first draft and of the run's result."""
    if read.run.kind == "compare":
        raise RunError(f"run {read.run.id} compares two summaries, and has no rounds", hint="see `redraft show`")
    if not read.turns:
        raise RunError(f"run {read.run.id} has no draft yet", hint=hints.about("resume", read.run.id))
    return 0, read.number(read.run.draft) or 0
