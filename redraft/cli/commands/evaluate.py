"""`redraft evaluate`: how good a summary is, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import click

from redraft.cli import given as asked
from redraft.cli import options
from redraft.cli.presets import preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading
from redraft.settings import with_draft

_EPILOG = """\b
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
    epilog=_EPILOG, first=("model", "metric", "judge", "repeat", "query", "max-cost", "dry-run", "all", "json", "quiet")
)
@options.sources
@click.argument("summary")
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
    reading(*sources, summary, quiet=quiet)
    from redraft.cli.runner import carry_out
    from redraft.runs.prepare import RunSpec

    settings, judged = asked.settings(given), asked.judging(given)
    asked.check_query(given, judged)
    text = asked.draft(sources, summary, quiet=quiet)
    if reference:
        judged = judged.model_copy(update={"reference": asked.text(reference, quiet=quiet)})
    return carry_out(asked.document_at(sources, given), settings, RunSpec(with_draft(judged), given=text), given)
