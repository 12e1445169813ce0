"""`redraft keyfacts`: the facts that a good summary of a document may state, as trees."""

from __future__ import annotations

from typing import Any

from redraft.cli import judging, options
from redraft.cli.presets import preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading

_EPILOG = """\b
Examples:
  redraft keyfacts book.txt
  redraft keyfacts book.txt --perspective narrative --pruned
  redraft keyfacts book.txt -m openai:gpt-5-mini --validator openai:gpt-5
  redraft keyfacts book.txt --json > trees.json

`redraft evaluate --metric keyfact_recall` judges by them, and
`redraft evaluate --query TEXT` by one tree, when TEXT is its query.
`redraft pack export` hands them on.
"""


@command(
    epilog=_EPILOG,
    first=("model", "judge", "validator", "perspective", "max-cost", "dry-run", "pruned", "db", "json", "quiet"),
)
@options.sources
@judging.keyfact_options
@options.typed_option("--pruned", section="output", is_flag=True, help="Show the facts that were pruned too, and why.")
@judging.judge_options
@preset_option
@options.model_options
@options.limit_options
@options.max_source
@options.prices
@options.dry_run
@options.db
@options.as_json
@options.quiet
def keyfacts(
    sources: tuple[str, ...],
    pruned: bool,
    dry_run: bool,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Find the key facts of SOURCE, or of several, unless they are known already, and show them as trees.

    In each chunk there are main facts (roots), those that support them (branches) and details (leaves). A validator
    prunes what the text does not bear out, what is opinion, and what does not matter. They are built once, and frozen.
    """
    reading(*sources, quiet=quiet)
    from redraft.cli import given as asked
    from redraft.cli.running import work
    from redraft.cli.views.outcome import finish
    from redraft.cli.views.plans import show_plan
    from redraft.models.prices import price_table
    from redraft.runs.preparing import Order
    from redraft.settings import BuildKeyfacts
    from redraft.store.store import Store

    settings, limits, judging = asked.settings(given), asked.limits(given), asked.judging_no_draft(given)
    table, document = price_table(prices), asked.document_at(sources, given)
    if dry_run:
        return show_plan(document, settings, Order(BuildKeyfacts(judging=judging)), table, limits, as_json=as_json)
    with Store(db) as store:
        result = work(
            store,
            lambda shop: shop.build(document, "keyfacts", settings=settings, judging=judging),
            limits=limits,
            prices=table,
            quiet=quiet,
        )
        return finish(store, result, as_json=as_json, quiet=quiet, pruned=pruned)
