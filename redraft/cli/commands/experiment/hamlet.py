"""`redraft experiment hamlet`: how well models answer the queries of key-fact trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import delivery, judging, options
from redraft.cli.presets import preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.experiments.hamlet import Design
    from redraft.reports.tables import Table


_seed = "Choose other queries: a random one of each stretch, in place of that in its middle."

_EPILOG = """\b
Examples:
  redraft experiment hamlet book.txt --model openai:a -m openai:b \\
      --judge openai:c --queries 10 --max-cost 5 -o results
  redraft experiment hamlet book.txt -m openai:a --judge openai:c \\
      --strategy direct --context-tokens 128000

The paper gives models the whole document at once, which is --strategy direct.
Written to DIR: report.md, tables.json, items.json, and each table as CSV.
The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to go on.
"""


@command(
    short_help="How well do models answer the queries of key-fact trees?",
    epilog=_EPILOG,
    first=(
        "queries",
        "strategy",
        "words",
        "model",
        "context-tokens",
        "judge",
        "max-cost",
        "dry-run",
        "output",
        "quiet",
    ),
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@options.option(
    "--model",
    "-m",
    "models",
    section="model",
    multiple=True,
    required=True,
    metavar="NAME",
    help="Model that summarizes: extractive, openai:NAME, or PROVIDER:NAME; may be repeated.",
)
@judging.required_judges
@judging.judge_base_url
@judging.keyfact_options
@options.option(
    "--queries",
    section="summary",
    type=click.IntRange(min=1),
    metavar="N",
    help="Queries of each document, evenly spread.  [default: all]",
)
@options.option("--seed", section="summary", type=click.IntRange(min=0), metavar="N", help=_seed)
@options.strategy
@options.words
@options.chunk_tokens
@preset_option
@options.setup_options
@options.limit_options
@options.max_source
@options.prices
@options.dry_run
@delivery.output
@options.db
@options.as_json
@options.quiet
def hamlet(
    sources: tuple[str, ...],
    dry_run: bool,
    output: str | None,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Let models answer the queries of SOURCEs' key-fact trees, and judge the answers by those trees.

    For each query and model there is a summary of the whole document. It is held against the tree and the chunk that
    the query is from: recall and faithfulness by level, by perspective and by position (HAMLET).
    """
    reading(*sources, quiet=quiet)
    from redraft.cli import given as asked
    from redraft.experiments.hamlet import hamlet as run
    from redraft.experiments.hamlet_report import hamlet_report
    from redraft.experiments.planning import plan_table
    from redraft.models.prices import price_table
    from redraft.runs.bench import Bench, load_all
    from redraft.store.store import Store

    design, limits, table = _design(given), asked.limits(given), price_table(prices)
    documents = load_all(sources)
    if dry_run:
        return _show_plan(plan_table(documents, design, table), as_json=as_json)
    folder = delivery.folder(output)
    with Store(db) as store:
        outcome = delivery.work(
            lambda display: run(documents, design, Bench(store, limits, table, display.observe)), quiet=quiet
        )
    delivery.deliver(hamlet_report(outcome), folder, as_json=as_json, quiet=quiet)
    done = any(item.status == "done" for item in outcome.items)
    return delivery.closed(outcome.complete, outcome.stopped, done=done, quiet=quiet)


def _show_plan(plan: Table, *, as_json: bool) -> int:
    from redraft.cli.views.render import echo_json

    if as_json:
        echo_json(plan.to_json())
    else:
        click.echo(plan.to_markdown(), nl=False)
    return delivery.DONE


def _design(given: Mapping[str, Any]) -> Design:
    from redraft.cli import given as asked
    from redraft.experiments.hamlet import Design

    if len(given["judge"]) != 1:
        raise UsageError("--judge: one model judges, so that all are judged alike")
    return Design(
        models=tuple(dict.fromkeys(given["models"])),
        judge=given["judge"][0],
        settings=asked.settings(given),
        judge_base_url=given["judge_base_url"],
        validator=given["validator"],
        perspective=given["perspective"] or "both",
        queries=given["queries"],
        seed=given["seed"],
    )
