"""The grid experiment: models, strategies and existing summaries, on documents, by metrics and by preference
(BooookScore, tables 2 and 4).

On one document a judge takes one summary after the other, so that what two summaries share is asked once; documents and
judges run concurrently.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import combinations, product
from statistics import stdev
from typing import Annotated, Any, Literal

from pydantic import Field

from redraft.agents.accounts import gather_all
from redraft.domain import Document, Evaluation, computed
from redraft.domain import Outcome as MetricOutcome
from redraft.errors import UsageError
from redraft.evaluators.catalog import metrics, with_rubrics
from redraft.evaluators.metric_info import PREFERENCE, got_no_reply
from redraft.lab.agreement.measures import cohens_kappa, krippendorffs_alpha, percent_agreement, tau_b
from redraft.lab.experiments.experiment import MAX_LINES, UNDECIDED, Cell, Experiment, Item, Outcome
from redraft.lab.experiments.frames import (
    Frame,
    document_means,
    ends,
    frame_of,
    groups,
    mean_of,
    percent,
    spent_each,
    summarize,
    values_of,
)
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
    total_usage,
)
from redraft.lab.experiments.sources import ExistingSummaries
from redraft.prompts.coherence import ASPECTS, Aspect
from redraft.report.tables import Table, figure, plain
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.prepare import RunSpec, check_judging, prepare
from redraft.settings import STATISTICS, Compare, DraftConfig, Evaluate, JudgeConfig, PackPart
from redraft.text.words import count_words

GRID = "grid"
ALL_JUDGES = "mean of judges"
_TRIGRAMS = "3"
# Anything smaller is not a difference at three digits.
_SEEN = 0.0005


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

    def draft_settings(self, system: GridSystem) -> DraftConfig:
        """Return a contestant's drafting settings."""
        assert system.settings is not None
        return own_key_only(system.settings, self._everyone)

    def judge_settings(self, judge: NamedModel) -> DraftConfig:
        """Return a judge's settings for given summaries."""
        return own_key_only(judge.settings, self._everyone).model_copy(update={"strategy": "given", "words": None})

    @property
    def builder_settings(self) -> DraftConfig:
        """The settings with which the first judge builds what summaries are judged by, without a query."""
        return self.judge_settings(self.judges[0]).model_copy(update={"query": None})

    @property
    def _everyone(self) -> list[DraftConfig]:
        drafting = [system.settings for system in self.contestants if system.settings]
        return drafting + [judge.settings for judge in self.judges]

    def build_spec(self, part: PackPart) -> RunSpec:
        """Return the spec of a run in which the first judge builds what summaries are judged by."""
        return build_spec(part, self.judging, self.judges[0].name, self.builder_settings, GRID)

    def judge_spec(
        self, judge: NamedModel, summary: str, pack: Mapping[str, str | None], scored: Sequence[str]
    ) -> RunSpec:
        """Return the spec of a run in which a judge judges a summary."""
        changes: dict[str, object] = {"metrics": tuple(scored), "validator": None, "models": {}, **pack}
        judging = with_judge(self.judging.model_copy(update=changes), judge.name, self.judge_settings(judge))
        return RunSpec(Evaluate(judging=judging), given=summary, experiment=GRID)

    def compare_spec(self, judge: NamedModel, first: str, second: str) -> RunSpec:
        """Return the spec of a run in which a judge compares two summaries."""
        judging = with_judge(JudgeConfig(repeat=self.judging.repeat), judge.name, self.judge_settings(judge))
        return RunSpec(Compare(judging=judging), given=first, other=second, experiment=GRID)

    def check(self, runner: ExperimentRunner) -> None:
        """Raise for invalid settings and for unknown names or prices, before anything is paid for."""
        names = Counter(system.name for system in self.contestants)
        if twice := next((name for name, number in names.items() if number > 1), None):
            raise UsageError(f"two systems are named {twice}", hint="rename the folder, or the system, of one")
        for metric in metrics(self.metrics, with_rubrics(self.judging, ())):
            if metric.aim is None:
                hint = "leave it out; lengths and repetition are in the tables anyway"
                raise UsageError(f"--metric: {metric.name} gives no score to compare systems by", hint=hint)
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
        parts = [
            *([strategy] if len(strategies) > 1 else []),
            *([f"chunks of {chunk}"] if len(chunks) > 1 and strategy != "direct" else []),
            *([f"{limit} words"] if len(words) > 1 else []),
        ]
        changes = {"strategy": strategy, "chunk_tokens": chunk, "words": limit}
        settings = model.settings.model_copy(update=changes)
        systems.append(GridSystem(", ".join((model.name, *parts)), settings, model.name))
    return (*systems, *(GridSystem(name) for name in ready))


@dataclass(frozen=True, slots=True)
class GridScore:
    """The result of one metric on one summary."""

    outcome: MetricOutcome
    score: float | None = None
    judged: int = 0
    unjudged: int = 0
    reason: str = ""
    undecided: bool = False
    """True if there is no score because the judges left items open, which they would do again."""

    @classmethod
    def of(cls, evaluation: Evaluation) -> GridScore:
        """Return the score of an evaluation."""
        failed = evaluation.outcome == "failed"
        undecided = failed and not got_no_reply(evaluation) and "trouble" not in evaluation.details
        counts = evaluation.judged, evaluation.unjudged
        return cls(evaluation.outcome, evaluation.score, *counts, evaluation.reason, undecided)


@dataclass(frozen=True, slots=True)
class GridSummary(Item):
    """One summary of one document by one contestant, or why there is none."""

    system: str
    number: int = 1
    """Its number among several of the same document by the same system, from 1."""
    text: Annotated[str | None, Field(exclude=True)] = None
    limit: int | None = None
    """The word limit."""
    gaps: int = 0
    """The number of chunks left out because they could not be summarized."""
    taken: Used | None = None
    """The usage of making it, as if nothing had been cached; None for an existing summary."""

    @computed
    def words(self) -> int | None:
        """The number of words; None without a text."""
        return None if self.text is None else count_words(self.text)

    @property
    def by(self) -> str:
        """The contestant."""
        return self.system


@dataclass(frozen=True, slots=True)
class GridJudgment(GridSummary):
    """One summary judged by one judge. Its failure is that of the summary, or else of the judging."""

    judge: str = ""
    scores: Mapping[str, GridScore] = field(default_factory=dict)
    lengths: Mapping[str, float] = field(default_factory=dict)
    """Its tokens, and the shares of novel and of repeated trigrams."""

    @classmethod
    def of(cls, summary: GridSummary, judge: str) -> GridJudgment:
        """Return a summary before a judge has judged it."""
        return cls(**{one.name: getattr(summary, one.name) for one in fields(summary)}, judge=judge)

    @property
    def label(self) -> str:
        """The contestant, and the judge if there is something to judge."""
        return self.system if self.text is None else f"{self.system} by {self.judge}"

    @property
    def failures(self) -> Iterator[Failure]:
        """What failed, and the metrics without a score."""
        yield from () if self.failure is None else (self.failure,)
        for metric, score in self.scores.items():
            if score.outcome == "failed":
                yield Failure(metric, UNDECIDED if score.undecided else "no score", score.reason)

    @property
    def verdicts(self) -> tuple[int, int]:
        """The numbers of verdicts that were given, and that are missing."""
        scores = self.scores.values()
        return sum(score.judged for score in scores), sum(score.unjudged for score in scores)

    @computed
    def status(self) -> str:
        """The status: `done`, `undecided`, `failed` or `not made`."""
        lacking = [score for score in self.scores.values() if score.outcome == "failed"]
        if self.failure or not all(score.undecided for score in lacking):
            return "failed"
        return UNDECIDED if lacking else "done" if self.scores else "not made"


PreferredSide = Literal["first", "second", "tie"]
_SIDES: Mapping[str, PreferredSide] = {"a": "first", "b": "second", "tie": "tie"}
_WORTH: Mapping[PreferredSide, float] = {"first": 1.0, "second": -1.0, "tie": 0.0}


@dataclass(frozen=True, slots=True)
class AspectVotes:
    """A judge's verdict, over both orders, on one aspect of two summaries."""

    winner: PreferredSide
    leaning: PreferredSide | None = None
    order_decides: bool = False


@dataclass(frozen=True, slots=True)
class GridPreference(Item):
    """A judge's preference between two summaries of a document. It cannot tell for an aspect without a verdict."""

    first: str
    second: str
    judge: str
    votes: Mapping[Aspect, AspectVotes] = field(default_factory=dict)
    same: bool = False
    """True if both are the same text, so that the judge was not asked."""
    made: Annotated[bool, Field(exclude=True)] = True

    @property
    def is_made(self) -> bool:
        """Whether the judge compared the summaries."""
        return self.made

    @property
    def label(self) -> str:
        """The pair, and the judge."""
        return f"{self.first} or {self.second}, by {self.judge}"


def votes_of(details: Mapping[str, Any], aspects: Sequence[Aspect]) -> dict[Aspect, AspectVotes]:
    """Return the votes in an evaluation of a preference with a single judgment; a tie on everything if both are one
    text."""
    if details["same"]:
        return {aspect: AspectVotes("tie") for aspect in aspects}
    return {
        aspect: AspectVotes(_SIDES[vote["winner"]], _SIDES.get(vote["leaning"]), vote["order_decides"])
        for judging in details["judgings"][:1]
        for aspect, vote in judging["verdicts"].items()
    }


@dataclass(frozen=True, slots=True)
class PackCell(Cell):
    """A document, and what its summaries are judged by."""

    pack: JudgingPack = field(default_factory=JudgingPack)


GridItem = GridJudgment | GridPreference
GridOutcome = Outcome[GridDesign, PackCell, Any]


class GridExperiment(Experiment[GridDesign, PackCell, Any]):
    """Systems on documents, by metric and by preference."""

    name = GRID
    title = "Grid: systems on documents, by metric"
    item = "one summary, or one pair, and one judge each"

    async def cells(
        self, documents: Sequence[Document], design: GridDesign, runner: ExperimentRunner
    ) -> list[PackCell]:
        """Return the documents. Raise if nobody can summarize any, or if a judge cannot do its work."""

        def check() -> None:
            for judge in design.judges:
                prepared = prepare(documents[0], design.judge_settings(judge))
                check_judging(design.judge_spec(judge, "", {}, design.metrics), prepared, runner.store)
            drafting = [system for system in design.contestants if system.settings is not None]
            settings = [design.draft_settings(system) for system in drafting]
            refuse_if_none_fits([partial(prepare, document, one) for document in documents for one in settings])

        design.check(runner)
        await asyncio.to_thread(check)
        return list(map(PackCell, documents))

    async def run_cell(self, cell: PackCell, design: GridDesign, batch: RunBatch) -> tuple[PackCell, list[GridItem]]:
        """Build what summaries are judged by, draft them, and have them judged and compared."""
        document, judge = cell.document, design.builder_settings
        pack = await judging_pack(document, design.required_parts, design.judging, judge, design.build_spec, batch)
        cell = replace(cell, pack=pack, runs=pack.runs, failures=pack.failures)
        drafts = await gather_all(_summaries(document, system, design, batch) for system in design.contestants)
        summaries = [summary for texts in drafts for summary in texts]
        judged = await gather_all(_judgments(cell, summaries, judge, design, batch) for judge in design.judges)
        pairs = design.pairs if design.prefers else []
        preferred = await gather_all(
            _preferences(document, summaries, pairs, judge, design, batch) for judge in design.judges
        )
        return cell, [item for items in (*judged, *preferred) for item in items]

    def writers(self, design: GridDesign) -> Iterable[str]:
        """Return the models that draft."""
        return [system.model for system in design.contestants if system.settings]

    def judges(self, design: GridDesign) -> Iterable[str]:
        """Return the judges."""
        return [judge.name for judge in design.judges]

    def is_some(self, outcome: GridOutcome) -> bool:
        """Return True if there is a score."""
        return any(score.score is not None for item in _judged(outcome) for score in item.scores.values())

    def tables(self, outcome: GridOutcome) -> Iterator[Table]:
        """Return the tables, without those that must be empty for this outcome."""
        design, judged = outcome.design, _judged(outcome)
        preferred = [item for item in outcome.items if isinstance(item, GridPreference)]
        means = document_scores(judged)
        yield self.table("scores", score_frame(judged, design), outcome)
        yield self.table("configurations", configuration_frame(judged, design), outcome)
        if design.pairs:
            documents = len(outcome.documents)
            yield self.table("differences", difference_frame(means, design.pairs, documents), outcome)
        if design.prefers and design.pairs:
            yield self.table("preferences", preference_frame(preferred, design), outcome)
        if len(design.judges) > 1:
            yield self.table("judges", agreement_frame(judged, preferred), outcome)
        yield self.table("summaries", summary_frame(judged, design.metrics), outcome)

    def notes(self, outcome: GridOutcome) -> Iterable[str]:
        """Return the systems and metrics."""
        yield f"systems: {'; '.join(plain(system.name) for system in outcome.design.contestants)}"
        yield f"metrics: {', '.join(outcome.design.metrics)}"
        if strangers := outcome.design.ready.strangers:
            yield f"ready-made summaries of documents that are not part of the experiment: {strangers}"

    def headline(self, outcome: GridOutcome, tables: Mapping[str, Table]) -> Iterator[str]:
        """Return the mean scores of the first systems."""
        for record in tables["configurations"].records[:MAX_LINES]:
            scores = [f"{metric} {figure(record[metric], 2)}" for metric in outcome.design.metrics]  # type: ignore[arg-type]
            yield f"{plain(str(record['system']))}: {', '.join(scores)}"
        if (more := len(outcome.design.contestants) - MAX_LINES) > 0:
            yield f"and {more} more systems"


async def draft_summary(
    document: Document, contestant: str, settings: DraftConfig, experiment: str, batch: RunBatch
) -> GridSummary:
    """Draft one summary of a document for an experiment, or record why there is none."""
    batch.of += 1
    step, order = f"{DRAFTING} {contestant}", RunSpec(experiment=experiment)
    outcome = await batch.run(DRAFTING, step, document, settings, order)
    runs = {DRAFTING: outcome.run} if outcome.run else {}
    summary = GridSummary(document.id, document.title, contestant, runs=runs, failure=outcome.failure)
    if (result := outcome.result) is None:
        return summary
    totals, words = await total_usage(batch.runner, [result.run.id]), result.settings.words
    return replace(summary, text=result.summary or "", limit=words, gaps=len(result.gaps), taken=totals)


async def _summaries(document: Document, system: GridSystem, design: GridDesign, batch: RunBatch) -> list[GridSummary]:
    """Return a draft or the existing summaries of the document, or a record that there is none."""
    if system.settings is not None:
        return [await draft_summary(document, system.name, design.draft_settings(system), GRID, batch)]
    texts = design.ready.systems[system.name].get(document.id, ())
    lost = Failure("summaries", "missing", "it has no summary of this document")
    ready = [GridSummary(document.id, document.title, system.name, n, text) for n, text in enumerate(texts, 1)]
    return ready or [GridSummary(document.id, document.title, system.name, failure=lost)]


async def _judgments(
    cell: PackCell, summaries: Sequence[GridSummary], judge: NamedModel, design: GridDesign, batch: RunBatch
) -> list[GridJudgment]:
    """Return a judge's verdicts. A metric that lacks its questions or key facts has failed."""
    evaluators = metrics(design.metrics, with_rubrics(design.judging, ()))
    lost = [evaluator.name for evaluator in evaluators if evaluator.needs in cell.pack.lacking]
    scored = [name for name in design.metrics if name not in lost]
    unmeasured = GridScore("failed", reason="it could not be judged: see the failures")
    judgments, settings = [], design.judge_settings(judge)
    for summary in summaries:
        judgment = GridJudgment.of(summary, judge.name)
        judgments.append(judgment)
        if summary.text is None:
            continue
        batch.of += 1
        step, order = (
            f"{JUDGING} {summary.system} by {judge.name}",
            design.judge_spec(judge, summary.text, cell.pack.ids, scored),
        )
        outcome = await batch.run(JUDGING, step, cell.document, settings, order)
        runs = {**summary.runs, **({f"{JUDGING} by {judge.name}": outcome.run} if outcome.run else {})}
        judgment = replace(judgment, runs=runs, failure=outcome.failure)
        if outcome.result is not None:
            evaluations = outcome.result.evaluations
            scores = dict.fromkeys(lost if cell.pack.failures else (), unmeasured)
            scores |= {name: GridScore.of(evaluations[name]) for name in scored if name in evaluations}
            scores = {metric: scores[metric] for metric in design.metrics if metric in scores}
            judgment = replace(judgment, scores=scores, lengths=_lengths(evaluations.get(STATISTICS)))
        judgments[-1] = judgment
    return judgments


def _lengths(statistics: Evaluation | None) -> Mapping[str, float]:
    """Return what the statistics of a summary say, if there are any."""
    if statistics is None or statistics.outcome != "measured":
        return {}
    details: Mapping[str, Any] = statistics.details
    novel, repeated = (details[name][_TRIGRAMS] for name in ("novel_ngrams", "repeated_ngrams"))
    return {"tokens": details["summary"]["tokens"], "novel_trigrams": novel, "repeated_trigrams": repeated}


async def _preferences(
    document: Document,
    summaries: Sequence[GridSummary],
    pairs: Sequence[tuple[str, str]],
    judge: NamedModel,
    design: GridDesign,
    batch: RunBatch,
) -> list[GridPreference]:
    """Return a judge's preferences for each pair of contestants; of several summaries by one, the first counts."""
    texts = {summary.system: summary.text for summary in reversed(summaries)}
    preferences = []
    for first, second in pairs:
        pair = GridPreference(document.id, document.title, first, second, judge.name, made=False)
        if (one := texts[first]) and (other := texts[second]):
            batch.of += 1
            step, order = f"preferences by {judge.name}", design.compare_spec(judge, one, other)
            outcome = await batch.run("preference", step, document, design.judge_settings(judge), order, pair.label)
            pair = replace(pair, runs={step: outcome.run} if outcome.run else {}, failure=outcome.failure)
            if outcome.result is not None:
                details: Mapping[str, Any] = outcome.result.evaluations[PREFERENCE].details
                pair = replace(pair, votes=votes_of(details, ASPECTS), same=bool(details["same"]), made=True)
        preferences.append(pair)
    return preferences


def _judged(outcome: GridOutcome) -> list[GridJudgment]:
    return [item for item in outcome.items if isinstance(item, GridJudgment)]


_SCORE_COLUMNS = ("document", "system", "number", "judge", "metric", "score", "unjudged", "failed")


def metric_frame(judged: Sequence[GridJudgment], metrics: Sequence[str]) -> Frame:
    """Return a row for each judgment and metric."""
    return frame_of(
        (
            {
                **{name: getattr(item, name) for name in _SCORE_COLUMNS[:4]},
                "metric": metric,
                "score": score.score,
                "unjudged": score.unjudged,
                "failed": bool(item.failure) or score.outcome == "failed",
            }
            for item in judged
            for metric in metrics
            for score in [item.scores.get(metric, GridScore("not_applicable"))]
        ),
        _SCORE_COLUMNS,
    )


def _names(judged: Sequence[GridJudgment]) -> list[str]:
    return list(dict.fromkeys(metric for item in judged for metric in item.scores))


def document_scores(judged: Sequence[GridJudgment]) -> Frame:
    """Return the mean score of every document by metric, system and judge; with several judges also the mean of all of
    them where each has one."""
    frame = metric_frame(judged, _names(judged))
    frame = frame[frame["score"].notna()].astype({"score": float})
    by = ["metric", "system", "document"]
    means = frame.groupby([*by, "judge"], sort=False)["score"].mean().reset_index()
    judges = len({item.judge for item in judged})
    if judges > 1:
        every = means.groupby(by, sort=False)["score"].agg(["mean", "size"]).reset_index()
        every = every[every["size"] == judges].rename(columns={"mean": "score"}).drop(columns="size")
        means = frame_of([*means.to_dict("records"), *every.assign(judge=ALL_JUDGES).to_dict("records")])
    return means


def score_frame(judged: Sequence[GridJudgment], design: GridDesign) -> Frame:
    """Return the mean score of every system by metric and judge, with what its summaries cost."""
    taken = {(item.document, item.system, item.number): (item.system, item.taken) for item in judged}

    def row(chosen: Frame) -> dict[str, object]:
        scores, means = values_of(chosen["score"]), list(document_means(chosen, "score").values())
        system = next(iter(chosen["system"]), "")
        return {
            "score": mean_of(means),
            **ends(means),
            "sd": stdev(scores) if len(scores) > 1 else None,
            "documents": len(means),
            "summaries": len(scores),
            "of": len(chosen),
            "failed": int(chosen["failed"].sum()),
            "unjudged": int(chosen["unjudged"].sum()),
            **spent_each(totals for name, totals in taken.values() if name == system),
        }

    by = {"metric": design.metrics, "system": [system.name for system in design.contestants]}
    return summarize(metric_frame(judged, design.metrics), {**by, "judge": _judge_names(design)}, row)


def _judge_names(design: GridDesign) -> list[str]:
    return [judge.name for judge in design.judges]


def configuration_frame(judged: Sequence[GridJudgment], design: GridDesign) -> Frame:
    """Return the settings of every system with its mean scores, lengths and repetition (table 2)."""
    means, rows = document_scores(judged), []
    judge = ALL_JUDGES if len(design.judges) > 1 else design.judges[0].name
    means = means[means["judge"] == judge]
    for system in design.contestants:
        summaries = [item for item in judged if (item.system, item.judge) == (system.name, design.judges[0].name)]
        texts = [item for item in summaries if item.text is not None]
        trigrams = {
            f"% {kind} trigrams": percent(mean_of(item.lengths.get(f"{kind}_trigrams") for item in texts))
            for kind in ("novel", "repeated")
        }
        scores = means[means["system"] == system.name]
        settings = system.settings
        rows.append(
            {
                "system": system.name,
                "model": settings.model if settings else "ready-made",
                "strategy": settings and settings.strategy,
                "chunk tokens": settings.chunk_tokens if settings and settings.strategy != "direct" else None,
                "word limit": settings and settings.words,
                **{metric: mean_of(scores[scores["metric"] == metric]["score"]) for metric in design.metrics},
                "words": mean_of(item.words for item in texts),
                "tokens": mean_of(item.lengths.get("tokens") for item in texts),
                **trigrams,
                "summaries": len(texts),
                "of": len(summaries),
            }
        )
    return frame_of(rows)


def difference_frame(means: Frame, pairs: Sequence[tuple[str, str]], documents: int) -> Frame:
    """Return the paired differences of systems on the same documents."""
    rows = []
    metrics, judges = (list(means[name].unique()) for name in ("metric", "judge"))
    for metric, (first, second), judge in product(metrics, pairs, judges):
        chosen = means[(means["metric"] == metric) & (means["judge"] == judge)]
        sides = [chosen[chosen["system"] == name] for name in (first, second)]
        both = sides[0].merge(sides[1], on="document")
        found = [float(gap) for gap in both["score_x"] - both["score_y"]]
        higher, lower = sum(gap >= _SEEN for gap in found), sum(gap <= -_SEEN for gap in found)
        rows.append(
            {
                "metric": metric,
                "first": first,
                "second": second,
                "judge": judge,
                "difference": mean_of(found),
                **ends(found),
                "documents": len(found),
                "higher": higher,
                "lower": lower,
                "equal": len(found) - higher - lower,
                "left out": documents - len(found),
            }
        )
    columns = ("metric", "first", "second", "judge", "difference")
    return frame_of(rows, () if rows else columns)


def preference_frame(preferred: Sequence[GridPreference], design: GridDesign) -> Frame:
    """Return the shares of preferences by pair, judge and aspect (table 4)."""
    rows = []
    for (first, second), judge in product(design.pairs, _judge_names(design)):
        pairs = [item for item in preferred if (item.first, item.second, item.judge) == (first, second, judge)]
        for aspect in ASPECTS:
            votes = [item.votes[aspect] for item in pairs if aspect in item.votes]
            winners, leaning = Counter(vote.winner for vote in votes), Counter(vote.leaning for vote in votes)
            worth, status = [_WORTH[vote.winner] for vote in votes], Counter(item.status for item in pairs)
            shares = {f"{side} %": 100 * winners[side] / len(votes) if votes else None for side in _WORTH}
            rows.append(
                {
                    "first": first,
                    "second": second,
                    "judge": judge,
                    "aspect": aspect,
                    **shares,
                    "balance": mean_of(worth),
                    **ends(worth),
                    "verdicts": len(votes),
                    "for first": winners["first"],
                    "for second": winners["second"],
                    "ties": winners["tie"],
                    "lean to first": leaning["first"],
                    "lean to second": leaning["second"],
                    "order decides": sum(vote.order_decides for vote in votes),
                    "same text": sum(item.same for item in pairs),
                    "cannot tell": status["done"] - len(votes),
                    "failed": status["failed"],
                    "of": len(pairs),
                }
            )
    return frame_of(rows)


def agreement_frame(judged: Sequence[GridJudgment], preferred: Sequence[GridPreference]) -> Frame:
    """Return how far judges agree, each two of them, and all where there are more."""
    rows = []
    for (metric,), frame in groups(metric_frame(judged, _names(judged)), "metric"):
        rows += _agreement(
            str(metric), frame.pivot(index=["document", "system", "number"], columns="judge", values="score")
        )
    votes = [
        {"document": item.document, "pair": (item.first, item.second), "judge": item.judge, "aspect": aspect,
         "winner": vote.winner}
        for item in preferred if not item.same
        for aspect, vote in item.votes.items()
    ]  # fmt: skip
    for (aspect,), frame in groups(frame_of(votes), "aspect"):
        ratings = frame.pivot(index=["document", "pair"], columns="judge", values="winner")
        rows += _agreement(f"preference: {aspect}", ratings, nominal=True)
    return frame_of(rows, () if rows else ("of", "judge", "other judge", "items"))


def _agreement(name: str, ratings: Frame, *, nominal: bool = False) -> Iterator[dict[str, object]]:
    """Yield the agreement of judges, which are the columns, on items, which are the rows."""
    columns = list(ratings.columns)
    sides = list(combinations(columns, 2)) + ([("all", "all")] if len(columns) > 2 else [])
    for one, other in sides:
        whole = one == "all"
        chosen = ratings if whole else ratings[[one, other]].dropna()
        rows = [[None if value is None or value != value else value for value in row] for row in chosen.to_numpy()]
        items = sum(sum(value is not None for value in row) > 1 for row in rows)
        first, second = ([row[side] for row in rows] for side in (0, 1)) if rows else ([], [])
        scores = not nominal and not whole
        yield {
            "of": name,
            "judge": one,
            "other judge": other,
            "items": items,
            "difference": mean_of(a - b for a, b in rows) if scores else None,
            "tau-b": tau_b(first, second) if scores and rows else None,
            "equal": percent_agreement(rows) if nominal else None,
            "kappa": cohens_kappa(first, second) if nominal and not whole else None,
            "alpha": krippendorffs_alpha(rows, "nominal" if nominal else "interval") if rows else None,
        }


def summary_frame(judged: Sequence[GridJudgment], metrics: Sequence[str]) -> Frame:
    """Return every summary with its scores, document by document; a number tells documents of one title apart."""
    titles = {item.document: item.title for item in judged}
    same = Counter[str]()
    labels: dict[str, str] = {}
    for document, title in titles.items():
        same[title] += 1
        labels[document] = title if same[title] == 1 else f"{title} ({same[title]})"
    rows = [
        {
            "document": label,
            **{name: getattr(item, name) for name in ("system", "number", "judge", "status", "words")},
            **{metric: item.scores[metric].score if metric in item.scores else None for metric in metrics},
        }
        for document, label in labels.items()
        for item in judged
        if item.document == document
    ]
    return frame_of(rows, () if rows else ("document", "system", "judge", "words", *metrics))


EXPERIMENT = GridExperiment()
