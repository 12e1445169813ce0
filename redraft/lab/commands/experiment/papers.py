"""The commands of experiments on documents. What each takes is in its order (`lab/experiments/orders.py`)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from redraft.cli import options
from redraft.cli.preset_option import preset_option, usual_preset
from redraft.cli.sections import Command, command
from redraft.lab.commands import delivery
from redraft.lab.commands.experiment import contestants as common
from redraft.lab.experiments.orders import (
    ChunkSizeOrder,
    ContextOrder,
    GridOrder,
    HamletOrder,
    LongSumEvalOrder,
    QaOrder,
)
from redraft.lab.extra import require_lab
from redraft.order import JUDGES_ADDRESS
from redraft.settings import JudgeConfig

Option = Callable[[Any], Any]
_EXIT = """\
The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to continue.
"""


def _experiment(
    module: str,
    text: str,
    *choices: Option,
    first: str,
    short_help: str,
    examples: str,
    preset: Option = preset_option,
    closing: Option = delivery.writer_options,
) -> Command:
    """Create the command of the experiment in a module."""
    name = module.replace("_", "-")

    @options.grouped(options.sources, *choices, preset, closing)
    def run(sources: tuple[str, ...], **values: Any) -> int:
        require_lab(f"redraft experiment {name}")
        experiment = import_module(f"redraft.lab.experiments.{module}").EXPERIMENT
        corpus = common.read_corpus(values, sources)
        return delivery.carry_out(
            experiment, corpus.documents, experiment.design(common.asked_of(values, corpus)), values
        )

    about = {"help": text, "short_help": short_help, "epilog": f"\b\nExamples:\n{examples}"}
    return command(name, first=first.split(), **about)(run)


grid = _experiment(
    "grid",
    "Compare models, strategies, settings and existing summaries on SOURCEs, by any metrics.\n\n"
    "Shows scores with intervals, paired differences, preferences, lengths and cost, and how far several judges "
    "agree.",
    common.models_that("summarizes"),
    common.order_options(GridOrder),
    options.writing_options,
    options.settings("until"),
    common.summaries,
    options.settings("metrics"),
    options.rubric,
    common.judges,
    options.settings(JUDGES_ADDRESS),
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


longsumeval = _experiment(
    "longsumeval",
    "Refine summaries of SOURCEs by questions and answers, and measure the gain (LongSumEval).\n\n"
    "The gain is shown by subset, round, threshold and order of the goals. The first drafts are the models' own, "
    "or those of --summaries.",
    common.models_that("summarizes"),
    common.judges,
    options.settings(JUDGES_ADDRESS),
    common.summaries,
    common.order_options(LongSumEvalOrder),
    options.settings("strategy", "words", "chunk_tokens"),
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


hamlet = _experiment(
    "hamlet",
    "Have models answer the queries of SOURCEs' key-fact trees, and judge the answers by those trees.\n\n"
    "Each answer is a summary of the whole document. It is compared with the query's tree and chunk: recall and "
    "faithfulness by level, by perspective and by position (HAMLET). The first judge finds the key facts and "
    "gives the scores; further ones judge the same summaries, for comparison.",
    common.models_that("summarizes", required=True),
    options.of_field(
        JudgeConfig,
        "judges",
        required=True,
        help="Model that finds the key facts and judges; may be repeated: further ones judge the same summaries, for"
        " comparison.",
    ),
    options.settings(JUDGES_ADDRESS),
    common.order_options(HamletOrder),
    options.settings("strategy", "words", "chunk_tokens"),
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


def _by_step(does: str, judges: str, order_choices: Option) -> Option:
    """Return the options of an experiment that reads more and more of a document; `judges` says what the judge does."""
    return options.grouped(
        common.models_that(does, required=True),
        options.of_field(JudgeConfig, "judges", help=f"Model that {judges}.  [default: the first --model]"),
        options.settings(JUDGES_ADDRESS),
        common.corpus_options,
        order_choices,
        options.settings("chunk_tokens"),
    )


context = _experiment(
    "context",
    "Have models summarize the first 10,000 tokens of SOURCEs, the first 20,000, and so on.\n\n"
    "Each summary is traced to its sources and split into facts. The tables show, by place in the document, what "
    "is kept from one step to the next, what is lost and what is new, compared with an even spread (traceability "
    "thesis).",
    _by_step("summarizes", "splits summaries into facts and compares these", common.order_options(ContextOrder)),
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


qa = _experiment(
    "qa",
    "Ask models questions of four types about SOURCEs while they read more and more of them.\n\n"
    "Questions are made from paragraphs of each third, with reference answers: abstractive, extractive, yes or no "
    "with a reason, and unanswerable. A model that has not read the paragraph yet is right to say so.",
    _by_step("answers", "asks the questions and judges the answers", common.order_options(QaOrder)),
    short_help="Measure how models answer questions by type, place and length.",
    first="model judge until strategy per-third at-once max-cost dry-run output quiet",
    examples="""\
  redraft experiment qa book.txt -m openai:a -m openai:b --judge openai:c
  redraft experiment qa book.txt -m openai:a --until 1000:8000:1000 -o out
  redraft experiment qa book.txt -m openai:a --judge openai:c \\
      --strategy direct --strategy hierarchical

--questions-of DIR asks those of an earlier experiment again.
Written to DIR: report.md, tables.json, the items, each table as CSV
and the pictures. The exit code is 3 when something is missing: repeat the
command, with a higher limit, to continue.
""",
)


thesis = _experiment(
    "thesis",
    "Have models summarize SOURCEs and answer questions about them as they read more and more (traceability "
    "thesis).\n\n"
    "These are `redraft experiment context` and `redraft experiment qa` on the same documents, within the same "
    "limits, with all their tables. --preset thesis uses the settings of the thesis.",
    _by_step(
        "summarizes and answers",
        "compares facts, asks the questions and judges the answers",
        common.order_options(QaOrder, ContextOrder),
    ),
    short_help="Run the experiments context and qa together.",
    first="model judge until reference by-source preset max-cost dry-run output quiet",
    examples=f"""\
  redraft experiment thesis booksum.jsonl xsum.jsonl -m openai:a -m openai:b \\
      --judge openai:c --preset thesis --max-cost 50 -o results
  redraft experiment thesis book.txt -m openai:a --judge openai:c -o results

{_EXIT}""",
)


chunk_size = _experiment(
    "chunk_size",
    "Ask judges how suitable chunks of SOURCEs of several sizes are for finding key facts.",
    options.required_judges,
    options.settings(JUDGES_ADDRESS),
    common.order_options(ChunkSizeOrder, without=("context_tokens",)),
    options.window_option("what the largest size needs"),
    options.settings("temperature", "prompts", "replies"),
    closing=options.grouped(options.dry_run, delivery.run_options),
    short_help="Measure which chunk size suits key facts best.",
    first="sizes sample judge context-tokens dry-run max-calls max-cost output json quiet",
    examples=f"""\
  redraft experiment chunk-size book.txt --judge openai:a --judge openai:b
  redraft experiment chunk-size *.txt --judge openai:a --sizes 1024,2048

{_EXIT}""",
)
