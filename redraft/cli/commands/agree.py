"""`redraft agree`: judges beside people; without the name of a command it takes a file of annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import delivery, options
from redraft.cli import given as asked
from redraft.cli.commands.agree_sheets import judges, read, sheet
from redraft.cli.given import store_to_read
from redraft.cli.sections import LISTED, CommandGroup, command
from redraft.cli.terminal import reading, say
from redraft.plugins import require_agreement

if TYPE_CHECKING:
    from redraft.lab.agreement.people import Dataset
    from redraft.lab.agreement.trial import AgreementDesign


_WITH_EPILOG = """\b
Examples:
  redraft agree mturk_cnndm.jsonl --format qags --model extractive
  redraft agree labels.jsonl --metric coverage --human relevance \\
      --judge openai:a --judge openai:b --max-cost 5 -o results
  redraft agree summaries.jsonl --format summeval --judge openai:a \\
      --sweep similarity=exact,rouge1,judge --sweep threshold=0.2:0.7:0.1

The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to continue.
"""


def _formats() -> str:
    from redraft.lab.agreement.formats import FORMATS

    return ", ".join(FORMATS)


@command(
    "with",
    short_help="Compare judges with people's annotations.",
    epilog=_WITH_EPILOG,
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
    help=f"Format of FILE: {LISTED}.",
)
@options.typed_option(
    "--documents",
    section="summary",
    metavar="PATH",
    help="The documents, if not in FILE or beside it: a file of texts by id, or a folder.",
)
@options.typed_option(
    "--human",
    section="summary",
    metavar="FIELD",
    help="Which of the annotations to use.  [default: what the metric measures]",
)
@options.typed_option(
    "--items",
    section="summary",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of items, of documents drawn at random (always the same).  [default: all]",
)
@options.typed_option(
    "--metric", section="judging", metavar="NAME", default="consistency", help="Metric to compare with people."
)
@options.typed_option(
    "--sweep",
    section="judging",
    multiple=True,
    metavar="NAME=VALUES",
    help="Compare several values of similarity, threshold, questions, claims, top-k, ..., such as"
    " threshold=0.2:0.7:0.1; may be repeated.",
)
@options.typed_option(
    "--save",
    section="output",
    is_flag=True,
    help="Store the agreement, to show it with these judges' scores from now on.",
)
@options.typed_option(
    "--title",
    section="output",
    metavar="TEXT",
    help="Name of the annotations.  [default: format and file]",
)
@options.judging_options
@options.model_options
@delivery.run_options
@options.dry_run
def with_(
    file: str,
    format_: str,
    documents: str | None,
    items: int | None,
    save: bool,
    title: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Compare judges with people's annotations in FILE: correlation by summary, document and system, balanced accuracy,
    area under the curve, error against share judged, and agreement among judges.
    """
    reading(file, quiet=quiet)
    require_agreement("redraft agree")
    from redraft.lab.agreement.report import agree_report, saved
    from redraft.lab.agreement.trial import chosen, format_named, plan_table, tried
    from redraft.store.store import Store

    limits, table = asked.limits(given), asked.prices(given)
    dataset = chosen(format_named(format_).read(file, documents), items)
    dataset = replace(dataset, name=title or dataset.name)
    design = _design(dataset, given)
    if given["dry_run"]:
        return delivery.show_plan(plan_table(dataset, design, table), as_json=as_json)
    folder = delivery.folder(given["output"])
    with Store(given["db"]) as store:
        outcome = delivery.work(lambda runner: tried(dataset, design, runner), store, limits, table, quiet=quiet)
        kept = saved(outcome, store) if save else []
    delivery.deliver(agree_report(outcome), folder, as_json=as_json, quiet=quiet)
    if save and not quiet:
        say(f"{len(kept)} figures stored" if kept else "nothing stored: stopped early, or too few verdicts")
    done = any(said.outcome for column in outcome.columns for said in column.said)
    return delivery.closed(outcome.complete, outcome.stopped, done=done, quiet=quiet)


def _design(dataset: Dataset, given: Mapping[str, Any]) -> AgreementDesign:
    from redraft.lab.agreement.trial import AgreementDesign, human_field, sweep_of

    metric = given["metric"]
    settings, judging = asked.settings(given), asked.judging({**given, "metric": (metric,)})
    return AgreementDesign(
        metric,
        human_field(dataset, metric, given["human"]),
        judging.judges or (settings.model,),
        settings,
        judging,
        sweep_of(given["sweep"]),
    )


@command("list", short_help="List stored agreements.")
@options.db
@options.as_json
def list_(db: str | None, as_json: bool) -> int:
    """List the agreements shown with scores: those stored with --save, and the built-in judge's own."""
    from redraft.cli.views.render import aligned, echo_json
    from redraft.report.history.certificates import in_words, packaged

    with store_to_read(db) as store:
        found = [*store.agreements.all(), *packaged()]
    if as_json:
        echo_json([{**asdict(one.standing), "prompts": one.standing.prompts or None, **one.to_json()} for one in found])
    elif not found:
        click.echo("no judge has been checked against people yet: see `redraft agree FILE --save`")
    else:
        rows = [
            [one.standing.judge, f"{one.standing.metric} {one.standing.version}", in_words(one), one.measured]
            for one in found
        ]
        for line in aligned(rows):
            click.echo(line)
    return 0


_EPILOG = """\b
Examples:
  redraft agree mturk_cnndm.jsonl --format qags --model extractive
  redraft agree labels.jsonl --metric coverage --human relevance \\
      --judge openai:a --judge openai:b --max-cost 5
  redraft agree sheet 3fa2c1d0 --what facts --sample 600 -o facts.csv
  redraft agree read facts.csv
"""


@click.group(cls=CommandGroup, usual="with", epilog=_EPILOG)
def agree() -> None:
    """Measure how far judges agree with people.

    `redraft agree FILE` is short for `redraft agree with FILE`.
    """


for each in (with_, sheet, read, judges, list_):
    agree.add_command(each)
