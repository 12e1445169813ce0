"""`redraft trace`: how a summary came to be what it is, round by round."""

from __future__ import annotations

import click

from redraft.cli import options
from redraft.cli.given import store_to_read
from redraft.cli.sections import command

_EPILOG = """\b
Examples:
  redraft trace 3fa2c1d0
  redraft trace 3fa2 --all
  redraft trace 3fa2 --json
"""


@command(epilog=_EPILOG)
@click.argument("run_id", metavar="RUN")
@options.show_all
@options.db
@options.as_json
def trace(run_id: str, show_all: bool, db: str | None, as_json: bool) -> int:
    """Show RUN round by round: scores, findings, changes, which revisions were accepted, and why it stopped."""
    from redraft.cli.views import history, render
    from redraft.report.history.results import document_read, read_result
    from redraft.report.history.trace import read_trace
    from redraft.text.languages import reading

    with store_to_read(db) as store:
        read = read_trace(store, run_id)
        document = document_read(store, read.run)
        parts = [*render.chapter_lines(read_result(store, read.run.id))] if read.run.settings.by_chapter else []
    with reading(document):
        lines = [*history.trace_lines(read, document, show_all=show_all)]
    render.show(read.to_json(), (*lines, *(("", *parts) if parts else ())), as_json=as_json)
    return 0
