"""Grids and refinements made by hand, for tables whose numbers are worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redraft.domain import Document, Evaluation, Totals
from redraft.lab.experiments.experiment import Outcome
from redraft.lab.experiments.grid import (
    AspectVotes,
    GridDesign,
    GridJudgment,
    GridPreference,
    GridSystem,
    PreferredSide,
)
from redraft.lab.experiments.longsumeval import BestScores, RefinedSummary
from redraft.lab.experiments.longsumeval import LongSumEvalDesign as RefiningDesign
from redraft.lab.experiments.orders import NamedModel
from redraft.lab.experiments.runner import Cell
from redraft.prompts.coherence import ASPECTS
from redraft.settings import DraftConfig, JudgeConfig, PolicyName, RefineConfig

Scores = Mapping[str, float | None]


def totals(calls: int, prompt: int, reply: int, usd: float | None = 0.0) -> Totals:
    """What something took."""
    return Totals(calls=calls, prompt_tokens=prompt, completion_tokens=reply, cost_usd=usd)


def contestant(name: str, **settings: Any) -> GridSystem:
    """A model that drafts."""
    return GridSystem(name, DraftConfig(**settings), name)


def design(
    *names: str, judges: Sequence[str] = ("j",), metrics: Sequence[str] = ("coverage",), **more: Any
) -> GridDesign:
    """A design of these contestants, which draft."""
    seats = tuple(NamedModel(judge, DraftConfig(strategy="given")) for judge in judges)
    return GridDesign(
        contestants=tuple(map(contestant, names)),
        writers=tuple(NamedModel(name, DraftConfig()) for name in names),
        judges=seats,
        judging=JudgeConfig(metrics=tuple(metrics)),
        **more,
    )


def judged(document: str, name: str, scores: Scores, judge: str = "j", **more: Any) -> GridJudgment:
    """A summary of a document with its scores; None is a score that could not be had."""
    lost = ("failed", None, 1, 3, (), (), {"trouble": "no reply"})
    actual = {
        metric: Evaluation(metric, 1, *(lost if score is None else ("scored", score, 4)), reason="too few")
        for metric, score in scores.items()
    }
    given: dict[str, Any] = {"title": document.upper(), "text": "Some words here.", **more}
    return GridJudgment(document, given.pop("title"), name, judge=judge, scores=actual, **given)


def cells(items: Sequence[Any]) -> tuple[Cell, ...]:
    """The documents of some items."""
    titles = {item.document: item.title for item in items}
    return tuple(Cell(Document(key, title, "")) for key, title in titles.items())


def outcome(
    made: GridDesign, some: Sequence[GridJudgment], preferred: Sequence[GridPreference] = (), **more: Any
) -> Outcome[Any, Any]:
    """All that came of a grid."""
    return Outcome(made, cells(some), (*some, *preferred), **more)


def voted(document: str, winner: str, judge: str = "j", **more: Any) -> GridPreference:
    """A pair of summaries by a and b, with one verdict on every aspect; with an empty one a judge that cannot tell."""
    sides: Mapping[str, PreferredSide] = {"a": "first", "b": "second", "tie": "tie"}
    leaning, split = sides.get(more.pop("leaning", "")), more.pop("order_decides", False)
    votes = dict.fromkeys(ASPECTS, AspectVotes(sides[winner], leaning, split)) if winner else {}
    return GridPreference(document, document.upper(), "a", "b", judge, votes, **more)


PAPER = {"coverage": 0.6, "consistency": 0.73}


def refining(*orders: PolicyName, thresholds: Sequence[Mapping[str, float]] = (PAPER,), **more: Any) -> RefiningDesign:
    """A design of one writer."""
    writer = NamedModel("a", DraftConfig())
    return RefiningDesign(
        writers=(writer,),
        judges=(NamedModel("j", DraftConfig(strategy="given")),),
        judging=JudgeConfig(),
        thresholds=tuple(thresholds),
        orders=orders,
        **more,
    )


def refined(document: str, *scores_by_round: Scores, order: PolicyName = "paper", **more: Any) -> RefinedSummary:
    """A draft that was refined, with its scores after each round; a round is refused that changes nothing."""
    rounds = [
        BestScores(n, scores, n > 0, n > 0 and scores != scores_by_round[n - 1])
        for n, scores in enumerate(scores_by_round)
    ]
    goals = more.pop("goals", PAPER)
    way = RefineConfig(goals=goals, policy=order)
    way = way.model_copy(update={"feedback": way.feedback_name})
    return RefinedSummary(document, document.upper(), "a", 1, "a", way, tuple(rounds), **more)


def refined_outcome(refining_design: RefiningDesign, *refinements: RefinedSummary) -> Outcome[Any, Any]:
    """All that came of refining."""
    return Outcome(refining_design, cells(refinements), refinements)
