"""`redraft compare`: which of two summaries of a document is better."""

from __future__ import annotations

from typing import Any

import click

from redraft.cli import judging, options
from redraft.cli.sections import command
from redraft.cli.terminal import reading
from redraft.errors import UsageError

_STDIN = "-"

_EPILOG = """\b
Examples:
  redraft compare book.txt one.md other.md
  redraft compare book.txt one.md other.md -m openai:gpt-5-mini --repeat 3
  redraft compare book.txt one.md other.md --judge openai:a --judge openai:b
  redraft summarize book.txt -q | redraft compare book.txt mine.md - --json

A judge that prefers one summary in one order and sees a tie in the other leans
to it; one that prefers whichever comes first, or last, has no preference: both
count as a tie, and are shown. A judge reads the document where it fits beside
the summaries (--context-tokens). The exit code is 3 when no judge gave a verdict
in both orders, or the budget is used up.
"""


@command(
    epilog=_EPILOG,
    first=("model", "base-url", "context-tokens", "judge", "repeat", "max-cost", "dry-run", "db", "json", "quiet"),
)
@options.sources
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@judging.panel_options
@judging.repeat
@options.model_options
@options.limit_options
@options.max_source
@options.prices
@options.dry_run
@options.db
@options.as_json
@options.quiet
def compare(
    sources: tuple[str, ...],
    first: str,
    second: str,
    dry_run: bool,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Ask which of A and B is the better summary of SOURCE, or of several. One of them may be - for stdin.

    Every judge says it four times over: overall, and by the level of detail, the structure and the logic. It is asked
    twice, with A first and with B first, because judges prefer a place as well.
    """
    reading(*sources, first, second, quiet=quiet)
    from redraft.cli import given as asked
    from redraft.cli.running import work
    from redraft.cli.views.outcome import finish
    from redraft.cli.views.plans import show_plan
    from redraft.models.prices import price_table
    from redraft.runs.comparing import check_summaries
    from redraft.runs.preparing import Order
    from redraft.settings import Compare
    from redraft.store.store import Store

    if [*sources, first, second].count(_STDIN) > 1:
        raise UsageError("only one of SOURCE, A and B can be stdin", hint="give the others as files")
    settings, limits, judging = asked.settings(given), asked.limits(given), asked.judging_no_draft(given)
    a, b, table = asked.text(first, quiet=quiet), asked.text(second, quiet=quiet), price_table(prices)
    check_summaries(a, b)
    document = asked.document_at(sources, given)
    if dry_run:
        return show_plan(
            document, settings, Order(Compare(judging=judging), given=a, other=b), table, limits, as_json=as_json
        )
    with Store(db) as store:
        result = work(
            store,
            lambda shop: shop.compare(document, a, b, settings=settings, judging=judging),
            limits=limits,
            prices=table,
            quiet=quiet,
        )
        return finish(store, result, as_json=as_json, quiet=quiet)
