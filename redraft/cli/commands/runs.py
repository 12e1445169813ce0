"""`redraft runs`, `show`, `export`, `trace`, `lineage` and `diff`: the list of runs, and what is known of one; and
`forget`: its removal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options, parse_options
from redraft.cli.hints import run_command
from redraft.cli.output_files import Form, form_of, hand_over, page_options, target
from redraft.cli.parse_options import store_to_read
from redraft.cli.sections import command
from redraft.cli.terminal import echo_json, say, say_markdown, show_markdown, show_record, terminal_width
from redraft.domain import record_json
from redraft.errors import RunError, UsageError
from redraft.text.sanitizer import one_line
from redraft.text.words import count

if TYPE_CHECKING:
    from redraft.report.history.citations import CitationForm
    from redraft.report.history.results import Result
    from redraft.report.outputs.formats import Format
    from redraft.store.store import ForgetReport

_ROOM_FOR_ALL = 120
"""The columns of a terminal in which all columns of the list fit."""


@command()
@options.typed_option("--kind", metavar="NAME", help="Only runs of summarize, evaluate, refine, ...")
@options.typed_option("--status", metavar="NAME", help="Only runs that are done, stopped, ...")
@options.typed_option("--document", metavar="ID|WORDS", help="Only runs on this document, by id or title.")
@options.typed_option("--model", "-m", metavar="NAME", help="Only runs with this model, by part of its name.")
@options.typed_option("--all", "show_all", is_flag=True, help="Include runs of experiments, batches and chapters.")
@options.typed_option(
    "--limit", "-n", type=click.IntRange(min=1), metavar="N", default=20, help="Number of runs, newest first."
)
@options.db
@options.as_json
def runs(limit: int, show_all: bool, db: str | None, as_json: bool, **filters: str | None) -> None:
    """List the latest runs. Runs of experiments, batches and chapters need --all, or --kind."""
    from redraft.report.history.summaries import latest_runs
    from redraft.report.markdown.records import runs_markdown

    with store_to_read(db) as store:
        run_summaries = latest_runs(store, limit, include_parts=show_all, **filters)
        damaged = dict(store.runs.damaged)
        any_at_all = bool(run_summaries or store.runs.latest(1))
    if run_summaries or as_json or not damaged:
        content = {"runs": [record_json(run) for run in run_summaries], "damaged": damaged}
        brief = sys.stdout.isatty() and terminal_width(sys.stdout) < _ROOM_FOR_ALL
        markdown = runs_markdown(run_summaries, datetime.now(UTC), brief=brief)
        none = "No runs yet. Make one: redraft summarize FILE"
        empty = "No matching runs. All runs: redraft runs --all" if any_at_all else none
        show_record(content, markdown, as_json=as_json, empty=empty)
    for run, why in damaged.items() if not as_json else ():
        say(f"cannot be read: run {run}: {one_line(why, 200)}")


@command()
@options.run_argument
@options.typed_option("--pieces", is_flag=True, help="Show the partial summaries that the summary was made from.")
@options.typed_option(
    "--round",
    "number",
    type=click.IntRange(0),
    metavar="N",
    help="Show the draft of round N instead of the result; round 0 is the first draft.",
)
@options.typed_option(
    "--cite",
    is_flag=False,
    flag_value="footnotes",
    type=click.Choice(["footnotes", "markdown", "json"]),
    help="Show where each sentence comes from: as footnotes of plain text or of Markdown, or as JSON.",
)
@options.summary_output
@options.settings("embeddings")
@options.store_options
def show(
    run_id: str, number: int | None, cite: CitationForm | None, output: str | None, form: Format | None, **values: Any
) -> None:
    """Show RUN: its summary on stdout, its scores and cost on stderr. The beginning of its id is enough; without RUN,
    the newest run.

    `redraft trace RUN` shows its findings. For a run that built questions or key facts, compared two summaries, or
    asked a question, it shows these, the verdict, or the answer with its citations.
    """
    from redraft.cli.views import outcome
    from redraft.report.history.results import read_result
    from redraft.report.history.trace import result_at_round
    from redraft.report.markdown.trace import OTHERWISE, pieces_markdown

    if cite is not None and (output or form):
        raise UsageError("--cite cannot be combined with --format and -o", hint="leave one out")
    as_json, quiet, pieces = values["as_json"], values["quiet"], values["pieces"]
    to, encoder = target(output, form, as_json=as_json), parse_options.encoder(values["embeddings"])
    with store_to_read(values["db"]) as store:
        result = read_result(store, run_id)
        result = result if number is None else result_at_round(store, result, number)
        if cite is not None and result.run.kind not in OTHERWISE:
            draft = None if number is None or result.draft is None else result.draft.id
            outcome.print_citations(store, result.run.id, "json" if as_json else cite, encoder, draft)
            return
        parts = store.runs.pieces(result.run.id) if pieces else []
        listed = {"pieces": [asdict(piece) for piece in parts]} if pieces else {}
        if result.run.kind in OTHERWISE:
            if form not in (None, "json") or output or cite:
                hint = "leave out --cite, --format and --output"
                raise UsageError(f"run {result.run.id} has no summary to write", hint=hint)
            if to.as_json:
                echo_json(outcome.run_json(store, result) | listed)
                return
            if result.run.status == "done":
                if result.run.kind == "ask" and not quiet:
                    say(f"question: {result.settings.query}")
                outcome.finish(store, result, to, quiet=quiet)
                return
        else:
            if parts and not to.as_json:
                show_markdown(pieces_markdown(parts))
            outcome.hand_over(store, result, to, encoder=encoder, more=listed)
    if not quiet and not to.as_json:
        _tell(result, output)


def _tell(result: Result, output: str | None) -> None:
    """Print what is known about a run besides its summary."""
    from redraft.cli.views import outcome
    from redraft.report.markdown.trace import OTHERWISE, chapters_markdown, drafting_lines

    if result.summary is None and result.run.kind not in OTHERWISE:
        say(f"run {result.run.id} ({result.status}) has no summary yet")
    for note in result.outline.notes:
        say(f"document: {note}")
    if result.run.error and result.run.kind in OTHERWISE:
        say(f"error: {result.run.error['message']}")
    outcome.print_outcome(result, output, scores=result.run.kind not in OTHERWISE)
    for line in (*drafting_lines(result), *outcome.roles(result)):
        say(line)
    if (what := OTHERWISE.get(result.run.kind)) and result.run.status != "done":
        say(f"no {what} yet{': the run is under way' * (result.status == 'running')}")
    if result.chapters:
        say_markdown(chapters_markdown(result))


@command()
@options.run_argument
@page_options
@options.typed_option(
    "--no-source",
    is_flag=True,
    help="Leave out the requests to models and the document's text, except what is cited.",
)
@options.settings("embeddings")
@options.db
@options.quiet
def export(
    run_id: str, output: str | None, form: Form | None, no_source: bool, embeddings: str | None, **values: Any
) -> None:
    """Export RUN, or the newest run, as one file: the summary next to the document, the sources of each sentence,
    findings, rounds, key facts, partial summaries, calls, settings and prompts. As Markdown it has the summary, the
    rounds and the sources of each sentence, and as .docx the summary with its sources, like `redraft show`.
    """
    from redraft.cli.views import outcome
    from redraft.report.dossier.contents import read_dossier
    from redraft.report.history.results import read_result
    from redraft.report.markdown.trace import run_markdown
    from redraft.report.pages.html import dossier_page

    db, quiet, encoder = values["db"], values["quiet"], parse_options.encoder(embeddings)
    if form is None and (output or "").lower().endswith(".docx"):
        to = target(output, None, as_json=False)
        with store_to_read(db) as store:
            outcome.hand_over(store, read_result(store, run_id), to, encoder=encoder)
        if not quiet:
            say(f"written to {output}: the summary with its sources; everything about the run: -o run.html")
        return
    chosen_form = form_of(form, output)
    with store_to_read(db) as store:
        if chosen_form == "markdown":
            content = run_markdown(store, run_id, encoder=encoder)
            holds = "Includes the cited passages of the document."
        else:
            texts = chosen_form == "html" and not no_source
            dossier = read_dossier(store, run_id, source=not no_source, encoder=encoder, texts=texts)
            content, holds = dossier_page(dossier), dossier.holds
            content = dossier.model_dump_json(indent=2) + "\n" if chosen_form == "json" else content
    hand_over(content, chosen_form, holds, output, quiet=quiet)


_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_FEW = 4


def time_ago(age: str) -> str:
    """Return the time that is as long ago as a text such as 30d says."""
    match = re.fullmatch(rf"(\d{{1,5}})([{''.join(_UNITS)}])", age.strip())
    if match is None:
        hint = "write a number and h, d or w, such as 30d"
        raise UsageError(f"--older-than: {age!r} is not an age", hint=hint)
    moment = datetime.now(UTC) - timedelta(**{_UNITS[match[2]]: int(match[1])})
    return moment.isoformat(timespec="milliseconds")


@command()
@click.argument("run_ids", nargs=-1, metavar="[RUN]...")
@options.typed_option("--older-than", type=time_ago, metavar="AGE", help="All runs idle for this long: 30d, 12h, 8w.")
@options.typed_option(
    "--document", metavar="ID", help="A document with all its runs, questions, key facts and verdicts."
)
@options.typed_option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@options.typed_option("--yes", is_flag=True, help="Do not ask.")
@options.store_options
def forget(run_ids: tuple[str, ...], older_than: str | None, document: str | None, **values: Any) -> None:
    """Remove RUNs for good, with their drafts, checkpoints and replies, and texts that no other run uses.

    The beginning of an id is enough. A run in progress is not removed.
    """
    from redraft.store.store import ForgetReport

    dry_run = values["dry_run"]
    if sum(map(bool, (run_ids, older_than, document))) != 1:
        raise UsageError("name RUNs, or give --older-than, or --document", hint="see `redraft forget --help`")
    with store_to_read(values["db"]) as store:
        idle_runs = store.runs.some(unchanged_since=older_than)[::-1] if older_than else []
        runs = [store.runs.get(key).id for key in run_ids]
        runs += [run.id for run in idle_runs if not store.is_claimed(run.id)]
        documents = [store.documents.whole_id(document)] if document else []
        report = store.forget(runs, documents=documents, dry_run=True)
        if not dry_run:
            is_agreed = values["yes"] or not (report.runs or report.documents)
            if not is_agreed:
                for line in _summary(report, "will remove"):
                    say(line)
                if not sys.stdin.isatty():
                    raise UsageError("cannot ask for confirmation without a terminal", hint="add --yes")
                is_agreed = click.confirm("Remove them for good?", err=True)
            report = store.forget(runs, documents=documents) if is_agreed else ForgetReport()
    if values["as_json"]:
        echo_json({**asdict(report), "dry_run": dry_run})
    elif dry_run or not values["quiet"]:
        for line in _summary(report, "would remove" if dry_run else "removed"):
            click.echo(line, err=not dry_run)


def _summary(report: ForgetReport, verb: str) -> Iterator[str]:
    """Yield what was removed, or would be."""
    if not report.runs and not report.documents:
        yield "nothing to remove"
        return
    runs = count(len(report.runs), "run") + (f" ({', '.join(report.runs)})" if len(report.runs) <= _FEW else "")
    documents = f" and {count(len(report.documents), 'document')}" if report.documents else ""
    kibibytes = report.bytes / 1024
    size = f"{kibibytes:,.0f} KiB" if kibibytes < 1024 else f"{kibibytes / 1024:,.1f} MiB"
    size = f"{report.bytes} bytes" if kibibytes < 1 else size
    about = "" if verb == "removed" else "at least "
    yield f"{verb} {runs}{documents}: {count(report.replies, 'reply')}, {count(report.texts, 'text')}, {about}{size}"
    if report.trouble:
        yield f"the files could not be made smaller: {report.trouble}"


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
    from redraft.report.dossier.contents import CallDetails
    from redraft.report.dossier.contents import calls as calls_of
    from redraft.report.history.results import read_result
    from redraft.report.markdown.records import call_markdown, calls_markdown

    with store_to_read(db) as store:
        run = store.runs.get(run_id).id
        entries = [*calls_of(store, run, [] if number is None else [number])]
        if number is None:
            content = {"run": run, "calls": [record_json(entry) for entry in entries]}
            # The chapters are runs of their own.
            chapters = read_result(store, run).chapters
            show_record(content, calls_markdown(entries, run), as_json=as_json)
            if entries and not as_json:
                say(f"Prompt and reply of call 1: {run_command('trace', run, '--call', '1')}")
            for chapter in chapters if not as_json else ():
                if chapter.result:
                    say(f"Calls of {chapter.title}: {run_command('trace', chapter.result.run.id, '--calls')}")
            return
    details = next((entry for entry in entries if isinstance(entry, CallDetails)), None)
    if details is None:
        raise RunError(f"run {run} has no call {number}", hint=f"list them with `redraft trace {run} --calls`")
    show_record(record_json(details), call_markdown(details, run), as_json=as_json)


@command()
@options.run_argument
@options.settings("embeddings")
@options.db
@options.as_json
def lineage(run_id: str, embeddings: str | None, db: str | None, as_json: bool) -> None:
    """Show where each sentence of the summary of RUN, or of the newest run, comes from: its places in the document, how
    certain they are, the intermediate texts, and where these differ from the document.
    """
    from redraft.report.history.lineage import read_lineage
    from redraft.report.markdown.trace import lineage_markdown

    encoder = parse_options.encoder(embeddings)
    with parse_options.store_to_read(db) as store:
        traced = read_lineage(store, run_id, encoder=encoder)
    show_record(record_json(traced), lineage_markdown(traced), as_json=as_json)


@command()
@options.run_argument
@click.argument("rounds", metavar="[A B]", type=click.IntRange(min=0), nargs=-1)
@options.db
@options.as_json
def diff(run_id: str, rounds: tuple[int, ...], db: str | None, as_json: bool) -> None:
    """Show what changed between the drafts of rounds A and B of RUN, and which findings each change fixed.

    Without A and B these are the first draft and the run's result; without RUN, those of the newest run.
    """
    from redraft.report.history.results import document_read
    from redraft.report.history.trace import difference, read_trace
    from redraft.report.markdown.trace import diff_markdown
    from redraft.text.languages import language_context

    if len(rounds) not in {0, 2}:
        raise UsageError("give two rounds or none", hint="see `redraft diff --help`")
    with store_to_read(db) as store:
        read = read_trace(store, run_id)
        document = document_read(store, read.result.run)
    ends_at = (0, read.number(read.result.run.drafted()) or 0)
    before, after = (read.turn(number) for number in rounds or ends_at)
    with language_context(document):
        draft_diff = difference(before, after)
    ends = {"from": record_json(before.draft), "to": record_json(after.draft)}
    content = {"run": read.result.run.id, **ends, **record_json(draft_diff)}
    markdown = diff_markdown(draft_diff, before, after, document, read.result.offline_checked)
    if not rounds and len(read.rounds) == 1:
        markdown = "This run has only one draft.\n"
    show_record(content, markdown, as_json=as_json)
