"""The LongSumEval experiment: what refining by questions and answers gains, by subset (table III), round and order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Annotated

from pydantic import Field

from redraft.agents.accounts import gather_all
from redraft.domain import Document, Totals, computed, record_json
from redraft.errors import BudgetError
from redraft.evaluators.catalog import check_goals, metrics
from redraft.events import StageStarted
from redraft.lab.experiments.experiment import (
    AGAIN,
    ENDS,
    INTERVAL,
    Experiment,
    Row,
    average_fields,
    document_means,
    group_by,
    interval_cells,
    percent_change,
    standard_deviation,
    table,
    tokens_and_price,
    where,
)
from redraft.lab.experiments.grid.experiment import GridSummary, draft_summary
from redraft.lab.experiments.plan import NamedModel, PublicJudging, build_spec, check_models, own_key_only
from redraft.lab.experiments.runner import (
    JudgingPack,
    RunBatch,
    Used,
    failure_cells,
    judging_pack,
    required_parts,
    status_of,
    total_usage,
    usage_json,
)
from redraft.lab.experiments.sources import ExistingSummaries
from redraft.report.history.results import Result
from redraft.report.tables import Table, figure, mean, number, plain
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.models import with_addresses
from redraft.runs.prepare import RunSpec
from redraft.settings import DraftConfig, FeedbackName, PackPart, PolicyName, Refine, RefineConfig
from redraft.store.store import Store
from redraft.text.words import count_words

LONGSUMEVAL = "longsumeval"
"""The experiment's name in its runs, and the command that repeats it."""
Goals = Mapping[str, float]
"""Scores by metric."""


@dataclass(frozen=True, slots=True)
class RefineSetting:
    """One way to refine: the thresholds to reach, the order, and the feedback that the reviser gets."""

    goals: Goals
    policy: PolicyName
    feedback: FeedbackName

    @property
    def thresholds(self) -> str:
        """The thresholds as a line of text."""
        return ", ".join(f"{metric} {least:g}" for metric, least in self.goals.items())


@dataclass(frozen=True, slots=True)
class LongSumEvalDesign:
    """The design: every writer refines every summary in every way, from the same first draft."""

    writers: tuple[NamedModel, ...]
    judge: NamedModel
    """The model that judges summaries, and builds what they are judged by."""
    judging: PublicJudging
    """The judging of summaries, with the judge by name."""
    thresholds: tuple[Goals, ...]
    orders: tuple[PolicyName, ...]
    rounds: int | None = None
    low: Goals = field(default_factory=dict)
    """The scores below which a first draft is low, by metric; if empty, the first thresholds."""
    ready: Annotated[ExistingSummaries, Field(exclude=True)] = field(default_factory=ExistingSummaries)
    feedbacks: tuple[FeedbackName, ...] = ()
    """The feedback that the reviser gets; by default that of the order's policy."""
    free_length: bool = False

    @property
    def refine_settings(self) -> list[RefineSetting]:
        """Every combination of thresholds, order and feedback."""
        return [
            RefineSetting(goals, policy, feedback)
            for goals in self.thresholds
            for policy in self.orders
            for feedback in self.feedbacks or (RefineConfig(goals={}, policy=policy).feedback_name,)
        ]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics by which summaries are scored, however they are refined."""
        return tuple(dict.fromkeys(metric for goals in (*self.thresholds, self.low) for metric in goals))

    @property
    def low_scores(self) -> Goals:
        """The scores below which a first draft is low, by metric."""
        return self.low or self.thresholds[0]

    @property
    def required_parts(self) -> list[PackPart]:
        """What is needed about a document before its summaries can be judged."""
        return required_parts(self.metrics, self.judging)

    def model_settings(self, one: NamedModel) -> DraftConfig:
        """Return the settings of a writer or of the judge."""
        return own_key_only(one.settings, [it.settings for it in (*self.writers, self.judge)])

    def build_spec(self, part: PackPart) -> RunSpec:
        """Return the spec of a run that builds what summaries are judged by."""
        judging = self.judging.model_copy(update={"judges": (), "models": {}, "base_url": None})
        return build_spec(part, judging, self.judge.name, self.model_settings(self.judge), LONGSUMEVAL)

    def refine_spec(self, writer: NamedModel, way: RefineSetting, draft: str, by: Mapping[str, str | None]) -> RunSpec:
        """Return the spec of a run that refines a draft in one way; it scores every metric, goal or not."""
        refinement = RefineConfig(
            goals=dict(way.goals),
            policy=way.policy,
            feedback=way.feedback,
            free_length=self.free_length,
        )
        if self.rounds is not None:
            refinement = refinement.model_copy(update={"rounds": self.rounds})
        judge_config = self.judging.model_copy(update={"metrics": self.metrics, **by})
        judging = with_addresses(judge_config, self.model_settings(writer), refinement)
        return RunSpec(Refine(judging=judging, refinement=refinement), given=draft, experiment=LONGSUMEVAL)

    def check(self, runner: ExperimentRunner) -> None:
        """Raise for invalid settings and for unknown names or prices, before anything is paid for."""
        check_goals(self.metrics, metrics(self.metrics))
        writers = [(self.model_settings(writer), self.judging) for writer in self.writers]
        check_models(runner, *writers, (self.model_settings(self.judge), None))


@dataclass(frozen=True, slots=True)
class BestScores:
    """The scores of the best draft after a round."""

    round: int
    scores: Mapping[str, float | None]
    revised: bool = False
    """True if this round made a revision."""
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class RefinedSummary:
    """One summary refined in one way, or why it was not."""

    document: str
    title: str
    system: str
    """The system that wrote the first draft."""
    number: int
    writer: str
    """The model that refines it."""
    way: RefineSetting
    rounds: tuple[BestScores, ...] = ()
    """The stands from the first draft on; empty if it is not done."""
    stop: str | None = None
    words: tuple[int, int] | None = None
    """The words of the first and the last draft."""
    run: str | None = None
    taken: Used | None = None
    failure: Failure | None = None

    @computed
    def status(self) -> str:
        """The status: `done`, `failed` or `not made`."""
        return status_of(self.failure, done=bool(self.rounds))

    @computed
    def initial(self) -> Mapping[str, float | None] | None:
        """The scores of the first draft."""
        return self.rounds[0].scores if self.rounds else None

    @computed
    def final(self) -> Mapping[str, float | None] | None:
        """The scores of the last draft."""
        return self.rounds[-1].scores if self.rounds else None

    @computed
    def revisions(self) -> int:
        """The number of revisions."""
        return sum(scores.revised for scores in self.rounds)

    def score(self, metric: str, after: int | None = None) -> float | None:
        """Return the score after a round or at the end; a round after the last has the final score."""
        best_scores = [scores for scores in self.rounds if after is None or scores.round <= after]
        return best_scores[-1].scores.get(metric) if best_scores else None

    def meets(self, after: int | None = None) -> bool | None:
        """Return True if all goals are met; None if a score is missing."""
        scores = [(self.score(metric, after), least) for metric, least in self.way.goals.items()]
        met = [None if score is None else score >= least for score, least in scores]
        return None if None in met else all(met)


@dataclass(frozen=True, slots=True)
class RefinedOutcome:
    """The outcome of the experiment."""

    design: LongSumEvalDesign
    documents: tuple[tuple[str, str], ...]
    refined: tuple[RefinedSummary, ...]
    troubles: tuple[tuple[str, Failure], ...] = ()
    """The failures to build what summaries are judged by, each with the document's title."""
    whole: Totals = field(default_factory=Totals)
    """The total usage, with each answer counted once."""
    stopped: BudgetError | None = None

    @property
    def complete(self) -> bool:
        """True if nothing failed and nothing is missing."""
        return self.stopped is None and not self.troubles and all(summary.status == "done" for summary in self.refined)

    @property
    def groups(self) -> list[tuple[str, str]]:
        """The pairs of a drafting system and a refining writer."""
        return list(group_by(self.refined, "system", "writer"))

    def refinements_of(self, group: tuple[str, str], way: RefineSetting) -> list[RefinedSummary]:
        """Return one writer's refinements of one system's drafts in one way."""
        system, writer = group
        return where(self.refined, system=system, writer=writer, way=way)


async def longsumeval(
    documents: Sequence[Document], design: LongSumEvalDesign, runner: ExperimentRunner
) -> RefinedOutcome:
    """Run what is not done yet, within the limits. A failure is recorded and does not stop the rest."""
    design.check(runner)
    runner.share_budget(LONGSUMEVAL, repr(design), *(document.id for document in documents))
    drafts = 0 if design.ready.systems else len(design.writers)
    given = sum(len(texts) for of_one in design.ready.systems.values() for texts in of_one.values())
    summaries = given * len(design.writers) or len(documents) * drafts
    batch = RunBatch(
        runner, len(documents) * (len(design.required_parts) + drafts) + summaries * len(design.refine_settings)
    )
    runner.observer(StageStarted("drafts and revisions", 0))
    done = await gather_all(_on_document(document, design, batch) for document in documents)
    refined = [summary for _, summaries in done for summary in summaries]
    runs = [run for by, _ in done for run in by.runs] + [summary.run for summary in refined if summary.run]
    return RefinedOutcome(
        design,
        tuple((document.id, document.title) for document in documents),
        tuple(refined),
        tuple((one.title, lost) for one, (by, _) in zip(documents, done, strict=True) for lost in by.failures),
        await total_usage(runner, runs),
        runner.stopped,
    )


@dataclass(frozen=True, slots=True)
class _DocumentRefinements:
    """The work on one document. Refinements run in turn, since they start from the same drafts."""

    document: Document
    design: LongSumEvalDesign
    batch: RunBatch
    by: JudgingPack

    async def refine_all(self) -> list[RefinedSummary]:
        """Return the refinements of all drafts by all writers in all ways."""
        return [
            await self._refined(writer, start, way)
            for writer in self.design.writers
            for start in await self._starts(writer)
            for way in self.design.refine_settings
        ]

    async def _starts(self, writer: NamedModel) -> list[GridSummary]:
        """Return the first drafts that a writer refines: the given ones, or its own."""
        document, systems = self.document, self.design.ready.systems
        if systems:
            return [
                GridSummary(document.id, document.title, system, number, text, writer.settings.words)
                for system, texts in systems.items()
                for number, text in enumerate(texts.get(document.id, ()), 1)
            ]
        draft = await draft_summary(document, writer.name, self.design.model_settings(writer), LONGSUMEVAL, self.batch)
        self.by.runs += [draft.made_in] if draft.made_in else []
        return [draft]

    async def _refined(self, writer: NamedModel, start: GridSummary, way: RefineSetting) -> RefinedSummary:
        document, design, batch = self.document, self.design, self.batch
        system = start.system
        summary = RefinedSummary(
            document.id, document.title, system, start.number, writer.name, way, failure=start.failure
        )
        if start.text is None:
            return summary
        settings = design.model_settings(writer).model_copy(update={"strategy": "given", "words": start.limit})
        step = f"refining by {writer.name} to {way.thresholds}, {way.policy}, {way.feedback}"
        order = design.refine_spec(writer, way, start.text, self.by.by)
        outcome = await batch.run("refining", step, document, settings, order, f"{system}: {step}")
        summary = replace(summary, run=outcome.run, failure=outcome.failure)
        if outcome.result is None:
            return summary
        store, result = batch.runner.store, outcome.result
        stands = await asyncio.to_thread(_stands, store, result)
        totals = await total_usage(batch.runner, [result.run.id])
        lengths = (count_words(start.text), count_words(result.summary or ""))
        return replace(summary, rounds=tuple(stands), stop=result.run.stop_reason, words=lengths, taken=totals)


async def _on_document(
    document: Document, design: LongSumEvalDesign, batch: RunBatch
) -> tuple[JudgingPack, list[RefinedSummary]]:
    judge = design.model_settings(design.judge)
    by = await judging_pack(document, design.required_parts, design.judging, judge, design.build_spec, batch)
    return by, await _DocumentRefinements(document, design, batch, by).refine_all()


def _stands(store: Store, result: Result) -> list[BestScores]:
    """Return the stand after each round; a rejected revision leaves the scores as they were."""
    stands: list[BestScores] = []
    assert result.run.judging is not None
    for made in result.rounds:
        if made.number == 0 or made.accepted:
            judged = store.judgments.of(made.draft)
            scores = {name: judged[name].score if name in judged else None for name in result.run.judging.metrics}
        else:
            scores = dict(stands[-1].scores) if stands else {}
        stands.append(BestScores(made.number, scores, made.number > 0, bool(made.accepted) and made.number > 0))
    return stands


ALL = "all"
_WHO = ("drafts by", "refined by")
_HEAD = (*_WHO, "thresholds", "order", "feedback")
_INTERVAL = INTERVAL.format("", "")
Pairs = Sequence[tuple[str, float, float]]
"""Two scores for each summary, with its document."""


def basis(outcome: RefinedOutcome) -> str:
    """Return what the tables are based on, in a sentence or two."""
    status = [summary.status for summary in outcome.refined]
    metrics = outcome.design.metrics
    silent = sum(
        any(score is None for metric in metrics for score in (summary.score(metric, 0), summary.score(metric)))
        for summary in outcome.refined
        if summary.rounds
    )
    return (
        f"Based on {status.count('done')} of {len(status)} refined summaries of {len(outcome.documents)}"
        f" document{'s' * (len(outcome.documents) != 1)}; {status.count('failed')} failed,"
        f" {status.count('not made')} were not made; {silent} have no first or last score by some metric."
    )


def _cells(outcome: RefinedOutcome) -> Iterator[tuple[Row, list[RefinedSummary]]]:
    """Yield the refinements of each system's drafts by each writer in each way, with the cells of `_HEAD`."""
    for group in outcome.groups:
        for way in outcome.design.refine_settings:
            yield (*group, way.thresholds, way.policy, way.feedback), outcome.refinements_of(group, way)


def _pairs(refined: Sequence[RefinedSummary], metric: str, after: int | None = None) -> Pairs:
    """Return each summary's document, its first score, and its score after a round or at the end."""
    return [
        (summary.document, before, then)
        for summary in refined
        if (before := summary.score(metric, 0)) is not None and (then := summary.score(metric, after)) is not None
    ]


def _means(pairs: Pairs) -> tuple[float | None, float | None]:
    return mean([one for _, one, _ in pairs]), mean([other for _, _, other in pairs])


def _gains(pairs: Pairs) -> list[float]:
    return list(document_means((document, then - before) for document, before, then in pairs).values())


def _over_documents(values: Sequence[float]) -> Row:
    return (mean(values), *interval_cells(values))


@table(
    "gains",
    "Gains from refining (LongSumEval, table III)",
    "Mean scores of first drafts (initial) and of the same summaries after refining (refined), over the summaries"
    " that have both, with standard deviations. Gain is the mean difference; change is the difference of the"
    " means in % of the initial one. A subset contains the first drafts that score below the stated value."
    f" {_INTERVAL}",
    (*_HEAD, "subset", "metric", "initial", "sd initial", "refined", "sd refined", "change %", "gain", *ENDS,
     "documents", "summaries", "of"),
    basis,
)  # fmt: skip
def gain_table(outcome: RefinedOutcome) -> Iterator[Row]:
    for head, summaries in _cells(outcome):
        for subset, some in _subsets(summaries, outcome.design.low_scores):
            for metric in outcome.design.metrics:
                pairs = _pairs(some, metric)
                (first, last), gains = _means(pairs), _gains(pairs)
                spread = (
                    standard_deviation([one for _, one, _ in pairs]),
                    standard_deviation([one for _, _, one in pairs]),
                )
                cells = (first, spread[0], last, spread[1], percent_change(first, last), *_over_documents(gains))
                yield (*head, subset, metric, *cells, len(gains), len(pairs), len(some))


def _subsets(refined: Sequence[RefinedSummary], lows: Goals) -> Iterator[tuple[str, Sequence[RefinedSummary]]]:
    yield ALL, refined
    for metric, least in lows.items():
        low = [summary for summary in refined if (score := summary.score(metric, 0)) is not None and score < least]
        yield f"{metric} < {least:g}", low


@table(
    "rounds",
    "Gain by round",
    "Mean score of the best drafts after each round, over the summaries with a score both before and after; a"
    " finished summary keeps its score. Gain is since the first draft, step since the previous round. Revised:"
    f" drafts that were revised in the round; accepted: revisions that were kept. {_INTERVAL}",
    (*_HEAD, "metric", "round", "score", *ENDS, "gain", "gain from", "gain to", "step", "revised", "taken", "meet all",
     "summaries", "of"),
    basis,
)  # fmt: skip
def round_table(outcome: RefinedOutcome) -> Iterator[Row]:
    for head, summaries in _cells(outcome):
        refined = [summary for summary in summaries if summary.rounds]
        last = max((stand.round for summary in refined for stand in summary.rounds), default=-1)
        for metric in outcome.design.metrics:
            for done in range(last + 1):
                yield (*head, metric, done, *_after(refined, metric, done))


def _after(refined: Sequence[RefinedSummary], metric: str, after: int) -> Row:
    pairs = _pairs(refined, metric, after)
    before = _pairs(refined, metric, after - 1) if after else []
    scores = list(document_means((document, then) for document, _, then in pairs).values())
    (_, then), (_, earlier) = _means(pairs), _means(before)
    step = then - earlier if then is not None and earlier is not None else None
    here = [stand for summary in refined for stand in summary.rounds if stand.round == after]
    return (
        *(*_over_documents(scores), *_over_documents(_gains(pairs)), step),
        *(sum(stand.revised for stand in here), sum(stand.accepted for stand in here)),
        *(sum(summary.meets(after) is True for summary in refined), len(pairs), len(refined)),
    )


@table(
    "thresholds",
    "Refining by threshold",
    "For each metric the mean gain; how many first and final drafts meet all thresholds; open are those with a"
    " missing score. Revisions, added words, calls, tokens and USD are means per summary and include the"
    " verdicts; verdicts that an earlier setting has paid for are not paid for again.",
    lambda outcome: (
        *(*_HEAD, *(f"gain in {metric}" for metric in outcome.design.metrics)),
        *("met at first", "met at last", "open", "revisions", "words gained", "calls", "tokens", "USD"),
        *("summaries", "of"),
    ),
    basis,
)
def threshold_table(outcome: RefinedOutcome) -> Iterator[Row]:
    for head, summaries in _cells(outcome):
        refined = [summary for summary in summaries if summary.rounds]
        start, end = ([summary.meets(0) for summary in refined], [summary.meets() for summary in refined])
        totals = [summary.taken for summary in refined]
        yield (
            *(*head, *(mean(_gains(_pairs(refined, metric))) for metric in outcome.design.metrics)),
            *(start.count(True), end.count(True), end.count(None), mean([summary.revisions for summary in refined])),
            mean([summary.words[1] - summary.words[0] for summary in refined if summary.words]),
            *(average_fields(totals, ("calls",))[0], *tokens_and_price(totals), len(refined), len(summaries)),
        )


@table(
    "orders",
    "The order of the goals, and what the reviser is told",
    "Final score in the first way minus that in the second, for the same first draft, as the mean over documents."
    " `paper` fixes coverage first and accepts every revision; the other orders reject revisions that lower another"
    " goal's score. The reviser is told findings (with answers and places), as in the paper questions, or, as in"
    f" Self-Refine, its own criticism (generic). {_INTERVAL}",
    (*_WHO, "thresholds", "first", "second", "metric", "final, first", "final, second", "difference", *ENDS,
     "documents", "summaries", "of"),
    basis,
)  # fmt: skip
def order_table(outcome: RefinedOutcome) -> Iterator[Row]:
    design = outcome.design
    for group in outcome.groups:
        for goals in design.thresholds:
            for first, second in combinations([way for way in design.refine_settings if way.goals == goals], 2):
                mine, other = (outcome.refinements_of(group, way) for way in (first, second))
                names = [f"{way.policy}, {way.feedback}" for way in (first, second)]
                for metric in design.metrics:
                    both = [(summary.document, summary.score(metric), two.score(metric))
                            for summary, two in zip(mine, other, strict=True)]  # fmt: skip
                    pairs = [(one, a, b) for one, a, b in both if a is not None and b is not None]
                    found = list(document_means((document, a - b) for document, a, b in pairs).values())
                    cells = (*_means(pairs), *_over_documents(found), len(found), len(pairs), len(mine))
                    yield (*group, first.thresholds, *names, metric, *cells)


@table("failures", "What failed", AGAIN, ("document", *_HEAD, "stage", "code", "message"), basis)
def failure_table(outcome: RefinedOutcome) -> Iterator[Row]:
    for title, lost in outcome.troubles:
        yield (title, *[""] * len(_HEAD), *failure_cells(lost))
    for summary in outcome.refined:
        if summary.failure is not None:
            way = summary.way
            head = (summary.title, summary.system, summary.writer, way.thresholds, way.policy, way.feedback)
            yield (*head, *failure_cells(summary.failure))


def _tables(outcome: RefinedOutcome) -> Iterable[Table]:
    of_all = [gain_table, round_table, threshold_table]
    several = [order_table] if len(outcome.design.refine_settings) > len(outcome.design.thresholds) else []
    return [made(outcome) for made in (*of_all, *several, failure_table)]


def _settings(outcome: RefinedOutcome) -> Mapping[str, object]:
    documents = [{"id": document, "title": title} for document, title in outcome.documents]
    return {**record_json(outcome.design), "documents": documents, "taken": usage_json(outcome.whole)}


def _about(outcome: RefinedOutcome) -> Iterator[str]:
    design, totals = outcome.design, outcome.whole
    systems = "; ".join(plain(system) for system in dict.fromkeys(system for system, _ in outcome.groups))
    yield f"first drafts by: {systems}"
    yield f"refined by: {'; '.join(plain(model.name) for model in design.writers)}"
    yield f"judged by: {plain(design.judge.name)}"
    yield f"thresholds: {'; '.join(dict.fromkeys(way.thresholds for way in design.refine_settings))}"
    yield f"order of the goals: {', '.join(design.orders)}"
    yield f"the reviser is told: {', '.join(dict.fromkeys(way.feedback for way in design.refine_settings))}"
    yield f"revisions: {'as long as they need' if design.free_length else 'within the word limit'}"
    yield f"documents: {', '.join(plain(title) for _, title in outcome.documents)}"
    if strangers := design.ready.strangers:
        yield f"ready-made summaries of documents that are not part of the experiment: {strangers}"
    cost = "" if totals.cost_usd is None else f", {figure(totals.cost_usd)} USD"
    tokens = totals.prompt_tokens + totals.completion_tokens
    yield f"used, each answer counted once: {totals.calls:,} calls, {tokens:,} tokens{cost}"
    yield basis(outcome)


def _headline(outcome: RefinedOutcome, tables: Sequence[Table]) -> Iterator[str]:
    for one in [record for record in tables[0].records if record["subset"] == ALL][:8]:
        first, last, gain = (figure(number(one[name]), 2) for name in ("initial", "refined", "change %"))
        who = f"{plain(str(one['drafts by']))}, {one['thresholds']}, {one['order']}, {one['feedback']}"
        yield f"{who}: {one['metric']} {first} → {last} ({gain}%)"
    yield basis(outcome)


EXPERIMENT: Experiment[LongSumEvalDesign, RefinedOutcome] = Experiment(
    LONGSUMEVAL,
    "LongSumEval: refining by questions and answers",
    run=longsumeval,
    is_some=lambda outcome: any(summary.status == "done" for summary in outcome.refined),
    about=_about,
    settings=_settings,
    tables=_tables,
    items=lambda outcome: outcome.refined,
    headline=_headline,
    who=lambda outcome: ([model.name for model in outcome.design.writers], [outcome.design.judge.name]),
)
