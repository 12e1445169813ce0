"""The LongSumEval experiment: design, run and records."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from redraft.agents.accounts import gather_all
from redraft.domain import Document, Evaluation, Totals
from redraft.errors import BudgetError
from redraft.evaluators.catalog import check_goals, metrics
from redraft.events import StageStarted
from redraft.lab.experiments.frames import group_by, where
from redraft.lab.experiments.grid.experiment import drafted
from redraft.lab.experiments.grid.records import GridSummary
from redraft.lab.experiments.plan import (
    NamedModel,
    check_models,
    judged_by,
    keyed,
)
from redraft.lab.experiments.runner import JudgingPack, RunBatch, json_of, parts_for, status_of, taken_by, yardstick
from redraft.lab.experiments.sources import Ready
from redraft.report.history.results import Result
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.model_pool import located
from redraft.runs.prepare import RunSpec
from redraft.settings import (
    BuildKeyfacts,
    BuildQuestions,
    DraftConfig,
    FeedbackName,
    JudgeConfig,
    PackPart,
    PolicyName,
    Refine,
    RefineConfig,
)
from redraft.store.store import Store
from redraft.text.words import count_words

LONGSUMEVAL = "longsumeval"
"""The experiment's name in its runs, and the command that repeats it."""
Goals = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RefineSetting:
    """One way to refine: the thresholds to reach, the order, and what the reviser is told."""

    goals: tuple[tuple[str, float], ...]
    policy: PolicyName
    feedback: FeedbackName

    @property
    def thresholds(self) -> str:
        """The thresholds as a line of text."""
        return ", ".join(f"{metric} {least:g}" for metric, least in self.goals)


@dataclass(frozen=True, slots=True)
class LongSumEvalDesign:
    """The design: every writer refines every summary in every way, from the same first draft."""

    writers: tuple[NamedModel, ...]
    judge: NamedModel
    """The model that judges summaries, and builds what they are judged by."""
    judging: JudgeConfig
    """The judging of summaries, with the judge by name."""
    thresholds: tuple[tuple[tuple[str, float], ...], ...]
    orders: tuple[PolicyName, ...]
    rounds: int | None = None
    low: tuple[tuple[str, float], ...] = ()
    """The scores below which a first draft is low, by metric; if empty, the first thresholds."""
    ready: Ready = field(default_factory=Ready)
    feedbacks: tuple[FeedbackName, ...] = ()
    """What the reviser is told; by default what the order's policy says."""
    free_length: bool = False
    final_comparison: bool = True

    @property
    def ways(self) -> list[RefineSetting]:
        """Every combination of thresholds, order and feedback."""
        return [
            RefineSetting(goals, policy, feedback)
            for goals in self.thresholds
            for policy in self.orders
            for feedback in self.feedbacks or (RefineConfig(goals={}, policy=policy).told,)
        ]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics by which summaries are scored, however they are refined."""
        return tuple(dict.fromkeys(metric for goals in (*self.thresholds, self.low) for metric, _ in goals))

    @property
    def lows(self) -> dict[str, float]:
        """The scores below which a first draft is low, by metric."""
        return dict(self.low or self.thresholds[0])

    @property
    def needs(self) -> list[PackPart]:
        """What is needed about a document before its summaries can be judged."""
        return parts_for(self.metrics, self.judging)

    def drafting(self, writer: NamedModel) -> DraftConfig:
        """Return a writer's drafting settings."""
        return keyed(writer.settings, self._everyone)

    def configured(self) -> DraftConfig:
        """Return the judge's settings for building."""
        return keyed(self.judge.settings, self._everyone)

    @property
    def _everyone(self) -> list[DraftConfig]:
        return [*(writer.settings for writer in self.writers), self.judge.settings]

    def building(self, part: PackPart) -> RunSpec:
        """Return the spec of a run that builds what summaries are judged by."""
        changes: dict[str, object] = {"metrics": (), "judges": (), "models": {}, "base_url": None}
        asked = judged_by(self.judging.model_copy(update=changes), self.judge.name, self.configured())
        judging = located(asked, self.configured())
        purpose = BuildQuestions(judging=judging) if part == "questions" else BuildKeyfacts(judging=judging)
        return RunSpec(purpose, experiment=LONGSUMEVAL)

    def refining(self, writer: NamedModel, way: RefineSetting, draft: str, by: Mapping[str, str | None]) -> RunSpec:
        """Return the spec of a run that refines a draft in one way; it scores every metric, goal or not."""
        refinement = RefineConfig(
            goals=dict(way.goals),
            policy=way.policy,
            feedback=way.feedback,
            free_length=self.free_length,
            final_comparison=self.final_comparison,
            allow_self_check=True,
        )
        if self.rounds is not None:
            refinement = refinement.model_copy(update={"rounds": self.rounds})
        asked = self.judging.model_copy(update={"metrics": self.metrics, **by})
        judging = located(asked, self.drafting(writer), refinement)
        return RunSpec(Refine(judging=judging, refinement=refinement), given=draft, experiment=LONGSUMEVAL)

    def check(self, runner: ExperimentRunner) -> None:
        """Raise for invalid settings and for unknown names or prices, before anything is paid for."""
        check_goals(self.metrics, metrics(self.metrics))
        check_models(
            runner, *((self.drafting(writer), self.judging) for writer in self.writers), (self.configured(), None)
        )


@dataclass(frozen=True, slots=True)
class Stand:
    """The scores of the best draft after a round."""

    round: int
    scores: Mapping[str, float | None]
    revised: bool = False
    """True if this round made a revision."""
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class Refined:
    """One summary refined in one way, or why it was not."""

    document: str
    title: str
    system: str
    """The system that wrote the first draft."""
    number: int
    writer: str
    """The model that refines it."""
    way: RefineSetting
    stands: tuple[Stand, ...] = ()
    """The stands from the first draft on; empty if it is not done."""
    stop: str | None = None
    words: tuple[int, int] | None = None
    """The words of the first and the last draft."""
    run: str | None = None
    taken: Totals | None = None
    failure: Failure | None = None
    made: bool = True

    @property
    def status(self) -> str:
        """The status: `done`, `failed` or `not made`."""
        return status_of(self.failure, done=bool(self.stands))

    @property
    def revisions(self) -> int:
        """The number of revisions."""
        return sum(one.revised for one in self.stands)

    def score(self, metric: str, after: int | None = None) -> float | None:
        """Return the score after a round or at the end; a round after the last has the final score."""
        known = [one for one in self.stands if after is None or one.round <= after]
        return known[-1].scores.get(metric) if known else None

    def meets(self, after: int | None = None) -> bool | None:
        """Return True if all goals are met; None if a score is missing."""
        scores = [(self.score(metric, after), least) for metric, least in self.way.goals]
        if any(score is None for score, _ in scores):
            return None
        return all(score is not None and score >= least for score, least in scores)

    def to_json(self) -> dict[str, object]:
        """Return the record for `items.json`."""
        return json_of(
            self,
            "document title system number refined_by=writer thresholds=way.thresholds order=way.policy"
            " feedback=way.feedback status stop"
            " revisions initial: final: rounds=stands words run taken failure",
            initial=self.stands[0].scores if self.stands else None,
            final=self.stands[-1].scores if self.stands else None,
        )


@dataclass(frozen=True, slots=True)
class RefinedOutcome:
    """The outcome of the experiment."""

    design: LongSumEvalDesign
    documents: tuple[tuple[str, str], ...]
    refined: tuple[Refined, ...]
    troubles: tuple[tuple[str, Failure], ...] = ()
    """The failures to build what summaries are judged by, each with the document's title."""
    whole: Totals = field(default_factory=Totals)
    """The total usage, with each answer counted once."""
    stopped: BudgetError | None = None

    @property
    def complete(self) -> bool:
        """True if nothing failed and nothing is missing."""
        return self.stopped is None and not self.troubles and all(one.status == "done" for one in self.refined)

    @property
    def groups(self) -> list[tuple[str, str]]:
        """The pairs of a drafting system and a refining writer."""
        return list(group_by(self.refined, "system", "writer"))

    def of(self, group: tuple[str, str], way: RefineSetting) -> list[Refined]:
        """Return one writer's refinements of one system's drafts in one way."""
        system, writer = group
        return where(self.refined, system=system, writer=writer, way=way)


_REFINING = "refining"


async def longsumeval(
    documents: Sequence[Document], design: LongSumEvalDesign, runner: ExperimentRunner
) -> RefinedOutcome:
    """Run what is not done yet, within the limits. A failure is recorded and does not stop the rest."""
    design.check(runner)
    runner.draw_on(LONGSUMEVAL, repr(design), *(document.id for document in documents))
    drafts = 0 if design.ready.systems else len(design.writers)
    given = sum(len(texts) for of_one in design.ready.systems.values() for texts in of_one.values())
    summaries = given * len(design.writers) or len(documents) * drafts
    batch = RunBatch(runner, len(documents) * (len(design.needs) + drafts) + summaries * len(design.ways))
    runner.observer(StageStarted("drafts and revisions", 0))
    done = await gather_all(_on_document(document, design, batch) for document in documents)
    refined = [one for _, found in done for one in found]
    runs = [run for by, _ in done for run in by.runs] + [one.run for one in refined if one.run]
    return RefinedOutcome(
        design,
        tuple((document.id, document.title) for document in documents),
        tuple(refined),
        tuple((one.title, lost) for one, (by, _) in zip(documents, done, strict=True) for lost in by.failures),
        await taken_by(runner, runs),
        runner.stopped,
    )


async def _on_document(
    document: Document, design: LongSumEvalDesign, batch: RunBatch
) -> tuple[JudgingPack, list[Refined]]:
    """Return the results of one document. Refinements run in turn, since they start from the same drafts."""
    by = await yardstick(document, design.needs, design.judging, design.configured(), design.building, batch)
    refined = [
        await _refined(document, writer, start, way, by, design, batch)
        for writer in design.writers
        for start in await _starts(document, writer, design, batch, by.runs)
        for way in design.ways
    ]
    return by, refined


async def _starts(
    document: Document, writer: NamedModel, design: LongSumEvalDesign, batch: RunBatch, runs: list[str]
) -> list[GridSummary]:
    """Return the first drafts that a writer refines: the given ones, or its own."""
    if design.ready.systems:
        return [
            GridSummary(document.id, document.title, system, number, text, writer.settings.words)
            for system, texts in design.ready.systems.items()
            for number, text in enumerate(texts.get(document.id, ()), 1)
        ]
    draft = await drafted(document, writer.name, design.drafting(writer), LONGSUMEVAL, batch)
    runs += [draft.run] if draft.run else []
    return [draft]


async def _refined(
    document: Document,
    writer: NamedModel,
    start: GridSummary,
    way: RefineSetting,
    by: JudgingPack,
    design: LongSumEvalDesign,
    batch: RunBatch,
) -> Refined:
    system, number = start.contestant, start.number
    one = Refined(document.id, document.title, system, number, writer.name, way, failure=start.failure)
    if start.text is None:
        return replace(one, made=False)
    settings = design.drafting(writer).model_copy(update={"strategy": "given", "words": start.limit})
    step = f"refining by {writer.name} to {way.thresholds}, {way.policy}, {way.feedback}"
    order = design.refining(writer, way, start.text, by.by)
    made = await batch.made(_REFINING, step, document, settings, order, f"{system}: {step}")
    one = replace(one, run=made.run, failure=made.failure)
    if made.result is None:
        return replace(one, made=made.failure is not None)
    store, result = batch.runner.store, made.result
    stands = await asyncio.to_thread(_stands, store, result)
    taken = await asyncio.to_thread(store.calls.taken_by, [result.run.id])
    lengths = (count_words(start.text), count_words(result.summary or ""))
    return replace(one, stands=tuple(stands), stop=result.run.stop_reason, words=lengths, taken=taken)


def _stands(store: Store, result: Result) -> list[Stand]:
    """Return the stand after each round; a rejected revision leaves the scores as they were."""
    stands: list[Stand] = []
    for made in result.rounds:
        if made.number == 0 or made.accepted:
            scores = _scores(store.judgments.of(made.draft), result)
        else:
            scores = dict(stands[-1].scores) if stands else {}
        stands.append(Stand(made.number, scores, made.number > 0, bool(made.accepted) and made.number > 0))
    return stands


def _scores(judged: dict[str, Evaluation], result: Result) -> dict[str, float | None]:
    assert result.run.judging is not None
    return {name: judged[name].score if name in judged else None for name in result.run.judging.metrics}
