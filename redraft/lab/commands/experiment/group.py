"""The group `redraft experiment`, with `booookscore` and `report`."""

from __future__ import annotations

from typing import Any

import click

from redraft.cli import options
from redraft.cli.output_files import hand_over
from redraft.cli.preset_option import preset_option
from redraft.cli.terminal import say_reading
from redraft.lab.commands import delivery
from redraft.lab.commands.delivery import lab_command, lab_group
from redraft.lab.commands.experiment import contestants as common
from redraft.lab.commands.experiment.papers import chunk_size, context, grid, hamlet, longsumeval, qa, thesis
from redraft.lab.declared import require_lab
from redraft.lab.experiments.orders import CoherenceOrder
from redraft.order import JUDGES_ADDRESS
from redraft.settings import EXTRACTIVE, JudgeConfig


@lab_command("report")
@click.argument("results", nargs=-1, required=True, metavar="RESULTS...")
@options.typed_option(
    "--output", "-o", section="output", required=True, metavar="FILE", help="Write the page to this file; - is stdout."
)
@options.quiet
def report(results: tuple[str, ...], output: str | None, quiet: bool) -> int:
    """Write stored results as one page."""
    from redraft.cli.output_files import check_output
    from redraft.lab.experiments.published import read_results, report_page

    check_output(output)
    result_sets = read_results(results)
    says = f"{len(result_sets)} set{'s' * (len(result_sets) != 1)} of results"
    hand_over(report_page(result_sets), "html", says, output, quiet=quiet)
    return 0


@lab_command("booookscore")
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
    """Measure how coherent summaries are, by annotations, judges or both."""
    from redraft.cli import parse_options

    quiet = values["quiet"]
    judging = not annotations or parse_options.typed(values, ("judges",))
    say_reading(summaries, quiet=quiet or not judging)
    require_lab("redraft experiment booookscore")
    from redraft.cli.runner import report_end
    from redraft.lab.agreement.annotations import read_annotations, read_references, read_summaries
    from redraft.lab.experiments.booookscore import CoherenceDesign, measure_summaries

    judge_names = values["judges"] if judging else ()
    request = common.asked_of({**values, "judges": judge_names or (() if annotations else (EXTRACTIVE,))})
    design = CoherenceDesign(**request.panel(CoherenceOrder))
    annotation_files = [read_annotations(annotation) for annotation in annotations]
    compared = read_references(references) if references else None
    measured = measure_summaries(read_summaries(summaries), annotation_files, design, compared)
    if design.judges or values["dry_run"]:
        return delivery.carry_out(measured, (), values)
    # Nobody is asked, and so there is no need of a database.
    folder = delivery.folder(values["output"])
    delivery.deliver(measured.annotated_outcome.report(), folder, as_json=values["as_json"], quiet=quiet)
    return report_end(complete=True, stopped=None, done=False, quiet=quiet)


@lab_group("experiment")
def experiment() -> None:
    """Compare models and settings, or run the experiments of the papers."""


for subcommand in (grid, context, qa, thesis, longsumeval, hamlet, chunk_size, booookscore, report):
    experiment.add_command(subcommand)
