"""`redraft summarize` and `redraft resume`."""

from __future__ import annotations

from typing import Any

import click

from redraft.cli import options
from redraft.errors import UsageError

_SUMMARIZE_EPILOG = """\b
Examples:
  redraft summarize book.txt
  cat book.md | redraft summarize - --words 300 --json
  redraft summarize book.txt --query "Why does the bank fail?"
  redraft summarize book.txt --model openai:gpt-5-mini --max-cost 0.50 -o out.md
  redraft summarize book.txt --refine --goal coverage=0.8 --goal consistency=0.9
\b
The options on goals and judges go with --refine, which is explained by
`redraft refine --help`.
"""
_RESUME_EPILOG = """\b
Examples:
  redraft resume 3fa2c1d0
  redraft resume 3fa2 --max-cost 2
"""


@click.command(epilog=_SUMMARIZE_EPILOG)
@click.argument("source")
@options.drafting_options
@options.option("--refine", is_flag=True, help="Judge the summary, and refine it until it meets its goals.")
@options.refining_options
@options.judging_options
@options.model_options
@options.limit_options
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
    """Summarize SOURCE, a .txt or .md file, or - for stdin."""
    from redraft.cli import given as asked
    from redraft.cli.outcome import finish
    from redraft.cli.plans import show_plan
    from redraft.cli.review import reviewer
    from redraft.cli.running import check_output, work
    from redraft.models.prices import price_table
    from redraft.runs.drafting import summarize as run
    from redraft.runs.preparing import Order
    from redraft.settings import with_draft
    from redraft.store.store import Store

    check_output(output)
    if not refine and (stray := asked.typed(given)):
        name = next(iter(stray)).replace("_", "-")
        raise UsageError(f"--{name} is about judging the summary and refining it", hint="add --refine")
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
            lambda display: run(
                source,
                settings,
                store=store,
                refinement=refinement,
                judging=judging,
                limits=limits,
                prices=table,
                reviewer=reviewer(store, display),
                observer=display.observe,
            ),
            quiet=quiet,
        )
        return finish(store, result, output=output, as_json=as_json, quiet=quiet)


@click.command(epilog=_RESUME_EPILOG)
@click.argument("run_id", metavar="RUN")
@options.limit_options
@options.prices
@options.output
@options.db
@options.as_json
@options.quiet
def resume(
    run_id: str,
    output: str | None,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Go on with RUN where it stopped, whatever it was for; nothing is paid for twice.

    The run keeps the settings that it began with. Limits given here replace its own.
    """
    from redraft.cli import given as asked
    from redraft.cli.outcome import finish
    from redraft.cli.review import reviewer
    from redraft.cli.running import check_output, work
    from redraft.models.prices import price_table
    from redraft.runs.drafting import resume as run
    from redraft.store.store import Store

    check_output(output)
    table = price_table(prices)
    with Store(db) as store:
        limits = asked.limits(given, store.runs.get(run_id).limits)
        result = work(
            lambda display: run(
                run_id,
                store=store,
                limits=limits,
                prices=table,
                reviewer=reviewer(store, display),
                observer=display.observe,
            ),
            quiet=quiet,
        )
        return finish(store, result, output=output, as_json=as_json, quiet=quiet)
