"""`redraft summarize`, `evaluate` and `refine`: write a summary, judge one, and revise one until it meets its goals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from redraft.cli import options, parse_options
from redraft.cli.output_files import target
from redraft.cli.preset_option import preset_option
from redraft.cli.sections import SourceArgument, command
from redraft.errors import UsageError
from redraft.order import Evaluate, Refine, order_of_draft
from redraft.settings import EXTRACTIVE

if TYPE_CHECKING:
    from redraft.report.outputs.formats import Format


@command()
@options.sources
@options.drafting_options
@options.settings("by_chapter")
@options.refine_flag("Judge the summary, and refine it until it meets its goals.")
@options.refining_options
@options.judging_options
@preset_option
@options.asking_options
@options.summary_output
@options.typed_option(
    "--template",
    section="summary",
    metavar="FILE",
    help="Form to fill: Markdown headings such as '## Findings (120 words)', each with an instruction below.",
)
@options.store_options
def summarize(sources: tuple[str, ...], output: str | None, form: Format | None, **values: Any) -> int:
    """Summarize SOURCE: text, Markdown, HTML, EPUB, PDF, DOCX, ODT, RTF, or - for stdin.

    Several sources are read as one document; citations name the source.
    """
    from redraft.cli.runner import carry_out, fill_form

    to = target(output, form, as_json=values["as_json"])
    judging, refinement = parse_options.refined(values, "the summary")
    order = order_of_draft(judging, refinement, settings=parse_options.settings(values))
    if refinement and refinement.review and "-" in sources and not values["dry_run"]:
        raise UsageError("--review reads your answers from stdin", hint="give SOURCE as a file")
    if not values["template"]:
        return carry_out(parse_options.document_at(sources, values), order, values, target=to)

    from redraft.evaluators.catalog import evaluators
    from redraft.report.outputs.formats import read_template

    if order.settings.query is not None:
        hint = "each section of the template is a question"
        raise UsageError("--query cannot be combined with --template", hint=hint)
    if order.settings.by_chapter:
        raise UsageError("--by-chapter cannot be combined with --template", hint="leave one out")
    if refinement and refinement.review:
        raise UsageError("--review works on one summary, and a form has several", hint="leave it out")
    metrics = evaluators(judging) if judging else ()
    if of_whole_document := [metric.name for metric in metrics if metric.needs]:
        problem = f"{' and '.join(of_whole_document)} judges the whole document, and a section answers one question"
        raise UsageError(problem, hint="judge sections by a metric of their own text, such as -g consistency=0.9")
    text = parse_options.read_text(values["template"], quiet=True)
    template = read_template(text, values["template"], order.settings.words)
    return fill_form(parse_options.document_at(sources, values), template, order, values, to)


@command()
@options.sources
@click.argument("summary", cls=SourceArgument)
@options.settings("metrics", "query")
@options.judging_options
@options.settings("verify_against")
@options.option(
    "--reference",
    section="judging",
    metavar="FILE",
    help="Another summary of SOURCE, for comparison by --metric position.",
)
@preset_option
@options.asking_options
@options.show_all
@options.store_options
def evaluate(sources: tuple[str, ...], summary: str, reference: str | None, **values: Any) -> int:
    """Judge SUMMARY, a summary of SOURCE: a file, or a stored run. One of them may be - for stdin."""
    quiet = values["quiet"]
    from redraft.cli.runner import carry_out

    settings, judging = parse_options.settings(values), parse_options.judging(values)
    parse_options.check_query(values, judging)
    text = parse_options.read_summary(sources, summary, quiet=quiet)
    if reference:
        judging = judging.model_copy(update={"reference": parse_options.read_text(reference, quiet=quiet)})
    order = Evaluate(settings=settings, judging=judging, given=text)
    return carry_out(parse_options.document_at(sources, values), order, values)


@command()
@options.sources
@click.argument("summary", cls=SourceArgument)
@options.findings
@options.requests
@options.refining_options
@options.length_options
@options.judging_options
@preset_option
@options.asking_options
@options.summary_output
@options.store_options
def refine(
    sources: tuple[str, ...],
    summary: str,
    findings: str | None,
    requests: tuple[str, ...],
    output: str | None,
    form: Format | None,
    **values: Any,
) -> int:
    """Refine SUMMARY, a summary of SOURCE, until it meets its goals. It is a file, or a stored run.

    One of them may be - for stdin.
    """
    quiet = values["quiet"]
    from redraft.cli.runner import carry_out

    to = target(output, form, as_json=values["as_json"])
    if click.get_current_context().get_parameter_source("words") is ParameterSource.DEFAULT_MAP:
        # A settings file says how long drafts are; a given summary keeps its own length.
        values["words"] = None
    settings, refinement = parse_options.settings(values), parse_options.refinement(values)
    judging = parse_options.judging(values, refinement)
    if settings.query and settings.model == EXTRACTIVE:
        parse_options.check_query(values, judging, "the built-in model in a revision")
    review = refinement.review and not values["dry_run"]
    text = parse_options.read_summary(sources, summary, findings, review=review, quiet=quiet)
    to_fix = parse_options.findings_to_fix(findings, requests, settings.model)
    order = Refine(settings=settings, judging=judging, refinement=refinement, given=text, findings=to_fix)
    return carry_out(parse_options.document_at(sources, values), order, values, target=to)
