"""The grid experiment: models, strategies and existing summaries, on documents, by metrics and by preference
(BooookScore, tables 2 and 4).

On one document a judge takes one summary after the other, so that what two summaries share is asked once; documents and
judges run concurrently.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, product
from typing import Annotated, Any, ClassVar, Literal

import pandas as pd
from pydantic import Field, PlainSerializer

from redraft.agents.judge import gather_all
from redraft.domain import Document, Evaluation, computed, widened
from redraft.errors import UsageError
from redraft.evaluators.catalog import metrics, with_rubrics
from redraft.evaluators.metric_info import PREFERENCE, got_no_reply
from redraft.fields import validated
from redraft.lab.agreement.measures import cohens_kappa, krippendorffs_alpha, percent_agreement, tau_b
from redraft.lab.experiments.experiment import MAX_LINES, UNDECIDED, Experiment, NamedFrame
from redraft.lab.experiments.frames import Frame, ends, figures, frame_of, groups, mean_of, pairs, summarize
from redraft.lab.experiments.orders import Asked, GridOrder, NamedModel, PublicJudging, PublicSettings, Seats
from redraft.lab.experiments.runner import DRAFTING, JUDGING, Cell, Item, RunBatch, Used, check_work
from redraft.lab.experiments.sources import ExistingSummaries, read_existing_summaries
from redraft.order import Compare, Evaluate, Order, Summarize
from redraft.prompts.coherence import ASPECTS, Aspect
from redraft.report.tables import Table, figure, number, plain
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.prepare import check_judging, prepare
from redraft.settings import STATISTICS, DraftConfig, JudgeConfig
from redraft.text.words import count_words

ALL_JUDGES = "mean of judges"
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


def is_undecided(evaluation: Evaluation) -> bool:
    """Return whether there is no score because the judges left items open, which they would do again."""
    is_lost = got_no_reply(evaluation) or "trouble" in evaluation.details
    return evaluation.outcome == "failed" and not is_lost


_COUNTS = ("outcome", "score", "judged", "unjudged", "reason")
_IN_ITEMS = PlainSerializer(
    lambda scores: {
        metric: {**{name: getattr(score, name) for name in _COUNTS}, "undecided": is_undecided(score)}
        for metric, score in scores.items()
    }
)


@dataclass(frozen=True, slots=True)
class GridSummary(Item, by="{0.system}"):
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


@dataclass(frozen=True, slots=True)
class GridJudgment(GridSummary):
    """One summary judged by one judge. Its failure is that of the summary, or else of the judging."""

    judge: str = ""
    scores: Annotated[Mapping[str, Evaluation], _IN_ITEMS] = field(default_factory=dict)
    lengths: Mapping[str, float] = field(default_factory=dict)
    """Its tokens, and the shares of novel and of repeated trigrams."""

    @property
    def label(self) -> str:
        """The contestant, and the judge if there is something to judge."""
        return self.system if self.text is None else f"{self.system} by {self.judge}"

    @property
    def failures(self) -> Iterable[Failure]:
        """What failed, and the metrics without a score."""
        yield from () if self.failure is None else (self.failure,)
        for metric, score in self.scores.items():
            if score.outcome == "failed":
                yield Failure(metric, UNDECIDED if is_undecided(score) else "no score", score.reason)

    @property
    def is_result(self) -> bool:
        """True if there is a score."""
        return any(score.score is not None for score in self.scores.values())

    @property
    def verdicts(self) -> tuple[int, int]:
        """The numbers of verdicts that were given, and that are missing."""
        scores = self.scores.values()
        return sum(score.judged for score in scores), sum(score.unjudged for score in scores)

    @computed
    def status(self) -> str:
        """The status: `done`, `undecided`, `failed` or `not made`."""
        lacking = [score for score in self.scores.values() if score.outcome == "failed"]
        if self.failure or not all(map(is_undecided, lacking)):
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
class GridPreference(Item, label="{0.first} or {0.second}, by {0.judge}", made="made"):
    """A judge's preference between two summaries of a document. It cannot tell for an aspect without a verdict."""

    first: str
    second: str
    judge: str
    votes: Mapping[Aspect, AspectVotes] = field(default_factory=dict)
    same: bool = False
    """True if both are the same text, so that the judge was not asked."""
    made: Annotated[bool, Field(exclude=True)] = True
    is_result: ClassVar = False
    """A preference alone is no score."""


_COLUMNS = ("document", "system", "number", "judge", "taken")


def metric_frame(judgments: Sequence[GridJudgment], metrics: Sequence[str]) -> Frame:
    """Return a row for each judgment and metric."""
    blank = Evaluation("", 0, "not_applicable")
    rows = []
    for item, metric in product(judgments, metrics):
        score = item.scores.get(metric, blank)
        row = {name: getattr(item, name) for name in _COLUMNS} | {"metric": metric, "score": score.score}
        rows.append({**row, "unjudged": score.unjudged, "failed": bool(item.failure) or score.outcome == "failed"})
    return frame_of(rows, (*_COLUMNS, "metric", "score", "unjudged", "failed"))


def document_scores(judgments: Sequence[GridJudgment]) -> Frame:
    """Return the mean score of every document by metric, system and judge; with several judges also the mean of all of
    them where each has one."""
    frame = metric_frame(judgments, list(dict.fromkeys(metric for item in judgments for metric in item.scores)))
    by = ["metric", "system", "document"]
    means = frame.dropna(subset="score").astype({"score": float})
    means = means.groupby([*by, "judge"], sort=False)["score"].mean().reset_index()
    judges = len({item.judge for item in judgments})
    if judges > 1:
        every = means.groupby(by, sort=False)["score"].agg(["mean", "size"]).reset_index()
        every = every[every["size"] == judges].rename(columns={"mean": "score"}).drop(columns="size")
        means = pd.concat([means, every.assign(judge=ALL_JUDGES)])
    return means


def configuration_frame(judgments: Sequence[GridJudgment], design: GridDesign) -> Frame:
    """Return the settings of every system with its mean scores, lengths and repetition (table 2)."""
    means, rows, judge = document_scores(judgments), [], design.judges[0].name
    means = means[means["judge"] == (ALL_JUDGES if len(design.judges) > 1 else judge)]
    lengths = ("tokens", "novel_trigrams", "repeated_trigrams")
    summaries = frame_of(
        {"system": item.system, "words": item.words, **{name: item.lengths.get(name) for name in lengths}}
        for item in judgments
        if item.judge == judge
    ).reindex(columns=["system", "words", *lengths])
    for system in design.contestants:
        scores, settings = means[means["system"] == system.name], system.settings
        row: dict[str, object] = {"system": system.name, "model": system.model if settings else "ready-made"}
        row |= {"strategy": settings and settings.strategy}
        row |= {"chunk tokens": settings.chunk_tokens if settings and settings.strategy != "direct" else None}
        row |= {"word limit": settings and settings.words}
        row |= {metric: mean_of(scores[scores["metric"] == metric]["score"]) for metric in design.judging.metrics}
        rows.append({**row, **figures("grid", "configurations", summaries[summaries["system"] == system.name])})
    return frame_of(rows)


def difference_frame(means: Frame, names: Sequence[tuple[str, str]], documents: int) -> Frame:
    """Return the paired differences of systems on the same documents."""
    rows = []
    metrics, judges = (list(means[name].unique()) for name in ("metric", "judge"))
    for metric, pair, judge in product(metrics, names, judges):
        chosen = means[(means["metric"] == metric) & (means["judge"] == judge)]
        for sides, both in pairs(chosen, "system", ["document"], [pair]):
            gaps = [float(gap) for gap in both["score"] - both["score of second"]]
            higher, lower = sum(gap >= _SEEN for gap in gaps), sum(gap <= -_SEEN for gap in gaps)
            row = {"metric": metric, **sides, "judge": judge, "difference": mean_of(gaps), **ends(gaps)}
            row |= {"documents": len(gaps), "higher": higher, "lower": lower, "equal": len(gaps) - higher - lower}
            rows.append({**row, "left out": documents - len(gaps)})
    return frame_of(rows, () if rows else ("metric", "first", "second", "judge", "difference"))


def preference_frame(items: Sequence[GridPreference], names: Sequence[tuple[str, str]], judges: Sequence[str]) -> Frame:
    """Return the shares of preferences by pair, judge and aspect (table 4)."""
    rows = []
    for (first, second), judge, aspect in product(names, judges, ASPECTS):
        votes = list[dict[str, object]]()
        for item in [item for item in items if (item.first, item.second, item.judge) == (first, second, judge)]:
            vote = item.votes.get(aspect)
            votes.append({"same": item.same, "failed": item.status == "failed"})
            votes[-1] |= {"untold": item.status == "done" and vote is None}
            if vote is not None:
                votes[-1] |= {f"for {side}": vote.winner == side for side in _WORTH}
                votes[-1] |= {f"lean to {side}": vote.leaning == side for side in _WORTH}
                votes[-1] |= {"order decides": vote.order_decides, "balance": _WORTH[vote.winner]}
        columns = [f"{how} {side}" for how in ("for", "lean to") for side in _WORTH]
        frame = frame_of(votes).reindex(columns=[*columns, "order decides", "balance", "same", "failed", "untold"])
        head = {"first": first, "second": second, "judge": judge, "aspect": aspect}
        rows.append({**head, **figures("grid", "preferences", frame)})
    return frame_of(rows)


def agreement_frame(judgments: Sequence[GridJudgment], preferred: Sequence[GridPreference]) -> Frame:
    """Return how far judges agree, each two of them, and all where there are more."""
    rows: list[dict[str, object]] = []
    names = list(dict.fromkeys(metric for item in judgments for metric in item.scores))
    for (metric,), frame in groups(metric_frame(judgments, names), "metric"):
        scores = frame.pivot(index=["document", "system", "number"], columns="judge", values="score")
        rows += _agreement(str(metric), scores)
    votes = [
        {"key": (item.document, item.first, item.second), "judge": item.judge, "aspect": aspect, "winner": vote.winner}
        for item in preferred
        for aspect, vote in ({} if item.same else item.votes).items()
    ]
    for (aspect,), frame in groups(frame_of(votes), "aspect"):
        winners = frame.pivot(index="key", columns="judge", values="winner")
        rows += _agreement(f"preference: {aspect}", winners, nominal=True)
    return frame_of(rows, () if rows else ("of", "judge", "other judge", "items"))


def _agreement(name: str, ratings: Frame, *, nominal: bool = False) -> Iterator[dict[str, object]]:
    """Yield the agreement of judges, which are the columns, on items, which are the rows."""
    columns = list(ratings.columns)
    for judge, other_judge in [*combinations(columns, 2), *([("all", "all")] if len(columns) > 2 else [])]:
        is_overall = judge == "all"
        chosen = ratings if is_overall else ratings[[judge, other_judge]].dropna()
        rows: list[list[Any]] = [[None if pd.isna(cell) else cell for cell in row] for row in chosen.to_numpy()]
        first, second = ([row[side] for row in rows] for side in (0, 1))
        pairs, scores = nominal and not is_overall, bool(rows) and not nominal and not is_overall
        rated = sum(sum(cell is not None for cell in row) > 1 for row in rows)
        difference, tau = (mean_of(a - b for a, b in rows), tau_b(first, second)) if scores else (None, None)
        alpha = krippendorffs_alpha(rows, "nominal" if nominal else "interval") if rows else None
        equal, kappa = percent_agreement(rows) if nominal else None, cohens_kappa(first, second) if pairs else None
        head = {"of": name, "judge": judge, "other judge": other_judge, "items": rated}
        yield {**head, "difference": difference, "tau-b": tau, "equal": equal, "kappa": kappa, "alpha": alpha}


def summary_frame(judgments: Sequence[GridJudgment], metrics: Sequence[str]) -> Frame:
    """Return every summary with its scores, document by document; a number tells documents of one title apart."""
    same, labels, rows = Counter[str](), dict[str, str](), list[dict[str, object]]()
    for document, title in {item.document: item.title for item in judgments}.items():
        same[title] += 1
        labels[document] = title if same[title] == 1 else f"{title} ({same[title]})"
    for item in sorted(judgments, key=lambda item: list(labels).index(item.document)):
        row = {"document": labels[item.document], "system": item.system, "number": item.number, "judge": item.judge}
        row |= {"run": item.runs.get(f"{JUDGING} by {item.judge}", ""), "status": item.status, "words": item.words}
        rows.append(row | {metric: item.scores[metric].score if metric in item.scores else None for metric in metrics})
    return frame_of(rows, () if rows else ("document", "system", "judge", "words", *metrics))


class GridDesign(Seats, Experiment[Cell, Any]):
    """Systems on documents, by metric and by preference: every judge judges all of them, separately."""

    name = "grid"
    title = "Grid: systems on documents, by metric"
    item = "one summary, or one pair, and one judge each"
    contestants: tuple[GridSystem, ...]
    judging: PublicJudging
    ready: ExistingSummaries = Field(default={}, exclude=True)
    strangers: int = Field(default=0, exclude=True)
    """The number of existing summaries of documents outside the experiment."""
    prefer: bool = False
    """True if the judges also compare summaries in pairs."""

    @classmethod
    def asked(cls, request: Asked) -> GridDesign:
        """Return the design: all combinations of models, strategies, sizes and limits, and existing summaries."""
        order = validated(GridOrder, request.fields(GridOrder))
        ready, strangers = read_existing_summaries(request.values.get("summaries", ()), request.documents)
        if not (request.writers or (ready and request.judges)):
            hint = "name models with --model, or give --summaries and a --judge"
            raise UsageError("there is nothing to compare", hint=hint)
        systems = contestants(request.writers, order, ready)
        judging = request.judging().model_copy(update={"judges": (), "base_url": None})
        models = {"writers": request.writers, "judges": request.judges}
        existing = {"ready": ready, "strangers": strangers}
        return cls(contestants=systems, judging=judging, prefer=order.prefer, **models, **existing)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of contestants to compare, by name."""
        return list(combinations([system.name for system in self.contestants], 2))

    def judge_spec(self, judge: NamedModel, text: str, pack: Mapping[str, str | None], scored: Sequence[str]) -> Order:
        """Return the spec of a run in which a judge judges a summary."""
        changes: dict[str, object] = {"metrics": tuple(scored), "validator": None, "models": {}, **pack}
        judging = self.judging_by(self.judging.model_copy(update=changes), judge)
        return Evaluate(judging=judging, given=text, experiment=self.name)

    async def cells(self, documents: Sequence[Document], runner: ExperimentRunner) -> list[Cell]:
        """Return the documents. Raise, before anything is paid for, for invalid settings, unknown names or prices, if
        nobody can summarize any of them, or if a judge cannot do its work."""
        names = Counter(system.name for system in self.contestants)
        if twice := next((name for name, number in names.items() if number > 1), None):
            raise UsageError(f"two systems are named {twice}", hint="rename the folder, or the system, of one")
        for metric in metrics(self.judging.metrics, with_rubrics(self.judging, ())):
            if metric.aim is None:
                hint = "leave it out; lengths and repetition are in the tables anyway"
                raise UsageError(f"--metric: {metric.name} gives no score to compare systems by", hint=hint)
        drafting = [self.keyed(system.settings) for system in self.contestants if system.settings]
        judges = [self.keyed(judge.settings) for judge in self.judges]
        check_work(runner, *((settings, None) for settings in (*drafting, *judges)))

        def check() -> None:
            for judge, settings in zip(self.judges, judges, strict=True):
                prepared = prepare(documents[0], settings)
                check_judging(self.judge_spec(judge, "", {}, self.judging.metrics), prepared, runner.store)
            check_work(runner, plans=[partial(prepare, *draft) for draft in product(documents, drafting)])

        await asyncio.to_thread(check)
        return list(map(Cell, documents))

    async def run_cell(self, cell: Cell, batch: RunBatch) -> tuple[Cell, list[Any]]:
        """Build what summaries are judged by, draft them, and have them judged and compared."""
        document = cell.document
        cell = await batch.judging_pack(cell, self.judging.metrics, self.judging, self)
        drafts = await gather_all(self.find_summaries(document, system, batch) for system in self.contestants)
        summaries, judges = [summary for texts in drafts for summary in texts], self.judges
        judgments = await gather_all(self.judge_summaries(cell, summaries, judge, batch) for judge in judges)
        preferred = await gather_all(self.compare_summaries(document, summaries, judge, batch) for judge in judges)
        items: list[Any] = [item for of_judge in judgments for item in of_judge]
        return cell, [*items, *(item for of_judge in preferred for item in of_judge)]

    def frames(self, items: Sequence[Any], cells: Sequence[Cell]) -> Iterator[NamedFrame]:
        """Yield the tables, without those that must be empty for these items."""
        judgments = [item for item in items if isinstance(item, GridJudgment)]
        preferred = [item for item in items if isinstance(item, GridPreference)]
        systems, metrics = [system.name for system in self.contestants], self.judging.metrics
        judges = [judge.name for judge in self.judges]
        by = {"metric": metrics, "system": systems, "judge": judges}
        yield "scores", summarize(metric_frame(judgments, metrics), by, partial(figures, "grid", "scores"))
        yield "configurations", configuration_frame(judgments, self)
        if self.pairs:
            documents = len({cell.document.id for cell in cells})
            yield "differences", difference_frame(document_scores(judgments), self.pairs, documents)
        if self.prefer and self.pairs:
            yield "preferences", preference_frame(preferred, self.pairs, judges)
        if len(judges) > 1:
            yield "judges", agreement_frame(judgments, preferred)
        yield "summaries", summary_frame(judgments, metrics)

    def notes(self, _items: Sequence[Any], _cells: Sequence[Cell]) -> Iterable[str]:
        """Return what was left out."""
        if self.strangers:
            yield f"ready-made summaries of documents that are not part of the experiment: {self.strangers}"

    def headline(self, _items: Sequence[Any], tables: Mapping[str, Table]) -> Iterator[str]:
        """Return the mean scores of the first systems."""
        for record in tables["configurations"].records[:MAX_LINES]:
            scores = [f"{metric} {figure(number(record[metric]), 2)}" for metric in self.judging.metrics]
            yield f"{plain(str(record['system']))}: {', '.join(scores)}"
        if (more := len(self.contestants) - MAX_LINES) > 0:
            yield f"and {more} more systems"

    async def find_summaries(self, document: Document, system: GridSystem, batch: RunBatch) -> list[GridSummary]:
        """Return a draft or the existing summaries of the document, or a record that there is none."""
        if system.settings is not None:
            return [await draft_summary(document, system.name, self.keyed(system.settings), self.name, batch)]
        texts = self.ready[system.name].get(document.id, ())
        lost = Failure("summaries", "missing", "it has no summary of this document")
        ready = [GridSummary(document.id, document.title, system.name, n, text) for n, text in enumerate(texts, 1)]
        return ready or [GridSummary(document.id, document.title, system.name, failure=lost)]

    async def judge_summaries(
        self, cell: Cell, summaries: Sequence[GridSummary], judge: NamedModel, batch: RunBatch
    ) -> list[GridJudgment]:
        """Return a judge's verdicts. A metric that lacks its questions or key facts has failed."""
        evaluators = metrics(self.judging.metrics, with_rubrics(self.judging, ()))
        lost = [evaluator.name for evaluator in evaluators if evaluator.needs in cell.lacking]
        scored = [name for name in self.judging.metrics if name not in lost]
        reason = "it could not be judged: see the failures"
        unmeasured = {name: Evaluation(name, 0, "failed", reason=reason) for name in lost if cell.failures}
        judgments, settings = [], self.keyed(judge.settings)
        for summary in summaries:
            judgment = widened(GridJudgment, summary, judge=judge.name)
            if summary.text is not None:
                batch.of += 1
                step = f"{JUDGING} {summary.system} by {judge.name}"
                order = self.judge_spec(judge, summary.text, cell.ids, scored)
                outcome = await batch.run(JUDGING, step, cell.document, settings, order)
                judgment = outcome.recorded(judgment, f"{JUDGING} by {judge.name}")
                if outcome.result is not None:
                    evaluations = outcome.result.evaluations
                    scores = unmeasured | dict(evaluations)
                    scores = {metric: scores[metric] for metric in self.judging.metrics if metric in scores}
                    judgment = replace(judgment, scores=scores)
                    statistics = evaluations.get(STATISTICS)
                    if statistics is not None and statistics.outcome == "measured":
                        details: Mapping[str, Any] = statistics.details
                        shares = {f"{kind}_trigrams": details[f"{kind}_ngrams"]["3"] for kind in ("novel", "repeated")}
                        judgment = replace(judgment, lengths={"tokens": details["summary"]["tokens"], **shares})
            judgments.append(judgment)
        return judgments

    async def compare_summaries(
        self, document: Document, summaries: Sequence[GridSummary], judge: NamedModel, batch: RunBatch
    ) -> list[GridPreference]:
        """Return a judge's preferences for each pair of contestants; of several summaries by one, the first counts."""
        texts = {summary.system: summary.text for summary in reversed(summaries)}
        settings, step, preferences = self.keyed(judge.settings), f"preferences by {judge.name}", []
        judging = self.judging_by(JudgeConfig(repeat=self.judging.repeat), judge)
        for first, second in self.pairs if self.prefer else ():
            preference = GridPreference(document.id, document.title, first, second, judge.name, made=False)
            if (first_text := texts[first]) and (second_text := texts[second]):
                batch.of += 1
                order = Compare(judging=judging, given=first_text, other=second_text, experiment=self.name)
                outcome = await batch.run("preference", step, document, settings, order, preference.label)
                preference = outcome.recorded(preference, step)
                if outcome.result is not None:
                    details: Mapping[str, Any] = outcome.result.evaluations[PREFERENCE].details
                    # Two identical texts are a tie on everything.
                    tied = ASPECTS if details["same"] else ()
                    votes: dict[Aspect, AspectVotes] = dict.fromkeys(tied, AspectVotes("tie"))
                    for aspect, vote in details["judgings"][0]["verdicts"].items() if not details["same"] else ():
                        leaning = _SIDES.get(vote["leaning"])
                        votes[aspect] = AspectVotes(_SIDES[vote["winner"]], leaning, vote["order_decides"])
                    preference = replace(preference, votes=votes, same=bool(details["same"]), made=True)
            preferences.append(preference)
        return preferences


def contestants(models: Sequence[NamedModel], order: GridOrder, ready: Iterable[str] = ()) -> tuple[GridSystem, ...]:
    """Return every combination of model, strategy, chunk size and limit, named by what varies, and the systems with
    existing summaries."""
    systems: list[GridSystem] = []
    strategies, chunks, words = order.strategies, order.chunk_sizes, order.word_limits or (None,)
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


async def draft_summary(
    document: Document, contestant: str, settings: DraftConfig, experiment: str, batch: RunBatch
) -> GridSummary:
    """Draft one summary of a document for an experiment, or record why there is none."""
    batch.of += 1
    step, order = f"{DRAFTING} {contestant}", Summarize(experiment=experiment)
    outcome = await batch.run(DRAFTING, step, document, settings, order)
    summary = outcome.recorded(GridSummary(document.id, document.title, contestant), DRAFTING)
    if (result := outcome.result) is None:
        return summary
    totals, words = await batch.usage([result.run.id]), result.settings.words
    return replace(summary, text=result.summary or "", limit=words, gaps=len(result.gaps), taken=totals)


EXPERIMENT = GridDesign
