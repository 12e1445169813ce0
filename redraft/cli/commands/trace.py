"""`redraft trace` and `redraft lineage`: the rounds of a run, and the sources of its summary's sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options, parse_options
from redraft.cli.parse_options import store_to_read
from redraft.cli.sections import command
from redraft.domain import record_json
from redraft.errors import RunError

if TYPE_CHECKING:
    from redraft.report.history.lineage import Lineage
    from redraft.report.history.lost import Losses


_TRACE_EPILOG = """\b
Examples:
  redraft trace 3fa2c1d0
  redraft trace 3fa2 --all
  redraft trace 3fa2 --calls
  redraft trace 3fa2 --call 7
"""


@command(epilog=_TRACE_EPILOG)
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
    from redraft.text.languages import language_context

    if listed or number is not None:
        return _calls(run_id, number, db, as_json=as_json)
    with store_to_read(db) as store:
        read = read_trace(store, run_id)
        document = document_read(store, read.run)
        parts = [*render.chapter_lines(read_result(store, read.run.id))] if read.run.settings.by_chapter else []
    with language_context(document):
        lines = [*history.trace_lines(read, document, show_all=show_all)]
    render.show(record_json(read), (*lines, *(("", *parts) if parts else ())), as_json=as_json)
    return 0


def _calls(run_id: str, number: int | None, db: str | None, *, as_json: bool) -> int:
    from redraft.cli.hints import run_command
    from redraft.cli.views import calls, render
    from redraft.report.dossier.build import call_of
    from redraft.report.dossier.build import calls as calls_of
    from redraft.report.history.results import read_result

    with store_to_read(db) as store:
        run = store.runs.get(run_id).id
        if number is None:
            entries = [*calls_of(store, run)]
            content = {"run": run, "calls": [entry.model_dump(mode="json") for entry in entries]}
            # The chapters are runs of their own.
            chapters = [
                (chapter.title, chapter.result.run.id) for chapter in read_result(store, run).chapters if chapter.result
            ]
            lines = [
                *calls.calls_lines(entries, run),
                *(f"Calls of {t}: {run_command('trace', key, '--calls')}" for t, key in chapters),
            ]
            render.show(content, lines, as_json=as_json)
            return 0
        details = call_of(store, run, number)
    if details is None:
        raise RunError(f"run {run} has no call {number}", hint=f"list them with `redraft trace {run} --calls`")
    render.show(details.model_dump(mode="json"), calls.call_lines(details, run), as_json=as_json)
    return 0


_LINEAGE_EPILOG = """\b
Examples:
  redraft lineage 3fa2c1d0
  redraft lineage 3fa2 --lost

No model is called.
"""


@command(epilog=_LINEAGE_EPILOG)
@click.argument("run_id", metavar="RUN")
@options.typed_option(
    "--lost",
    section="output",
    is_flag=True,
    help="Show key facts (or else questions) of the document that the summary lacks, and at which step each was lost.",
)
@options.embeddings
@options.store_options
def lineage(run_id: str, lost: bool, db: str | None, as_json: bool, **given: Any) -> int:
    """Show where each sentence of RUN's summary comes from: its places in the document, how certain they are, the
    intermediate texts, and where these differ from the document.
    """
    from redraft.cli.views import lineages
    from redraft.cli.views.render import show
    from redraft.report.history.lineage import read_lineage
    from redraft.report.history.lost import read_losses

    with parse_options.store_to_read(db) as store:
        read = read_losses if lost else read_lineage
        found: Lineage | Losses = read(store, run_id, encoder=parse_options.encoder(given["embeddings"]))
    show(record_json(found), lineages.lines(found), as_json=as_json)
    return 0
