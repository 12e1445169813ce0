"""`redraft experiment longsumeval`: what refining by questions and answers gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import click

from redraft.cli import delivery, options
from redraft.cli.commands.experiment import contestants as common
from redraft.cli.presets import usual_preset
from redraft.cli.sections import command
from redraft.cli.terminal import reading
from redraft.errors import UsageError
from redraft.settings import RefineConfig

if TYPE_CHECKING:
    from redraft.domain import Document
    from redraft.lab.experiments.longsumeval import LongSumEvalDesign

_EPILOG = """\b
Examples:
  redraft experiment longsumeval books/*.txt -m openai:a -o results
  redraft experiment longsumeval books/*.txt -m openai:a \\
      --summaries systems/ --judge openai:b --max-cost 10 -o results
  redraft experiment longsumeval book.txt -m extractive \\
      --thresholds coverage=0.6,consistency=0.73 \\
      --thresholds coverage=0.8,consistency=0.85
  redraft experiment longsumeval book.txt -m openai:a --order paper \\
      --feedback questions --feedback findings --feedback generic

By default it follows the paper (--preset longsumeval): coverage first,
as in its algorithm, and consistency first, as in its conclusion (--order).
The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to continue.
"""


@command(
    short_help="Measure what refining by questions and answers gains.",
    epilog=_EPILOG,
    first=("model", "summaries", "judge", "thresholds", "order", "rounds", "max-cost", "dry-run", "output", "quiet"),
)
@options.sources
@common.models_that("summarizes")
@common.judges
@options.judge_base_url
@common.summaries
@options.typed_option(
    "--thresholds",
    section="refining",
    multiple=True,
    metavar="METRIC=X,...",
    default=("coverage=0.6,consistency=0.73",),
    help="Refine until these scores are met; may be repeated, to compare thresholds.",
)
@options.typed_option(
    "--order",
    "orders",
    section="refining",
    multiple=True,
    type=click.Choice(["paper", "consistency-first", "weakest-first", "all"]),
    default=("paper", "consistency-first"),
    help="What to fix first, as --policy of `redraft refine`; may be repeated, to compare policies.",
)
@options.of_field(
    RefineConfig,
    "feedback",
    multiple=True,
    help="What the reviser is told, as in `redraft refine`; may be repeated, to compare.  [default: questions with the"
    " order paper, else findings]",
)
@options.rounds
@options.free_length
@options.final_comparison
@options.typed_option(
    "--low",
    section="refining",
    metavar="METRIC=X,...",
    help="First drafts with a lower score also get a row of their own.  [default: the first --thresholds]",
)
@options.strategy
@options.words
@options.chunk_tokens
@options.questions
@options.keyfact_options
@options.verdict_options
@usual_preset("longsumeval")
@delivery.writer_options
def longsumeval(sources: tuple[str, ...], **given: Any) -> int:
    """Refine summaries of SOURCEs by questions and answers, and measure the gain (LongSumEval).

    The gain is shown by subset, initial score, round, threshold and order of the goals. The first drafts are the
    models' own, or those of --summaries.
    """
    reading(*sources, quiet=given["quiet"])
    from redraft.lab.experiments.longsumeval import EXPERIMENT

    return delivery.compare_writers(EXPERIMENT, sources, _design, given)


def _design(given: Mapping[str, Any], documents: Sequence[Document]) -> LongSumEvalDesign:
    from redraft.lab.experiments.longsumeval import LongSumEvalDesign
    from redraft.lab.experiments.sources import read_ready
    from redraft.settings import PolicyName

    writers = common.writers(given)
    if not writers:
        raise UsageError("there is no model to refine with", hint="name a model with --model")
    judge = common.only_judge(common.alike(given), writers)
    known = get_args(PolicyName)
    orders = tuple(order for order in dict.fromkeys(given["orders"]) if order in known)
    return LongSumEvalDesign(
        writers,
        judge,
        common.judging_of(given, (judge.name,)),
        tuple(_thresholds("--thresholds", words) for words in dict.fromkeys(given["thresholds"])),
        orders,
        given["rounds"],
        _thresholds("--low", given["low"]) if given["low"] else (),
        read_ready(given["summaries"], documents),
        tuple(dict.fromkeys(given["feedback"])),
        free_length=bool(given["free_length"]),
        final_comparison=given["final_comparison"] is not False,
    )


def _thresholds(option: str, words: str) -> tuple[tuple[str, float], ...]:
    """Scores by metric, as they are typed in a line."""
    found: list[tuple[str, float]] = []
    for word in words.split(","):
        metric, _, value = word.partition("=")
        try:
            found.append((metric.strip(), float(value)))
        except ValueError:
            raise UsageError(
                f"{option}: {word!r} is not a threshold", hint="write coverage=0.6,consistency=0.73"
            ) from None
    if len({metric for metric, _ in found}) < len(found) or not all(0 <= value <= 1 for _, value in found):
        raise UsageError(f"{option}: {words!r} names a metric twice, or a score that is not from 0 to 1")
    return tuple(found)
