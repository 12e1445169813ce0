"""The items of the grid and their frames: scores, configurations, differences, preferences, and judges' agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations, product
from statistics import stdev
from typing import Annotated, Any, ClassVar, Literal

import pandas as pd
from pydantic import Field

from redraft.domain import Evaluation, computed
from redraft.domain import Outcome as MetricOutcome
from redraft.evaluators.metric_info import got_no_reply
from redraft.lab.agreement.measures import cohens_kappa, krippendorffs_alpha, percent_agreement, tau_b
from redraft.lab.experiments.experiment import UNDECIDED, Item
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
from redraft.lab.experiments.orders import PublicSettings
from redraft.lab.experiments.plan import JUDGING
from redraft.lab.experiments.runner import Used
from redraft.prompts.coherence import ASPECTS, Aspect
from redraft.runs.experiment_runner import Failure
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

    by_field: ClassVar[str] = "system"
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
    scores: Mapping[str, GridScore] = field(default_factory=dict)
    lengths: Mapping[str, float] = field(default_factory=dict)
    """Its tokens, and the shares of novel and of repeated trigrams."""

    @classmethod
    def of(cls, summary: GridSummary, judge: str) -> GridJudgment:
        """Return a summary before a judge has judged it."""
        return cls(
            **{item_field.name: getattr(summary, item_field.name) for item_field in fields(summary)}, judge=judge
        )

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

    label_form: ClassVar[str] = "{0.first} or {0.second}, by {0.judge}"
    made_field: ClassVar[str] = "made"
    first: str
    second: str
    judge: str
    votes: Mapping[Aspect, AspectVotes] = field(default_factory=dict)
    same: bool = False
    """True if both are the same text, so that the judge was not asked."""
    made: Annotated[bool, Field(exclude=True)] = True


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


_SCORE_COLUMNS = ("document", "system", "number", "judge", "metric", "score", "unjudged", "failed")


def metric_frame(judgments: Sequence[GridJudgment], metrics: Sequence[str]) -> Frame:
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
            for item in judgments
            for metric in metrics
            for score in [item.scores.get(metric, GridScore("not_applicable"))]
        ),
        _SCORE_COLUMNS,
    )


def document_scores(judgments: Sequence[GridJudgment]) -> Frame:
    """Return the mean score of every document by metric, system and judge; with several judges also the mean of all of
    them where each has one."""
    names = list(dict.fromkeys(metric for item in judgments for metric in item.scores))
    frame = metric_frame(judgments, names)
    frame = frame[frame["score"].notna()].astype({"score": float})
    by = ["metric", "system", "document"]
    means = frame.groupby([*by, "judge"], sort=False)["score"].mean().reset_index()
    judges = len({item.judge for item in judgments})
    if judges > 1:
        every = means.groupby(by, sort=False)["score"].agg(["mean", "size"]).reset_index()
        every = every[every["size"] == judges].rename(columns={"mean": "score"}).drop(columns="size")
        means = pd.concat([means, every.assign(judge=ALL_JUDGES)])
    return means


def score_frame(
    judgments: Sequence[GridJudgment], metrics: Sequence[str], systems: Sequence[str], judges: Sequence[str]
) -> Frame:
    """Return the mean score of every system by metric and judge, with what its summaries cost."""
    usage = {(item.document, item.system, item.number): (item.system, item.taken) for item in judgments}

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
            **spent_each(totals for name, totals in usage.values() if name == system),
        }

    by = {"metric": metrics, "system": systems, "judge": judges}
    return summarize(metric_frame(judgments, metrics), by, row)


def configuration_frame(
    judgments: Sequence[GridJudgment], metrics: Sequence[str], systems: Sequence[GridSystem], judges: Sequence[str]
) -> Frame:
    """Return the settings of every system with its mean scores, lengths and repetition (table 2)."""
    means, rows = document_scores(judgments), []
    judge = ALL_JUDGES if len(judges) > 1 else judges[0]
    means = means[means["judge"] == judge]
    for system in systems:
        summaries = [item for item in judgments if (item.system, item.judge) == (system.name, judges[0])]
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
                "model": system.model if settings else "ready-made",
                "strategy": settings and settings.strategy,
                "chunk tokens": settings.chunk_tokens if settings and settings.strategy != "direct" else None,
                "word limit": settings and settings.words,
                **{metric: mean_of(scores[scores["metric"] == metric]["score"]) for metric in metrics},
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
        gaps = [float(gap) for gap in both["score_x"] - both["score_y"]]
        higher, lower = sum(gap >= _SEEN for gap in gaps), sum(gap <= -_SEEN for gap in gaps)
        rows.append(
            {
                "metric": metric,
                "first": first,
                "second": second,
                "judge": judge,
                "difference": mean_of(gaps),
                **ends(gaps),
                "documents": len(gaps),
                "higher": higher,
                "lower": lower,
                "equal": len(gaps) - higher - lower,
                "left out": documents - len(gaps),
            }
        )
    columns = ("metric", "first", "second", "judge", "difference")
    return frame_of(rows, () if rows else columns)


def preference_frame(
    preferred: Sequence[GridPreference], pairs: Sequence[tuple[str, str]], judges: Sequence[str]
) -> Frame:
    """Return the shares of preferences by pair, judge and aspect (table 4)."""
    rows = []
    for (first, second), judge in product(pairs, judges):
        chosen = [item for item in preferred if (item.first, item.second, item.judge) == (first, second, judge)]
        for aspect in ASPECTS:
            votes = [item.votes[aspect] for item in chosen if aspect in item.votes]
            winners, leaning = Counter(vote.winner for vote in votes), Counter(vote.leaning for vote in votes)
            worth, status = [_WORTH[vote.winner] for vote in votes], Counter(item.status for item in chosen)
            shares = {f"% {side}": 100 * winners[side] / len(votes) if votes else None for side in _WORTH}
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
                    "same text": sum(item.same for item in chosen),
                    "cannot tell": status["done"] - len(votes),
                    "failed": status["failed"],
                    "of": len(chosen),
                }
            )
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
        yield {
            "of": name,
            "judge": judge,
            "other judge": other_judge,
            "items": sum(sum(cell is not None for cell in row) > 1 for row in rows),
            "difference": mean_of(a - b for a, b in rows) if scores else None,
            "tau-b": tau_b(first, second) if scores else None,
            "equal": percent_agreement(rows) if nominal else None,
            "kappa": cohens_kappa(first, second) if pairs else None,
            "alpha": krippendorffs_alpha(rows, "nominal" if nominal else "interval") if rows else None,
        }


def summary_frame(judgments: Sequence[GridJudgment], metrics: Sequence[str]) -> Frame:
    """Return every summary with its scores, document by document; a number tells documents of one title apart."""
    titles = {item.document: item.title for item in judgments}
    same = Counter[str]()
    labels: dict[str, str] = {}
    for document, title in titles.items():
        same[title] += 1
        labels[document] = title if same[title] == 1 else f"{title} ({same[title]})"
    rows = [
        {
            "document": label,
            **{name: getattr(item, name) for name in ("system", "number", "judge")},
            "run": item.runs.get(f"{JUDGING} by {item.judge}", ""),
            **{name: getattr(item, name) for name in ("status", "words")},
            **{metric: item.scores[metric].score if metric in item.scores else None for metric in metrics},
        }
        for document, label in labels.items()
        for item in judgments
        if item.document == document
    ]
    return frame_of(rows, () if rows else ("document", "system", "judge", "words", *metrics))
