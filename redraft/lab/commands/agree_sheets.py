"""`redraft agree sheet`, `read` and `judges`: compare people and judges on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

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

_NEEDED = {"annotations": 1, "marks": 1, "preferences": 2}
"""How many files of summaries a sheet on coherence is made of."""
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


def _coherence_files(
    kind: str, summaries: Sequence[str], annotations: Sequence[str], *, needed: int, compares: bool
) -> tuple[Any, Any]:
    """Return the summaries and the annotations that a sheet on coherence is made of; raise if there are not as many
    summaries as needed, or no annotations where it compares these."""
    from redraft.lab.agreement.annotations import read_summaries
    from redraft.lab.agreement.coherence_sheets import annotations_by_system

    if len(summaries) != needed or (compares and not annotations):
        needs = f"--summaries ({needed} of them)" + (" and --annotations" if compares else "")
        hint = "`redraft agree sheet --help` has an example of each"
        raise UsageError(f"a sheet of {kind} needs {needs}", hint=hint)
    by_system = [of_system for annotation in annotations for of_system in annotations_by_system(annotation)]
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
    from redraft.lab.agreement.sheet_rows import questions, stored_answers
    from redraft.lab.agreement.sheets import draw_sample, margin_of_error, sample_size, sheet_csv

    size, summaries, annotations, answers, accuracy = values["size"], values["summaries"], values["annotations"], {}, ""
    if what in _NEEDED:
        if runs:
            raise UsageError(f"a sheet of {what} is made of files, not of runs", hint="leave out the runs")
        from redraft.lab.agreement.coherence_sheets import coherence_rows, sample_summaries

        compares = what == "annotations"
        files = _coherence_files(what, summaries, annotations, needed=_NEEDED[what], compares=compares)
        rows = coherence_rows(what, *files)
        chosen = sample_summaries(rows, size)
    else:
        if summaries or annotations:
            raise UsageError(f"a sheet of {what} needs a run, and no files", hint="`redraft runs` lists the runs")
        with store_to_read(values["db"]) as store:
            names = _runs(runs, values["experiment"], what, every=False)
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
    from redraft.lab.agreement import coherence_sheets
    from redraft.lab.agreement.sheet_reports import runs_of_experiment, sheet_report
    from redraft.lab.agreement.sheets import read_answers
    from redraft.lab.experiments.booookscore import CoherenceDesign, measure_summaries

    folder, kind = delivery.folder(output), coherence_sheets.kind_of_answers(files)
    if kind in _NEEDED:
        needed = _NEEDED[kind] if kind != "annotations" else 0
        compares = kind == "annotations" and not all(map(coherence_sheets.is_released, files))
        paths = values["summaries"], values["annotations"]
        summaries, annotations = _coherence_files(kind, *paths, needed=needed, compares=compares)
        if kind == "marks":
            marks = [coherence_sheets.read_marks(file, summaries[0]) for file in files]
            by_person = [person_marks for person_marks, _ in marks]
            measured = measure_summaries(summaries[0], by_person, CoherenceDesign())
            report = measured.annotated_outcome.report()
            if folder is not None:
                for person_marks, text in marks:
                    write_text(text, str(folder / f"{person_marks.name.partition('.')[0]}.json"))
        else:
            report = coherence_sheets.coherence_report(kind, files, summaries, annotations)
    else:
        answers, problems = read_answers(files, kind)
        with store_to_read(db) as store:
            experiment = values["experiment"]
            runs = [*values["runs"], *(runs_of_experiment(experiment, kind, every=True) if experiment else ())]
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
        report = judges_report(store, _runs(runs, values["experiment"], values["what"], every=True), values["what"])
    delivery.deliver(report, folder, as_json=as_json, quiet=quiet)
    return DONE
