"""The commands of experiments on documents. What each takes is in its order (`lab/experiments/orders.py`)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from redraft.cli import options
from redraft.cli.preset_option import preset_option, usual_preset
from redraft.cli.sections import Command
from redraft.lab.commands import delivery
from redraft.lab.commands.delivery import lab_command
from redraft.lab.commands.experiment import contestants as common
from redraft.lab.declared import require_lab
from redraft.lab.experiments.orders import (
    ChunkSizeOrder,
    ContextOrder,
    GridOrder,
    HamletOrder,
    LongSumEvalOrder,
    QaOrder,
)
from redraft.order import JUDGES_ADDRESS
from redraft.settings import JudgeConfig

Option = Callable[[Any], Any]


def _experiment(
    module: str, *choices: Option, preset: Option = preset_option, closing: Option = delivery.writer_options
) -> Command:
    """Create the command of the experiment in a module."""
    name = module.replace("_", "-")

    @options.grouped(options.sources, *choices, preset, closing)
    def run(sources: tuple[str, ...], **values: Any) -> int:
        require_lab(f"redraft experiment {name}")
        experiment = import_module(f"redraft.lab.experiments.{module}").EXPERIMENT
        corpus = common.read_corpus(values, sources)
        design = experiment.asked(common.asked_of(values, corpus))
        return delivery.carry_out(design, corpus.documents, values)

    return lab_command(name)(run)


grid = _experiment(
    "grid",
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
)
longsumeval = _experiment(
    "longsumeval",
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
)
hamlet = _experiment(
    "hamlet",
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
)


def _by_step(module: str, does: str, judges: str, order_choices: Option) -> Command:
    """Create the command of an experiment that reads more and more of a document; `judges` says what the judge does."""
    return _experiment(
        module,
        common.models_that(does, required=True),
        options.of_field(JudgeConfig, "judges", help=f"Model that {judges}.  [default: the first --model]"),
        options.settings(JUDGES_ADDRESS),
        common.corpus_options,
        order_choices,
        options.settings("chunk_tokens"),
    )


context = _by_step(
    "context", "summarizes", "splits summaries into facts and compares these", common.order_options(ContextOrder)
)
qa = _by_step("qa", "answers", "asks the questions and judges the answers", common.order_options(QaOrder))
thesis = _by_step(
    "thesis",
    "summarizes and answers",
    "compares facts, asks the questions and judges the answers",
    common.order_options(QaOrder, ContextOrder),
)
chunk_size = _experiment(
    "chunk_size",
    options.required_judges,
    options.settings(JUDGES_ADDRESS),
    common.order_options(ChunkSizeOrder, without=("context_tokens",)),
    options.window_option("what the largest size needs"),
    options.settings("temperature", "prompts", "replies"),
    closing=options.grouped(options.dry_run, delivery.run_options),
)
