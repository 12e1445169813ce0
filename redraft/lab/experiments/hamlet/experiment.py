"""The HAMLET experiment: models answer the queries of key-fact trees, and judges check the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, PlainSerializer

from redraft.agents.accounts import gather_all
from redraft.domain import Document, Evaluation, KeyFacts, Outcome, Perspective, Tree, computed
from redraft.errors import BudgetError, NoAnswerError, UsageError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.figures import total
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.evaluators.reference.keyfacts import ALL, LEVELS, bin_of, share, trees_for
from redraft.events import StageStarted
from redraft.lab.experiments.plan import (
    DRAFTING,
    JUDGING,
    ModelsDesign,
    NamedModel,
    TitledDocument,
    check_models,
    with_judge,
)
from redraft.lab.experiments.runner import (
    RunBatch,
    RunOutcome,
    Used,
    refuse_if_none_fits,
    run_certificate,
    run_usage,
    status_of,
)
from redraft.report.history.certificates import Certificate
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.models import tokenizer_of, with_addresses
from redraft.runs.prepare import RunSpec, prepare
from redraft.settings import BuildKeyfacts, DraftConfig, Evaluate, JudgeConfig, ModelSettings, PerspectiveName
from redraft.text.sanitizer import one_line

KEYFACTS = "key facts"
WHOLE = "whole"
LEVEL_COLUMNS, LEVEL_KEYS = (*LEVELS, WHOLE), (*LEVELS, ALL)
"""The levels of facts and all of them together, as named in tables and in metrics."""
FIFTHS = tuple(bin_of((n + 0.5) / 5) for n in range(5))


@dataclass(frozen=True, slots=True)
class PooledShare:
    """A part of a whole; an item on which judges differ counts as a fraction."""

    part: float
    whole: int

    @computed
    def value(self) -> float | None:
        """The share by equations 1 and 2; None if the whole is zero."""
        return share(self.part, self.whole)


@dataclass(frozen=True, slots=True)
class HamletScore:
    """The result of one metric on one summary, as numbers that can be summed."""

    outcome: Outcome
    score: float | None = None
    levels: Mapping[str, PooledShare] = field(default_factory=dict)
    """The shares by level of the key facts, and over all."""
    unjudged: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    """The numbers of unfaithful sentences by error category."""


@dataclass(frozen=True, slots=True)
class HamletItem:
    """One query to one model, and its results. A None field does not exist, or not yet."""

    document: str
    title: str
    chunk: int
    position: float
    perspective: Perspective
    query: str
    model: str
    runs: Mapping[str, str] = field(default_factory=dict)
    """The runs by stage."""
    usage: Mapping[str, Used] = field(default_factory=dict)
    """The usage by stage."""
    words: int | None = None
    gaps: int = 0
    """The number of the document's chunks left out because the model could not summarize them."""
    recall: HamletScore | None = None
    faithfulness: HamletScore | None = None
    failure: Failure | None = None
    size: str = ""
    """The size of the chunks for key facts, as it was asked for."""
    second: Mapping[str, tuple[HamletScore, HamletScore]] = field(default_factory=dict)
    """Recall and faithfulness by further judges, or against the whole document, by name."""
    nothing: bool = False
    """Whether the model answered that the document does not help: recall is 0, and there is no sentence to verify."""

    @computed
    def bin(self) -> str:
        """The fifth of the document that the facts are in."""
        return bin_of(self.position)

    @computed
    def status(self) -> str:
        """The status: `done`, `failed` or `not made`."""
        return status_of(self.failure, done=self.faithfulness is not None)


def _listed(keyfacts: KeyFacts | None) -> dict[str, object] | None:
    return {"id": keyfacts.id, "missing": keyfacts.missing} if keyfacts else None


@dataclass(frozen=True, slots=True)
class HamletSubject:
    """A document of the experiment, its key facts once they are found, and the usage of finding them."""

    document: TitledDocument
    tokens: int = 0
    keyfacts: Annotated[KeyFacts | None, PlainSerializer(_listed)] = None
    run: str | None = None
    usage: Used | None = None
    failure: Failure | None = None
    size: str = ""


def item_of(subject: HamletSubject, tree: Tree, model: str) -> HamletItem:
    """Return an item before any work is done."""
    document, place = subject.document, (tree.chunk, tree.position, tree.perspective)
    return HamletItem(document.id, document.title, *place, tree.query, model, size=subject.size)


def with_evaluations(item: HamletItem, evaluations: Mapping[str, Evaluation]) -> HamletItem:
    """Return the item with the results of the metrics. If a metric failed, the item has failed."""
    both = evaluations[KeyfactRecall.name], evaluations[Faithfulness.name]
    failed = next((evaluation for evaluation in both if evaluation.outcome == "failed"), None)
    scores = scores_of(*both)
    return replace(
        item,
        recall=scores[0],
        faithfulness=scores[1],
        failure=Failure(JUDGING, "judging", f"{failed.metric}: {one_line(failed.reason)}") if failed else None,
    )


def scores_of(recall: Evaluation, faithfulness: Evaluation) -> tuple[HamletScore, HamletScore]:
    """Return the results of both metrics as numbers."""
    # If alignment failed, the sentences' key facts are unknown, so that there is only the overall share.
    levels = _levels(faithfulness, "faithful")
    if faithfulness.score is not None:
        levels[ALL] = PooledShare(total([round(faithfulness.score * faithfulness.judged, 9)]), faithfulness.judged)
    return _measured(recall, _levels(recall, "stated")), _measured(faithfulness, levels)


def _measured(evaluation: Evaluation, levels: Mapping[str, PooledShare]) -> HamletScore:
    details: Mapping[str, Any] = evaluation.details
    errors = dict(details.get("errors") or {}) if evaluation.outcome == "scored" else {}
    return HamletScore(evaluation.outcome, evaluation.score, levels, evaluation.unjudged, errors)


def abstained_item(item: HamletItem, tree: Tree) -> HamletItem:
    """Return the item of a model that answered NOTHING: no fact of the tree is stated, and no sentence is there."""
    levels = {level: PooledShare(0, sum(level in (fact.level, ALL) for fact in tree.kept)) for level in LEVEL_KEYS}
    recall, faithfulness = HamletScore("scored", 0.0, levels), HamletScore("not_applicable")
    return replace(item, recall=recall, faithfulness=faithfulness, words=0, failure=None, nothing=True)


def _levels(evaluation: Evaluation, counted: str) -> dict[str, PooledShare]:
    details: Mapping[str, Any] = evaluation.details
    found = details.get("by_level") or {}
    return {
        level: PooledShare(one[counted], one["judged"])
        for level, one in found.items()
        if evaluation.outcome == "scored"
    }


Against = Literal["chunk", "document"]
FULL_TEXT = "full text"
HAMLET = "hamlet"
"""The experiment's name in its runs, and the command that repeats it."""
QUERY = "How do the people of this part of the book stand to each other, and what comes of it in the end?"
"""A placeholder as long as the queries of trees, used before there are any."""
# Rounding makes the first of two equally near trees win, whatever the last bits are.
_DECIMALS = 9


@dataclass(frozen=True, slots=True)
class HamletDesign(ModelsDesign):
    """The design of the experiment: everything but the documents and the limits."""

    validator: str | None = None
    own: Annotated[Mapping[str, ModelSettings], Field(exclude=True)] = field(default_factory=dict)
    """The validator's own settings from the settings file, by its name."""
    perspective: PerspectiveName = "both"
    queries: int | None = None
    """The number of queries about each document; None for all."""
    seed: int | None = None
    others: tuple[NamedModel, ...] = ()
    """Further judges of the same summaries by the same key facts."""
    full_text: bool = False
    """Whether faithfulness is also judged against the whole document."""
    sizes: tuple[str, ...] = (JudgeConfig().keyfact_chunks,)
    """The sizes of chunks for key facts. All tables but one are about the first."""
    overlap: int = 0

    @property
    def perspectives(self) -> tuple[Perspective, ...]:
        """The perspectives of the queries."""
        return get_args(Perspective) if self.perspective == "both" else (self.perspective,)

    def trees(self, keyfacts: KeyFacts) -> list[Tree]:
        """Return the trees whose queries are asked."""
        return sample_trees(keyfacts, self.perspectives, self.queries, self.seed)

    def answer_settings(self, model: str, query: str) -> DraftConfig:
        """Return the settings with which a model answers a query."""
        return self.writer_settings(model, query=query)

    def keyfact_spec(self, size: str) -> RunSpec:
        """Return the spec of a run that finds a document's key facts in chunks of a size."""
        judging = JudgeConfig(
            perspective=self.perspective,
            validator=self.validator,
            models=dict(self.own),
            keyfact_chunks=size,
            keyfact_overlap=self.overlap,
        )
        return RunSpec(BuildKeyfacts(judging=self._seated(judging, self.judge)), experiment=HAMLET)

    @property
    def judge_roles(self) -> dict[str, tuple[NamedModel, Against]]:
        """Who judges every summary against what, by name: first the judge of all tables, under no name."""
        found: dict[str, tuple[NamedModel, Against]] = {"": (self.judge, "chunk")}
        found |= {model.name: (model, "chunk") for model in self.others}
        everyone = (self.judge, *self.others) if self.full_text else ()
        return found | {f"{model.name}, {FULL_TEXT}": (model, "document") for model in everyone}

    def settings_for(self, judge: NamedModel, query: str | None) -> DraftConfig:
        """Return a judge's settings."""
        return self._keyed(judge, {"query": query})

    def judge_spec(self, keyfacts: str, summary: str, judge: NamedModel, against: Against) -> RunSpec:
        """Return the spec of a run in which a judge judges a summary."""
        judging = JudgeConfig(
            metrics=("keyfact_recall", "faithfulness"),
            keyfacts=keyfacts,
            perspective=self.perspective,
            evidence="whole",
            verify_against=against,
        )
        return RunSpec(Evaluate(judging=self._seated(judging, judge)), given=summary, experiment=HAMLET)

    def _seated(self, judging: JudgeConfig, judge: NamedModel) -> JudgeConfig:
        """Return the judging by a judge, with the server of every model filled in."""
        return with_addresses(
            with_judge(judging, judge.name, self.settings_for(judge, None)), self.settings_for(judge, None)
        )

    def check(self, runner: ExperimentRunner) -> None:
        """Raise if a name or a price is unknown, before anything is paid for."""
        check_models(runner, *((self.answer_settings(model.name, ""), None) for model in self.models))
        check_models(runner, (self.judge_settings(query=None), self.keyfact_spec(self.sizes[0]).judging))
        check_models(
            runner,
            *(
                (self.settings_for(model, None), self.judge_spec("", "", model, "chunk").judging)
                for model in self.others
            ),
        )


def sample_trees(
    found: KeyFacts, perspectives: Sequence[Perspective], count: int | None = None, seed: int | None = None
) -> list[Tree]:
    """Return the trees whose queries are asked, in document order, the same for the same arguments.

    The document is cut into `count` equal stretches. Each stretch asks the query nearest to its middle, or with a
    `seed` to a random place in it; the perspectives take turns.
    """
    # Of two trees with the same query, only the first is ever used to judge.
    trees = [tree for tree in found.trees if tree.query and trees_for(found, tree.query, perspectives) == (tree,)]
    if count is None or count >= len(trees):
        return trees
    random = Random(seed)
    left = list(range(len(trees)))
    for turn in range(count):
        place = (turn + (0.5 if seed is None else random.random())) / count
        wanted = perspectives[turn % len(perspectives)]
        distances = {n: round(abs(trees[n].position - place), _DECIMALS) for n in left}
        left.remove(min(left, key=lambda n: (trees[n].perspective != wanted, distances[n], n)))
    return [tree for n, tree in enumerate(trees) if n not in left]


@dataclass(frozen=True, slots=True)
class HamletOutcome:
    """The outcome of the experiment."""

    design: HamletDesign
    subjects: tuple[HamletSubject, ...]
    items: tuple[HamletItem, ...]
    stopped: BudgetError | None = None
    certificates: tuple[Certificate, ...] = ()
    """The certificates for the scores, over all items together."""

    @property
    def complete(self) -> bool:
        """True if nothing failed and nothing is missing."""
        return self.stopped is None and all(item.status == "done" for item in self.items) and not self.lost

    @property
    def lost(self) -> tuple[HamletSubject, ...]:
        """The documents without key facts."""
        return tuple(subject for subject in self.subjects if subject.keyfacts is None)


async def hamlet(documents: Sequence[Document], design: HamletDesign, runner: ExperimentRunner) -> HamletOutcome:
    """Run what is not done yet, within the limits. A failure is recorded and does not stop the rest."""
    design.check(runner)
    runner.share_budget(HAMLET, repr(design), *(document.id for document in documents))
    plans = [
        partial(prepare, one, design.answer_settings(model.name, QUERY)) for one in documents for model in design.models
    ]
    await asyncio.to_thread(refuse_if_none_fits, plans)
    _check_imported(documents, design, runner)
    runner.observer(StageStarted("key facts", 0))
    subjects = await gather_all(
        _subject(document, size, design, runner) for document in documents for size in design.sizes
    )
    items = [
        (subject, item_of(subject, tree, named_model.name))
        for subject in subjects
        if subject.keyfacts
        for tree in design.trees(subject.keyfacts)
        for named_model in design.models
    ]
    runner.observer(StageStarted("summaries and verdicts", 0))
    batch = RunBatch(runner, len(items))
    hamlet_items = await gather_all(
        batch.run_task(f"{item.title}, {_name(item)}", partial(_done, subject, item, design, batch))
        for subject, item in items
    )
    behind = await asyncio.to_thread(_certificates, hamlet_items, runner)
    return HamletOutcome(design, tuple(subjects), tuple(hamlet_items), runner.stopped, behind)


def _certificates(items: Sequence[HamletItem], runner: ExperimentRunner) -> tuple[Certificate, ...]:
    """Return the certificates of the scores: one judge gives all of them, with the same prompts."""
    hamlet_items = [
        item for item in items if item.recall is not None and item.faithfulness is not None and not item.nothing
    ]
    if not hamlet_items:
        return ()
    run = runner.store.runs.get(hamlet_items[0].runs[JUDGING])
    measured: dict[type[Evaluator], list[HamletScore | None]] = {
        KeyfactRecall: [item.recall for item in hamlet_items],
        Faithfulness: [item.faithfulness for item in hamlet_items],
    }
    return tuple(
        run_certificate(runner, run, one.name, one.version, *_counted(scores)) for one, scores in measured.items()
    )


def _counted(some: Sequence[HamletScore | None]) -> tuple[int, int]:
    scores = [score for score in some if score is not None]
    return sum(score.levels[ALL].whole for score in scores if ALL in score.levels), sum(
        score.unjudged for score in scores
    )


def _check_imported(documents: Sequence[Document], design: HamletDesign, runner: ExperimentRunner) -> None:
    """Raise if several sizes are asked for, and a document has imported key facts."""
    for document in documents:
        if len(design.sizes) > 1 and runner.store.keyfacts.imported(document.id) is not None:
            what = f"{document.title} has imported key facts, whose chunks have one size"
            raise UsageError(what, hint="name one size with --keyfact-chunks, or use another database")


async def _subject(document: Document, size: str, design: HamletDesign, runner: ExperimentRunner) -> HamletSubject:
    """Return the document with its key facts: imported, found before or found now."""
    tokenizer, _ = tokenizer_of(design.judge_settings(query=None))
    subject = HamletSubject(document, await asyncio.to_thread(tokenizer.count, document.text), size=size)
    if imported := runner.store.keyfacts.imported(document.id):
        return replace(subject, keyfacts=imported)
    batch = RunBatch(runner, 0)
    judging, order = design.judge_settings(query=None), design.keyfact_spec(size)
    outcome = await batch.run_part(KEYFACTS, KEYFACTS, document.title, document, judging, order)
    subject = replace(subject, run=outcome.run, usage=run_usage(runner, outcome.run), failure=outcome.failure)
    if outcome.result is None:
        return subject
    assert outcome.result.run.judging is not None
    assert outcome.result.run.judging.keyfacts is not None
    return replace(subject, keyfacts=runner.store.keyfacts.get(outcome.result.run.judging.keyfacts))


async def _done(subject: HamletSubject, item: HamletItem, design: HamletDesign, batch: RunBatch) -> HamletItem:
    assert subject.keyfacts is not None
    document, drafting = subject.document, design.answer_settings(item.model, item.query)
    outcome = await batch.run_part(DRAFTING, DRAFTING, _name(item), document, drafting, RunSpec(experiment=HAMLET))
    item = _noted(item, DRAFTING, outcome, batch.runner)
    if item.failure is not None and item.failure.code == NoAnswerError.code:
        place = (item.chunk, item.perspective)
        return abstained_item(
            item, next(tree for tree in subject.keyfacts.trees if (tree.chunk, tree.perspective) == place)
        )
    if (drafted := outcome.result) is None:
        return item
    item = replace(item, gaps=len(drafted.gaps), words=drafted.draft.words if drafted.draft else None)
    for name, (judge, against) in design.judge_roles.items():
        order = design.judge_spec(subject.keyfacts.id, drafted.summary or "", judge, against)
        stage = f"{JUDGING} by {name}" if name else JUDGING
        judging, step = design.settings_for(judge, item.query), f"{stage} {item.model}"
        outcome = await batch.run_part(JUDGING, step, _name(item), document, judging, order)
        item = _noted(item, stage, outcome, batch.runner)
        if outcome.result is None:
            return item
        found = outcome.result.evaluations
        if name:
            both = scores_of(found[KeyfactRecall.name], found[Faithfulness.name])
            item = replace(item, second={**item.second, name: both})
        else:
            item = with_evaluations(item, found)
    return item


def _noted(item: HamletItem, stage: str, made: RunOutcome, runner: ExperimentRunner) -> HamletItem:
    """Return the item with the run of a stage, its usage, and its failure, if any."""
    item, totals = replace(item, failure=made.failure or item.failure), run_usage(runner, made.run)
    if made.run is None or totals is None:
        return item
    return replace(item, runs={**item.runs, stage: made.run}, usage={**item.usage, stage: totals})


def _name(item: HamletItem) -> str:
    return f"chunk {item.chunk + 1} {item.perspective} by {item.model}"
