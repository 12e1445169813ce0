"""`redraft experiment context`: what summaries take from where, as a document is read further step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import delivery, options
from redraft.cli.commands.experiment import contestants as common
from redraft.cli.presets import preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading, say
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.domain import Document
    from redraft.lab.experiments.context.records import ContextDesign

_EPILOG = """\b
Examples:
  redraft experiment context book.txt -m openai:a -m openai:b \\
      --judge openai:c --until 10000:128000:10000 --max-cost 20 -o results
  redraft experiment context book.txt -m extractive --strategy hierarchical \\
      --strategy incremental --no-facts

The thesis gives models everything at once: --strategy direct.
The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to continue.
"""


@command(
    short_help="Measure what summaries keep as more of a document is read.",
    epilog=_EPILOG,
    first=("until", "strategy", "words", "reference", "model", "judge", "max-cost", "dry-run", "output", "quiet"),
)
@options.sources
@common.models_that("summarizes", required=True)
@options.typed_option(
    "--until",
    "steps",
    section="summary",
    metavar="START:STOP:STEP",
    help="How many tokens to read at each step: START:STOP:STEP, or N,N...  [default: 10000:128000:10000, or"
    " what a short document has]",
)
@options.typed_option(
    "--strategy",
    "strategies",
    section="summary",
    multiple=True,
    default=("hierarchical",),
    metavar="NAME",
    help="How summaries are drafted: hierarchical, incremental, direct; may be repeated.",
)
@options.typed_option(
    "--reference",
    section="summary",
    metavar="FILE",
    help="Somebody else's summary of SOURCE: the baseline, whose length the others have without --words.",
)
@options.typed_option(
    "--judge",
    section="judging",
    metavar="NAME",
    help="Model that splits summaries into facts and compares these.  [default: the first --model]",
)
@options.judge_base_url
@options.typed_option(
    "--facts/--no-facts", section="judging", default=True, help="Whether to compare facts, not just positions."
)
@options.typed_option(
    "--fact-threshold",
    section="judging",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="X",
    help="Facts with a higher similarity count as the same.  [default: the measure's own, 0.7 with --embeddings,"
    " else 0.5]",
)
@options.embeddings
@options.words
@options.chunk_tokens
@preset_option
@delivery.writer_options
def context(sources: tuple[str, ...], **given: Any) -> int:
    """Let models summarize SOURCEs as they read on: the first 10,000 tokens, the first 20,000, and so on.

    Each summary is mapped to where it comes from, and taken apart into facts. What matches from one step to the next,
    what is lost and what is new is shown by place, beside what an even spread would give (traceability thesis).
    """
    reading(*sources, quiet=given["quiet"])
    from redraft.lab.experiments.context.tables import EXPERIMENT

    return delivery.compare_writers(EXPERIMENT, sources, _design, given)


def _design(given: Mapping[str, Any], documents: Sequence[Document]) -> ContextDesign:
    from redraft.cli import given as asked
    from redraft.lab.experiments.context.records import ContextDesign, read_steps

    if given["reference"] and len(documents) != 1:
        raise UsageError("--reference: one document has a reference, not several", hint="give one SOURCE")
    writers = common.writers(given)
    design = ContextDesign(
        models=writers,
        judge=common.judge(given, given["judge"] or writers[0].name),
        strategies=tuple(dict.fromkeys(given["strategies"])),
        steps=read_steps(given["steps"]) if given["steps"] else None,
        words=given["words"],
        facts=given["facts"],
        threshold=given["fact_threshold"],
        embeddings=given["embeddings"],
        reference=asked.text(given["reference"], quiet=given["quiet"]) if given["reference"] else None,
    )
    for document in documents if not given["quiet"] else ():
        if note := design.course(document).note:
            say(f"note: {document.title} {note}")
    return design
