"""`redraft experiment context`: what summaries take from where, as a document is read further step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import delivery, options
from redraft.cli.commands.experiment import contestants as common
from redraft.cli.presets import preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading, say
from redraft.errors import UsageError
from redraft.settings import JudgeConfig

if TYPE_CHECKING:
    from redraft.lab.experiments.context.records import ContextDesign
    from redraft.lab.experiments.sources import Corpus

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


measuring = options.grouped(
    options.typed_option(
        "--places",
        section="judging",
        type=click.Choice(["lineage", "tfidf", "embeddings"]),
        default="lineage",
        help="Where a sentence comes from: by the lineage map; or, as in the thesis, the most similar paragraph by"
        " TF-IDF or --embeddings, beside lineage.",
    ),
    options.typed_option(
        "--facts/--no-facts", section="judging", default=True, help="Whether to compare facts, not just positions."
    ),
    options.typed_option(
        "--fact-threshold",
        section="judging",
        type=click.FloatRange(0, 1, max_open=True),
        metavar="X",
        help="Facts with a higher similarity count as the same.  [default: the measure's own, 0.7 with --embeddings,"
        " else 0.5]",
    ),
)
"""How places and facts are found and compared."""


@command(
    short_help="Measure what summaries keep as more of a document is read.",
    epilog=_EPILOG,
    first=("until", "strategy", "words", "reference", "model", "judge", "max-cost", "dry-run", "output", "quiet"),
)
@options.sources
@common.models_that("summarizes", required=True)
@common.sets
@common.steps
@common.strategies_of("hierarchical")
@common.reference
@options.of_field(
    JudgeConfig,
    "judges",
    help="Model that splits summaries into facts and compares these.  [default: the first --model]",
)
@options.judge_base_url
@measuring
@options.embeddings
@options.words
@options.chunk_tokens
@preset_option
@delivery.writer_options
def context(sources: tuple[str, ...], **given: Any) -> int:
    """Have models summarize the first 10,000 tokens of SOURCEs, the first 20,000, and so on.

    Each summary is traced to its sources and split into facts. The tables show, by place in the document, what is kept
    from one step to the next, what is lost and what is new, compared with an even spread (traceability thesis).
    """
    reading(*sources, quiet=given["quiet"])
    from redraft.lab.experiments.context.tables import EXPERIMENT

    corpus = common.corpus(given, sources)
    return delivery.carry_out(EXPERIMENT, corpus.documents, design_of(given, corpus), given)


def design_of(given: Mapping[str, Any], corpus: Corpus) -> ContextDesign:
    """The experiment that the options describe."""
    from redraft.lab.experiments.context.records import ContextDesign, read_steps

    if given["places"] == "embeddings" and not given["embeddings"]:
        raise UsageError("--places embeddings needs an embedding model", hint="name one with --embeddings")
    writers = common.writers(given)
    design = ContextDesign(
        models=writers,
        judge=common.only_judge(given, writers),
        strategies=tuple(dict.fromkeys(given["strategy"])),
        steps=read_steps(given["steps"]) if given["steps"] else None,
        words=given["words"],
        facts=given["facts"],
        threshold=given["fact_threshold"],
        embeddings=given["embeddings"],
        places=given["places"],
        references=corpus.references,
        sets=corpus.sets,
    )
    for document in corpus.documents if not given["quiet"] else ():
        if note := design.course(document).note:
            say(f"note: {document.title} {note}")
    return design
