"""Judges every item of a dataset by every judge, in runs that are reused; sweeps over judge settings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from itertools import product
from random import Random
from typing import Any

from redraft.agents.accounts import gather_all
from redraft.domain import Document, Evaluation, Totals, Usage
from redraft.errors import BudgetError, UsageError
from redraft.evaluators.consistency import Consistency
from redraft.evaluators.figures import mean
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.evaluators.panel import UNJUDGED
from redraft.evaluators.similarity import similarity
from redraft.events import StageStarted
from redraft.lab.agreement.formats import FORMATS, Format
from redraft.lab.agreement.people import Dataset, HumanItem
from redraft.lab.experiments.experiment import group_by
from redraft.lab.experiments.runner import RunBatch
from redraft.lab.sentence_verdicts import verdicts_on
from redraft.llm.budget import PriceTable
from redraft.readers.documents import parse
from redraft.report.tables import Table
from redraft.runs.dry_run import SampledDryRuns
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.models import assign_models, price_of, reasoning_reserve, resolve, settings_by_role, with_addresses
from redraft.runs.prepare import RunSpec, prepare
from redraft.settings import DraftConfig, Evaluate, JudgeConfig, Limits
from redraft.text.languages import language_context
from redraft.text.vectors import Encoder, load_encoder
from redraft.text.words import spaced

SIMILARITY, THRESHOLD = "similarity", "threshold"
READ = (SIMILARITY, THRESHOLD)
"""Settings that only affect how answers are read."""
ASKED = ("questions", "claims", "top_k", "stretch_tokens", "second_look", "batch", "repeat", "perspective")
"""Settings that change the requests to the judge; no request is made twice."""
_BY_JUDGE = "judge"
_MAX = 200

Setting = tuple[tuple[str, str], ...]
"""Names and values, as written."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The values of each setting, in the order given."""

    values: Mapping[str, tuple[str, ...]]

    @property
    def request_settings(self) -> list[Setting]:
        """All combinations of settings that change the requests; one empty combination if there are none."""
        return self._combined(ASKED)

    @property
    def reading_settings(self) -> list[Setting]:
        """All combinations of settings that only change the reading; one empty combination if there are none."""
        return self._combined(READ)

    @property
    def has_readings(self) -> bool:
        """Whether answers are read in other ways than they were judged."""
        return any(name in self.values for name in READ)

    def _combined(self, among: Sequence[str]) -> list[Setting]:
        names = [name for name in self.values if name in among]
        return [tuple(zip(names, one, strict=True)) for one in product(*(self.values[name] for name in names))]

    def judge_config(self, base: JudgeConfig, asked: Setting) -> JudgeConfig:
        """Return the judge configuration for all readings of a combination; the judge is asked for likeness if one
        needs it."""
        changes: dict[str, Any] = dict(asked)
        if self.has_readings:
            own = _BY_JUDGE in self.values.get(SIMILARITY, (base.similarity,))
            changes |= {SIMILARITY: _BY_JUDGE if own else base.similarity, "second_look": False}
        try:
            return JudgeConfig.model_validate(base.model_dump() | changes)
        except ValueError as error:
            said = ", ".join(f"{name}={value}" for name, value in asked)
            raise UsageError(f"--sweep: {said} is not possible", hint=str(error).splitlines()[-2].strip()) from error

    def check(self, metric: str, base: JudgeConfig) -> None:
        """Raise for a setting that makes no difference, or that conflicts with others."""
        if not self.has_readings:
            return
        if metric != Consistency.name:
            raise UsageError(f"--sweep: neither similarity nor threshold makes a difference to {metric}")
        if base.repeat > 1 or "repeat" in self.values or "second_look" in self.values:
            raise UsageError("--sweep: similarity and threshold are swept over the first answers of one judging")
        for name in self.values.get(SIMILARITY, ()):
            if name not in ("exact", "rouge1", "cosine", _BY_JUDGE):
                raise UsageError(f"--sweep: there is no similarity {name!r}; there are exact, rouge1, cosine and judge")
        for value in self.values.get(THRESHOLD, ()):
            if not 0 <= float(value) < 1:
                raise UsageError(f"--sweep: a threshold of {value} is not from 0 to less than 1")


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
        found = [value for part in listed.split(",") for value in _values(word, part.strip()) if value]
        if not found:
            raise UsageError(f"--sweep: {word!r} has no values", hint="write NAME=VALUE,VALUE or NAME=FROM:TO:STEP")
        values[name] = tuple(dict.fromkeys(found))
    sweep = Sweep(values)
    if len(sweep.request_settings) * len(sweep.reading_settings) > _MAX:
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
    read = base.model_copy(update=dict(reading))
    name, threshold, alike = read.similarity, float(read.threshold), similarity(read.similarity, encoder)
    points: list[float] = []
    for claim in claims:
        if claim["verdict"] == UNJUDGED["verdict"]:
            continue
        answer = claim["expected"]
        like = claim["likeness"] if name == _BY_JUDGE else alike(claim["found"], answer)
        points.append(like if like > threshold else 0.0)
    items = evaluation.judged + evaluation.unjudged
    return mean(points) if len(points) >= MIN_SHARE * items else None


AGREE = "agree"
"""The experiment that its runs are labelled with."""
JUDGING = "judging"


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
        return [self._way(judge, setting) for judge in self.judges for setting in self.sweep.request_settings]

    def _way(self, judge: str, setting: Setting) -> JudgeSetting:
        judging = self.judging.model_copy(update={"metrics": (self.metric,), "judges": (judge,)})
        settings = self.settings.model_copy(update={"strategy": "given"})
        return JudgeSetting(
            judge, setting, settings, with_addresses(self.sweep.judge_config(judging, setting), settings)
        )


@dataclass(frozen=True, slots=True)
class JudgeSetting:
    """A judge under a setting."""

    judge: str
    setting: Setting
    settings: DraftConfig
    judging: JudgeConfig

    def order(self, item: HumanItem) -> RunSpec:
        """Return the run specification for judging an item."""
        return RunSpec(Evaluate(judging=self.judging), given=item.text, experiment=AGREE)


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

    @property
    def judged_share(self) -> float:
        """The share of the items to be judged that have a verdict."""
        whole = self.judged + self.unjudged
        return self.judged / whole if whole else 1.0


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
    def complete(self) -> bool:
        """Whether every judge has an outcome for every item, if only that it does not apply."""
        made = all(outcome.failure is None and outcome.outcome for column in self.columns for outcome in column.said)
        return self.stopped is None and made


def dataset_documents(dataset: Dataset) -> dict[str, Document]:
    """Return the documents by the names that the items use."""
    titles: dict[str, str] = {}
    for item in dataset.items:
        titles.setdefault(item.document, item.source)
    return {name: parse(text.encode(), name=f"{name}.txt") for name, text in titles.items()}


async def run_trial(dataset: Dataset, design: AgreementDesign, runner: ExperimentRunner) -> AgreementOutcome:
    """Run what has not been run yet, within the limits; a failed item is recorded and does not stop the others."""
    ways = design.judge_settings
    if not ways:
        raise UsageError("no model judges", hint="name a judge with --judge, or a model with --model")
    design.sweep.check(design.metric, design.judging)
    for way in ways:
        assign_models(way.settings, way.judging, runner.limits, runner.prices)
    documents = await asyncio.to_thread(dataset_documents, dataset)
    runner.share_budget(AGREE, repr(design), *sorted(document.id for document in documents.values()))
    # Two items with the same text on the same document are judged once.
    different = {(item.document, item.text): item for item in reversed(dataset.items)}
    items = [item for item in dataset.items if different[item.document, item.text] is item]
    runner.observer(StageStarted("items", 0))
    batch = RunBatch(runner, len(ways) * len(items))
    encoder = load_encoder(design.judging.embeddings) if design.judging.embeddings else None

    async def judged(way: JudgeSetting, own: Sequence[HumanItem]) -> dict[tuple[str, str], list[ItemOutcome]]:
        """Judge the items of one document in sequence, so that a request that two of them share is only made by the
        first."""
        found: dict[tuple[str, str], list[ItemOutcome]] = {}
        for item in own:
            async with batch.places:
                outcomes = await _judged(way, item, documents[item.document], design, encoder, batch)
            batch.report_progress(f"{item.id} by {way.judge}: {outcomes[0].status}")
            found[item.document, item.text] = outcomes
        return found

    columns: list[Column] = []
    for way in ways:
        of_documents = await gather_all(judged(way, items) for items in group_by(items, "document").values())
        by_text = {key: outcomes for found in of_documents for key, outcomes in found.items()}
        rows = [by_text[item.document, item.text] for item in dataset.items]
        runs = {outcomes[0].run for outcomes in by_text.values() if outcomes[0].run}
        usage = tuple(runner.store.calls.totals(run) for run in sorted(runs))
        for at, setting in enumerate(design.sweep.reading_settings):
            judging = way.judging.model_copy(
                update={name: float(value) if name == THRESHOLD else value for name, value in setting}
            )
            said = tuple(row[at] for row in rows)
            columns.append(Column(way.judge, (*way.setting, *setting), said, judging, () if at else usage))
    return AgreementOutcome(design, dataset, tuple(columns), runner.stopped)


async def _judged(
    way: JudgeSetting,
    item: HumanItem,
    document: Document,
    design: AgreementDesign,
    encoder: Encoder | None,
    batch: RunBatch,
) -> list[ItemOutcome]:
    outcome = await batch.run_part(
        JUDGING, JUDGING, f"{item.id} by {way.judge}", document, way.settings, way.order(item)
    )
    if outcome.result is None:
        return [ItemOutcome(run=outcome.run, failure=outcome.failure)] * len(design.sweep.reading_settings)
    evaluation = outcome.result.evaluations[design.metric]
    item_outcome = _said(evaluation, item, outcome.result.run.id)
    with language_context(document):
        return [
            replace(item_outcome, score=rescore(evaluation, setting, way.judging, encoder)) if setting else item_outcome
            for setting in design.sweep.reading_settings
        ]


def _said(evaluation: Evaluation, item: HumanItem, run: str) -> ItemOutcome:
    failed = None
    if evaluation.outcome == "failed" and not evaluation.judged and not evaluation.unjudged:
        failed = Failure(JUDGING, "judging", evaluation.reason)
    each: object = evaluation.details.get("judges")
    return ItemOutcome(
        evaluation.score,
        "unjudged" if evaluation.outcome == "failed" else evaluation.outcome,
        evaluation.judged,
        evaluation.unjudged,
        evaluation.version,
        verdicts_on(evaluation, item.sentences),
        tuple(one["score"] for one in each) if isinstance(each, list) else (),
        run,
        failed,
    )


_SEED = 0


def find_format(name: str) -> Format:
    """Return the format of this name; raise if there is none."""
    if name not in FORMATS:
        raise UsageError(f"--format: there is no format {name!r}", hint=f"choose from {', '.join(FORMATS)}")
    return FORMATS[name]


def human_field(dataset: Dataset, metric: str, named: str | None) -> str:
    """Return the named field of human judgments, or the one that the metric measures; raise if neither is there."""
    there = list(dataset.fields)
    if named is not None:
        if named not in there:
            raise UsageError(f"--human: people were not asked about {named!r}", hint=f"choose from {', '.join(there)}")
        return named
    meant = [name for name, field in dataset.fields.items() if metric in field.metrics]
    if meant or len(there) == 1:
        return (meant or there)[0]
    raise UsageError(
        f"people were asked about {', '.join(there)}, and it is unclear which of these {metric} measures",
        hint=f"say which: --human {there[0]}",
    )


def sample_items(dataset: Dataset, most: int | None) -> Dataset:
    """Return all items, or at most this many: those of randomly drawn documents, the last one possibly in part."""
    if most is None or most >= len(dataset.items):
        return dataset
    documents = sorted({item.document for item in dataset.items})
    order = {name: at for at, name in enumerate(Random(_SEED).sample(documents, len(documents)))}
    kept = sorted(range(len(dataset.items)), key=lambda n: (order[dataset.items[n].document], n))[:most]
    return replace(dataset, items=tuple(dataset.items[n] for n in sorted(kept)))


def plan_table(dataset: Dataset, design: AgreementDesign, prices: PriceTable) -> Table:
    """Return the plan: the calls of each judge under each setting that needs new requests."""
    design.sweep.check(design.metric, design.judging)
    documents = dataset_documents(dataset)
    rows: list[tuple[str | int | float | None, ...]] = []
    for way in design.judge_settings:
        calls, usage = _asked(dataset, way, documents)
        model = settings_by_role(assign_models(resolve(way.settings), way.judging, Limits(), None))["judge"]
        price = price_of(model, prices)
        thinking = Usage(usage.prompt_tokens, usage.completion_tokens + calls * reasoning_reserve(model))
        setting = ", ".join(f"{name} {value}" for name, value in way.setting)
        cost = None if price is None else price.of(thinking)
        rows.append((way.judge, setting, calls, usage.prompt_tokens, usage.completion_tokens, cost))
    return Table(
        "plan",
        "Estimated cost",
        "Every judge judges every item once under every setting that needs new calls; similarity and threshold"
        " need none. Numbers are approximate; questions and key facts are built once per document, but counted"
        " for each item. Prices are in USD.",
        "No model was called and nothing was stored; cached answers cost nothing.",
        ("judge", "setting", "calls", "prompt tokens", "reply tokens", "USD"),
        tuple(rows),
    )


def _asked(dataset: Dataset, way: JudgeSetting, documents: Mapping[str, Document]) -> tuple[int, Usage]:
    """Estimate the calls and tokens for all items, by dry runs of items of different sizes."""
    calls, prompt, reply = 0.0, 0.0, 0.0
    sampled = SampledDryRuns()
    for item in dataset.items:
        like, share = sampled.of(prepare(documents[item.document], way.settings, given=item.text), way.order(item))
        calls += share * like.calls
        prompt += share * like.prompt_tokens
        reply += share * like.completion_tokens
    return round(calls), Usage(round(prompt), round(reply))
