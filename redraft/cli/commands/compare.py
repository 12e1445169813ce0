"""`redraft compare` and `diff`: compare two summaries, or two drafts of a run."""

from __future__ import annotations

import shlex
from typing import Any

import click

from redraft.cli import options, parse_options
from redraft.cli.hints import if_installed
from redraft.cli.parse_options import store_to_read
from redraft.cli.sections import SourceArgument, command
from redraft.domain import record_json
from redraft.errors import UsageError
from redraft.order import Compare
from redraft.settings import EXTRACTIVE
from redraft.sources import STDIN


@command()
@options.sources
@click.argument("first", metavar="A", cls=SourceArgument)
@click.argument("second", metavar="B", cls=SourceArgument)
@options.panel_options
@options.settings("repeat")
@options.asking_options
@options.store_options
def compare(sources: tuple[str, ...], first: str, second: str, **values: Any) -> int:
    """Ask a language model which of A and B is the better summary of SOURCE. Each is a file, or a stored run; one may
    be - for stdin.

    Each judge decides overall, and on detail, structure and logic. It is asked twice, with A first and with B first,
    since judges may favour a position.
    """
    quiet = values["quiet"]
    from redraft.cli.runner import carry_out
    from redraft.runs.order import check_summaries

    if [*sources, first, second].count(STDIN) > 1:
        raise UsageError("only one of SOURCE, A and B can be stdin", hint="give the others as files")
    settings, judging = parse_options.settings(values), parse_options.judging_without_draft(values)
    if {*(judging.judges or [settings.model])} == {EXTRACTIVE}:
        each = "; ".join(shlex.join(["redraft", "evaluate", *sources, summary]) for summary in (first, second))
        each += if_installed("; and compare both: redraft compare-runs RUN RUN")
        ways = f"name a language model with -m or --judge; or {each}"
        raise UsageError("the built-in model does not compare summaries", hint=ways)
    a, b = parse_options.summary_at(first, quiet=quiet), parse_options.summary_at(second, quiet=quiet)
    check_summaries(a, b)
    order = Compare(settings=settings, judging=judging, given=a, other=b)
    return carry_out(parse_options.document_at(sources, values), order, values)


@command()
@options.run_argument
@click.argument("rounds", metavar="[A B]", type=click.IntRange(min=0), nargs=-1)
@options.db
@options.as_json
def diff(run_id: str, rounds: tuple[int, ...], db: str | None, as_json: bool) -> None:
    """Show what changed between the drafts of rounds A and B of RUN, and which findings each change fixed.

    Without A and B these are the first draft and the run's result; without RUN, those of the newest run.
    """
    from redraft.cli.views.markdown import show_record
    from redraft.report.history.results import document_read
    from redraft.report.history.trace import difference, read_trace
    from redraft.report.markdown.trace import diff_markdown
    from redraft.text import languages

    if len(rounds) not in {0, 2}:
        raise UsageError("give two rounds or none", hint="see `redraft diff --help`")
    with store_to_read(db) as store:
        read = read_trace(store, run_id)
        document = document_read(store, read.result.run)
    ends_at = (0, read.number(read.result.run.drafted()) or 0)
    before, after = (read.turn(number) for number in rounds or ends_at)
    with languages.language_context(document):
        draft_diff = difference(before, after)
    ends = {"from": record_json(before.draft), "to": record_json(after.draft)}
    content = {"run": read.result.run.id, **ends, **record_json(draft_diff)}
    markdown = diff_markdown(draft_diff, before, after, document, read.result.offline_checked)
    if not rounds and len(read.rounds) == 1:
        markdown = "This run has only one draft.\n"
    show_record(content, markdown, as_json=as_json)
