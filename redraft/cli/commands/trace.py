"""`redraft trace` and `redraft lineage`: the rounds of a run, and the sources of its summary's sentences."""

from __future__ import annotations

import click

from redraft.cli import options, parse_options
from redraft.cli.parse_options import store_to_read
from redraft.cli.sections import command
from redraft.domain import record_json
from redraft.errors import RunError


@command()
@options.run_argument
@options.show_all
@options.typed_option("--calls", "listed", is_flag=True, help="List the calls to models by stage.")
@options.typed_option(
    "--call",
    "number",
    type=click.IntRange(1),
    metavar="N",
    help="Show the prompt and the reply of call N of that list.",
)
@options.db
@options.as_json
def trace(run_id: str, show_all: bool, listed: bool, number: int | None, db: str | None, as_json: bool) -> None:
    """Show RUN, or the newest run, round by round: scores, findings, changes, which revisions were accepted, and why it
    stopped.

    With --calls or --call, show what models were asked and what they answered.
    """
    from redraft.cli.terminal import say
    from redraft.cli.views.markdown import show_record
    from redraft.report.history.results import document_read
    from redraft.report.history.trace import read_trace
    from redraft.report.markdown.trace import trace_markdown
    from redraft.text.languages import language_context

    if listed or number is not None:
        _calls(run_id, number, db, as_json=as_json)
        return
    with store_to_read(db) as store:
        read = read_trace(store, run_id)
        document = document_read(store, read.result.run)
    with language_context(document):
        markdown = trace_markdown(read, document, show_all=show_all)
    show_record(record_json(read), markdown, as_json=as_json)
    if as_json:
        return

    from redraft.cli.hints import run_command
    from redraft.cli.views.outcome import way_on

    run, usage = read.result.run, read.result.usage
    if step := way_on(read.result):
        say(step)
    elif run.kind == "summarize" and read.rounds:
        say(f"Refine it: {run_command('fork', run.id, '--round', '0')}")
    if len(read.rounds) > 1:
        say(f"Changes by sentence: {run_command('diff', run.id)}")
    if usage.calls or usage.cached:
        say(f"Calls to models: {run_command('trace', run.id, '--calls')}")


def _calls(run_id: str, number: int | None, db: str | None, *, as_json: bool) -> None:
    from redraft.cli.hints import run_command
    from redraft.cli.terminal import say
    from redraft.cli.views.markdown import show_record
    from redraft.report.dossier.contents import call_of
    from redraft.report.dossier.contents import calls as calls_of
    from redraft.report.history.results import read_result
    from redraft.report.markdown.records import call_markdown, calls_markdown

    with store_to_read(db) as store:
        run = store.runs.get(run_id).id
        if number is None:
            entries = [*calls_of(store, run)]
            content = {"run": run, "calls": [entry.model_dump(mode="json") for entry in entries]}
            # The chapters are runs of their own.
            chapters = read_result(store, run).chapters
            show_record(content, calls_markdown(entries, run), as_json=as_json)
            if entries and not as_json:
                say(f"Prompt and reply of call 1: {run_command('trace', run, '--call', '1')}")
            for chapter in chapters if not as_json else ():
                if chapter.result:
                    say(f"Calls of {chapter.title}: {run_command('trace', chapter.result.run.id, '--calls')}")
            return
        details = call_of(store, run, number)
    if details is None:
        raise RunError(f"run {run} has no call {number}", hint=f"list them with `redraft trace {run} --calls`")
    show_record(details.model_dump(mode="json"), call_markdown(details, run), as_json=as_json)


@command()
@options.run_argument
@options.settings("embeddings")
@options.db
@options.as_json
def lineage(run_id: str, embeddings: str | None, db: str | None, as_json: bool) -> None:
    """Show where each sentence of the summary of RUN, or of the newest run, comes from: its places in the document, how
    certain they are, the intermediate texts, and where these differ from the document.
    """
    from redraft.cli.views.markdown import show_record
    from redraft.report.history.lineage import read_lineage
    from redraft.report.markdown.trace import lineage_markdown

    encoder = parse_options.encoder(embeddings)
    with parse_options.store_to_read(db) as store:
        traced = read_lineage(store, run_id, encoder=encoder)
    show_record(record_json(traced), lineage_markdown(traced), as_json=as_json)
