"""`redraft agree`: compare judges with people; without a subcommand it takes a file of annotations. `sheet`, `read` and
`judges` compare people and judges on the same rows. `redraft doctor`: test judges on summaries with known faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options, parse_options
from redraft.cli.output_files import write_text
from redraft.cli.sections import LISTED
from redraft.cli.terminal import DONE, SHORT, say, say_reading, show_record
from redraft.errors import UsageError
from redraft.lab.commands import delivery
from redraft.lab.commands.delivery import lab_command, lab_group
from redraft.lab.declared import declared, require_lab
from redraft.order import JUDGES_ADDRESS
from redraft.settings import EXTRACTIVE, JudgeConfig, is_entailment

if TYPE_CHECKING:
    from redraft.lab.agreement.people import Dataset
    from redraft.lab.doctor.controls import JudgeCheckup


_option = partial(options.typed_option, section="summary")
_metric = partial(options.typed_option, "--metric", section="judging", metavar="NAME")
_shared = options.grouped(
    _option(
        "--items",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of items, of documents drawn at random (always the same).  [default: all]",
    ),
    options.typed_option(
        "--sweep",
        section="judging",
        multiple=True,
        metavar="NAME=VALUES",
        help="Compare several values of similarity, threshold, questions, claims, top-k, ..., such as"
        " threshold=0.2:0.7:0.1; may be repeated.",
    ),
    options.judging_options,
    options.preset_option,
    options.model_options,
    delivery.run_options,
    options.dry_run,
)


@lab_command("with")
@click.argument("file")
@_option(
    "--format",
    "format_",
    metavar="NAME",
    default="jsonl",
    listing=lambda: ", ".join(name for name in declared("formats") if name != "metrics"),
    help=f"Format of FILE: {LISTED}.",
)
@_option(
    "--documents",
    metavar="PATH",
    help="The documents, if not in FILE or next to it: a file of texts by id, or a folder.",
)
@_option("--human", metavar="FIELD", help="Which of the annotations to use.  [default: what the metric measures]")
@_metric("metrics", help="Metric to compare with people.  [default: consistency, or the --rubric]")
@_shared
def with_(file: str, format_: str, documents: str | None, items: int | None, **values: Any) -> int:
    """Compare judges with people's annotations in a file."""
    say_reading(file, quiet=values["quiet"])
    require_lab("redraft agree")
    from redraft.cli.settings_file import rubrics_given
    from redraft.lab.agreement.formats import find_format

    dataset = find_format(format_).read(file, documents).sample(items)
    stated = rubrics_given(values["rubric"])
    metric: str = values["metrics"] or (next(iter(stated)) if len(stated) == 1 else "consistency")
    if stated and metric not in stated:
        hint = f"say which one is compared with people: --metric {next(iter(stated))}"
        raise UsageError(f"--rubric is not used by --metric {metric}", hint=hint)
    return _compare({dataset.name: dataset}, (metric,), dataset.field(metric, values["human"]), values)


def _compare(sets: Mapping[str, Dataset], metrics: tuple[str, ...], human: str, values: Mapping[str, Any]) -> int:
    from redraft.lab.agreement.agree import AgreeDesign, parse_sweep

    settings, judging = parse_options.settings(values), parse_options.judging({**values, "metrics": metrics[:1]})
    judges, sweep = judging.judges or (settings.model,), parse_sweep(values["sweep"])
    return delivery.carry_out(AgreeDesign(sets, metrics, judges, human, settings, judging, sweep), (), values)


@lab_command("table")
@click.argument("files", nargs=-1, required=True, metavar="FORMAT=FILE...")
@_metric(
    "metrics",
    multiple=True,
    default=("consistency", "coverage"),
    help="Metric to compare with people, where they were asked about it; may be repeated.",
)
@_shared
def table_(files: tuple[str, ...], metrics: tuple[str, ...], **values: Any) -> int:
    """Compare judges with people's annotations from several files, in one table."""
    require_lab("redraft agree table")
    from redraft.lab.agreement.formats import find_format

    parts = [word.partition("=")[::2] for word in files]
    if wrong := [name for name, file in parts if not file]:
        raise UsageError(f"{wrong[0]!r} has no format", hint="write FORMAT=FILE, such as qags=mturk_cnndm.jsonl")
    say_reading(*(file for _, file in parts), quiet=values["quiet"])
    formats, sets = [name for name, _ in parts], {}
    for name, file in parts:
        title = name if formats.count(name) == 1 else f"{name} {Path(file).stem}"
        sets[title] = find_format(name).read(file).sample(values["items"])
    return _compare(sets, metrics, "", values)


_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_JUDGED = ("facts", "alignment", "verification", "claims")

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
    from redraft.lab.agreement.annotations import Summaries, annotations_by_system
    from redraft.lab.agreement.sheets import KINDS, is_released

    kind, summaries, annotations = KINDS[what], values["summaries"], values["annotations"]
    needed = 0 if kind.annotated and answers else kind.files
    compares = kind.annotated and not (answers and all(map(is_released, answers)))
    if len(summaries) != needed or (compares and not annotations):
        needs = f"--summaries ({needed} of them)" + (" and --annotations" if compares else "")
        hint = "`redraft agree sheet --help` has an example of each"
        raise UsageError(f"a sheet of {what} needs {needs}", hint=hint)
    by_system = [of_system for annotation in annotations for of_system in annotations_by_system(annotation)]
    return [Summaries.read(summary) for summary in summaries], by_system


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
    from redraft.lab.agreement import sheets

    size, answers, accuracy = values["size"], {}, ""
    if sheets.KINDS[what].files:
        if runs:
            raise UsageError(f"a sheet of {what} is made of files, not of runs", hint="leave out the runs")
        require_lab(f"a sheet of {what}")
        from redraft.lab.agreement.sheet_reports import coherence_rows

        files, lacking = _coherence_files(what, values), "there is nothing to ask about"
        lacking = "the two files have no id in common" if sheets.KINDS[what].files == 2 else lacking
        rows = sheets.unique_rows(coherence_rows(what, *files), what, lacking)
        drawn = {*sheets.draw_sample(list(dict.fromkeys(row.shown["of"] for row in rows)), size)}
        chosen = [row for row in rows if row.shown["of"] in drawn]
    else:
        if values["summaries"] or values["annotations"]:
            raise UsageError(f"a sheet of {what} needs a run, and no files", hint="`redraft runs` lists the runs")
        with parse_options.store_to_read(values["db"]) as store:
            names = _runs(runs, values, what, every=False)
            rows = sheets.questions(store, names, what)
            answers = sheets.stored_answers(store, names, what, rows)
        chosen = sheets.draw_sample(rows, sheets.sample_size(len(rows), margin, confidence) if margin else size)
        off_by = sheets.margin_of_error(len(chosen), len(rows), confidence) or 0.0
        accuracy = f"; shares are accurate to ±{off_by:.1%} ({100 * confidence:g}%)"
    write_text(sheets.sheet_csv(chosen, values["people"], answers), output)
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
        with parse_options.store_to_read(db) as store:
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
    with parse_options.store_to_read(db) as store:
        report = judges_report(store, _runs(runs, values, values["what"], every=True), values["what"])
    delivery.deliver(report, folder, as_json=as_json, quiet=quiet)
    return DONE


agree = lab_group("agree", with_, table_, sheet, read, judges, usual="with")


_LONGEST = 100


@lab_command("doctor")
@options.of_field(
    JudgeConfig,
    "judges",
    help="Judge to test: extractive, openai:NAME, or PROVIDER:NAME; may be repeated.  [default: extractive]",
)
@options.settings(JUDGES_ADDRESS)
@_metric(multiple=True, help="Metric to test it with; may be repeated.  [default: all that the judge supports]")
@delivery.window_option("the judge's own if known, else 8192")
@options.settings("prompts", "replies")
@options.limit_options
@options.prices
@options.dry_run
@options.store_options
def doctor(as_json: bool, quiet: bool, **values: Any) -> int:
    """Test judges on summaries whose faults are known."""
    say_reading("the controls", quiet=quiet)
    from redraft.cli.runner import report_end, run_experiment
    from redraft.cli.views.plans import show_plan
    from redraft.domain import record_json
    from redraft.evaluators.catalog import built_in
    from redraft.evaluators.metric_info import METRICS
    from redraft.lab.doctor.controls import checked_metrics, examine_all, plan_table
    from redraft.llm.nli import SERVES
    from redraft.order import Evaluate
    from redraft.store.store import Store

    limits, table, settings = parse_options.limits(values), parse_options.prices(values), parse_options.settings(values)
    models, orders = parse_options.named_models(values), []
    usual = tuple(name for name in METRICS if built_in(name).aim and built_in(name).prompts)
    for name in dict.fromkeys(values["judges"] or (EXTRACTIVE,)):
        own_table = {name: models[name]} if name in models else {}
        # Of those that a judge that writes nothing serves, the last needs key facts, and it finds none.
        served = SERVES[:-1] if is_entailment(models[name].model if own_table else name) else usual
        metrics = tuple(dict.fromkeys(values["metric"])) or served
        checked_metrics(metrics)
        judging = JudgeConfig(judges=(name,), base_url=values["judge_base_url"], models=own_table, metrics=metrics)
        orders.append(Evaluate(settings=settings, judging=judging))
    if values["dry_run"]:
        return show_plan(plan_table(orders, table), as_json=as_json)
    with Store(values["db"]) as store:
        run = partial(examine_all, orders)
        checkups, stopped = run_experiment(run, store, limits, table, quiet=quiet)
    record = {"judges": list(map(record_json, checkups)), "stopped": stopped and stopped.message}
    show_record(record, "\n".join(map(_markdown, checkups)), as_json=as_json)
    if stopped is not None:
        return report_end(False, stopped, done=True, quiet=quiet)
    return SHORT if any(checkup.failed for checkup in checkups) else DONE


def _markdown(judge: JudgeCheckup) -> str:
    """Return the results of a judge: a table of its controls by metric, and what did not pass."""
    from redraft.lab.doctor.controls import controls
    from redraft.report.markdown.evaluation import joined, section, table
    from redraft.report.markdown.trace import usage
    from redraft.report.tables import line
    from redraft.text.words import count

    counts = [f"{count(judge.passed, 'control')} passed", f"{judge.failed} failed", f"{judge.cannot_tell} cannot tell"]
    counts += [f"{judge.not_made} not made"] if judge.not_made else []
    metrics = tuple(dict.fromkeys(check.metric for check in judge.controls))
    verdicts = {(check.control, check.metric): check.verdict for check in judge.controls}
    listed = [[control, *(verdicts.get((control, metric), "") for metric in metrics)] for control in controls()]
    rows = [row for row in listed if any(row[1:])]
    blocks = [
        f"# {line(judge.judge)}, on English texts: {', '.join(counts)}",
        usage(judge.usage),
        table([["control", *metrics], *rows]),
    ]
    for verdict, title in (("fail", "Failed"), ("cannot tell", "Cannot tell")):
        lines = [
            f"- {check.metric}, {check.control}: expected: {line(check.should)}; got: {line(check.said, _LONGEST)}"
            + (f" ({', '.join(check.runs[:2])})" if check.runs else "")
            for check in judge.controls
            if check.verdict == verdict
        ]
        blocks.append(section(title, lines))
    return joined(blocks)
