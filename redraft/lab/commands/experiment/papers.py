"""The commands of experiments on documents: their options, and the designs made from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args

import click

from redraft.cli import options
from redraft.cli.options import preset_option, usual_preset
from redraft.cli.sections import Command, command
from redraft.cli.terminal import say
from redraft.errors import UsageError
from redraft.lab.commands import delivery
from redraft.lab.commands.experiment import contestants as common
from redraft.lab.extra import require_lab
from redraft.settings import JudgeConfig, RefineConfig

if TYPE_CHECKING:
    from redraft.lab.experiments.chunk_size import ChunkSizeDesign
    from redraft.lab.experiments.context import ContextDesign
    from redraft.lab.experiments.grid import GridDesign
    from redraft.lab.experiments.hamlet import HamletDesign
    from redraft.lab.experiments.longsumeval import LongSumEvalDesign
    from redraft.lab.experiments.qa import QaDesign
    from redraft.lab.experiments.sources import Corpus
    from redraft.lab.experiments.thesis import ThesisDesign

Given = Mapping[str, Any]
Option = Callable[[Any], Any]
_EXIT = """\
The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to continue.
"""
_MIN_SIZE = 64


def _experiment(
    module: str,
    design: Callable[[Given, Corpus], Any],
    *choices: Option,
    first: str,
    short_help: str,
    examples: str,
    preset: Option = preset_option,
    closing: Option = delivery.writer_options,
    name: str | None = None,
) -> Command:
    """Create the command of the experiment in a module. The docstring of `design`, which makes the design from what was
    given and from the documents, is its help."""

    @options.grouped(options.sources, *choices, preset, closing)
    def run(sources: tuple[str, ...], **given: Any) -> int:
        require_lab(f"redraft experiment {name or module.partition('.')[0]}")
        experiment = import_module(f"redraft.lab.experiments.{module}").EXPERIMENT
        corpus = common.corpus(given, sources)
        return delivery.carry_out(experiment, corpus.documents, design(given, corpus), given)

    about = {"help": design.__doc__, "short_help": short_help, "epilog": f"\b\nExamples:\n{examples}"}
    return command(name or module.partition(".")[0], first=first.split(), **about)(run)


def _grid(given: Given, corpus: Corpus) -> GridDesign:
    """Compare models, strategies, settings and existing summaries on SOURCEs, by any metrics.

    Shows scores with intervals, paired differences, preferences, lengths and cost, and how far several judges agree.
    """
    from redraft.lab.experiments.grid import GridDesign, contestants
    from redraft.lab.experiments.sources import read_existing_summaries

    shared = common.alike(given)
    models = common.writers(shared)
    if not models and not (given["summaries"] and given["judge"]):
        raise UsageError(
            "there is nothing to compare", hint="name models with --model, or give --summaries and a --judge"
        )
    ready = read_existing_summaries(given["summaries"], corpus.documents)
    judges = tuple(given["judge"]) or tuple(model.name for model in models[:1])
    return GridDesign(
        contestants(
            models,
            common.once(given["strategy"]),
            common.once(given["chunk_tokens"]),
            common.once(given["words"]) or (None,),
            ready=tuple(ready.systems),
        ),
        tuple(common.judge(shared, name) for name in dict.fromkeys(judges)),
        common.judging_of(given, judges).model_copy(update={"judges": (), "base_url": None}),
        ready,
        prefers=given["prefer"],
    )


grid = _experiment(
    "grid",
    _grid,
    common.models_that("summarizes"),
    common.strategies_of("hierarchical", environment=True),
    common.words,
    common.chunks,
    options.writing_options,
    options.until,
    common.summaries,
    options.metric_option,
    options.rubric,
    options.typed_option(
        "--prefer",
        section="judging",
        is_flag=True,
        help="Also ask the judges which of two summaries is better, in both orders.",
    ),
    common.judges,
    options.judge_base_url,
    options.questions,
    options.keyfact_options,
    options.verdict_options,
    short_help="Find the model, strategy or setting that summarizes best.",
    first="model strategy words summaries metric judge max-cost dry-run output quiet",
    examples=f"""\
  redraft experiment grid books/*.txt -m openai:a -m openai:b \\
      --judge openai:c --metric coverage --metric booookscore -o results
  redraft experiment grid books/*.txt -m openai:a --strategy hierarchical \\
      --strategy incremental --preset booookscore --judge openai:c --prefer
  redraft experiment grid book.txt -m extractive --words 100 --words 200
  redraft experiment grid books/*.txt -m openai:a --summaries people/

The systems are all combinations of models, strategies, chunk sizes and word
limits, and those with summaries in --summaries. Each judge judges separately.
{_EXIT}""",
)


def _longsumeval(given: Given, corpus: Corpus) -> LongSumEvalDesign:
    """Refine summaries of SOURCEs by questions and answers, and measure the gain (LongSumEval).

    The gain is shown by subset, round, threshold and order of the goals. The first drafts are the
    models' own, or those of --summaries.
    """
    from redraft.lab.experiments.longsumeval import LongSumEvalDesign
    from redraft.lab.experiments.sources import read_existing_summaries
    from redraft.settings import PolicyName

    writers = common.writers(given)
    if not writers:
        raise UsageError("there is no model to refine with", hint="name a model with --model")
    judge = common.only_judge(common.alike(given), writers)
    known = get_args(PolicyName)
    return LongSumEvalDesign(
        writers,
        judge,
        common.judging_of(given, (judge.name,)),
        tuple(_thresholds("--thresholds", words) for words in dict.fromkeys(given["thresholds"])),
        tuple(order for order in common.once(given["orders"]) if order in known),
        given["rounds"],
        _thresholds("--low", given["low"]) if given["low"] else {},
        read_existing_summaries(given["summaries"], corpus.documents),
        common.once(given["feedback"]),
        free_length=bool(given["free_length"]),
    )


def _thresholds(option: str, words: str) -> dict[str, float]:
    """Return the scores by metric, as they are typed in a line."""
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
    return dict(found)


longsumeval = _experiment(
    "longsumeval",
    _longsumeval,
    common.models_that("summarizes"),
    common.judges,
    options.judge_base_url,
    common.summaries,
    options.typed_option(
        "--thresholds",
        section="refining",
        multiple=True,
        metavar="METRIC=X,...",
        default=("coverage=0.6,consistency=0.73",),
        help="Refine until these scores are met; may be repeated, to compare thresholds.",
    ),
    options.typed_option(
        "--order",
        "orders",
        section="refining",
        multiple=True,
        type=click.Choice(["paper", "editor"]),
        default=("paper", "editor"),
        help="How to revise, as --policy of `redraft refine`; may be repeated, to compare policies.",
    ),
    options.of_field(
        RefineConfig,
        "feedback",
        multiple=True,
        help="What the reviser is told, as in `redraft refine`; may be repeated, to compare.  [default: questions with"
        " the order paper, else findings]",
    ),
    options.rounds,
    options.free_length,
    options.typed_option(
        "--low",
        section="refining",
        metavar="METRIC=X,...",
        help="First drafts with a lower score also get a row of their own.  [default: the first --thresholds]",
    ),
    options.strategy,
    options.words,
    options.chunk_tokens,
    options.questions,
    options.keyfact_options,
    options.verdict_options,
    preset=usual_preset("longsumeval"),
    short_help="Measure what refining by questions and answers gains.",
    first="model summaries judge thresholds order rounds max-cost dry-run output quiet",
    examples=f"""\
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
{_EXIT}""",
)


def _hamlet(given: Given, _: Corpus) -> HamletDesign:
    """Have models answer the queries of SOURCEs' key-fact trees, and judge the answers by those trees.

    Each answer is a summary of the whole document. It is compared with the query's tree and chunk: recall and
    faithfulness by level, by perspective and by position (HAMLET). The first judge finds
    the key facts and gives the scores; further ones judge the same summaries, for comparison.
    """
    from redraft.cli import parse_options
    from redraft.lab.experiments.hamlet import HamletDesign

    judges = [common.judge(given, name) for name in dict.fromkeys(given["judge"])]
    return HamletDesign(
        models=common.writers(given),
        judge=judges[0],
        others=tuple(judges[1:]),
        sizes=common.once(given["keyfact_chunks"]),
        overlap=given["keyfact_overlap"] or 0,
        own=parse_options.named_models(given),
        perspective=given["perspective"] or "both",
        **{name: given[name] for name in ("full_text", "validator", "queries", "seed")},
    )


hamlet = _experiment(
    "hamlet",
    _hamlet,
    common.models_that("summarizes", required=True),
    options.of_field(
        JudgeConfig,
        "judges",
        required=True,
        help="Model that finds the key facts and judges; may be repeated: further ones judge the same summaries, for"
        " comparison.",
    ),
    options.judge_base_url,
    options.perspective,
    options.validator,
    options.of_field(
        JudgeConfig,
        "keyfact_chunks",
        multiple=True,
        default=(JudgeConfig().keyfact_chunks,),
        help="Tokens of a chunk for key facts; N+ also completes the last sentence (4000+); may be repeated, to compare"
        " sizes.",
    ),
    options.of_field(JudgeConfig, "keyfact_overlap"),
    options.option(
        "--full-text", section="judging", is_flag=True, help="Also verify against the whole document, as FineSurE does."
    ),
    options.option(
        "--queries",
        section="summary",
        type=click.IntRange(min=1),
        metavar="N",
        help="Queries of each document, evenly spread.  [default: all]",
    ),
    options.option(
        "--seed",
        section="summary",
        type=click.IntRange(min=0),
        metavar="N",
        found="yes",
        help="Choose other queries: a random one from each part of the document, instead of the middle one.",
    ),
    options.strategy,
    options.words,
    options.chunk_tokens,
    short_help="Measure how well models answer the queries of key-fact trees.",
    first="queries strategy words model context-tokens judge max-cost dry-run output quiet",
    examples=f"""\
  redraft experiment hamlet book.txt --model openai:a -m openai:b \\
      --judge openai:c --queries 10 --max-cost 5 -o results
  redraft experiment hamlet book.txt -m openai:a --judge openai:c \\
      --preset hamlet
  redraft experiment hamlet book.txt -m openai:a --judge openai:c \\
      --judge openai:d --full-text -o results

The paper gives models the whole document at once: --strategy direct.
Written to DIR: report.md, tables.json, items.json, and each table as CSV.
{_EXIT}""",
)


def _context(given: Given, corpus: Corpus) -> ContextDesign:
    """Have models summarize the first 10,000 tokens of SOURCEs, the first 20,000, and so on.

    Each summary is traced to its sources and split into facts. The tables show, by place in the document, what is kept
    from one step to the next, what is lost and what is new, compared with an even spread (traceability thesis).
    """
    from redraft.lab.experiments.context import ContextDesign

    own = {name: given[name] for name in ("facts", "places")}
    design = ContextDesign(threshold=given["fact_threshold"], **common.stepwise(given, corpus), **own).complete()
    for document in corpus.documents if not given["quiet"] else ():
        if note := design.step_plan(document).note:
            say(f"note: {document.title} {note}")
    return design


_measuring = options.grouped(
    options.typed_option(
        "--places",
        section="judging",
        type=click.Choice(["lineage", "tfidf", "embeddings"]),
        default="lineage",
        help="Where a sentence comes from: by the lineage map; or, as in the thesis, the most similar paragraph by"
        " TF-IDF or --embeddings.",
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


def _by_step(does: str, judges: str, strategies: Option, *own: Option) -> Option:
    """Return the options of an experiment that reads more and more of a document; `judges` says what the judge does."""
    return options.grouped(
        common.models_that(does, required=True),
        options.of_field(JudgeConfig, "judges", help=f"Model that {judges}.  [default: the first --model]"),
        options.judge_base_url,
        common.sets,
        common.steps,
        strategies,
        common.reference,
        *own,
        options.embeddings,
        options.words,
        options.chunk_tokens,
    )


context = _experiment(
    "context",
    _context,
    _by_step(
        "summarizes", "splits summaries into facts and compares these", common.strategies_of("hierarchical"), _measuring
    ),
    short_help="Measure what summaries keep as more of a document is read.",
    first="until strategy words reference model judge max-cost dry-run output quiet",
    examples=f"""\
  redraft experiment context book.txt -m openai:a -m openai:b \\
      --judge openai:c --until 10000:128000:10000 --max-cost 20 -o results
  redraft experiment context book.txt -m extractive --strategy hierarchical \\
      --strategy incremental --no-facts

The thesis gives models everything at once: --strategy direct.
{_EXIT}""",
)


def _qa(given: Given, corpus: Corpus) -> QaDesign:
    """Ask models questions of four types about SOURCEs while they read more and more of them.

    Questions are made from paragraphs of each third, with reference answers: abstractive, extractive, yes or no with a
    reason, and unanswerable. A model that has not read the paragraph yet is right to say so.
    """
    from redraft.lab.experiments.qa import QaDesign

    own = {name: given[name] for name in ("per_third", "at_once", "similarity") if given[name] is not None}
    return QaDesign(**common.stepwise(given, corpus), **own)


_asking = options.grouped(
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
)
"""How questions are asked, and answers compared."""
qa = _experiment(
    "qa",
    _qa,
    _by_step(
        "answers",
        "asks the questions and judges the answers",
        common.strategies_of(
            "direct",
            "What models answer from: everything that was read (direct), or their own summary of it (hierarchical,"
            " incremental); may be repeated.",
        ),
        _asking,
    ),
    short_help="Measure how models answer questions by type, place and length.",
    first="model judge until strategy per-third at-once max-cost dry-run output quiet",
    examples="""\
  redraft experiment qa book.txt -m openai:a -m openai:b --judge openai:c
  redraft experiment qa book.txt -m openai:a --until 1000:8000:1000 -o out
  redraft experiment qa book.txt -m openai:a --judge openai:c \\
      --strategy direct --strategy hierarchical

Questions are written once, and kept in the document's pack; see `redraft pack`.
Written to DIR: report.md, tables.json, the items, each table as CSV
and the pictures. The exit code is 3 when something is missing: repeat the
command, with a higher limit, to continue.
""",
)


def _thesis(given: Given, corpus: Corpus) -> ThesisDesign:
    """Have models summarize SOURCEs and answer questions about them as they read more and more (traceability thesis).

    These are `redraft experiment context` and `redraft experiment qa` on the same documents, within the same limits,
    with all their tables. --preset thesis uses the settings of the thesis.
    """
    from redraft.lab.experiments.thesis import ThesisDesign

    return ThesisDesign(_context(given, corpus), _qa(given, corpus))


thesis = _experiment(
    "thesis",
    _thesis,
    _by_step(
        "summarizes and answers",
        "compares facts, asks the questions and judges the answers",
        common.strategies_of("direct"),
        _measuring,
        _asking,
    ),
    short_help="Run the experiments context and qa together.",
    first="model judge until reference by-source preset max-cost dry-run output quiet",
    examples=f"""\
  redraft experiment thesis booksum.jsonl xsum.jsonl -m openai:a -m openai:b \\
      --judge openai:c --preset thesis --max-cost 50 -o results
  redraft experiment thesis book.txt -m openai:a --judge openai:c -o results

{_EXIT}""",
)


def _chunk_size(given: Given, _: Corpus) -> ChunkSizeDesign:
    """Ask judges how suitable chunks of SOURCEs of several sizes are for finding key facts."""
    from redraft.lab.experiments.chunk_size import ChunkSizeDesign

    how = common.reading_of(given, given["judge"])
    return ChunkSizeDesign(sizes=_sizes(given["sizes"]), sample=given["chunks"], seed=given["seed"], **how)


def _sizes(words: str) -> tuple[int, ...]:
    try:
        sizes = tuple(sorted({int(word) for word in words.split(",")}))
    except ValueError:
        raise UsageError(f"--sizes: {words!r} is not a list of sizes", hint="write them as 1024,2048") from None
    if sizes[0] < _MIN_SIZE:
        raise UsageError(f"--sizes: a chunk of {sizes[0]} tokens is too small", hint=f"use {_MIN_SIZE} or more")
    return sizes


chunk_size = _experiment(
    "chunk_size",
    _chunk_size,
    options.required_judges,
    options.judge_base_url,
    options.typed_option(
        "--sizes",
        section="summary",
        default="1024,2048,4096,8192",
        metavar="N,N...",
        help="Chunk sizes to compare, in tokens.",
    ),
    common.count(
        "--sample", "summary", "Maximum number of chunks per size, drawn at random from all SOURCEs.", 100, at="chunks"
    ),
    options.typed_option(
        "--seed", section="summary", type=int, default=0, metavar="N", help="Seed of the random draw."
    ),
    options.window_option("what the largest size needs"),
    options.temperature,
    options.prompt_set,
    options.replies,
    name="chunk-size",
    closing=options.grouped(options.dry_run, delivery.run_options),
    short_help="Measure which chunk size suits key facts best.",
    first="sizes sample judge context-tokens dry-run max-calls max-cost output json quiet",
    examples=f"""\
  redraft experiment chunk-size book.txt --judge openai:a --judge openai:b
  redraft experiment chunk-size *.txt --judge openai:a --sizes 1024,2048

{_EXIT}""",
)
