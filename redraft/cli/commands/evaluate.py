"""`redraft evaluate`: how good a summary is, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import click

from redraft.cli import judging, options
from redraft.cli.presets import preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading

_EPILOG = """\b
Examples:
  redraft evaluate book.txt summary.md
  redraft evaluate book.txt summary.md --metric coverage --json
  redraft evaluate a.docx b.html summary.md
  redraft evaluate book.txt - -m openai:gpt-5-mini --repeat 3 < summary.md
  redraft evaluate book.txt summary.md --judge openai:a --judge openai:b
  redraft evaluate book.txt summary.md --metric keyfact_recall
  redraft evaluate book.txt summary.md --metric booookscore
  redraft evaluate book.txt summary.md --metric position --reference human.md
  redraft evaluate book.txt answer.md --metric faithfulness --query "Why ...?"

The exit code is 3 when a metric could not be judged, or the budget is used up.
"""


@command(
    epilog=_EPILOG,
    first=("model", "metric", "judge", "repeat", "query", "max-cost", "dry-run", "all", "json", "quiet"),
)
@options.sources
@click.argument("summary")
@judging.metric_option
@options.query
@judging.judging_options
@judging.reference
@preset_option
@options.model_options
@options.part_options
@options.limit_options
@options.max_source
@options.prices
@options.dry_run
@options.show_all
@options.db
@options.as_json
@options.quiet
def evaluate(
    sources: tuple[str, ...],
    summary: str,
    dry_run: bool,
    show_all: bool,
    reference: str | None,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Judge SUMMARY, a summary of SOURCE, or of all of several. One of them may be - for stdin."""
    reading(*sources, summary, quiet=quiet)
    from redraft.cli import given as asked
    from redraft.cli.running import work
    from redraft.cli.views.outcome import finish
    from redraft.cli.views.plans import show_plan
    from redraft.models.prices import price_table
    from redraft.runs.preparing import Order
    from redraft.settings import with_draft
    from redraft.store.store import Store

    settings, limits, judging = asked.settings(given), asked.limits(given), asked.judging(given)
    asked.check_query(given, judging)
    text, table = asked.draft(sources, summary, quiet=quiet), price_table(prices)
    if reference:
        judging = judging.model_copy(update={"reference": asked.text(reference, quiet=quiet)})
    document = asked.document_at(sources, given)
    if dry_run:
        return show_plan(document, settings, Order(with_draft(judging), given=text), table, limits, as_json=as_json)
    with Store(db) as store:
        judging = asked.known_pack(judging, store)
        result = work(
            store,
            lambda shop: shop.evaluate(document, text, settings=settings, judging=judging),
            limits=limits,
            prices=table,
            quiet=quiet,
        )
        return finish(store, result, as_json=as_json, quiet=quiet, show_all=show_all)
