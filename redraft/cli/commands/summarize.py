"""`redraft summarize`: the summary of a document."""

from __future__ import annotations

from typing import Any

import click

from redraft.cli import judging, options
from redraft.cli.presets import about_judging_alone, preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading, say
from redraft.errors import UsageError

_EPILOG = """\b
Examples:
  redraft summarize book.txt
  cat book.md | redraft summarize - -w 300 --json
  redraft summarize book.txt --query "Why does the bank fail?"
  redraft summarize book.txt -m openai:gpt-5-mini --max-cost 0.50 -o out.md
  redraft summarize book.txt --refine -g coverage=0.8 -g consistency=0.9

The options on goals and judges go with --refine, which is explained by
`redraft refine --help`.
"""


@command(
    short_help="Summarize a document.",
    epilog=_EPILOG,
    first=("words", "model", "refine", "goal", "judge", "max-cost", "dry-run", "output", "json", "quiet"),
)
@click.argument("source")
@options.drafting_options
@options.option(
    "--refine", section="summary", is_flag=True, help="Judge the summary, and refine it until it meets its goals."
)
@judging.refining_options
@judging.judging_options
@preset_option
@options.model_options
@options.limit_options
@options.max_source
@options.prices
@options.dry_run
@options.output
@options.db
@options.as_json
@options.quiet
def summarize(
    source: str,
    refine: bool,
    dry_run: bool,
    output: str | None,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Summarize SOURCE: a .txt or .md file, one that an installed reader takes, or - for stdin."""
    reading(source, quiet=quiet)
    from redraft.cli import given as asked
    from redraft.cli.files import check_output
    from redraft.cli.running import work
    from redraft.cli.views.outcome import finish
    from redraft.cli.views.plans import show_plan
    from redraft.models.prices import price_table
    from redraft.runs.preparing import Order
    from redraft.settings import with_draft
    from redraft.store.store import Store

    check_output(output)
    if not refine and (stray := asked.typed(given)):
        name = next(iter(stray)).replace("_", "-")
        raise UsageError(f"--{name} is about judging the summary and refining it", hint="add --refine")
    if not refine and not quiet and (preset := about_judging_alone(click.get_current_context())):
        say(f"note: the preset {preset} is about judging and refining, and makes no difference without --refine")
    settings, limits, table = asked.settings(given), asked.limits(given), price_table(prices)
    refinement = asked.refinement(given) if refine else None
    judging = asked.judging(given, refinement) if refine else None
    if refinement and refinement.review and source == "-" and not dry_run:
        raise UsageError("--review reads your answers from stdin", hint="give SOURCE as a file")
    if dry_run:
        return show_plan(source, settings, Order(with_draft(judging, refinement)), table, limits, as_json=as_json)
    with Store(db) as store:
        judging = asked.known_pack(judging, store) if judging else None
        result = work(
            store,
            lambda shop: shop.summarize(source, settings=settings, judging=judging, refinement=refinement),
            limits=limits,
            prices=table,
            quiet=quiet,
        )
        return finish(store, result, output=output, as_json=as_json, quiet=quiet)
