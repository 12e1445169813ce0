"""Judges every item of a dataset by every judge, in runs that are reused; sweeps over judge settings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from itertools import product
from typing import Any

from redraft.agents.judge import gather_all
from redraft.batches.request import sampled_plan
from redraft.domain import Document, Evaluation, Totals, Usage
from redraft.errors import BudgetError, UsageError
from redraft.evaluators.base import UNJUDGED
from redraft.evaluators.consistency import Consistency
from redraft.evaluators.figures import mean
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.evaluators.similarity import similarity
from redraft.events import StageStarted
from redraft.lab.agreement.people import Dataset, HumanItem
from redraft.lab.declared import Row, make_table
from redraft.lab.experiments.runner import RunBatch
from redraft.lab.sentence_verdicts import verdicts_on
from redraft.llm.budget import PriceTable
from redraft.order import Evaluate, Order
from redraft.readers.documents import parse
from redraft.report.tables import Table
from redraft.runs.dry_run import RunPlan
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.models import assign_models, price_of, reasoning_reserve, resolve, settings_by_role, with_addresses
from redraft.runs.prepare import prepare
from redraft.settings import DraftConfig, JudgeConfig, Limits
from redraft.text.languages import language_context
from redraft.text.vectors import Encoder, load_encoder
from redraft.text.words import spaced

SIMILARITY, THRESHOLD = "similarity", "threshold"
READ = (SIMILARITY, THRESHOLD)
"""Settings that only affect how answers are read."""
ASKED = ("questions", "claims", "top_k", "stretch_tokens", "second_look", "batch", "repeat", "perspective")
"""Settings that change the requests to the judge; no request is made twice."""
AGREE = "agree"
"""The experiment that its runs are labelled with."""
JUDGING = "judging"
_BY_JUDGE = "judge"
_LIKENESS = ("exact", "rouge1", "cosine", _BY_JUDGE)
_MAX = 200
Setting = tuple[tuple[str, str], ...]
"""Names and values, as written."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The values of each setting, in the order given."""

    values: Mapping[str, tuple[str, ...]]

    def combined(self, names: Sequence[str]) -> list[Setting]:
        """Return all combinations of these settings, as far as they are swept; one empty one if none is."""
        swept = [name for name in self.values if name in names]
        return [tuple(zip(swept, row, strict=True)) for row in product(*(self.values[name] for name in swept))]

    def judge_config(self, base: JudgeConfig, setting: Setting) -> JudgeConfig:
        """Return the judge configuration for all readings of a combination; the judge is asked for likeness if one
        needs it."""
        changes: dict[str, Any] = dict(setting)
        if any(name in self.values for name in READ):
            by_judge = _BY_JUDGE in self.values.get(SIMILARITY, (base.similarity,))
            changes |= {SIMILARITY: _BY_JUDGE if by_judge else base.similarity, "second_look": False}
        try:
            return JudgeConfig.model_validate(base.model_dump() | changes)
        except ValueError as error:
            written = ", ".join(f"{name}={value}" for name, value in setting)
            raise UsageError(f"--sweep: {written} is not possible", hint=str(error).splitlines()[-2].strip()) from error

    def check(self, metric: str, base: JudgeConfig) -> None:
        """Raise for a setting that makes no difference, or that conflicts with others."""
        if not any(name in self.values for name in READ):
            return
        if metric != Consistency.name:
            raise UsageError(f"--sweep: neither similarity nor threshold makes a difference to {metric}")
        if base.repeat > 1 or "repeat" in self.values or "second_look" in self.values:
            raise UsageError("--sweep: similarity and threshold are swept over the first answers of one judging")
        if unknown := [name for name in self.values.get(SIMILARITY, ()) if name not in _LIKENESS]:
            choices = "exact, rouge1, cosine and judge"
            raise UsageError(f"--sweep: there is no similarity {unknown[0]!r}; there are {choices}")
        if wrong := [value for value in self.values.get(THRESHOLD, ()) if not 0 <= float(value) < 1]:
            raise UsageError(f"--sweep: a threshold of {wrong[0]} is not from 0 to less than 1")


NO_SWEEP = Sweep({})


def parse_sweep(words: Iterable[str]) -> Sweep:
    """Parse a sweep, such as `similarity=exact,rouge1` or `threshold=0.2:0.7:0.1` (from, to, step)."""
    values: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, _, listed = word.partition("=")
        name = name.strip().replace("-", "_")
        if name not in (*READ, *ASKED):
            raise UsageError(f"--sweep: {name!r} cannot be swept", hint=f"choose from {', '.join((*READ, *ASKED))}")
        if name in values:
            raise UsageError(f"--sweep: {name} is given twice", hint="give all its values at once, with commas")
        swept = [value for part in listed.split(",") for value in _values(word, part.strip()) if value]
        if not swept:
            raise UsageError(f"--sweep: {word!r} has no values", hint="write NAME=VALUE,VALUE or NAME=FROM:TO:STEP")
        values[name] = tuple(dict.fromkeys(swept))
    sweep = Sweep(values)
    if len(sweep.combined(ASKED)) * len(sweep.combined(READ)) > _MAX:
        raise UsageError(f"--sweep: that is more than {_MAX} combinations", hint="leave some values out")
    return sweep


def _values(word: str, part: str) -> Iterable[str]:
    if ":" not in part:
        return [part]
    try:
        first, last, step = map(Decimal, part.split(":"))
    except (ValueError, InvalidOperation):
        raise UsageError(f"--sweep: {word!r} is not a range", hint="write FROM:TO:STEP, as in 0.2:0.7:0.1") from None
    if not (first <= last and step > 0 and (last - first) / step < _MAX):
        raise UsageError(f"--sweep: {word!r} has no end", hint="write FROM:TO:STEP, as in 0.2:0.7:0.1")
    return [str(first + n * step) for n in range(int((last - first) / step) + 1)]


def rescore(evaluation: Evaluation, reading: Setting, base: JudgeConfig, encoder: Encoder | None) -> float | None:
    """Return the score of the same answers under another similarity or threshold (LongSumEval, algorithm 1)."""
    if not reading or not isinstance(claims := evaluation.details.get("claims"), list):
        return evaluation.score
    # Its values were checked with the sweep.
    config = base.model_copy(update=dict(reading))
    threshold, likeness = float(config.threshold), similarity(config.similarity, encoder)
    decided = [claim for claim in claims if claim["verdict"] != UNJUDGED["verdict"]]
    points = [
        claim["likeness"] if config.similarity == _BY_JUDGE else likeness(claim["found"], claim["expected"])
        for claim in decided
    ]
    items = evaluation.judged + evaluation.unjudged
    return mean([like if like > threshold else 0.0 for like in points]) if len(points) >= MIN_SHARE * items else None


@dataclass(frozen=True, slots=True)
class AgreementDesign:
    """What is compared, and how: everything but the annotations and the limits."""

    metric: str
    human: str
    """The field of the human judgments."""
    judges: tuple[str, ...]
    settings: DraftConfig = field(default_factory=DraftConfig)
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    sweep: Sweep = NO_SWEEP

    @property
    def judge_settings(self) -> list[JudgeSetting]:
        """Every combination that needs new requests: each judge under each setting."""
        settings = self.settings.model_copy(update={"strategy": "given"})
        return [
            JudgeSetting(judge, setting, settings, with_addresses(self.sweep.judge_config(judging, setting), settings))
            for judge in self.judges
            for judging in [self.judging.model_copy(update={"metrics": (self.metric,), "judges": (judge,)})]
            for setting in self.sweep.combined(ASKED)
        ]


@dataclass(frozen=True, slots=True)
class JudgeSetting:
    """A judge under a setting."""

    judge: str
    setting: Setting
    settings: DraftConfig
    judging: JudgeConfig

    def order(self, item: HumanItem) -> Order:
        """Return the run specification for judging an item."""
        return Evaluate(judging=self.judging, given=item.text, experiment=AGREE)


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """The outcome for one item; it has neither an outcome nor a failure if the budget ran out before."""

    score: float | None = None
    outcome: str = ""
    judged: int = 0
    unjudged: int = 0
    version: int = 0
    sentences: tuple[bool | None, ...] = ()
    """Whether each sentence that people judged is right; empty if the metric does not say."""
    each: tuple[float | None, ...] = ()
    """The score of each repetition, if it was judged several times."""
    run: str | None = None
    failure: Failure | None = None

    @property
    def status(self) -> str:
        """The status of the item."""
        if self.failure is not None:
            return "failed"
        return spaced(self.outcome) if self.outcome else "not made"


@dataclass(frozen=True, slots=True)
class Column:
    """The outcomes of one judge for all items under one setting and one reading."""

    judge: str
    setting: Setting
    said: tuple[ItemOutcome, ...]
    judging: JudgeConfig
    usage: tuple[Totals, ...] = ()
    """The usage of its runs, counted with the first reading of a setting; the others use nothing."""

    @property
    def name(self) -> str:
        """The judge, and the setting if there are several."""
        return ", ".join((self.judge, *(f"{name} {value}" for name, value in self.setting)))

    @property
    def scores(self) -> list[float | None]:
        """The scores of the items."""
        return [outcome.score for outcome in self.said]


@dataclass(frozen=True, slots=True)
class AgreementOutcome:
    """The outcome of the whole comparison."""

    design: AgreementDesign
    dataset: Dataset
    columns: tuple[Column, ...]
    stopped: BudgetError | None = None

    @property
    def outcomes(self) -> list[ItemOutcome]:
        """The outcomes of all judges for all items."""
        return [outcome for column in self.columns for outcome in column.said]

    @property
    def complete(self) -> bool:
        """Whether every judge has an outcome for every item, if only that it does not apply."""
        return self.stopped is None and all(
            item_outcome.failure is None and item_outcome.outcome for item_outcome in self.outcomes
        )


def dataset_documents(dataset: Dataset) -> dict[str, Document]:
    """Return the documents by the names that the items use."""
    texts = {item.document: item.source for item in reversed(dataset.items)}
    return {name: parse(text.encode(), name=f"{name}.txt") for name, text in texts.items()}


async def run_trial(dataset: Dataset, design: AgreementDesign, runner: ExperimentRunner) -> AgreementOutcome:
    """Run what has not been run yet, within the limits; a failed item is recorded and does not stop the others."""
    settings = design.judge_settings
    if not settings:
        raise UsageError("no model judges", hint="name a judge with --judge, or a model with --model")
    design.sweep.check(design.metric, design.judging)
    for setting in settings:
        assign_models(setting.settings, setting.judging, runner.limits, runner.prices)
    documents = await asyncio.to_thread(dataset_documents, dataset)
    runner.share_budget(AGREE, repr(design), *sorted(document.id for document in documents.values()))
    # Two items with the same text on the same document are judged once.
    different = list({(item.document, item.text): item for item in reversed(dataset.items)}.values())[::-1]
    runner.observer(StageStarted("items", 0))
    batch = RunBatch(runner, len(settings) * len(different))
    encoder = load_encoder(design.judging.embeddings) if design.judging.embeddings else None

    async def judge_document(
        setting: JudgeSetting, items: Sequence[HumanItem]
    ) -> dict[tuple[str, str], list[ItemOutcome]]:
        """Judge the items of one document in sequence, so that a request that two of them share is only made by the
        first."""
        by_text: dict[tuple[str, str], list[ItemOutcome]] = {}
        for item in items:
            async with batch.places:
                readings = await _judge(setting, item, documents[item.document], design, encoder, batch)
            batch.report_progress(f"{item.id} by {setting.judge}: {readings[0].status}")
            by_text[item.document, item.text] = readings
        return by_text

    columns: list[Column] = []
    by_document: dict[str, list[HumanItem]] = {}
    for item in different:
        by_document.setdefault(item.document, []).append(item)
    for setting in settings:
        of_documents = await gather_all(judge_document(setting, items) for items in by_document.values())
        by_text: dict[tuple[str, str], list[ItemOutcome]] = {
            key: readings_of_text for of_document in of_documents for key, readings_of_text in of_document.items()
        }
        runs = {readings[0].run for readings in by_text.values() if readings[0].run}
        usage = tuple(runner.store.calls.totals(run) for run in sorted(runs))
        for at, reading in enumerate(design.sweep.combined(READ)):
            changes = {name: float(value) if name == THRESHOLD else value for name, value in reading}
            outcomes = tuple(by_text[item.document, item.text][at] for item in dataset.items)
            judging = setting.judging.model_copy(update=changes)
            columns.append(Column(setting.judge, (*setting.setting, *reading), outcomes, judging, () if at else usage))
    return AgreementOutcome(design, dataset, tuple(columns), runner.stopped)


async def _judge(
    setting: JudgeSetting,
    item: HumanItem,
    document: Document,
    design: AgreementDesign,
    encoder: Encoder | None,
    batch: RunBatch,
) -> list[ItemOutcome]:
    """Return the outcome for an item under each reading."""
    name, readings = f"{item.id} by {setting.judge}", design.sweep.combined(READ)
    run = await batch.run_part(JUDGING, JUDGING, name, document, setting.settings, setting.order(item))
    if run.result is None:
        return [ItemOutcome(run=run.run, failure=run.failure)] * len(readings)
    evaluation = run.result.evaluations[design.metric]
    failed = evaluation.outcome == "failed"
    judgings: object = evaluation.details.get("judges")
    outcome = ItemOutcome(
        evaluation.score,
        "unjudged" if failed else evaluation.outcome,
        evaluation.judged,
        evaluation.unjudged,
        evaluation.version,
        verdicts_on(evaluation, item.sentences),
        tuple(judge["score"] for judge in judgings) if isinstance(judgings, list) else (),
        run.result.run.id,
        Failure(JUDGING, "judging", evaluation.reason)
        if failed and not evaluation.judged and not evaluation.unjudged
        else None,
    )
    with language_context(document):
        return [
            replace(outcome, score=rescore(evaluation, reading, setting.judging, encoder)) if reading else outcome
            for reading in readings
        ]


def plan_table(dataset: Dataset, design: AgreementDesign, prices: PriceTable) -> Table:
    """Return the plan: the calls of each judge under each setting that needs new requests."""
    design.sweep.check(design.metric, design.judging)
    documents = dataset_documents(dataset)
    rows: list[Row] = []
    for setting in design.judge_settings:
        plans: dict[tuple[object, ...], RunPlan] = {}
        calls, prompt, reply = 0.0, 0.0, 0.0
        # Dry runs of items of different sizes stand for all others.
        for item in dataset.items:
            prepared = prepare(documents[item.document], setting.settings, given=item.text)
            like, share = sampled_plan(prepared, setting.order(item), plans)
            calls += share * like.calls
            prompt += share * like.prompt_tokens
            reply += share * like.completion_tokens
        model = settings_by_role(assign_models(resolve(setting.settings), setting.judging, Limits(), None))["judge"]
        price, thinking = price_of(model, prices), round(calls) * reasoning_reserve(model)
        cost = None if price is None else price.of(Usage(round(prompt), round(reply) + thinking))
        setting_name = ", ".join(f"{name} {value}" for name, value in setting.setting)
        rows.append((setting.judge, setting_name, round(calls), round(prompt), round(reply), cost))
    return make_table("agree", "plan", "No model was called and nothing was stored; cached answers cost nothing.", rows)
