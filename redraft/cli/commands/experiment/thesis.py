"""`redraft experiment thesis`: the traceability thesis's experiments in one run."""

from __future__ import annotations

from typing import Any

from redraft.cli import delivery, options
from redraft.cli.commands.experiment import contestants as common
from redraft.cli.commands.experiment import context, qa
from redraft.cli.presets import preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading
from redraft.settings import JudgeConfig

_EPILOG = """\b
Examples:
  redraft experiment thesis booksum.jsonl xsum.jsonl -m openai:a -m openai:b \\
      --judge openai:c --preset thesis --max-cost 50 -o results
  redraft experiment thesis book.txt -m openai:a --judge openai:c -o results

The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to continue.
"""


@command(
    short_help="Run the experiments context and qa together.",
    epilog=_EPILOG,
    first=("model", "judge", "until", "reference", "by-source", "preset", "max-cost", "dry-run", "output", "quiet"),
)
@options.sources
@common.models_that("summarizes and answers", required=True)
@options.of_field(
    JudgeConfig,
    "judges",
    help="Model that compares facts, asks the questions and judges the answers.  [default: the first --model]",
)
@options.judge_base_url
@common.sets
@common.steps
@common.strategies_of("direct")
@common.reference
@context.measuring
@qa.asking
@options.embeddings
@options.words
@options.chunk_tokens
@preset_option
@delivery.writer_options
def thesis(sources: tuple[str, ...], **given: Any) -> int:
    """Have models summarize SOURCEs and answer questions about them as they read more and more (traceability thesis).

    These are `redraft experiment context` and `redraft experiment qa` on the same documents, within the same limits,
    with all their tables. --preset thesis uses the settings of the thesis.
    """
    reading(*sources, quiet=given["quiet"])
    from redraft.lab.experiments.thesis import EXPERIMENT, ThesisDesign

    corpus = common.corpus(given, sources)
    design = ThesisDesign(context.design_of(given, corpus), qa.design_of(given, corpus))
    return delivery.carry_out(EXPERIMENT, corpus.documents, design, given)
