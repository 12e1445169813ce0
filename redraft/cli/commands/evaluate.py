"""`redraft evaluate` and `redraft refine`: judge a given summary, and revise it until it meets its goals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from redraft.cli import given as asked
from redraft.cli import options
from redraft.cli.options import preset_option
from redraft.cli.output_files import target
from redraft.cli.sections import SourceArgument, command
from redraft.settings import EXTRACTIVE, with_draft

if TYPE_CHECKING:
    from redraft.report.outputs.formats import Format


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
@options.metric_option
@options.query
@options.judging_options
@options.verify_against
@options.reference
@preset_option
@options.asking_options
@options.show_all
@options.store_options
def evaluate(sources: tuple[str, ...], summary: str, reference: str | None, **given: Any) -> int:
    """Judge SUMMARY, a summary of SOURCE. One of them may be - for stdin."""
    quiet = given["quiet"]
    from redraft.cli.runner import carry_out
    from redraft.runs.prepare import RunSpec

    settings, judged = asked.settings(given), asked.judging(given)
    asked.check_query(given, judged)
    text = asked.draft(sources, summary, quiet=quiet)
    if reference:
        judged = judged.model_copy(update={"reference": asked.text(reference, quiet=quiet)})
    return carry_out(asked.document_at(sources, given), settings, RunSpec(with_draft(judged), given=text), given)


_REFINE_EPILOG = """\b
Examples:
  redraft refine book.txt summary.md
  redraft refine book.txt summary.md -g coverage=0.9 -g consistency=0.9
  redraft refine book.txt summary.md -m openai:gpt-5-mini -o better.md
  redraft refine book.txt summary.md -g keyfact_recall=0.5 -g faithfulness=0.9
  redraft refine book.txt summary.md -g booookscore=0.9 -g coverage=0.7
  redraft refine book.txt summary.md --request "Say how it ends."
  redraft refine book.txt summary.md --review
  redraft lineage 3fa2 --lost --json > lost.json
  redraft refine book.txt summary.md --findings lost.json

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
    **given: Any,
) -> int:
    """Refine SUMMARY, a summary of SOURCE, until it meets its goals. One of them may be - for stdin."""
    quiet = given["quiet"]
    from redraft.cli.runner import carry_out
    from redraft.runs.prepare import RunSpec

    to = target(output, form, as_json=given["as_json"])
    settings, refinement = asked.settings(given), asked.refinement(given)
    purpose = with_draft(judged := asked.judging(given, refinement), refinement)
    if settings.query and settings.model == EXTRACTIVE:
        asked.check_query(given, judged, "the built-in model in a revision")
    review = refinement.review and not given["dry_run"]
    text = asked.draft(sources, summary, findings, review=review, quiet=quiet)
    order = RunSpec(purpose, given=text, findings=asked.findings(findings, requests, settings.model))
    return carry_out(asked.document_at(sources, given), settings, order, given, target=to)
