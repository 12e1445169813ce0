"""The group `redraft experiment`, with `booookscore` and `report`."""

from __future__ import annotations

from typing import Any

import click

from redraft.cli import options
from redraft.cli.output_files import hand_over
from redraft.cli.preset_option import preset_option
from redraft.cli.sections import CommandGroup, command
from redraft.cli.terminal import say_reading
from redraft.lab.commands import delivery
from redraft.lab.commands.experiment import contestants as common
from redraft.lab.commands.experiment.papers import chunk_size, context, grid, hamlet, longsumeval, qa, thesis
from redraft.lab.experiments.orders import CoherenceOrder
from redraft.lab.extra import require_lab
from redraft.order import JUDGES_ADDRESS
from redraft.settings import EXTRACTIVE, JudgeConfig

_REPORT_EPILOG = """\b
Examples:
  redraft experiment report results/ -o report.html
  redraft experiment report ours/ theirs/tables.json -o compare.html

RESULTS is a folder that an experiment or redraft agree wrote with -o, a folder
of such folders, or a published tables.json. Results of the same experiment are
shown side by side. No model is called.
"""


@command(short_help="Show stored results as one page with pictures.", epilog=_REPORT_EPILOG)
@click.argument("results", nargs=-1, required=True, metavar="RESULTS...")
@options.typed_option(
    "--output", "-o", section="output", required=True, metavar="FILE", help="Write the page to this file; - is stdout."
)
@options.quiet
def report(results: tuple[str, ...], output: str | None, quiet: bool) -> int:
    """Show RESULTS of experiments as one HTML page: every table with its pictures and its data for download.

    The page works offline.
    """
    from redraft.cli.output_files import check_output
    from redraft.lab.experiments.published import read_results
    from redraft.lab.experiments.report_page import report_page

    check_output(output)
    result_sets = read_results(results)
    says = f"{len(result_sets)} set{'s' * (len(result_sets) != 1)} of results"
    hand_over(report_page(result_sets), says, output, quiet=quiet)
    return 0


_BOOOOKSCORE_EPILOG = """\b
Examples:
  redraft experiment booookscore --summaries summaries.json \\
      --annotations annotations.json --json
  redraft experiment booookscore --summaries summaries.json --judge openai:a \\
      --judge openai:b --max-cost 5 -o results
  redraft experiment booookscore --summaries summaries.json \\
      --annotations annotations.json --judge extractive

summaries.json has texts by id. annotations.json has, by id, sentences with
their questions and types (those that confuse, or every sentence) or people's
marks, as released by the BooookScore project.
The exit code is 3 when something is missing: sentences were not judged, or the
budget is used up. Repeat the command, with a higher limit, to continue.
"""


@command(
    short_help="Measure how coherent summaries are.",
    epilog=_BOOOOKSCORE_EPILOG,
    first=("summaries", "annotations", "judge", "batch", "dry-run", "max-calls", "max-cost", "output", "json", "quiet"),
)
@options.typed_option(
    "--summaries", section="summary", required=True, metavar="FILE", help="JSON file of summaries, their texts by id."
)
@options.typed_option(
    "--annotations",
    section="summary",
    multiple=True,
    metavar="FILE",
    help="JSON file of annotations: which sentences are confusing, and how, or what people marked. May be repeated:"
    " the others are compared with the first.",
)
@options.typed_option(
    "--references",
    section="summary",
    metavar="FILE",
    help="JSON file of reference summaries, a text or a list of texts by id, for ROUGE-L.",
)
@options.of_field(
    JudgeConfig,
    "judges",
    help="Model that judges sentences. With --annotations, only one named in the command judges: extractive,"
    " openai:NAME, PROVIDER:NAME, or the NAME of a [models.NAME] in redraft.toml.  [default: extractive, without"
    " --annotations]",
)
@options.settings(JUDGES_ADDRESS)
@options.of_field(JudgeConfig, "batch", default=10, help="Sentences per request; the paper uses 1.")
@options.window_option("what the longest summary needs")
@options.settings("temperature", "prompts", "replies")
@preset_option
@options.dry_run
@delivery.run_options
def booookscore(summaries: str, annotations: tuple[str, ...], references: str | None, **values: Any) -> int:
    """Measure how coherent summaries are. From annotations, with judges, or both:
    score and its spread, types, lengths, repeated trigrams (BooookScore).
    """
    from redraft.cli import parse_options

    quiet = values["quiet"]
    judging = not annotations or parse_options.typed(values, ("judges",))
    say_reading(summaries, quiet=quiet or not judging)
    require_lab("redraft experiment booookscore")
    from redraft.cli.runner import report_end
    from redraft.lab.agreement.annotations import read_annotations, read_references, read_summaries
    from redraft.lab.experiments.booookscore import EXPERIMENT, CoherenceDesign, annotated_outcome, measure_summaries

    judge_names = values["judges"] if judging else ()
    request = common.asked_of({**values, "judges": judge_names or (() if annotations else (EXTRACTIVE,))})
    design = CoherenceDesign(**request.panel(CoherenceOrder))
    annotation_files = [read_annotations(annotation) for annotation in annotations]
    compared = read_references(references) if references else None
    file, first = read_summaries(summaries), annotation_files[0] if annotation_files else None
    measured = measure_summaries(file, first, design, beside=annotation_files[1:], references=compared)
    if design.judges or values["dry_run"]:
        return delivery.carry_out(EXPERIMENT, (), measured, values)
    # Nobody is asked, and so there is no need of a database.
    folder = delivery.folder(values["output"])
    report = EXPERIMENT.report(annotated_outcome(measured))
    delivery.deliver(report, folder, as_json=values["as_json"], quiet=quiet)
    return report_end(complete=True, stopped=None, done=False, quiet=quiet)


_EPILOG = """\b
Examples:
  redraft experiment grid books/ -m openai:a -m openai:b --judge openai:c -o out
  redraft experiment longsumeval books/ -m openai:a -o out
  redraft experiment hamlet book.txt -m openai:a --judge openai:c -o out
  redraft experiment context book.txt -m openai:a -m openai:b -o out
  redraft experiment chunk-size book.txt --judge openai:c -o out
  redraft experiment booookscore --summaries summaries.json --judge openai:c
  redraft experiment qa book.txt -m openai:a -m openai:b --judge openai:c -o out
  redraft experiment report out -o report.html
"""


@click.group(cls=CommandGroup, epilog=_EPILOG)
def experiment() -> None:
    """Compare models and settings on your documents, or run the experiments of the papers on them.

    To continue a stopped experiment, repeat its command with the same database: nothing is paid for twice, and a
    finished one prints the same tables to the byte.
    """


for subcommand in (grid, context, qa, thesis, longsumeval, hamlet, chunk_size, booookscore, report):
    experiment.add_command(subcommand)
