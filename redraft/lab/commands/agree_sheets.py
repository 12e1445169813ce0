"""`redraft agree sheet`, `read` and `judges`: compare people and judges on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click

from redraft.cli import options
from redraft.cli.output_files import write_text
from redraft.cli.parse_options import store_to_read
from redraft.cli.terminal import DONE, SHORT, say
from redraft.errors import UsageError
from redraft.lab.commands import delivery
from redraft.lab.commands.delivery import lab_command
from redraft.lab.declared import declared, require_lab

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_JUDGED = ("facts", "alignment", "verification", "claims")

_option = partial(options.typed_option, section="summary")
_what = partial(_option, "--what", metavar="KIND", required=True)
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


def _coherence_files(what: str, values: Mapping[str, Any], answers: Sequence[str] = ()) -> tuple[Any, Any]:
    """Return the summaries and the annotations that a sheet on coherence is made of, or that its `answers` are about.
    Raise if there are not as many summaries as needed, or no annotations where it compares these."""
    from redraft.lab.agreement.annotations import annotations_by_system, read_summaries
    from redraft.lab.agreement.sheets import KINDS, is_released

    kind, summaries, annotations = KINDS[what], values["summaries"], values["annotations"]
    needed = 0 if kind.annotated and answers else kind.files
    compares = kind.annotated and not (answers and all(map(is_released, answers)))
    if len(summaries) != needed or (compares and not annotations):
        needs = f"--summaries ({needed} of them)" + (" and --annotations" if compares else "")
        hint = "`redraft agree sheet --help` has an example of each"
        raise UsageError(f"a sheet of {what} needs {needs}", hint=hint)
    by_system = [of_system for annotation in annotations for of_system in annotations_by_system(annotation)]
    return [read_summaries(summary) for summary in summaries], by_system


def _runs(runs: tuple[str, ...], values: Mapping[str, Any], what: str, *, every: bool) -> list[str]:
    """Return the runs that are named, and those of an experiment: of its first judge, or of every judge."""
    from redraft.lab.agreement.sheet_reports import runs_of_experiment

    experiment = values["experiment"]
    if not runs and not experiment:
        raise UsageError(f"there is no run with {what} to ask about", hint="name a RUN, or --experiment DIR")
    return [*runs, *(runs_of_experiment(experiment, what, every=every) if experiment else ())]


@lab_command("sheet")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@_summaries
@_annotations
@_what(
    type=click.Choice(tuple(declared("sheets"))),
    help="What people are asked about: facts or queries (valid?), alignment (is a fact in the summary?), verification"
    " or claims (is a sentence or an answer supported?), questions or answers (good?); on coherence, annotations"
    " (right?), marks (what confuses?) or preferences (which of two summaries is better?).",
)
@_experiment
@_option(
    "--sample",
    "size",
    type=click.IntRange(min=1),
    default=600,
    metavar="N",
    help="Maximum number of rows, or of summaries on coherence, drawn at random (always the same); HAMLET uses 600.",
)
@_option("--margin", type=_SHARE, metavar="X", help="As many rows as this margin of error needs, such as 0.05.")
@_option("--confidence", type=_SHARE, default=0.95, metavar="P", help="How sure the margin is; HAMLET uses 0.98.")
@_option("--people", type=click.IntRange(1, 20), default=3, metavar="N", help="Number of columns for answers.")
@options.output_file
@options.db
@options.quiet
def sheet(
    runs: tuple[str, ...], what: Any, margin: float | None, confidence: float, output: str | None, **values: Any
) -> int:
    """Write a sheet for people."""
    from redraft.lab.agreement.sheets import (
        KINDS,
        draw_sample,
        margin_of_error,
        questions,
        sample_size,
        sheet_csv,
        stored_answers,
        unique_rows,
    )

    size, answers, accuracy = values["size"], {}, ""
    if KINDS[what].files:
        if runs:
            raise UsageError(f"a sheet of {what} is made of files, not of runs", hint="leave out the runs")
        require_lab(f"a sheet of {what}")
        from redraft.lab.agreement.sheet_reports import coherence_rows

        files, lacking = _coherence_files(what, values), "there is nothing to ask about"
        lacking = "the two files have no id in common" if KINDS[what].files == 2 else lacking
        rows = unique_rows(coherence_rows(what, *files), what, lacking)
        drawn = {*draw_sample(list(dict.fromkeys(row.shown["of"] for row in rows)), size)}
        chosen = [row for row in rows if row.shown["of"] in drawn]
    else:
        if values["summaries"] or values["annotations"]:
            raise UsageError(f"a sheet of {what} needs a run, and no files", hint="`redraft runs` lists the runs")
        with store_to_read(values["db"]) as store:
            names = _runs(runs, values, what, every=False)
            rows = questions(store, names, what)
            answers = stored_answers(store, names, what, rows)
        chosen = draw_sample(rows, sample_size(len(rows), margin, confidence) if margin else size)
        off_by = margin_of_error(len(chosen), len(rows), confidence) or 0.0
        accuracy = f"; shares are accurate to ±{off_by:.1%} ({100 * confidence:g}%)"
    write_text(sheet_csv(chosen, values["people"], answers), output)
    if not values["quiet"]:
        say(f"{len(chosen)} of {len(rows)} rows{accuracy}")
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
@_summaries
@_annotations
@delivery.output
@options.store_options
def read(files: tuple[str, ...], output: str | None, db: str | None, as_json: bool, quiet: bool, **values: Any) -> int:
    """Compare the answers in sheets with judges."""
    require_lab("redraft agree read")
    from redraft.lab.agreement.sheet_reports import coherence_report, read_marks, sheet_report
    from redraft.lab.agreement.sheets import KINDS, read_answers, sheet_kind
    from redraft.lab.experiments.booookscore import CoherenceDesign
    from redraft.lab.experiments.experiment import Outcome

    folder, kind = delivery.folder(output), sheet_kind(files)
    if kind == "marks":
        (summaries,), _ = _coherence_files(kind, values, files)
        marks = [read_marks(file, summaries) for file in files]
        measured = CoherenceDesign.measured(summaries, [of_person for of_person, _ in marks])
        report = Outcome(measured, (), measured.items).report()
        if folder is not None:
            for of_person, text in marks:
                write_text(text, str(folder / f"{of_person.name.partition('.')[0]}.json"))
    elif kind and KINDS[kind].files:
        report = coherence_report(kind, files, *_coherence_files(kind, values, files))
    else:
        answers, problems = read_answers(files, kind)
        with store_to_read(db) as store:
            others = values["runs"] or values["experiment"]
            runs = _runs(values["runs"], values, kind, every=True) if others else ()
            report = sheet_report(store, kind, answers, problems, runs)
    delivery.deliver(report, folder, as_json=as_json, quiet=quiet)
    return SHORT if any(table.name == "troubles" and table.rows for table in report.tables) else DONE


@lab_command("judges")
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@_what(type=click.Choice(_JUDGED), help="What they judged: facts, alignment, verification or claims.")
@_experiment
@delivery.output
@options.store_options
def judges(runs: tuple[str, ...], output: str | None, db: str | None, as_json: bool, quiet: bool, **values: Any) -> int:
    """Compare judges without people."""
    require_lab("redraft agree judges")
    from redraft.lab.agreement.sheet_reports import judges_report

    folder = delivery.folder(output)
    with store_to_read(db) as store:
        report = judges_report(store, _runs(runs, values, values["what"], every=True), values["what"])
    delivery.deliver(report, folder, as_json=as_json, quiet=quiet)
    return DONE
