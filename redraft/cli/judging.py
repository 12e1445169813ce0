"""`redraft evaluate`, `redraft refine` and `redraft fork`."""

from __future__ import annotations

from typing import Any

import click

from redraft.cli import options
from redraft.errors import UsageError

_STDIN = "-"

_EVALUATE_EPILOG = """\b
Examples:
  redraft evaluate book.txt summary.md
  redraft evaluate book.txt summary.md --metric coverage --json
  redraft evaluate book.txt - --model openai:gpt-5-mini --repeat 3 < summary.md
  redraft evaluate book.txt summary.md --judge openai:a --judge openai:b --judge openai:c
  redraft evaluate book.txt summary.md --metric keyfact_recall --metric faithfulness
  redraft evaluate book.txt summary.md --metric booookscore --metric statistics
  redraft evaluate book.txt answer.md --metric keyfact_recall --query "Why ...?"
\b
The exit code is 3 when a metric could not be judged, or the budget is used up.
"""

_REFINE_EPILOG = """\b
Examples:
  redraft refine book.txt summary.md
  redraft refine book.txt summary.md --goal coverage=0.9 --goal consistency=0.95 --rounds 6
  redraft refine book.txt summary.md --model openai:gpt-5-mini --judge openai:gpt-5 -o better.md
  redraft refine book.txt summary.md --goal keyfact_recall=0.5 --goal faithfulness=0.9
  redraft refine book.txt summary.md --goal booookscore=0.9 --goal coverage=0.7
  redraft refine book.txt summary.md --review
\b
Without any --goal the goals are coverage=0.8 and consistency=0.85. The limit is
--words, or else the length of the summary that is given. The exit code is 3 when
a goal is missed; the best draft is printed all the same.
"""

_FORK_EPILOG = """\b
Examples:
  redraft fork 3fa2c1d0 --round 1 --goal consistency=0.9
  redraft fork 3fa2c1d0 --round 0 --policy all --rounds 8
\b
`redraft trace RUN` shows the rounds.
"""


@click.command(epilog=_EVALUATE_EPILOG)
@click.argument("source")
@click.argument("summary")
@options.metric_option
@options.query
@options.judging_options
@options.model_options
@options.limit_options
@options.prices
@options.dry_run
@options.show_all
@options.db
@options.as_json
@options.quiet
def evaluate(
    source: str,
    summary: str,
    dry_run: bool,
    show_all: bool,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Judge SUMMARY, a summary of SOURCE. Either may be - for stdin."""
    from redraft.cli import given as asked
    from redraft.cli.outcome import finish
    from redraft.cli.plans import show_plan
    from redraft.cli.running import work
    from redraft.models.prices import price_table
    from redraft.runs.preparing import Order
    from redraft.runs.refining import evaluate as run
    from redraft.settings import with_draft
    from redraft.store.store import Store

    settings, limits, judging = asked.settings(given), asked.limits(given), asked.judging(given)
    asked.check_query(given, judging)
    text, table = _draft(source, summary), price_table(prices)
    if dry_run:
        return show_plan(source, settings, Order(with_draft(judging), given=text), table, limits, as_json=as_json)
    with Store(db) as store:
        judging = asked.known_pack(judging, store)
        result = work(
            lambda display: run(
                source,
                text,
                settings,
                store=store,
                judging=judging,
                limits=limits,
                prices=table,
                observer=display.observe,
            ),
            quiet=quiet,
        )
        return finish(store, result, as_json=as_json, quiet=quiet, show_all=show_all)


@click.command(epilog=_REFINE_EPILOG)
@click.argument("source")
@click.argument("summary")
@options.refining_options
@options.length_options
@options.judging_options
@options.model_options
@options.limit_options
@options.prices
@options.dry_run
@options.output
@options.db
@options.as_json
@options.quiet
def refine(
    source: str,
    summary: str,
    dry_run: bool,
    output: str | None,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Refine SUMMARY, a summary of SOURCE, until it meets its goals. Either may be - for stdin."""
    from redraft.cli import given as asked
    from redraft.cli.outcome import finish
    from redraft.cli.plans import show_plan
    from redraft.cli.render import count, say
    from redraft.cli.review import reviewer
    from redraft.cli.running import check_output, work
    from redraft.models.prices import price_table
    from redraft.runs.preparing import Order
    from redraft.runs.refining import refine as run
    from redraft.settings import with_draft
    from redraft.store.store import Store

    check_output(output)
    settings, limits, refinement = asked.settings(given), asked.limits(given), asked.refinement(given)
    judging = asked.judging(given, refinement)
    text, table = _draft(source, summary, review=refinement.review and not dry_run), price_table(prices)
    if dry_run:
        return show_plan(source, settings, Order(with_draft(judging, refinement), text), table, limits, as_json=as_json)
    with Store(db) as store:
        judging = asked.known_pack(judging, store)
        result = work(
            lambda display: run(
                source,
                text,
                refinement,
                settings,
                store=store,
                judging=judging,
                limits=limits,
                prices=table,
                reviewer=reviewer(store, display),
                observer=display.observe,
            ),
            quiet=quiet,
        )
        code = finish(store, result, output=output, as_json=as_json, quiet=quiet)
        if given["words"] is None and not quiet:
            say(f"limit: {count(result.settings.words or 0, 'word')} (--words N for another)")
        return code


@click.command(epilog=_FORK_EPILOG)
@click.argument("run_id", metavar="RUN")
@click.option(
    "--round",
    "number",
    type=click.IntRange(min=0),
    required=True,
    metavar="N",
    help="The round whose draft to begin with.",
)
@options.refining_options
@options.limit_options
@options.prices
@options.output
@options.db
@options.as_json
@options.quiet
def fork(
    run_id: str,
    number: int,
    output: str | None,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Refine the draft of a round of RUN anew, in a run of its own.

    The goals given here are added to those of RUN or replace them; everything else is as it was there, unless it is
    given on the command line. What was judged is not asked again.
    """
    from redraft.cli import given as asked
    from redraft.cli.outcome import finish
    from redraft.cli.review import reviewer
    from redraft.cli.running import check_output, work
    from redraft.models.prices import price_table
    from redraft.runs.refining import fork as run
    from redraft.store.store import Store

    check_output(output)
    table = price_table(prices)
    with Store(db) as store:
        before = store.runs.get(run_id)
        # What a settings file says is meant for new runs; this one has its settings from the other.
        refinement = asked.refinement(asked.typed(given), before.refinement)
        limits = asked.limits(given, before.limits)
        result = work(
            lambda display: run(
                run_id,
                number,
                store=store,
                refinement=refinement,
                limits=limits,
                prices=table,
                reviewer=reviewer(store, display),
                observer=display.observe,
            ),
            quiet=quiet,
        )
        return finish(store, result, output=output, as_json=as_json, quiet=quiet)


def _draft(source: str, summary: str, *, review: bool = False) -> str:
    """The text of the summary, which may be empty. Standard input can be read for one thing only."""
    from redraft.text.documents import read_text

    if source == summary == _STDIN:
        raise UsageError("SOURCE and SUMMARY cannot both be stdin", hint="give one of them as a file")
    if review and _STDIN in (source, summary):
        raise UsageError("--review reads your answers from stdin", hint="give SOURCE and SUMMARY as files")
    return read_text(summary)
