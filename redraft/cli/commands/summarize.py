"""`redraft summarize`, `evaluate` and `refine`: write a summary, judge one, and revise one until it meets its goals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options, parse_options
from redraft.cli.output_files import target
from redraft.cli.preset_option import preset_option
from redraft.cli.sections import SourceArgument, command
from redraft.errors import UsageError
from redraft.order import Evaluate, Refine, order_of_draft
from redraft.settings import EXTRACTIVE

if TYPE_CHECKING:
    from redraft.report.outputs.formats import Format


_SUMMARIZE_EPILOG = """\b
Examples:
  redraft summarize book.txt
  cat book.md | redraft summarize - -w 300 --json
  redraft summarize book.epub --chapters 3-12 --skip notes
  redraft summarize a.docx b.html c.md --words 500
  redraft summarize report.pdf --pages 10-80 --by-chapter -o summaries.md
  redraft summarize book.txt --query "Why does the bank fail?"
  redraft summarize book.txt -m openai:gpt-5-mini --max-cost 0.50 -o out.docx
  redraft summarize book.txt --refine -g coverage=0.8 -g consistency=0.9
  redraft summarize report.pdf --template form.md -o form.docx

Options on goals and judges need --refine: see `redraft refine --help`.
"""


@command(
    epilog=_SUMMARIZE_EPILOG,
    first=("words", "model", "refine", "goal", "judge", "max-cost", "dry-run", "output", "json", "quiet"),
)
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


_EVALUATE_EPILOG = """\b
Examples:
  redraft evaluate book.txt summary.md
  redraft evaluate book.txt summary.md --metric coverage --json
  redraft evaluate a.docx b.html summary.md
  redraft evaluate book.txt - -m openai:gpt-5-mini --repeat 3 < summary.md
  redraft evaluate book.txt summary.md --judge openai:a --judge openai:b
  redraft evaluate book.txt summary.md --metric keyfact_recall
  redraft evaluate book.txt summary.md --metric booookscore
  redraft evaluate book.txt summary.md --metric position --reference human.md
  redraft evaluate book.txt answer.md --metric faithfulness --query "Why ...?"

The exit code is 3 when a metric could not be judged, or the budget is used up.
"""


@command(
    epilog=_EVALUATE_EPILOG,
    first=("model", "metric", "judge", "repeat", "query", "max-cost", "dry-run", "all", "json", "quiet"),
)
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
    """Judge SUMMARY, a summary of SOURCE. One of them may be - for stdin."""
    quiet = values["quiet"]
    from redraft.cli.runner import carry_out

    settings, judging = parse_options.settings(values), parse_options.judging(values)
    parse_options.check_query(values, judging)
    text = parse_options.read_summary(sources, summary, quiet=quiet)
    if reference:
        judging = judging.model_copy(update={"reference": parse_options.read_text(reference, quiet=quiet)})
    order = Evaluate(settings=settings, judging=judging, given=text)
    return carry_out(parse_options.document_at(sources, values), order, values)


_REFINE_EPILOG = """\b
Examples:
  redraft refine book.txt summary.md
  redraft refine book.txt summary.md -g coverage=0.9 -g consistency=0.9
  redraft refine book.txt summary.md -m openai:gpt-5-mini -o better.md
  redraft refine book.txt summary.md -g keyfact_recall=0.5 -g faithfulness=0.9
  redraft refine book.txt summary.md -g booookscore=0.9 -g coverage=0.7
  redraft refine book.txt summary.md --request "Say how it ends."
  redraft refine book.txt summary.md --review
  redraft evaluate book.txt summary.md --json > findings.json
  redraft refine book.txt summary.md --findings findings.json

Without any --goal the goals are coverage=0.8 and consistency=0.85. The limit is
--words, or else the length of your summary. The exit code is 3 when a goal is
missed; the best draft is printed anyway.
"""


@command(
    epilog=_REFINE_EPILOG,
    first=("words", "model", "judge", "goal", "request", "rounds", "review", "max-cost", "dry-run", "output"),
)
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
    """Refine SUMMARY, a summary of SOURCE, until it meets its goals. One of them may be - for stdin."""
    quiet = values["quiet"]
    from redraft.cli.runner import carry_out

    to = target(output, form, as_json=values["as_json"])
    settings, refinement = parse_options.settings(values), parse_options.refinement(values)
    judging = parse_options.judging(values, refinement)
    if settings.query and settings.model == EXTRACTIVE:
        parse_options.check_query(values, judging, "the built-in model in a revision")
    review = refinement.review and not values["dry_run"]
    text = parse_options.read_summary(sources, summary, findings, review=review, quiet=quiet)
    to_fix = parse_options.findings_to_fix(findings, requests, settings.model)
    order = Refine(settings=settings, judging=judging, refinement=refinement, given=text, findings=to_fix)
    return carry_out(parse_options.document_at(sources, values), order, values, target=to)
