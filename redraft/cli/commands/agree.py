"""`redraft agree`: judges beside people; without the name of a command it takes a file of annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import delivery, options
from redraft.cli import given as asked
from redraft.cli.given import store_to_read
from redraft.cli.output_files import put
from redraft.cli.sections import LISTED, CommandGroup, command
from redraft.cli.terminal import DONE, SHORT, reading, say
from redraft.plugins import require_agreement

if TYPE_CHECKING:
    from redraft.lab.agreement.people import Dataset
    from redraft.lab.agreement.sheets import What
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


_WHAT = ("facts", "queries", "alignment", "verification", "claims")
_SHEET = """\b
Examples:
  redraft agree sheet 3fa2c1d0 --what facts --sample 600 -o facts.csv
  redraft agree sheet --experiment results --what verification -o sheet.csv
  redraft agree sheet 3fa2 --what facts --margin 0.05 --confidence 0.98

The judge's verdicts are not in the sheet. People fill in yes or no, each in a
column, or each in a copy; `redraft agree read` takes one file or several. Answers
given in the studio are in the first column already.
"""
_READ = """\b
Examples:
  redraft agree read facts.csv
  redraft agree read anna.csv ben.csv carla.csv -o results
  redraft agree read gold.csv --run 77b01c2d --run 90aa31ce
"""
_JUDGES = """\b
Examples:
  redraft agree judges 3fa2c1d0 77b01c2d --what facts
  redraft agree judges --experiment results --what verification

Validators: run `redraft keyfacts` twice, with another --validator.
"""


_what = options.typed_option(
    "--what",
    section="summary",
    type=click.Choice(_WHAT),
    required=True,
    help="What people are asked about: whether key facts and queries are valid in each dimension, whether a fact is in"
    " the summary (alignment), whether a sentence (verification) or an answer (claims) is supported.",
)
_experiment = options.typed_option(
    "--experiment", section="summary", metavar="DIR", help="All runs of an experiment, by its files in DIR."
)
_margin = options.typed_option(
    "--margin",
    "margins",
    section="summary",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    multiple=True,
    metavar="X",
    help="Margin of error, such as 0.05, for which the number of rows is computed.",
)
_confidence = options.typed_option(
    "--confidence",
    section="summary",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    metavar="P",
    help="How sure margins are; HAMLET uses 0.98.",
)


def _runs(runs: tuple[str, ...], experiment: str | None, what: What, *, every: bool) -> list[str]:
    """The runs that are named, and those of an experiment: of its first judge, or of every judge."""
    from redraft.lab.agreement.sheet_report import runs_of_experiment

    of_it = runs_of_experiment(experiment, what, every=every) if experiment else []
    if not runs and not of_it:
        raise click.UsageError("name a RUN, or an experiment with --experiment DIR")
    return [*runs, *of_it]


@command("sheet", short_help="Write a sheet for people to fill in.", epilog=_SHEET)
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@_what
@_experiment
@options.typed_option(
    "--sample",
    "size",
    section="summary",
    type=click.IntRange(min=1),
    default=600,
    metavar="N",
    help="Maximum number of rows, drawn at random from all RUNs; HAMLET uses 600.",
)
@_margin
@_confidence
@options.typed_option("--seed", section="summary", type=int, default=0, metavar="N", help="Seed of the random draw.")
@options.typed_option(
    "--people",
    section="summary",
    type=click.IntRange(1, 20),
    default=3,
    metavar="N",
    help="Number of columns for answers.",
)
@options.typed_option("--output", "-o", section="output", metavar="FILE", help="Write to this file instead of stdout.")
@options.db
@options.quiet
def sheet(runs: tuple[str, ...], output: str | None, db: str | None, quiet: bool, **given: Any) -> int:
    """Write a CSV sheet on which people mark what RUNs built or judged as right or wrong. With --margin it has as many
    rows as the smallest one needs."""
    from redraft.lab.agreement.sheets import answers, drawn, margin_of, needed, questions, written

    what, sure = given["what"], given["confidence"]
    with store_to_read(db) as store:
        chosen_runs = _runs(runs, given["experiment"], what, every=False)
        everything = questions(store, chosen_runs, what)
        known = answers(store, chosen_runs, what, everything)
    margins = given["margins"]
    size = needed(len(everything), min(margins), sure) if margins else given["size"]
    chosen = drawn(everything, size, given["seed"])
    text = written(chosen, what, given["people"], known)
    put(text, output)
    if not quiet:
        margin = margin_of(len(chosen), len(everything), sure) or 0.0
        say(f"{len(chosen)} of {len(everything)} rows; shares are accurate to ±{margin:.1%} ({100 * sure:g} %)")
    return 0


@command("read", short_help="Read filled-in sheets.", epilog=_READ)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.typed_option(
    "--run",
    "runs",
    section="summary",
    multiple=True,
    metavar="RUN",
    help="Also compare this run's verdicts on the same rows, by another judge or validator; may be repeated.",
)
@_experiment
@_margin
@_confidence
@delivery.output
@options.store_options
def read(files: tuple[str, ...], output: str | None, db: str | None, as_json: bool, quiet: bool, **given: Any) -> int:
    """Read filled-in sheets, and compare the majority with one judge or several."""
    require_agreement("redraft agree read")
    from redraft.lab.agreement.sheet_report import runs_of_experiment, sheet_report
    from redraft.lab.agreement.sheets import MARGINS, read_sheets

    folder, answers = delivery.folder(output), read_sheets(files)
    experiment = given["experiment"]
    of_it = runs_of_experiment(experiment, answers.what, every=True) if experiment else []
    with store_to_read(db) as store:
        margins = given["margins"] or MARGINS
        report = sheet_report(store, answers, [*given["runs"], *of_it], margins, given["confidence"])
    delivery.deliver(report, folder, as_json=as_json, quiet=quiet)
    return SHORT if answers.troubles else DONE


@command("judges", short_help="Compare judges or validators of the same things.", epilog=_JUDGES)
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@_what
@_experiment
@delivery.output
@options.store_options
def judges(runs: tuple[str, ...], output: str | None, db: str | None, as_json: bool, quiet: bool, **given: Any) -> int:
    """Compare the verdicts of several RUNs on the same rows, by judge, without people."""
    require_agreement("redraft agree judges")
    from redraft.lab.agreement.sheet_report import judges_report

    folder = delivery.folder(output)
    with store_to_read(db) as store:
        report = judges_report(store, _runs(runs, given["experiment"], given["what"], every=True), given["what"])
    delivery.deliver(report, folder, as_json=as_json, quiet=quiet)
    return DONE


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
