"""`redraft agree sheet`, `read` and `judges`: compare people and judges on the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options
from redraft.cli.output_files import write_text
from redraft.cli.parse_options import store_to_read
from redraft.cli.sections import command
from redraft.cli.terminal import DONE, SHORT, say
from redraft.errors import UsageError
from redraft.lab.commands import delivery
from redraft.lab.extra import require_lab

if TYPE_CHECKING:
    from redraft.lab.agreement.sheets import What
    from redraft.report.tables import Report

_COHERENCE = ("annotations", "marks", "preferences")
_WHAT = ("facts", "queries", "alignment", "verification", "claims", "questions", "answers", *_COHERENCE)
_SHEET = """\b
Examples:
  redraft agree sheet 3fa2c1d0 --what facts --sample 600 -o facts.csv
  redraft agree sheet --experiment results --what verification -o sheet.csv
  redraft agree sheet 3fa2 --what facts --margin 0.05 --confidence 0.98
  redraft agree sheet --what annotations --summaries summaries.json \\
      --annotations people.json --annotations gpt4.json -o sheet.csv
  redraft agree sheet --what marks --summaries summaries.json -o marks.csv
  redraft agree sheet --what preferences --summaries one.json \\
      --summaries other.json -o sheet.csv

The judge's verdicts are not in the sheet. People fill in yes or no, each in a
column, or each in a copy; `redraft agree read` takes one file or several. Answers
given in the studio are in the first column already.
"""
_READ = """\b
Examples:
  redraft agree read facts.csv
  redraft agree read anna.csv ben.csv carla.csv -o results
  redraft agree read gold.csv --run 77b01c2d --run 90aa31ce
  redraft agree read sheet.csv --annotations one.json --annotations other.json
  redraft agree read marks.csv --summaries summaries.json -o results

Sheets of annotations, marks and preferences are read with the files that they
were written from. With -o, marks are written as a file of annotations as well.
"""


_summaries = options.typed_option(
    "--summaries",
    section="summary",
    multiple=True,
    metavar="FILE",
    help="JSON file of summaries, for sheets on coherence; two files for preferences.",
)
_annotations = options.typed_option(
    "--annotations",
    section="summary",
    multiple=True,
    metavar="FILE",
    help="JSON file of annotations to be checked, or the items.json of `experiment booookscore`; may be repeated.",
)


def _of_coherence(
    what: str, summaries: tuple[str, ...], annotations: tuple[str, ...], *, reading: bool
) -> tuple[list[Any], list[Any]]:
    """Return the files that a sheet on coherence is made of; raise if there are others than it needs."""
    from redraft.lab.agreement.annotations import read_summaries
    from redraft.lab.agreement.coherence_sheets import annotations_by_system

    least = {"annotations": 0 if reading else 1, "marks": 1, "preferences": 2}[what]
    if len(summaries) != least or bool(annotations) != (what == "annotations"):
        needs = {"annotations": "--annotations" if reading else "--summaries and --annotations"}
        raise UsageError(
            f"a sheet of {what} needs {needs.get(what, f'--summaries ({least} of them)')} and nothing else",
            hint="`redraft agree sheet --help` has an example of each",
        )
    return [read_summaries(summary) for summary in summaries], [
        each for annotation in annotations for each in annotations_by_system(annotation)
    ]


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
    metavar="KIND",
    required=True,
    help="What people are asked about: facts or queries (valid?), alignment (is a fact in the"
    " summary?), verification or claims (is a sentence or an answer supported?), questions or answers (good?); on"
    " coherence, annotations (right?), marks (what confuses?) or preferences (which of two summaries is better?).",
)
_experiment = options.typed_option(
    "--experiment", section="summary", metavar="DIR", help="The runs of an experiment, by its files."
)
_margin = options.typed_option(
    "--margin",
    "margins",
    section="summary",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    multiple=True,
    metavar="X",
    help="Margin of error to compute the rows for, such as 0.05.",
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
    from redraft.lab.agreement.sheet_tables import runs_of_experiment

    of_it = runs_of_experiment(experiment, what, every=every) if experiment else []
    if not runs and not of_it:
        raise UsageError(f"there is no run with {what} to ask about", hint="name a RUN, or --experiment DIR")
    return [*runs, *of_it]


@command("sheet", short_help="Write a sheet for people to fill in.", epilog=_SHEET)
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@_summaries
@_annotations
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
@options.output_file
@options.db
@options.quiet
def sheet(
    runs: tuple[str, ...],
    summaries: tuple[str, ...],
    annotations: tuple[str, ...],
    output: str | None,
    db: str | None,
    quiet: bool,
    **given: Any,
) -> int:
    """Write a CSV sheet on which people mark what RUNs built or judged as right or wrong, or what confuses in
    summaries. With --margin it has as many rows as the smallest margin needs.
    """
    if given["what"] in _COHERENCE:
        if runs:
            raise UsageError(f"a sheet of {given['what']} is made of files, not of runs", hint="leave out the runs")
        return _coherence_sheet(summaries, annotations, output, quiet, **given)
    if summaries or annotations:
        raise UsageError(f"a sheet of {given['what']} needs a run, and no files", hint="`redraft runs` lists the runs")
    from redraft.lab.agreement.sheets import (
        draw_sample,
        margin_of_error,
        questions,
        sample_size,
        sheet_csv,
        stored_answers,
    )

    what, sure, margins = given["what"], given["confidence"], given["margins"]
    with store_to_read(db) as store:
        found = _runs(runs, given["experiment"], what, every=False)
        everything = questions(store, found, what)
        known = stored_answers(store, found, what, everything)
    size = sample_size(len(everything), min(margins), sure) if margins else given["size"]
    rows = draw_sample(everything, size, given["seed"])
    text = sheet_csv(rows, what, given["people"], known)
    write_text(text, output)
    if not quiet:
        margin = margin_of_error(len(rows), len(everything), sure) or 0.0
        say(f"{len(rows)} of {len(everything)} rows; shares are accurate to ±{margin:.1%} ({100 * sure:g}%)")
    return 0


def _coherence_sheet(
    summaries: tuple[str, ...], annotations: tuple[str, ...], output: str | None, quiet: bool, **given: Any
) -> int:
    from redraft.lab.agreement.coherence_sheets import (
        annotation_rows,
        coherence_sheet,
        mark_rows,
        preference_rows,
        sample_rows,
    )

    kind = given["what"]
    texts, known = _of_coherence(kind, summaries, annotations, reading=False)
    made = {"annotations": lambda: annotation_rows(texts[0], known), "marks": lambda: mark_rows(texts[0])}
    rows = made.get(kind, lambda: preference_rows(*texts))()
    if not rows:
        raise UsageError("there is nothing to ask about", hint="give summaries with sentences, and their annotations")
    sheet_rows = sample_rows(rows, given["size"], given["seed"], kind)
    write_text(coherence_sheet(sheet_rows, kind, given["people"]), output)
    if not quiet:
        say(f"{len(sheet_rows)} of {len(rows)} rows")
    return 0


@command("read", short_help="Read filled-in sheets.", epilog=_READ)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.typed_option(
    "--run",
    "runs",
    section="summary",
    multiple=True,
    metavar="RUN",
    help="A run in which another judge judged the same rows; may be repeated.",
)
@_experiment
@_margin
@_confidence
@_summaries
@_annotations
@delivery.output
@options.store_options
def read(
    files: tuple[str, ...],
    summaries: tuple[str, ...],
    annotations: tuple[str, ...],
    output: str | None,
    db: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Read filled-in sheets, and compare the majority with one judge or several."""
    require_lab("redraft agree read")
    from redraft.lab.agreement.coherence_sheets import kind_of_sheet
    from redraft.lab.agreement.sheet_tables import runs_of_experiment, sheet_report
    from redraft.lab.agreement.sheets import MARGINS, read_sheets

    folder = delivery.folder(output)
    if kind := kind_of_sheet(files[0]):
        report, marks = _coherence_report(kind, files, *_of_coherence(kind, summaries, annotations, reading=True))
        for name, text in marks.items():
            if folder:
                write_text(text, str(folder / f"{name}.json"))
        delivery.deliver(report, folder, as_json=as_json, quiet=quiet)
        return SHORT if any(table.name == "troubles" and table.rows for table in report.tables) else DONE
    what, answers = read_sheets(files)
    with store_to_read(db) as store:
        where = given["experiment"]
        runs = [*given["runs"], *(runs_of_experiment(where, what, every=True) if where else ())]
        report = sheet_report(store, what, answers, runs, given["margins"] or MARGINS, given["confidence"])
    delivery.deliver(report, folder, as_json=as_json, quiet=quiet)
    return SHORT if answers.troubles else DONE


def _coherence_report(
    kind: str, files: tuple[str, ...], texts: list[Any], known: list[Any]
) -> tuple[Report, dict[str, str]]:
    """Return the report of a sheet on coherence, and what people marked by the name of their sheet."""
    from redraft.lab.agreement.coherence_sheets import annotation_report, preference_report, read_marks

    if kind == "annotations":
        return annotation_report(files, known), {}
    if kind == "preferences":
        return preference_report(files, *texts), {}
    from redraft.lab.experiments.booookscore import EXPERIMENT, CoherenceDesign, annotated_outcome, measure_summaries

    read = [read_marks(file, texts[0]) for file in files]
    people = [annotations for annotations, _ in read]
    measured = measure_summaries(texts[0], people[0], CoherenceDesign(), beside=people[1:])
    return EXPERIMENT.report(annotated_outcome(measured)), {one.name.partition(".")[0]: text for one, text in read}


@command("judges", short_help="Compare judges or validators of the same things.", epilog=_JUDGES)
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@options.typed_option(
    "--what",
    section="summary",
    type=click.Choice([one for one in _WHAT if one not in ("queries", "questions", "answers", *_COHERENCE)]),
    metavar="KIND",
    required=True,
    help="What they judged: facts, alignment, verification or claims.",
)
@_experiment
@delivery.output
@options.store_options
def judges(runs: tuple[str, ...], output: str | None, db: str | None, as_json: bool, quiet: bool, **given: Any) -> int:
    """Compare the verdicts of several RUNs on the same rows, by judge, without people."""
    require_lab("redraft agree judges")
    from redraft.lab.agreement.sheet_tables import judges_report

    folder = delivery.folder(output)
    with store_to_read(db) as store:
        report = judges_report(store, _runs(runs, given["experiment"], given["what"], every=True), given["what"])
    delivery.deliver(report, folder, as_json=as_json, quiet=quiet)
    return DONE
