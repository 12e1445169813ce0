"""`redraft experiment hamlet`: how well models answer the queries of key-fact trees."""

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
    from redraft.lab.experiments.hamlet.experiment import HamletDesign


_judges = (
    "Model that finds the key facts and judges; may be repeated: further ones judge the same summaries, for comparison."
)
_full_text = "Also verify against the whole document, as FineSurE does."
_seed = "Choose other queries: a random one from each part of the document, instead of the middle one."

_EPILOG = """\b
Examples:
  redraft experiment hamlet book.txt --model openai:a -m openai:b \\
      --judge openai:c --queries 10 --max-cost 5 -o results
  redraft experiment hamlet book.txt -m openai:a --judge openai:c \\
      --preset hamlet
  redraft experiment hamlet book.txt -m openai:a --judge openai:c \\
      --judge openai:d --full-text -o results

The paper gives models the whole document at once: --strategy direct.
Written to DIR: report.md, tables.json, items.json, and each table as CSV.
The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to continue.
"""


@command(
    short_help="Measure how well models answer the queries of key-fact trees.",
    epilog=_EPILOG,
    first=(
        "queries",
        "strategy",
        "words",
        "model",
        "context-tokens",
        "judge",
        "max-cost",
        "dry-run",
        "output",
        "quiet",
    ),
)
@options.sources
@common.models_that("summarizes", required=True)
@options.of_field(JudgeConfig, "judges", required=True, help=_judges)
@options.judge_base_url
@options.perspective
@options.validator
@options.of_field(
    JudgeConfig,
    "keyfact_chunks",
    multiple=True,
    default=(JudgeConfig().keyfact_chunks,),
    help="Tokens of a chunk for key facts; N+ ends with the sentence begun (4000+); may be repeated, to compare sizes.",
)
@options.of_field(JudgeConfig, "keyfact_overlap")
@options.option("--full-text", section="judging", is_flag=True, help=_full_text)
@options.option(
    "--queries",
    section="summary",
    type=click.IntRange(min=1),
    metavar="N",
    help="Queries of each document, evenly spread.  [default: all]",
)
@options.option("--seed", section="summary", type=click.IntRange(min=0), metavar="N", help=_seed)
@options.strategy
@options.words
@options.chunk_tokens
@preset_option
@delivery.writer_options
def hamlet(sources: tuple[str, ...], **given: Any) -> int:
    """Have models answer the queries of SOURCEs' key-fact trees, and judge the answers by those trees.

    Each answer is a summary of the whole document. It is compared with the query's tree and chunk: recall and
    faithfulness by level, by perspective and by position (HAMLET). The first judge finds
    the key facts and gives the scores; further ones judge the same summaries, for comparison.
    """
    reading(*sources, quiet=given["quiet"])
    from redraft.lab.experiments.hamlet.tables import EXPERIMENT

    return delivery.compare_writers(EXPERIMENT, sources, lambda given, _: _design(given), given)


def _design(given: Mapping[str, Any]) -> HamletDesign:
    from redraft.cli import given as asked
    from redraft.lab.experiments.hamlet.experiment import HamletDesign

    judges = [common.judge(given, name) for name in dict.fromkeys(given["judge"])]
    return HamletDesign(
        models=common.writers(given),
        judge=judges[0],
        others=tuple(judges[1:]),
        full_text=given["full_text"],
        sizes=tuple(dict.fromkeys(given["keyfact_chunks"])),
        overlap=given["keyfact_overlap"] or 0,
        validator=given["validator"],
        own=asked.models_named(given),
        perspective=given["perspective"] or "both",
        queries=given["queries"],
        seed=given["seed"],
    )
