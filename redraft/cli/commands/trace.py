"""`redraft trace`: how a summary came to be what it is, round by round."""

from __future__ import annotations

import click

from redraft.cli import options
from redraft.cli.given import store_to_read
from redraft.cli.sections import command
from redraft.domain import record_json
from redraft.errors import RunError

_EPILOG = """\b
Examples:
  redraft trace 3fa2c1d0
  redraft trace 3fa2 --all
  redraft trace 3fa2 --calls
  redraft trace 3fa2 --call 7
"""


@command(epilog=_EPILOG)
@click.argument("run_id", metavar="RUN")
@options.show_all
@options.typed_option("--calls", "listed", section="output", is_flag=True, help="List the calls to models by stage.")
@options.typed_option(
    "--call",
    "number",
    section="output",
    type=click.IntRange(1),
    metavar="N",
    help="Show the prompt and the reply of call N of that list.",
)
@options.db
@options.as_json
def trace(run_id: str, show_all: bool, listed: bool, number: int | None, db: str | None, as_json: bool) -> int:
    """Show RUN round by round: scores, findings, changes, which revisions were accepted, and why it stopped.

    With --calls or --call, show what models were asked and what they answered.
    """
    from redraft.cli.views import history, render
    from redraft.report.history.results import document_read, read_result
    from redraft.report.history.trace import read_trace
    from redraft.text.languages import reading

    if listed or number is not None:
        return _calls(run_id, number, db, as_json=as_json)
    with store_to_read(db) as store:
        read = read_trace(store, run_id)
        document = document_read(store, read.run)
        parts = [*render.chapter_lines(read_result(store, read.run.id))] if read.run.settings.by_chapter else []
    with reading(document):
        lines = [*history.trace_lines(read, document, show_all=show_all)]
    render.show(record_json(read), (*lines, *(("", *parts) if parts else ())), as_json=as_json)
    return 0


def _calls(run_id: str, number: int | None, db: str | None, *, as_json: bool) -> int:
    from redraft.cli.hints import about
    from redraft.cli.views import calls, render
    from redraft.report.dossier.build import call_of
    from redraft.report.dossier.build import calls as calls_of
    from redraft.report.history.results import read_result

    with store_to_read(db) as store:
        run = store.runs.get(run_id).id
        if number is None:
            found = [*calls_of(store, run)]
            content = {"run": run, "calls": [one.model_dump(mode="json") for one in found]}
            # The chapters are runs of their own.
            chapters = [(one.title, one.result.run.id) for one in read_result(store, run).chapters if one.result]
            lines = [
                *calls.listed(found, run),
                *(f"Calls of {t}: {about('trace', key, '--calls')}" for t, key in chapters),
            ]
            render.show(content, lines, as_json=as_json)
            return 0
        one = call_of(store, run, number)
    if one is None:
        raise RunError(f"run {run} has no call {number}", hint=f"list them with `redraft trace {run} --calls`")
    render.show(one.model_dump(mode="json"), calls.whole(one, run), as_json=as_json)
    return 0
