"""`redraft agree sheet`, `read` and `judges`: compare people and judges on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import click

from redraft.cli import options
from redraft.cli.output_files import write_text
from redraft.cli.parse_options import store_to_read
from redraft.cli.terminal import DONE, SHORT, say
from redraft.errors import UsageError
from redraft.lab.commands import delivery
from redraft.lab.commands.help import lab_command
from redraft.lab.declared import declared
from redraft.lab.extra import require_lab

F = TypeVar("F", bound=Callable[..., Any])
_COHERENCE = ("annotations", "marks", "preferences")
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_JUDGED = ("facts", "alignment", "verification", "claims")

_option = partial(options.typed_option, section="summary")
_summaries = _option(
    "--summaries",
    multiple=True,
    metavar="FILE",
    help="JSON file of summaries, for sheets on coherence; two files for preferences.",
)
_annotations = _option(
    "--annotations",
    multiple=True,
    metavar="FILE",
    help="JSON file of annotations to be checked, or the items.json of `experiment booookscore`; may be repeated.",
)
_experiment = _option("--experiment", metavar="DIR", help="The runs of an experiment, by its files.")
_margin = _option(
    "--margin",
    "margins",
    type=_SHARE,
    multiple=True,
    metavar="X",
    help="Margin of error to compute the rows for, such as 0.05.",
)
_confidence = _option(
    "--confidence", type=_SHARE, default=0.95, metavar="P", help="How sure margins are; HAMLET uses 0.98."
)


def _what(kinds: tuple[str, ...], text: str) -> Callable[[F], F]:
    """Return the option that says what a sheet is about."""
    choice = click.Choice(kinds)
    return _option("--what", type=choice, metavar="KIND", required=True, help=text)


def _coherence_files(values: dict[str, Any], kind: str, *, released: bool = False) -> tuple[list[Any], list[Any]]:
    """Return the summaries and the annotations that a sheet on coherence is made of; raise if there are others than it
    needs."""
    from redraft.lab.agreement.annotations import read_summaries
    from redraft.lab.agreement.coherence_sheets import annotations_by_system

    summaries, annotations = values["summaries"], values["annotations"]
    reading = "summaries" in values and "people" not in values
    needed = {"annotations": 0 if reading else 1, "marks": 1, "preferences": 2}[kind]
    needs_annotations = kind == "annotations" and not released
    if len(summaries) != needed or bool(annotations) != needs_annotations:
        needs = {"annotations": "--annotations" if reading else "--summaries and --annotations"}
        raise UsageError(
            f"a sheet of {kind} needs {needs.get(kind, f'--summaries ({needed} of them)')} and nothing else",
            hint="`redraft agree sheet --help` has an example of each",
        )
    by_system = [
        annotations_of_system
        for annotation in annotations
        for annotations_of_system in annotations_by_system(annotation)
    ]
    return [read_summaries(summary) for summary in summaries], by_system


def _runs(runs: tuple[str, ...], experiment: str | None, what: str, *, every: bool) -> list[str]:
    """Return the runs that are named, and those of an experiment: of its first judge, or of every judge."""
    from redraft.lab.agreement.sheet_reports import runs_of_experiment

    of_experiment = runs_of_experiment(experiment, what, every=every) if experiment else []
    if not runs and not of_experiment:
        raise UsageError(f"there is no run with {what} to ask about", hint="name a RUN, or --experiment DIR")
    return [*runs, *of_experiment]


@lab_command("sheet")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@_summaries
@_annotations
@_what(
    tuple(declared("sheets")),
    "What people are asked about: facts or queries (valid?), alignment (is a fact in the summary?), verification or"
    " claims (is a sentence or an answer supported?), questions or answers (good?); on coherence, annotations (right?),"
    " marks (what confuses?) or preferences (which of two summaries is better?).",
)
@_experiment
@_option(
    "--sample",
    "size",
    type=click.IntRange(min=1),
    default=600,
    metavar="N",
    help="Maximum number of rows, drawn at random from all RUNs; HAMLET uses 600.",
)
@_margin
@_confidence
@_option("--seed", type=int, default=0, metavar="N", help="Seed of the random draw.")
@_option("--people", type=click.IntRange(1, 20), default=3, metavar="N", help="Number of columns for answers.")
@options.output_file
@options.db
@options.quiet
def sheet(runs: tuple[str, ...], what: Any, output: str | None, db: str | None, quiet: bool, **values: Any) -> int:
    """Write a sheet for people."""
    if what in _COHERENCE:
        if runs:
            raise UsageError(f"a sheet of {what} is made of files, not of runs", hint="leave out the runs")
        from redraft.lab.agreement.coherence_sheets import coherence_rows, sample_rows
        from redraft.lab.agreement.sheets import sheet_csv

        rows = coherence_rows(what, *_coherence_files(values, what))
        chosen = sample_rows(rows, values["size"], values["seed"], what)
        write_text(sheet_csv(chosen, values["people"]), output)
        if not quiet:
            say(f"{len(chosen)} of {len(rows)} rows")
        return DONE
    if values["summaries"] or values["annotations"]:
        raise UsageError(f"a sheet of {what} needs a run, and no files", hint="`redraft runs` lists the runs")
    from redraft.lab.agreement.sheet_rows import questions, stored_answers
    from redraft.lab.agreement.sheets import draw_sample, margin_of_error, sample_size, sheet_csv

    sure, margins = values["confidence"], values["margins"]
    with store_to_read(db) as store:
        names = _runs(runs, values["experiment"], what, every=False)
        rows = questions(store, names, what)
        answers = stored_answers(store, names, what, rows)
    size = sample_size(len(rows), min(margins), sure) if margins else values["size"]
    chosen = draw_sample(rows, size, values["seed"])
    write_text(sheet_csv(chosen, values["people"], answers), output)
    if not quiet:
        margin = margin_of_error(len(chosen), len(rows), sure) or 0.0
        say(f"{len(chosen)} of {len(rows)} rows; shares are accurate to ±{margin:.1%} ({100 * sure:g}%)")
    return DONE


@lab_command("read")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_option(
    "--run",
    "runs",
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
def read(files: tuple[str, ...], output: str | None, db: str | None, as_json: bool, quiet: bool, **values: Any) -> int:
    """Compare the answers in sheets with judges."""
    require_lab("redraft agree read")
    from redraft.lab.agreement import coherence_sheets
    from redraft.lab.agreement.sheet_reports import runs_of_experiment, sheet_report
    from redraft.lab.agreement.sheets import MARGINS, read_answers, sheet_kind

    folder = delivery.folder(output)
    released = all(map(coherence_sheets.is_released, files))
    if coherence_sheets.is_released(files[0]):
        content = coherence_sheets.read_released(files[0])
        kind = "preferences" if isinstance(content, list) else "annotations"
    else:
        kind = sheet_kind([file for file in files if not coherence_sheets.is_released(file)])
    if kind in _COHERENCE:
        summaries, annotations = _coherence_files(values, kind, released=released)
        if kind == "annotations":
            report = coherence_sheets.annotation_report(files, annotations)
        elif kind == "preferences":
            report = coherence_sheets.preference_report(files, *summaries)
        else:
            from redraft.lab.experiments.booookscore import EXPERIMENT, CoherenceDesign, measure_summaries
            from redraft.lab.experiments.experiment import Outcome

            marks = [coherence_sheets.read_marks(file, summaries[0]) for file in files]
            by_person = [person_marks for person_marks, _ in marks]
            measured = measure_summaries(summaries[0], by_person, CoherenceDesign())
            report = EXPERIMENT.report(Outcome(measured, (), measured.items))
            if folder is not None:
                for person_marks, text in marks:
                    write_text(text, str(folder / f"{person_marks.name.partition('.')[0]}.json"))
        delivery.deliver(report, folder, as_json=as_json, quiet=quiet)
        return SHORT if any(table.name == "troubles" and table.rows for table in report.tables) else DONE
    answers = read_answers(files, kind)
    with store_to_read(db) as store:
        experiment = values["experiment"]
        runs = [*values["runs"], *(runs_of_experiment(experiment, kind, every=True) if experiment else ())]
        report = sheet_report(store, kind, answers, runs, values["margins"] or MARGINS, values["confidence"])
    delivery.deliver(report, folder, as_json=as_json, quiet=quiet)
    return SHORT if answers.troubles else DONE


@lab_command("judges")
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@_what(_JUDGED, "What they judged: facts, alignment, verification or claims.")
@_experiment
@delivery.output
@options.store_options
def judges(runs: tuple[str, ...], output: str | None, db: str | None, as_json: bool, quiet: bool, **values: Any) -> int:
    """Compare judges without people."""
    require_lab("redraft agree judges")
    from redraft.lab.agreement.sheet_reports import judges_report

    folder = delivery.folder(output)
    with store_to_read(db) as store:
        report = judges_report(store, _runs(runs, values["experiment"], values["what"], every=True), values["what"])
    delivery.deliver(report, folder, as_json=as_json, quiet=quiet)
    return DONE
