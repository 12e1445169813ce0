"""`redraft agree FILE`: judges beside people's annotations of summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import delivery, judging, options
from redraft.cli import given as asked
from redraft.cli.sections import LISTED, command
from redraft.cli.terminal import reading, say

if TYPE_CHECKING:
    from redraft.agreement.people import Dataset
    from redraft.agreement.trial import Design
    from redraft.models.prices import PriceTable

_EPILOG = """\b
Examples:
  redraft agree mturk_cnndm.jsonl --format qags --model extractive
  redraft agree labels.jsonl --metric coverage --human relevance \\
      --judge openai:a --judge openai:b --max-cost 5 -o results
  redraft agree summaries.jsonl --format summeval --judge openai:a \\
      --sweep similarity=exact,rouge1,judge --sweep threshold=0.2:0.7:0.1

The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to go on.
"""


def _formats() -> str:
    from redraft.agreement.formats.catalog import FORMATS

    return ", ".join(FORMATS)


@command(
    "with",
    short_help="Judges beside people's annotations of summaries.",
    epilog=_EPILOG,
    first=("format", "human", "metric", "model", "judge", "sweep", "save", "dry-run", "output", "json"),
)
@click.argument("file")
@options.typed_option(
    "--format",
    "format_",
    section="summary",
    metavar="NAME",
    default="jsonl",
    listing=_formats,
    help=f"How the file is written: {LISTED}.",
)
@options.typed_option(
    "--documents",
    section="summary",
    metavar="PATH",
    help="Where the documents are, if not in the file itself or beside it: a file of texts by id, or a folder.",
)
@options.typed_option(
    "--human",
    section="summary",
    metavar="FIELD",
    help="What people were asked.  [default: what the metric measures]",
)
@options.typed_option(
    "--items",
    section="summary",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only so many items, of documents drawn at random, always the same ones.",
)
@options.typed_option(
    "--metric", section="judging", metavar="NAME", default="consistency", help="The metric to hold against people."
)
@options.typed_option(
    "--sweep",
    section="judging",
    multiple=True,
    metavar="NAME=VALUES",
    help="Try several values of similarity, threshold, questions, claims, top-k, ... beside each other, as in"
    " threshold=0.2:0.7:0.1; may be repeated.",
)
@options.typed_option(
    "--save",
    section="output",
    is_flag=True,
    help="Put the figures on record: from then on they stand behind the scores of these judges.",
)
@options.typed_option(
    "--title",
    section="output",
    metavar="TEXT",
    help="What the annotations are called in the report and on record.  [default: the format and the file]",
)
@judging.judging_options
@options.model_options
@options.limit_options
@options.max_source
@options.prices
@options.dry_run
@delivery.output
@options.db
@options.as_json
@options.quiet
def with_(
    file: str,
    format_: str,
    documents: str | None,
    items: int | None,
    save: bool,
    title: str | None,
    dry_run: bool,
    output: str | None,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Hold judges against what people say of the summaries in FILE: correlation by summary, by document and by system,
    balanced accuracy, the area under the curve, mistakes against how much is judged, and judges among each other.
    """
    reading(file, quiet=quiet)
    from redraft.agreement.agree_report import agree_report
    from redraft.agreement.choosing import chosen, format_named
    from redraft.agreement.saving import saved
    from redraft.agreement.trial import tried
    from redraft.models.prices import price_table
    from redraft.runs.bench import Bench
    from redraft.store.store import Store

    limits, table = asked.limits(given), price_table(prices)
    dataset = chosen(format_named(format_).read(file, documents), items)
    dataset = replace(dataset, name=title or dataset.name)
    design = _design(dataset, given)
    if dry_run:
        return _show_plan(dataset, design, table, as_json=as_json)
    folder = delivery.folder(output)
    with Store(db) as store:
        outcome = delivery.work(
            lambda display: tried(dataset, design, Bench(store, limits, table, display.observe)), quiet=quiet
        )
        kept = saved(outcome, store) if save else []
    delivery.deliver(agree_report(outcome), folder, as_json=as_json, quiet=quiet)
    if save and not quiet:
        say(
            f"{len(kept)} figures are on record" if kept else "nothing is on record: it was stopped, or says too little"
        )
    done = any(said.outcome for column in outcome.columns for said in column.said)
    return delivery.closed(outcome.complete, outcome.stopped, done=done, quiet=quiet)


def _design(dataset: Dataset, given: Mapping[str, Any]) -> Design:
    from redraft.agreement.choosing import human_field
    from redraft.agreement.sweep import sweep_of
    from redraft.agreement.trial import Design

    metric = given["metric"]
    settings, judging = asked.settings(given), asked.judging({**given, "metric": (metric,)})
    return Design(
        metric,
        human_field(dataset, metric, given["human"]),
        judging.judges or (settings.model,),
        settings,
        judging,
        sweep_of(given["sweep"]),
    )


def _show_plan(dataset: Dataset, design: Design, prices: PriceTable, *, as_json: bool) -> int:
    from redraft.agreement.planning import plan_table
    from redraft.cli.views.render import echo_json

    plan = plan_table(dataset, design, prices)
    if as_json:
        echo_json(plan.to_json())
    else:
        click.echo(plan.to_markdown(), nl=False)
    return delivery.DONE
