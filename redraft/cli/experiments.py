"""`redraft experiment`: comparing models and judges, with tables that can be made again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import delivery, options
from redraft.cli.coherence_experiment import booookscore
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.experiments.hamlet import Design
    from redraft.experiments.tables import Table

_LEAST_SIZE = 64

_GROUP_EPILOG = """\b
Examples:
  redraft experiment hamlet book.txt --model openai:a --judge openai:c -o out
  redraft experiment chunk-size book.txt --judge openai:c -o out
  redraft experiment booookscore --summaries summaries.json --judge openai:c
"""


@click.group(epilog=_GROUP_EPILOG)
def experiment() -> None:
    """Experiments of the papers, on your documents and models.

    An experiment that was stopped goes on when its command is repeated with the same database; nothing is paid for
    twice, and the tables of a finished one come out the same to the byte.
    """


_judges = options.option(
    "--judge", multiple=True, required=True, metavar="NAME", help="Model that judges: extractive, or openai:NAME."
)
_seed = "Choose other queries: a random one of each stretch, in place of that in its middle."

_HAMLET_EPILOG = """\b
Examples:
  redraft experiment hamlet book.txt --model openai:a --model openai:b \\
      --judge openai:c --queries 10 --max-cost 5 -o results
  redraft experiment hamlet book.txt --model openai:a --judge openai:c \\
      --strategy direct --context-tokens 128000
\b
The paper gives models the whole document at once, which is --strategy direct.
Written to DIR: report.md, tables.json, items.json, and each table as CSV.
The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to go on.
"""


@experiment.command(epilog=_HAMLET_EPILOG)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@options.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    metavar="NAME",
    help="Model that summarizes, extractive or openai:NAME; may be repeated.",
)
@_judges
@options.judge_base_url
@options.keyfact_options
@options.option(
    "--queries",
    type=click.IntRange(min=1),
    metavar="N",
    help="Queries of each document, evenly spread.  [default: all]",
)
@options.option("--seed", type=click.IntRange(min=0), metavar="N", help=_seed)
@options.strategy
@options.words
@options.chunk_tokens
@options.setup_options
@options.limit_options
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
    from redraft.cli import given as asked
    from redraft.experiments.bench import Bench, load_all
    from redraft.experiments.hamlet import hamlet as run
    from redraft.experiments.planning import plan_table
    from redraft.experiments.report import hamlet_report
    from redraft.models.prices import price_table
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
    from redraft.cli.render import echo_json

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


_SIZES_EPILOG = """\b
Examples:
  redraft experiment chunk-size book.txt --judge openai:a --judge openai:b
  redraft experiment chunk-size *.txt --judge openai:a --sizes 2048,4096 -o out
\b
The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to go on.
"""


@experiment.command("chunk-size", epilog=_SIZES_EPILOG)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@_judges
@options.judge_base_url
@click.option("--sizes", default="1024,2048,4096,8192", show_default=True, metavar="N,N...", help="Tokens of a chunk.")
@click.option(
    "--sample",
    "chunks",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Most chunks of each size, drawn from all SOURCEs.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Another number, other chunks.")
@options.option(
    "--context-tokens",
    type=click.IntRange(min=64),
    metavar="N",
    help="Most tokens of a prompt with its reply.  [default: what the largest size needs]",
)
@options.temperature
@options.prompt_set
@options.limit_options
@options.prices
@delivery.output
@options.db
@options.as_json
@options.quiet
def chunk_size(
    sources: tuple[str, ...],
    output: str | None,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Let judges mark chunks of SOURCEs of several sizes: how well do they lend themselves to drawing key facts?"""
    from redraft.cli import given as asked
    from redraft.experiments.bench import Bench, load_all
    from redraft.experiments.chunk_size import SizeDesign, chunk_sizes
    from redraft.experiments.chunk_tables import chunk_report
    from redraft.models.prices import price_table
    from redraft.store.store import Store

    folder = delivery.folder(output)
    limits, table = asked.limits(given), price_table(prices)
    design = SizeDesign(
        judges=tuple(given["judge"]),
        sizes=_sizes(given["sizes"]),
        sample=given["chunks"],
        seed=given["seed"],
        base_url=given["judge_base_url"],
        context_tokens=given["context_tokens"],
        temperature=given["temperature"],
        prompts=given["prompts"],
    )
    documents = load_all(sources)
    with Store(db) as store:
        outcome = delivery.work(
            lambda display: chunk_sizes(documents, design, Bench(store, limits, table, display.observe)), quiet=quiet
        )
    delivery.deliver(chunk_report(outcome), folder, as_json=as_json, quiet=quiet)
    done = any(one.marks for one in outcome.marked)
    return delivery.closed(outcome.complete, outcome.stopped, done=done, quiet=quiet)


def _sizes(words: str) -> tuple[int, ...]:
    try:
        sizes = tuple(sorted({int(word) for word in words.split(",")}))
    except ValueError:
        raise UsageError(f"--sizes: {words!r} is no list of sizes", hint="write them as 1024,2048") from None
    if sizes[0] < _LEAST_SIZE:
        raise UsageError(f"--sizes: a chunk of {sizes[0]} tokens is too small", hint=f"use {_LEAST_SIZE} or more")
    return sizes


experiment.add_command(booookscore)
