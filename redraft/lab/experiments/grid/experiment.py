"""The grid experiment: models, strategies and existing summaries, on documents, by metrics and by preference.

On one document a judge takes one summary after the other, so that what two summaries share is asked once; documents and
judges run concurrently.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import combinations, product
from typing import Annotated, Any, Literal

from pydantic import Field

from redraft.agents.accounts import gather_all
from redraft.domain import Document, Evaluation, Outcome, Totals, computed
from redraft.errors import BudgetError, UsageError
from redraft.evaluators.catalog import metrics, with_rubrics
from redraft.evaluators.metric_info import PREFERENCE, got_no_reply
from redraft.events import StageStarted
from redraft.lab.experiments.legacy import UNDECIDED, where
from redraft.lab.experiments.plan import (
    DRAFTING,
    JUDGING,
    NamedModel,
    PublicJudging,
    PublicSettings,
    build_spec,
    check_models,
    own_key_only,
    with_judge,
)
from redraft.lab.experiments.runner import (
    JudgingPack,
    RunBatch,
    Used,
    judging_pack,
    refuse_if_none_fits,
    required_parts,
    status_of,
    total_usage,
)
from redraft.lab.experiments.sources import ExistingSummaries
from redraft.prompts.coherence import ASPECTS, Aspect
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.prepare import RunSpec, check_judging, prepare
from redraft.settings import STATISTICS, Compare, DraftConfig, Evaluate, JudgeConfig, PackPart
from redraft.store.store import Store
from redraft.text.words import count_words

GRID = "grid"
"""The experiment's name in its runs, and the command that repeats it."""
_TRIGRAMS = "3"


@dataclass(frozen=True, slots=True)
class GridSystem:
    """A source of summaries: a model with settings, or existing summaries."""

    name: str
    settings: PublicSettings | None = None
    """The settings for drafting; None if its summaries already exist."""
    model: str = ""
    """The model's name as given."""


@dataclass(frozen=True, slots=True)
class GridDesign:
    """The design: every judge judges all contestants on all documents, separately."""

    contestants: tuple[GridSystem, ...]
    judges: tuple[NamedModel, ...]
    judging: PublicJudging
    ready: Annotated[ExistingSummaries, Field(exclude=True)] = field(default_factory=ExistingSummaries)
    prefers: bool = False
    """True if the judges also compare summaries in pairs."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics by which summaries are scored."""
        return self.judging.metrics

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of contestants to compare, by name."""
        return list(combinations([system.name for system in self.contestants], 2))

    @property
    def required_parts(self) -> list[PackPart]:
        """What is needed about a document before its summaries can be judged."""
        return required_parts(self.metrics, self.judging)

    def draft_settings(self, one: GridSystem) -> DraftConfig:
        """Return a contestant's drafting settings."""
        assert one.settings is not None
        return own_key_only(one.settings, self._everyone)

    def judge_settings(self, judge: NamedModel) -> DraftConfig:
        """Return a judge's settings for given summaries."""
        return own_key_only(judge.settings, self._everyone).model_copy(update={"strategy": "given", "words": None})

    @property
    def builder_settings(self) -> DraftConfig:
        """The settings with which the first judge builds what summaries are judged by, without a query."""
        return self.judge_settings(self.judges[0]).model_copy(update={"query": None})

    @property
    def _everyone(self) -> list[DraftConfig]:
        return [system.settings for system in self.contestants if system.settings] + [
            judge.settings for judge in self.judges
        ]

    def build_spec(self, part: PackPart) -> RunSpec:
        """Return the spec of a run in which the first judge builds what summaries are judged by."""
        return build_spec(part, self.judging, self.judges[0].name, self.builder_settings, GRID)

    def judge_spec(
        self, judge: NamedModel, summary: str, by: Mapping[str, str | None], scored: Sequence[str]
    ) -> RunSpec:
        """Return the spec of a run in which a judge judges a summary."""
        changes: dict[str, object] = {"metrics": tuple(scored), "validator": None, "models": {}, **by}
        judging = with_judge(self.judging.model_copy(update=changes), judge.name, self.judge_settings(judge))
        return RunSpec(Evaluate(judging=judging), given=summary, experiment=GRID)

    def compare_spec(self, judge: NamedModel, first: str, second: str) -> RunSpec:
        """Return the spec of a run in which a judge compares two summaries."""
        judging = with_judge(JudgeConfig(repeat=self.judging.repeat), judge.name, self.judge_settings(judge))
        return RunSpec(Compare(judging=judging), given=first, other=second, experiment=GRID)

    def check(self, runner: ExperimentRunner) -> None:
        """Raise for invalid settings and for unknown names or prices, before anything is paid for."""
        names = [system.name for system in self.contestants]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"two systems are named {twice}", hint="rename the folder, or the system, of one")
        for metric in metrics(self.metrics, with_rubrics(self.judging, ())):
            if metric.aim is None:
                raise UsageError(
                    f"--metric: {metric.name} gives no score to compare systems by",
                    hint="leave it out; lengths and repetition are in the tables anyway",
                )
        drafting = [self.draft_settings(system) for system in self.contestants if system.settings]
        check_models(runner, *((settings, None) for settings in (*drafting, *map(self.judge_settings, self.judges))))


def contestants(
    models: Sequence[NamedModel],
    strategies: Sequence[str],
    chunks: Sequence[int],
    words: Sequence[int | None],
    ready: Sequence[str] = (),
) -> tuple[GridSystem, ...]:
    """Return every combination of model, strategy, chunk size and limit, named by what varies, and the systems with
    existing summaries."""
    systems: list[GridSystem] = []
    for model, strategy, chunk, limit in product(models, strategies, chunks, words):
        if strategy == "direct" and chunk != chunks[0]:
            continue  # it takes the document whole, whatever the chunk size
        changes = {"strategy": strategy, "chunk_tokens": chunk, "words": limit}
        parts = [
            *([strategy] if len(strategies) > 1 else []),
            *([f"chunks of {chunk}"] if len(chunks) > 1 and strategy != "direct" else []),
            *([f"{limit} words"] if len(words) > 1 else []),
        ]
        systems.append(
            GridSystem(", ".join((model.name, *parts)), model.settings.model_copy(update=changes), model.name)
        )
    return (*systems, *(GridSystem(name) for name in ready))


@dataclass(frozen=True, slots=True)
class GridScore:
    """The result of one metric on one summary."""

    outcome: Outcome
    score: float | None = None
    judged: int = 0
    unjudged: int = 0
    reason: str = ""
    undecided: bool = False
    """True if there is no score because the judges left items open, which they would do again."""

    @classmethod
    def of(cls, one: Evaluation) -> GridScore:
        """Return the score of an evaluation."""
        undecided = one.outcome == "failed" and not got_no_reply(one) and "trouble" not in one.details
        return cls(one.outcome, one.score, one.judged, one.unjudged, one.reason, undecided)


@dataclass(frozen=True, slots=True)
class GridSummary:
    """One summary of one document by one contestant, or why there is none."""

    document: str
    title: str
    system: str
    number: int = 1
    """Its number among several of the same document by the same system, from 1."""
    text: Annotated[str | None, Field(exclude=True)] = None
    limit: int | None = None
    """The word limit."""
    gaps: int = 0
    """The number of chunks left out because they could not be summarized."""
    made_in: str | None = None
    """The run that made it."""
    taken: Used | None = None
    """The usage of making it, as if nothing had been cached; None for an existing summary."""
    failure: Failure | None = None

    @computed
    def words(self) -> int | None:
        """The number of words; None without a text."""
        return None if self.text is None else count_words(self.text)

    @property
    def key(self) -> tuple[str, str, int]:
        """The key: document, system and number."""
        return (self.document, self.system, self.number)


@dataclass(frozen=True, slots=True)
class LengthStatistics:
    """The length of a summary, and how much it copies and repeats."""

    tokens: int | None = None
    novel_trigrams: float | None = None
    repeated_trigrams: float | None = None

    @classmethod
    def of(cls, found: Evaluation | None) -> LengthStatistics:
        """Return what the statistics of a summary say, if there are any."""
        if found is None or found.outcome != "measured":
            return cls()
        details: Mapping[str, Any] = found.details
        novel, repeated = (details[name][_TRIGRAMS] for name in ("novel_ngrams", "repeated_ngrams"))
        return cls(details["summary"]["tokens"], novel, repeated)


@dataclass(frozen=True, slots=True)
class GridJudgment(GridSummary):
    """One summary judged by one judge. Its failure is that of the summary, or else of the judging."""

    judge: str = ""
    scores: Mapping[str, GridScore] = field(default_factory=dict)
    lengths: LengthStatistics = field(default_factory=LengthStatistics)
    judged_in: str | None = None
    """The run that judged it."""

    @classmethod
    def of(cls, summary: GridSummary, judge: str) -> GridJudgment:
        """Return a summary before a judge has judged it."""
        return cls(**{one.name: getattr(summary, one.name) for one in fields(summary)}, judge=judge)

    @computed
    def status(self) -> str:
        """The status: `done`, `undecided`, `failed` or `not made`."""
        short = [score for score in self.scores.values() if score.outcome == "failed"]
        if self.failure or not all(score.undecided for score in short):
            return "failed"
        return UNDECIDED if short else "done" if self.scores else "not made"

    def score(self, metric: str) -> float | None:
        """Return the score by a metric; None if there is none."""
        grid_score = self.scores.get(metric)
        return grid_score.score if grid_score else None


PreferredSide = Literal["first", "second", "tie"]
_SIDES: Mapping[str, PreferredSide] = {"a": "first", "b": "second", "tie": "tie"}


@dataclass(frozen=True, slots=True)
class AspectVotes:
    """A judge's verdict, over both orders, on one aspect of two summaries."""

    winner: PreferredSide
    leaning: PreferredSide | None = None
    order_decides: bool = False


@dataclass(frozen=True, slots=True)
class GridPreference:
    """A judge's preference between two summaries of a document. It cannot tell for an aspect without a verdict."""

    document: str
    title: str
    first: str
    second: str
    judge: str
    votes: Mapping[Aspect, AspectVotes] = field(default_factory=dict)
    same: bool = False
    """True if both are the same text, so that the judge was not asked."""
    judged_in: str | None = None
    failure: Failure | None = None
    made: Annotated[bool, Field(exclude=True)] = True

    @computed
    def status(self) -> str:
        """The status: `done`, `failed` or `not made`."""
        return status_of(self.failure, done=self.made)


@dataclass(frozen=True, slots=True)
class GridOutcome:
    """The outcome of a grid."""

    design: GridDesign
    documents: tuple[tuple[str, str], ...]
    """The ids and titles."""
    judged: tuple[GridJudgment, ...]
    preferred: tuple[GridPreference, ...] = ()
    troubles: tuple[tuple[str, Failure], ...] = ()
    """The failures to build what summaries are judged by, each with the document's title."""
    built: Totals | None = None
    """The usage of building what summaries are judged by."""
    judging: Mapping[str, Totals] = field(default_factory=dict)
    """The usage of each judge's verdicts."""
    whole: Totals = field(default_factory=Totals)
    """The total usage, with each answer counted once."""
    stopped: BudgetError | None = None

    @property
    def complete(self) -> bool:
        """True if nothing failed and nothing is missing."""
        done = all(judgment.status == "done" for judgment in self.judged) and all(
            preference.status == "done" for preference in self.preferred
        )
        return self.stopped is None and done and not self.troubles

    @property
    def contestants(self) -> tuple[GridSystem, ...]:
        """The contestants."""
        return self.design.contestants

    @property
    def judges(self) -> list[str]:
        """The names of the judges."""
        return [judge.name for judge in self.design.judges]

    @property
    def labels(self) -> dict[str, str]:
        """The title of each document, with a number where others have the same."""
        seen: Counter[str] = Counter()
        found: dict[str, str] = {}
        for document, title in self.documents:
            seen[title] += 1
            found[document] = title if seen[title] == 1 else f"{title} ({seen[title]})"
        return found

    def judgments_of(self, contestant: str, judge: str) -> list[GridJudgment]:
        """Return one judge's judgments of a contestant's summaries."""
        return where(self.judged, judge=judge, system=contestant)

    @property
    def summaries(self) -> list[GridSummary]:
        """Each summary once."""
        return list({judgment.key: judgment for judgment in self.judged}.values())


def votes_of(details: Mapping[str, Any], aspects: Sequence[Aspect]) -> dict[Aspect, AspectVotes]:
    """Return the votes in an evaluation of a preference with a single judgment; a tie on everything if both are one
    text."""
    if details["same"]:
        return {aspect: AspectVotes("tie") for aspect in aspects}
    found: dict[Aspect, AspectVotes] = {}
    for judging in details["judgings"][:1]:
        for aspect, said in judging["verdicts"].items():
            sides = _SIDES[said["winner"]], _SIDES.get(said["leaning"])
            found[aspect] = AspectVotes(*sides, said["order_decides"])
    return found


async def grid(documents: Sequence[Document], design: GridDesign, runner: ExperimentRunner) -> GridOutcome:
    """Run what is not done yet, within the limits. A failure is recorded and does not stop the rest."""
    design.check(runner)
    runner.share_budget(GRID, repr(design), *(document.id for document in documents))
    await asyncio.to_thread(_check_plans, documents, design, runner.store)
    batch = RunBatch(runner, _parts(documents, design))
    runner.observer(StageStarted("summaries and verdicts", 0))
    done = await gather_all(_on_document(document, design, batch) for document in documents)
    judgments = [judgment for _, grid_judgments, _ in done for judgment in grid_judgments]
    preferred = [preference for _, _, preferences in done for preference in preferences]
    built = [run for by, _, _ in done for run in by.runs]
    verdicts: list[GridJudgment | GridPreference] = [*judgments, *preferred]
    names = [model.name for model in design.judges]
    by_judge = {
        name: [verdict.judged_in for verdict in verdicts if verdict.judge == name and verdict.judged_in]
        for name in names
    }
    made = [judgment.made_in for judgment in judgments if judgment.made_in]
    return GridOutcome(
        design,
        tuple((document.id, document.title) for document in documents),
        tuple(judgments),
        tuple(preferred),
        tuple((one.title, lost) for one, (by, _, _) in zip(documents, done, strict=True) for lost in by.failures),
        await total_usage(runner, built) if built else None,
        {name: await total_usage(runner, runs) for name, runs in by_judge.items()},
        await total_usage(runner, [*built, *made, *(run for runs in by_judge.values() for run in runs)]),
        runner.stopped,
    )


def _parts(documents: Sequence[Document], design: GridDesign) -> int:
    drafted = sum(system.settings is not None for system in design.contestants)
    ready = sum(len(texts) for of_one in design.ready.systems.values() for texts in of_one.values())
    judges, pairs = len(design.judges), len(design.pairs) if design.prefers else 0
    each = len(design.required_parts) + drafted * (1 + judges) + pairs * judges
    return each * len(documents) + ready * judges


def _check_plans(documents: Sequence[Document], design: GridDesign, store: Store) -> None:
    """Raise, before anything is paid for, if no contestant can summarize any document or a judge cannot do its work."""
    for judge in design.judges:
        prepared = prepare(documents[0], design.judge_settings(judge))
        check_judging(design.judge_spec(judge, "", {}, design.metrics), prepared, store)
    drafting = [system for system in design.contestants if system.settings is not None]
    plans = [partial(prepare, document, design.draft_settings(system)) for document in documents for system in drafting]
    refuse_if_none_fits(plans)


@dataclass(frozen=True, slots=True)
class _DocumentGrid:
    """The work on one document."""

    document: Document
    design: GridDesign
    batch: RunBatch
    by: JudgingPack

    async def summaries(self) -> list[GridSummary]:
        """Return the summaries in the order of the contestants."""
        return [
            grid_summary
            for grid_summaries in await gather_all(map(self._summaries, self.design.contestants))
            for grid_summary in grid_summaries
        ]

    async def _summaries(self, one: GridSystem) -> list[GridSummary]:
        """Return a draft or the existing summaries of the document, or a record that there is none."""
        document = self.document
        if one.settings is not None:
            return [await draft_summary(document, one.name, self.design.draft_settings(one), GRID, self.batch)]
        texts = self.design.ready.systems[one.name].get(document.id, ())
        lost = Failure("summaries", "missing", "it has no summary of this document")
        there = [GridSummary(document.id, document.title, one.name, n, text) for n, text in enumerate(texts, 1)]
        return there or [GridSummary(document.id, document.title, one.name, failure=lost)]

    async def judge_summaries(self, summaries: Sequence[GridSummary], judge: NamedModel) -> list[GridJudgment]:
        """Return a judge's verdicts. A metric that lacks its questions or key facts has failed."""
        evaluators = metrics(self.design.metrics, with_rubrics(self.design.judging, ()))
        lost = [evaluator.name for evaluator in evaluators if evaluator.needs in self.by.lacking]
        scored = [name for name in self.design.metrics if name not in lost]
        score = GridScore("failed", reason="it could not be judged: see the failures")
        unmeasured = dict.fromkeys(lost if self.by.failures else (), score)
        return [await self._verdict(grid_summary, judge, scored, unmeasured) for grid_summary in summaries]

    async def _verdict(
        self, summary: GridSummary, judge: NamedModel, scored: Sequence[str], unmeasured: Mapping[str, GridScore]
    ) -> GridJudgment:
        design, empty = self.design, GridJudgment.of(summary, judge.name)
        if summary.text is None:
            return empty
        step = f"{JUDGING} {summary.system} by {judge.name}"
        order = design.judge_spec(judge, summary.text, self.by.by, scored)
        outcome = await self.batch.run(JUDGING, step, self.document, design.judge_settings(judge), order)
        if outcome.result is None:
            return replace(empty, judged_in=outcome.run, failure=outcome.failure)
        found = outcome.result.evaluations
        scores = {**unmeasured, **{one: GridScore.of(found[one]) for one in scored if one in found}}
        scores = {metric: scores[metric] for metric in design.metrics if metric in scores}
        return replace(empty, judged_in=outcome.run, scores=scores, lengths=LengthStatistics.of(found.get(STATISTICS)))

    async def judge_pairs(self, summaries: Sequence[GridSummary], judge: NamedModel) -> list[GridPreference]:
        """Return a judge's preferences for each pair of contestants; of several summaries by one, the first counts."""
        texts = {grid_summary.system: grid_summary for grid_summary in reversed(summaries)}
        return [await self._preference(texts[a], texts[b], judge) for a, b in self.design.pairs]

    async def _preference(self, one: GridSummary, other: GridSummary, judge: NamedModel) -> GridPreference:
        pair = GridPreference(one.document, one.title, one.system, other.system, judge.name, made=False)
        if not one.text or not other.text:
            return pair
        step, pair_name = f"preferences by {judge.name}", f"{pair.first} or {pair.second}, by {judge.name}"
        order, settings = self.design.compare_spec(judge, one.text, other.text), self.design.judge_settings(judge)
        outcome = await self.batch.run("preference", step, self.document, settings, order, pair_name)
        pair = replace(pair, judged_in=outcome.run, failure=outcome.failure)
        if outcome.result is None:
            return pair
        found = outcome.result.evaluations[PREFERENCE].details
        return replace(pair, votes=votes_of(found, ASPECTS), same=bool(found["same"]), made=True)


async def _on_document(
    document: Document, design: GridDesign, batch: RunBatch
) -> tuple[JudgingPack, list[GridJudgment], list[GridPreference]]:
    by = await judging_pack(
        document, design.required_parts, design.judging, design.builder_settings, design.build_spec, batch
    )
    work = _DocumentGrid(document, design, batch, by)
    summaries = await work.summaries()
    judged = await gather_all(work.judge_summaries(summaries, judge) for judge in design.judges)
    judges = design.judges if design.prefers else ()
    preferred = await gather_all(work.judge_pairs(summaries, judge) for judge in judges)
    return (
        by,
        [judgment for judgments in judged for judgment in judgments],
        [preference for preferences in preferred for preference in preferences],
    )


async def draft_summary(
    document: Document, contestant: str, settings: DraftConfig, experiment: str, batch: RunBatch
) -> GridSummary:
    """Draft one summary of a document for an experiment, or record why there is none."""
    step, order = f"{DRAFTING} {contestant}", RunSpec(experiment=experiment)
    outcome = await batch.run(DRAFTING, step, document, settings, order)
    summary = GridSummary(document.id, document.title, contestant, 1, made_in=outcome.run, failure=outcome.failure)
    if (result := outcome.result) is None:
        return summary
    totals, words = await total_usage(batch.runner, [result.run.id]), result.settings.words
    return replace(summary, text=result.summary or "", limit=words, gaps=len(result.gaps), taken=totals)
