"""Judges beside people: every item is judged by every judge in a run of its own, which is found again and gone on with
like any other.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from itertools import count

from redraft.agents.accounts import together
from redraft.domain import Document, Evaluation, Totals
from redraft.errors import BudgetError, StoreError, UsageError
from redraft.events import PartDone, StageStarted
from redraft.lab.agreement.people import Dataset, HumanItem
from redraft.lab.agreement.sweep import NO_SWEEP, Setting, Sweep, read_otherwise
from redraft.lab.agreement.verdicts import of_sentences
from redraft.readers.documents import parse
from redraft.runs.experiment_runner import ExperimentRunner, Failure, RunWatch, failure
from redraft.runs.model_pool import hire, located
from redraft.runs.prepare import RunSpec
from redraft.settings import DraftConfig, Evaluate, JudgeConfig
from redraft.text.embeddings import Encoder, load_encoder
from redraft.text.languages import reading

AGREE = "agree"
"""What its runs are made for."""
JUDGING = "judging"


@dataclass(frozen=True, slots=True)
class AgreementDesign:
    """What is compared, and how: everything but the annotations and the limits."""

    metric: str
    human: str
    """What people were asked."""
    judges: tuple[str, ...]
    settings: DraftConfig = field(default_factory=DraftConfig)
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    sweep: Sweep = NO_SWEEP

    @property
    def ways(self) -> list[JudgeSetting]:
        """Everything that is asked otherwise: each judge under each setting."""
        return [self._way(judge, setting) for judge in self.judges for setting in self.sweep.asked]

    def _way(self, judge: str, setting: Setting) -> JudgeSetting:
        named = self.judging.model_copy(update={"metrics": (self.metric,), "judges": (judge,)})
        settings = self.settings.model_copy(update={"strategy": "given"})
        return JudgeSetting(judge, setting, settings, located(self.sweep.judging(named, setting), settings))


@dataclass(frozen=True, slots=True)
class JudgeSetting:
    """A judge under a setting."""

    judge: str
    setting: Setting
    settings: DraftConfig
    judging: JudgeConfig

    def order(self, item: HumanItem) -> RunSpec:
        """The order to judge an item."""
        return RunSpec(Evaluate(judging=self.judging), given=item.text, experiment=AGREE)


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """What came of one item. Neither an outcome nor a failure: the budget was used up before."""

    score: float | None = None
    outcome: str = ""
    judged: int = 0
    unjudged: int = 0
    version: int = 0
    sentences: tuple[bool | None, ...] = ()
    """For each sentence that people judged whether it is right; nothing where the metric does not say."""
    each: tuple[float | None, ...] = ()
    """The scores of each time, where it was judged several times."""
    run: str | None = None
    failure: Failure | None = None

    @property
    def status(self) -> str:
        """How it stands."""
        if self.failure is not None:
            return "failed"
        return spaced(self.outcome) if self.outcome else "not made"

    @property
    def judged_share(self) -> float:
        """On which share of what there is to say there is a verdict."""
        whole = self.judged + self.unjudged
        return self.judged / whole if whole else 1.0


@dataclass(frozen=True, slots=True)
class Column:
    """What one judge says of all items under one setting, read in one way."""

    judge: str
    setting: Setting
    said: tuple[ItemOutcome, ...]
    judging: JudgeConfig
    usage: tuple[Totals, ...] = ()
    """What its runs took, with the first reading of a setting; the others take nothing."""

    @property
    def name(self) -> str:
        """The judge, and the setting where there are several."""
        return ", ".join((self.judge, *(f"{name} {value}" for name, value in self.setting)))

    @property
    def scores(self) -> list[float | None]:
        """The scores of the items."""
        return [one.score for one in self.said]


@dataclass(frozen=True, slots=True)
class AgreementOutcome:
    """All that came of it."""

    design: AgreementDesign
    dataset: Dataset
    columns: tuple[Column, ...]
    stopped: BudgetError | None = None

    @property
    def complete(self) -> bool:
        """Whether every judge has said something of every item, if only that there is nothing to say."""
        made = all(one.failure is None and one.outcome for column in self.columns for one in column.said)
        return self.stopped is None and made


def spaced(name: str) -> str:
    """A name for programs as people read it."""
    return name.replace("_", " ")


def documents_of(dataset: Dataset) -> dict[str, Document]:
    """The documents by the names that the items have for them."""
    titles: dict[str, str] = {}
    for item in dataset.items:
        titles.setdefault(item.document, item.source)
    return {name: parse(text.encode(), name=f"{name}.txt") for name, text in titles.items()}


async def tried(dataset: Dataset, design: AgreementDesign, bench: ExperimentRunner) -> AgreementOutcome:
    """Do what is not done yet, as far as the limits allow. What fails is recorded, and stops nothing else."""
    ways = design.ways
    if not ways:
        raise UsageError("nobody judges", hint="name a judge with --judge, or a model with --model")
    design.sweep.check(design.metric, design.judging)
    for way in ways:
        hire(way.settings, way.judging, bench.limits, bench.prices)
    documents = await asyncio.to_thread(documents_of, dataset)
    bench.draw_on(AGREE, repr(design), *sorted(one.id for one in documents.values()))
    # Two items that say the same of one document are judged once.
    first: dict[tuple[str, str], int] = {}
    for n, item in enumerate(dataset.items):
        first.setdefault((item.document, item.text), n)
    for way in ways:
        for n in first.values():
            item = dataset.items[n]
            await bench.known(documents[item.document], way.settings, way.order(item))
    bench.observer(StageStarted("items", 0))
    crowd, numbers, of = asyncio.Semaphore(bench.limits.concurrency), count(1), len(ways) * len(first)
    encoder = load_encoder(design.judging.embeddings) if design.judging.embeddings else None

    async def judged(way: JudgeSetting, item: HumanItem) -> list[ItemOutcome]:
        async with crowd:
            done = await _judged(way, item, documents[item.document], design, encoder, bench)
        bench.observer(PartDone(f"{item.id} by {way.judge}: {done[0].status}", next(numbers), of))
        return done

    columns: list[Column] = []
    for way in ways:
        done = await together(judged(way, dataset.items[n]) for n in first.values())
        by_text = dict(zip(first, done, strict=True))
        rows = [by_text[item.document, item.text] for item in dataset.items]
        runs = {said[0].run for said in done if said[0].run}
        usage = tuple(bench.store.calls.totals(run) for run in sorted(runs))
        for at, setting in enumerate(design.sweep.read):
            judging = way.judging.model_copy(update=_settled(setting))
            said = tuple(row[at] for row in rows)
            columns.append(Column(way.judge, (*way.setting, *setting), said, judging, () if at else usage))
    return AgreementOutcome(design, dataset, tuple(columns), bench.stopped)


def _settled(setting: Setting) -> dict[str, object]:
    return {name: float(value) if name == "threshold" else value for name, value in setting}


async def _judged(
    way: JudgeSetting,
    item: HumanItem,
    document: Document,
    design: AgreementDesign,
    encoder: Encoder | None,
    bench: ExperimentRunner,
) -> list[ItemOutcome]:
    """What a judge says of an item, for each reading of it."""
    watch = RunWatch(f"{item.id} by {way.judge}", bench.observer)
    try:
        result = await bench.made(document, way.settings, way.order(item), watch)
    except BudgetError:
        return [ItemOutcome(run=watch.run)] * len(design.sweep.read)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the other items go on
        return [ItemOutcome(run=watch.run, failure=failure(JUDGING, error))] * len(design.sweep.read)
    evaluation = result.evaluations[design.metric]
    said = _said(evaluation, item, result.run.id)
    with reading(document):
        return [
            replace(said, score=read_otherwise(evaluation, setting, way.judging, encoder)) if setting else said
            for setting in design.sweep.read
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
        of_sentences(evaluation, item.sentences) or (),
        tuple(one["score"] for one in each) if isinstance(each, list) else (),
        run,
        failed,
    )
