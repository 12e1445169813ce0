"""Judges every item of a dataset by every judge, in runs that are reused; sweeps over judge settings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal, InvalidOperation
from itertools import product
from math import prod

from redraft.agents.judge import gather_all
from redraft.batches.request import sampled_plan
from redraft.domain import Document, Evaluation, Totals
from redraft.errors import BudgetError, UsageError
from redraft.evaluators.consistency import Consistency
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.evaluators.reference.keyfacts import UNJUDGED
from redraft.evaluators.similarity import similarity
from redraft.evaluators.statistics import mean
from redraft.events import StageStarted
from redraft.lab.agreement.people import Dataset, HumanItem
from redraft.lab.declared import Row, make_table
from redraft.lab.experiments.runner import JUDGING, RunBatch, RunOutcome
from redraft.lab.sentence_verdicts import verdicts_on
from redraft.llm.budget import PriceTable
from redraft.order import Evaluate
from redraft.readers.documents import parse
from redraft.report.tables import Table
from redraft.runs.dry_run import RunPlan, StageUsage
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.model_settings import writer_as_judge
from redraft.runs.models import assign_models, resolve, with_addresses
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
_BY_JUDGE = "judge"
_MAX = 200
Setting = tuple[tuple[str, str], ...]
"""Names and values, as written."""
Sweep = Mapping[str, tuple[str, ...]]
"""The values of each setting, in the order given."""


def combined(sweep: Sweep, names: Sequence[str]) -> list[Setting]:
    """Return all combinations of these settings, as far as they are swept; one empty one if none is."""
    swept = [name for name in sweep if name in names]
    return [tuple(zip(swept, row, strict=True)) for row in product(*(sweep[name] for name in swept))]


def setting_words(setting: Setting) -> str:
    """Return a setting in words."""
    return ", ".join(f"{name} {value}" for name, value in setting)


def swept_judging(sweep: Sweep, base: JudgeConfig, setting: Setting) -> JudgeConfig:
    """Return the judge configuration of a combination, for all its readings; raise if one is not possible. The judge is
    asked for likeness if a reading needs it."""
    for changes in [*((*setting, *reading) for reading in combined(sweep, READ)), setting]:
        try:
            config = JudgeConfig.model_validate(base.model_dump() | dict(changes))
        except ValueError as error:
            written = ", ".join(f"{name}={value}" for name, value in changes)
            raise UsageError(f"--sweep: {written} is not possible", hint=str(error).splitlines()[-2].strip()) from error
    if not any(name in sweep for name in READ):
        return config
    by_judge = _BY_JUDGE in sweep.get(SIMILARITY, (base.similarity,))
    return config.model_copy(update={SIMILARITY: _BY_JUDGE if by_judge else base.similarity, "second_look": False})


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
    if prod(map(len, values.values())) > _MAX:
        raise UsageError(f"--sweep: that is more than {_MAX} combinations", hint="leave some values out")
    return values


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


@dataclass(frozen=True, slots=True)
class AgreementDesign:
    """What is compared, and how: everything but the annotations and the limits."""

    metric: str
    human: str
    """The field of the human judgments."""
    judges: tuple[str, ...]
    settings: DraftConfig = field(default_factory=DraftConfig)
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    sweep: Sweep = field(default_factory=dict)

    @property
    def run_settings(self) -> DraftConfig:
        """The settings of a run that judges a given text."""
        return self.settings.model_copy(update={"strategy": "given"})

    @property
    def judgings(self) -> list[tuple[str, Setting, JudgeConfig]]:
        """Every combination that needs new requests: each judge under each setting. Raise for a sweep that is not
        possible, that makes no difference, or that conflicts with other settings."""
        if any(name in self.sweep for name in READ):
            if self.metric != Consistency.name:
                raise UsageError(f"--sweep: neither similarity nor threshold makes a difference to {self.metric}")
            if self.judging.repeat > 1 or "repeat" in self.sweep or "second_look" in self.sweep:
                raise UsageError("--sweep: similarity and threshold are swept over the first answers of one judging")
        return [
            (judge, setting, with_addresses(swept_judging(self.sweep, judging, setting), self.run_settings))
            for judge in self.judges
            for judging in [self.judging.model_copy(update={"metrics": (self.metric,), "judges": (judge,)})]
            for setting in combined(self.sweep, ASKED)
        ]


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """The outcome for one item; it has neither an evaluation nor a failure if the budget ran out before."""

    evaluation: Evaluation | None = None
    sentences: tuple[bool | None, ...] = ()
    """Whether each sentence that people judged is right; empty if the metric does not say."""
    run: str | None = None
    failure: Failure | None = None

    @classmethod
    def of(cls, run: RunOutcome, item: HumanItem, metric: str) -> ItemOutcome:
        """Return what a run says of an item."""
        if run.result is None:
            return cls(run=run.run, failure=run.failure)
        evaluation = run.result.evaluations[metric]
        is_lost = evaluation.outcome == "failed" and not evaluation.judged and not evaluation.unjudged
        failure = Failure(JUDGING, "judging", evaluation.reason) if is_lost else None
        return cls(evaluation, verdicts_on(evaluation, item.sentences), run.result.run.id, failure)

    @property
    def score(self) -> float | None:
        """The score of the item."""
        return self.evaluation.score if self.evaluation else None

    @property
    def outcome(self) -> str:
        """The outcome of its evaluation: an item without a score is unjudged. Empty if there is none."""
        outcome = self.evaluation.outcome if self.evaluation else ""
        return "unjudged" if outcome == "failed" else outcome

    @property
    def status(self) -> str:
        """The status of the item."""
        return "failed" if self.failure is not None else spaced(self.outcome) or "not made"

    def as_json(self) -> dict[str, object]:
        """Return the outcome for the record."""
        evaluation = self.evaluation or Evaluation("", 0, "failed", None, 0, 0)
        counts = {name: getattr(evaluation, name) for name in ("judged", "unjudged", "version")}
        rest = {"sentences": list(self.sentences), "run": self.run}
        failure = asdict(self.failure) if self.failure else None
        return {"score": self.score, "outcome": self.outcome, **counts, **rest, "failure": failure}


@dataclass(frozen=True, slots=True)
class Column:
    """The outcomes of one judge for all items under one setting and one reading."""

    judge: str
    setting: Setting
    outcomes: tuple[ItemOutcome, ...]
    usage: tuple[Totals, ...] = ()
    """The usage of its runs, counted with the first reading of a setting; the others use nothing."""

    @property
    def name(self) -> str:
        """The judge, and the setting if there are several."""
        return f"{self.judge}, {setting_words(self.setting)}" if self.setting else self.judge

    @property
    def scores(self) -> list[float | None]:
        """The scores of the items."""
        return [outcome.score for outcome in self.outcomes]


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
        return [outcome for column in self.columns for outcome in column.outcomes]

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


def rescored(outcome: ItemOutcome, reading: Setting, judging: JudgeConfig, encoder: Encoder | None) -> ItemOutcome:
    """Return the outcome of the same answers under another similarity or threshold (LongSumEval, algorithm 1)."""
    evaluation = outcome.evaluation
    if not reading or evaluation is None or not isinstance(claims := evaluation.details.get("claims"), list):
        return outcome
    # Its values were checked with the sweep.
    config = judging.model_copy(update=dict(reading))
    threshold, likeness = float(config.threshold), similarity(config.similarity, encoder)
    points = [
        claim["likeness"] if config.similarity == _BY_JUDGE else likeness(claim["found"], claim["expected"])
        for claim in claims
        if claim["verdict"] != UNJUDGED
    ]
    is_enough = len(points) >= MIN_SHARE * (evaluation.judged + evaluation.unjudged)
    score = mean([like if like > threshold else 0.0 for like in points]) if is_enough else None
    return replace(outcome, evaluation=replace(evaluation, score=score))


async def run_trial(dataset: Dataset, design: AgreementDesign, runner: ExperimentRunner) -> AgreementOutcome:
    """Run what has not been run yet, within the limits; a failed item is recorded and does not stop the others."""
    judgings = design.judgings
    if not judgings:
        raise UsageError("no model judges", hint="name a judge with --judge, or a model with --model")
    for _, _, judging in judgings:
        assign_models(design.run_settings, judging, runner.limits, runner.prices)
    documents = await asyncio.to_thread(dataset_documents, dataset)
    runner.share_budget(AGREE, repr(design), *sorted(document.id for document in documents.values()))
    # Two items with the same text on the same document are judged once; those of one document in sequence, so that a
    # request that two of them share is only made by the first.
    different = {(item.document, item.text): item for item in reversed(dataset.items)}
    by_document: dict[str, list[HumanItem]] = {}
    for item in reversed(different.values()):
        by_document.setdefault(item.document, []).append(item)
    runner.observer(StageStarted("items", 0))
    batch = RunBatch(runner, len(judgings) * len(different))
    encoder = load_encoder(design.judging.embeddings) if design.judging.embeddings else None
    readings = combined(design.sweep, READ)

    async def judge_items(
        judge: str, judging: JudgeConfig, items: Sequence[HumanItem]
    ) -> dict[tuple[str, str], list[ItemOutcome]]:
        """Return the outcomes of the items of one document under each reading, by document and text."""
        by_text: dict[tuple[str, str], list[ItemOutcome]] = {}
        for item in items:
            order, name = Evaluate(judging=judging, given=item.text, experiment=AGREE), f"{item.id} by {judge}"
            async with batch.places:
                run = await batch.run_part(JUDGING, JUDGING, name, documents[item.document], design.run_settings, order)
            outcome = ItemOutcome.of(run, item, design.metric)
            with language_context(documents[item.document]):
                by_text[item.document, item.text] = [
                    rescored(outcome, reading, judging, encoder) for reading in readings
                ]
            batch.report_progress(f"{name}: {outcome.status}")
        return by_text

    columns: list[Column] = []
    for judge, setting, judging in judgings:
        by_text: dict[tuple[str, str], list[ItemOutcome]] = {}
        for part in await gather_all(judge_items(judge, judging, items) for items in by_document.values()):
            by_text |= part
        runs = {of_readings[0].run for of_readings in by_text.values() if of_readings[0].run}
        usage = tuple(runner.store.calls.totals(run) for run in sorted(runs))
        for at, reading in enumerate(readings):
            outcomes = tuple(by_text[item.document, item.text][at] for item in dataset.items)
            columns.append(Column(judge, (*setting, *reading), outcomes, () if at else usage))
    return AgreementOutcome(design, dataset, tuple(columns), runner.stopped)


def plan_table(dataset: Dataset, design: AgreementDesign, prices: PriceTable) -> Table:
    """Return the plan: the calls of each judge under each setting that needs new requests."""
    documents = dataset_documents(dataset)
    rows: list[Row] = []
    for judge, setting, judging in design.judgings:
        plans: dict[tuple[object, ...], RunPlan] = {}
        sums = [0.0, 0.0, 0.0]
        # Dry runs of items of different sizes stand for all others.
        for item in dataset.items:
            prepared = prepare(documents[item.document], design.run_settings, given=item.text)
            like, share = sampled_plan(prepared, Evaluate(judging=judging, given=item.text, experiment=AGREE), plans)
            sizes = (like.calls, like.prompt_tokens, like.completion_tokens)
            sums = [total + share * size for total, size in zip(sums, sizes, strict=True)]
        calls, prompt, reply = map(round, sums)
        writer, *roles = assign_models(resolve(design.run_settings), judging, Limits(), None)
        model = next((role.settings for role in roles if role.role == "judge"), writer_as_judge(writer.settings))
        step = StageUsage(name="", calls=calls, prompt_tokens=prompt, completion_tokens=reply, settings=model)
        cost = step.cost(prices, step.reasoning_tokens)
        rows.append((judge, setting_words(setting), calls, prompt, reply, cost))
    return make_table("agree", "plan", "No model was called and nothing was stored; cached answers cost nothing.", rows)
