"""`redraft experiment qa`: how well models answer questions by type, place and length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import delivery, options
from redraft.cli.commands.experiment import contestants as common
from redraft.cli.presets import preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading
from redraft.settings import JudgeConfig

if TYPE_CHECKING:
    from redraft.lab.experiments.qa.experiment import QaDesign
    from redraft.lab.experiments.sources import Corpus

_EPILOG = """\b
Examples:
  redraft experiment qa book.txt -m openai:a -m openai:b --judge openai:c
  redraft experiment qa book.txt -m openai:a --until 1000:8000:1000 -o out
  redraft experiment qa book.txt -m openai:a --judge openai:c \\
      --strategy direct --strategy hierarchical

Questions are written once, and kept in the document's pack; see `redraft pack`.
Written to DIR: report.md, tables.json, the items, each table as CSV
and the pictures. The exit code is 3 when something is missing: repeat the
command, with a higher limit, to continue.
"""


asking = options.grouped(
    common.count("--per-third", "judging", "Questions of each type about each third of the document.", 1, most=100),
    common.count(
        "--at-once",
        "summary",
        "Questions per request: more cost less, but one may give away another's answer.",
        1,
        most=100,
    ),
    options.of_field(
        JudgeConfig,
        "similarity",
        type=click.Choice(["exact", "rouge1", "cosine"]),
        help="How answers are compared with their references; cosine needs --embeddings.  [default: rouge1]",
    ),
    options.of_field(JudgeConfig, "threshold"),
)
"""How questions are asked, and answers compared."""


@command(
    short_help="Measure how models answer questions by type, place and length.",
    epilog=_EPILOG,
    first=("model", "judge", "until", "strategy", "per-third", "at-once", "max-cost", "dry-run", "output", "quiet"),
)
@options.sources
@common.models_that("answers", required=True)
@options.of_field(
    JudgeConfig, "judges", help="Model that asks the questions and judges the answers.  [default: the first --model]"
)
@options.judge_base_url
@common.sets
@common.steps
@common.strategies_of(
    "direct",
    "What models answer from: everything that was read (direct), or their own summary of it (hierarchical,"
    " incremental); may be repeated.",
)
@common.reference
@asking
@options.embeddings
@options.words
@options.chunk_tokens
@preset_option
@delivery.writer_options
def qa(sources: tuple[str, ...], **given: Any) -> int:
    """Ask models questions of four types about SOURCEs while they read more and more of them.

    Questions are made from paragraphs of each third, with reference answers: abstractive, extractive, yes or no with a
    reason, and unanswerable. A model that has not read the paragraph yet is right to say so.
    """
    reading(*sources, quiet=given["quiet"])
    from redraft.lab.experiments.qa.tables import EXPERIMENT

    corpus = common.corpus(given, sources)
    return delivery.carry_out(EXPERIMENT, corpus.documents, design_of(given, corpus), given)


def design_of(given: Mapping[str, Any], corpus: Corpus) -> QaDesign:
    """The experiment that the options describe."""
    from redraft.lab.experiments.context.records import read_steps
    from redraft.lab.experiments.qa.experiment import QaDesign

    writers = common.writers(given)
    return QaDesign(
        models=writers,
        judge=common.only_judge(given, writers),
        strategies=tuple(dict.fromkeys(given["strategy"])),
        words=given["words"],
        steps=read_steps(given["steps"]) if given["steps"] else None,
        per_third=given["per_third"],
        at_once=given["at_once"],
        similarity=given["similarity"] or "rouge1",
        threshold=0.6 if given["threshold"] is None else given["threshold"],
        embeddings=given["embeddings"],
        references=corpus.references,
        sets=corpus.sets,
    )
