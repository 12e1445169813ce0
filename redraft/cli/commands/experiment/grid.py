"""`redraft experiment grid`: compare models, strategies and ready-made summaries by any metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from redraft.cli import delivery, options
from redraft.cli.commands.experiment import contestants as common
from redraft.cli.presets import preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.domain import Document
    from redraft.lab.experiments.grid.experiment import GridDesign

_EPILOG = """\b
Examples:
  redraft experiment grid books/*.txt -m openai:a -m openai:b \\
      --judge openai:c --metric coverage --metric booookscore -o results
  redraft experiment grid books/*.txt -m openai:a --strategy hierarchical \\
      --strategy incremental --preset booookscore --judge openai:c --prefer
  redraft experiment grid book.txt -m extractive --words 100 --words 200
  redraft experiment grid books/*.txt -m openai:a --summaries people/

The systems are all combinations of models, strategies, chunk sizes and word
limits, and those with summaries in --summaries. Each judge judges separately.
The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to continue.
"""


@command(
    short_help="Find the model, strategy or setting that summarizes best.",
    epilog=_EPILOG,
    first=("model", "strategy", "words", "summaries", "metric", "judge", "max-cost", "dry-run", "output", "quiet"),
)
@options.sources
@common.models_that("summarizes")
@common.strategies
@common.words
@common.chunks
@options.writing_options
@options.until
@common.summaries
@options.typed_option("--refine", section="refining", is_flag=True, help="Also test each model with refinement.")
@options.goal_options
@options.metric_option
@options.rubric
@options.typed_option(
    "--prefer",
    section="judging",
    is_flag=True,
    help="Also ask the judges which of two summaries is better, in both orders.",
)
@options.typed_option(
    "--against",
    section="judging",
    metavar="CONTESTANT",
    help="Compare all others with this one only.  [default: every pair]",
)
@common.judges
@options.judge_base_url
@options.questions
@options.keyfact_options
@options.verdict_options
@preset_option
@delivery.writer_options
def grid(sources: tuple[str, ...], **given: Any) -> int:
    """Compare models, strategies, settings and existing summaries on SOURCEs, by any metrics.

    Shows scores with intervals, paired differences, preferences, lengths and cost, and how far several judges agree.
    """
    reading(*sources, quiet=given["quiet"])
    from redraft.lab.experiments.grid.tables import EXPERIMENT

    return delivery.compare_writers(EXPERIMENT, sources, _design, given)


def _design(given: Mapping[str, Any], documents: Sequence[Document]) -> GridDesign:
    from redraft.cli import given as asked
    from redraft.lab.experiments.grid.experiment import GridDesign, contestants
    from redraft.lab.experiments.sources import read_ready

    shared = common.alike(given)
    models = common.writers(shared)
    if given["goal"] and not given["refine"]:
        raise UsageError("--goal: nothing is refined", hint="add --refine, or leave it out")
    if given["refine"] and not models:
        raise UsageError("--refine: there is no model to refine with", hint="add --model NAME")
    if given["refine"] and given["until"]:
        raise UsageError("--until: refining uses the whole document", hint="leave out --until, or --refine")
    if not models and not (given["summaries"] and given["judge"]):
        raise UsageError(
            "there is nothing to compare", hint="name models with --model, or give --summaries and a --judge"
        )
    ready = read_ready(given["summaries"], documents)
    judges = tuple(given["judge"]) or tuple(one.name for one in models[:1])
    refinement = asked.refinement(given) if given["refine"] else None
    how = common.judging_of(given, judges)
    return GridDesign(
        contestants(
            models,
            tuple(dict.fromkeys(given["strategy"])),
            tuple(dict.fromkeys(given["chunk_tokens"])),
            tuple(dict.fromkeys(given["words"])) or (None,),
            refined=bool(refinement),
            ready=tuple(ready.systems),
        ),
        tuple(common.judge(shared, name) for name in dict.fromkeys(judges)),
        how.model_copy(update={"judges": (), "base_url": None}),
        refinement,
        how.model_copy(update={"judges": judges[:1]}),
        ready,
        prefers=given["prefer"],
        against=given["against"],
    )
