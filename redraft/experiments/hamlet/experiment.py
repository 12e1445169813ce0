"""The experiment of HAMLET: models answer the queries of documents' key-fact trees, and are judged by those trees."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import get_args

from redraft.agents.together import together
from redraft.domain import Document, Evaluation, KeyFacts, Perspective, Totals, Tree
from redraft.errors import BudgetError, RedraftError, StoreError
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.events import PartDone, StageStarted
from redraft.experiments.hamlet.queries import asked_trees
from redraft.experiments.hamlet.records import KEYFACTS, Item, Measured, Subject, item_of, judged
from redraft.experiments.seats import Seat, judged_by, keyed, seated
from redraft.experiments.stages import DRAFTING, JUDGING
from redraft.history.certificates import Certificate, certificate
from redraft.packs.keyfacts import ALL
from redraft.runs.bench import Bench, Watch
from redraft.runs.failures import failure
from redraft.runs.locating import located
from redraft.runs.opening import resolve, tokenizer_of
from redraft.runs.preparing import Order, prepare
from redraft.runs.staff import hire
from redraft.settings import BuildKeyfacts, Evaluate, Judging, ModelSettings, PerspectiveName, Settings

HAMLET = "hamlet"
"""What its runs are for, and the command that repeats them."""
QUERY = "How do the people of this part of the book stand to each other, and what comes of it in the end?"
"""As long as the queries of trees are, and in their place where there are none yet."""


@dataclass(frozen=True, slots=True)
class Design:
    """What the experiment compares, and how: everything but the documents and the limits."""

    models: tuple[Seat, ...]
    judge: Seat
    validator: str | None = None
    own: Mapping[str, ModelSettings] = field(default_factory=dict)
    """What the settings file has under the validator's name."""
    perspective: PerspectiveName = "both"
    queries: int | None = None
    """How many queries are asked about each document; without a number, all."""
    seed: int | None = None

    @property
    def perspectives(self) -> tuple[Perspective, ...]:
        """From which perspectives there are queries."""
        return get_args(Perspective) if self.perspective == "both" else (self.perspective,)

    def trees(self, keyfacts: KeyFacts) -> list[Tree]:
        """The trees whose queries are asked."""
        return asked_trees(keyfacts, self.perspectives, self.queries, self.seed)

    def drafting(self, model: str, query: str) -> Settings:
        """How a model answers a query."""
        settings = seated(model, self.models).settings
        return keyed(settings.model_copy(update={"query": query}), self._everyone)

    def judging(self, query: str | None = None) -> Settings:
        """Who judges, and by which query."""
        return keyed(self.judge.settings.model_copy(update={"query": query}), self._everyone)

    @property
    def _everyone(self) -> list[Settings]:
        return [one.settings for one in (*self.models, self.judge)]

    def building(self) -> Order:
        """The order to find a document's key facts."""
        judging = Judging(perspective=self.perspective, validator=self.validator, models=dict(self.own))
        return Order(BuildKeyfacts(judging=self._seated(judging)), experiment=HAMLET)

    def verdict(self, keyfacts: str, summary: str) -> Order:
        """The order to judge a summary."""
        metrics = ("keyfact_recall", "faithfulness")
        judging = Judging(metrics=metrics, keyfacts=keyfacts, perspective=self.perspective, evidence="whole")
        return Order(Evaluate(judging=self._seated(judging)), given=summary, experiment=HAMLET)

    def _seated(self, judging: Judging) -> Judging:
        """The judging by the judge, with everybody's address."""
        return located(judged_by(judging, self.judge.name, self.judging()), self.judging())

    def check(self, bench: Bench) -> None:
        """Refuse what cannot be meant, a name or a price that nobody knows, before anything is paid for."""
        for one in self.models:
            hire(resolve(self.drafting(one.name, "")), None, bench.limits, bench.prices)
        hire(resolve(self.judging()), self.building().judging, bench.limits, bench.prices)


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that came of the experiment."""

    design: Design
    subjects: tuple[Subject, ...]
    items: tuple[Item, ...]
    stopped: BudgetError | None = None
    certificates: tuple[Certificate, ...] = ()
    """What stands behind the scores, of all items together."""

    @property
    def complete(self) -> bool:
        """Whether nothing failed and nothing is missing."""
        return self.stopped is None and all(item.status == "done" for item in self.items) and not self.lost

    @property
    def lost(self) -> tuple[Subject, ...]:
        """The documents without key facts."""
        return tuple(subject for subject in self.subjects if subject.keyfacts is None)


async def hamlet(documents: Sequence[Document], design: Design, bench: Bench) -> Outcome:
    """Do what is not done yet, as far as the limits allow. What fails is recorded, and stops nothing else."""
    design.check(bench)
    bench.draw_on(HAMLET, repr(design), *(document.id for document in documents))
    await asyncio.to_thread(_check_plans, documents, design)
    await _count_what_is_known(documents, design, bench)
    bench.observer(StageStarted("key facts", 0))
    subjects = await together(_subject(document, design, bench) for document in documents)
    items = [
        (subject, item)
        for subject in subjects
        if subject.keyfacts
        for tree in design.trees(subject.keyfacts)
        for item in (item_of(subject.document, tree, one.name) for one in design.models)
    ]
    bench.observer(StageStarted("summaries and verdicts", 0))
    crowd, numbers = asyncio.Semaphore(bench.limits.concurrency), count(1)

    async def made(subject: Subject, item: Item) -> Item:
        async with crowd:
            done = await _item(subject, item, design, bench)
        bench.observer(PartDone(f"{item.title}, {_name(item)}: {done.status}", next(numbers), len(items)))
        return done

    done = await together(made(subject, item) for subject, item in items)
    behind = await asyncio.to_thread(_certificates, done, bench)
    return Outcome(design, tuple(subjects), tuple(done), bench.stopped, behind)


def _certificates(items: Sequence[Item], bench: Bench) -> tuple[Certificate, ...]:
    """What stands behind the scores: all of them are by one judge, under the same prompts."""
    judged = [item for item in items if item.recall is not None and item.faithfulness is not None]
    if not judged:
        return ()
    run = bench.store.runs.get(judged[0].runs[JUDGING])
    measured = {KeyfactRecall: [item.recall for item in judged], Faithfulness: [item.faithfulness for item in judged]}
    return tuple(
        certificate(bench.store, run, Evaluation(metric.name, metric.version, "scored", None, *_counted(some)))
        for metric, some in measured.items()
    )


def _counted(some: Sequence[Measured | None]) -> tuple[int, int]:
    """How many verdicts were given, and how many were not."""
    known = [one for one in some if one is not None]
    return sum(one.levels[ALL].whole for one in known if ALL in one.levels), sum(one.unjudged for one in known)


def _check_plans(documents: Sequence[Document], design: Design) -> None:
    """Where no model could summarize any of the documents, say so before their key facts are paid for."""
    refused: list[RedraftError] = []
    for document in documents:
        for one in design.models:
            try:
                prepare(document, design.drafting(one.name, QUERY))
            except RedraftError as error:
                refused.append(error)
            else:
                return
    raise refused[0]


async def _count_what_is_known(documents: Sequence[Document], design: Design, bench: Bench) -> None:
    """Find all that was done before, so that it counts before anything more is spent."""
    for document in documents:
        keyfacts = await _known_keyfacts(document, design, bench)
        for tree in design.trees(keyfacts) if keyfacts else ():
            for one in design.models:
                drafted = await bench.known(document, design.drafting(one.name, tree.query), Order())
                if keyfacts and drafted and drafted.status == "done" and drafted.draft:
                    summary = bench.store.runs.draft(drafted.draft).text
                    await bench.known(document, design.judging(tree.query), design.verdict(keyfacts.id, summary))


async def _known_keyfacts(document: Document, design: Design, bench: Bench) -> KeyFacts | None:
    """The key facts that need not be found first."""
    if imported := bench.store.keyfacts.imported(document.id):
        return imported
    run = await bench.known(document, design.judging(), design.building())
    found = run.judging.keyfacts if run and run.judging else None
    return bench.store.keyfacts.get(found) if found else None


async def _subject(document: Document, design: Design, bench: Bench) -> Subject:
    """The document with its key facts: imported, found before, or found now."""
    tokenizer, _ = tokenizer_of(design.judging())
    subject = Subject(document, await asyncio.to_thread(tokenizer.count, document.text))
    if imported := bench.store.keyfacts.imported(document.id):
        return replace(subject, keyfacts=imported)
    watch = Watch(document.title, bench.observer)
    try:
        result = await bench.made(document, design.judging(), design.building(), watch)
        assert result.run.judging is not None
        assert result.run.judging.keyfacts is not None
        subject = replace(subject, keyfacts=bench.store.keyfacts.get(result.run.judging.keyfacts))
    except BudgetError:
        pass
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the other documents go on
        subject = replace(subject, failure=failure(KEYFACTS, error))
    return replace(subject, run=watch.run, usage=_used(bench, watch))


async def _item(subject: Subject, item: Item, design: Design, bench: Bench) -> Item:
    """The item with what came of it."""
    assert subject.keyfacts is not None
    document, watch, stage = subject.document, Watch(_name(item), bench.observer), DRAFTING
    try:
        drafted = await bench.made(document, design.drafting(item.model, item.query), Order(experiment=HAMLET), watch)
        item = _noted(replace(item, gaps=len(drafted.gaps)), stage, watch, bench)
        summary = drafted.summary or ""
        item = replace(item, words=drafted.draft.words if drafted.draft else None)
        watch, stage = Watch(watch.name, bench.observer), JUDGING
        order = design.verdict(subject.keyfacts.id, summary)
        result = await bench.made(document, design.judging(item.query), order, watch)
        return judged(_noted(item, stage, watch, bench), result.evaluations)
    except BudgetError:
        return _noted(item, stage, watch, bench)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the other items go on
        return replace(_noted(item, stage, watch, bench), failure=failure(stage, error))


def _noted(item: Item, stage: str, watch: Watch, bench: Bench) -> Item:
    """The item with the run of a stage and what it used, where there is one."""
    used = _used(bench, watch)
    if watch.run is None or used is None:
        return item
    return replace(item, runs={**item.runs, stage: watch.run}, usage={**item.usage, stage: used})


def _used(bench: Bench, watch: Watch) -> Totals | None:
    return bench.store.calls.totals(watch.run) if watch.run else None


def _name(item: Item) -> str:
    return f"chunk {item.chunk + 1} {item.perspective} by {item.model}"
