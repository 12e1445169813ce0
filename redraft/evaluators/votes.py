"""The verdicts of a panel of judges on the items of a metric, their votes on each, and the score that they give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean, stdev
from typing import Any, Generic, TypeVar

from redraft.agents.accounts import ItemResults, gather_all
from redraft.agents.judge import Judge
from redraft.domain import Evaluation, Finding
from redraft.evaluators.base import Case, Evaluator
from redraft.evaluators.figures import weighted_mean
from redraft.evaluators.metric_info import ABSTAINED, WEIGHED

DISPUTED = "disputed"
"""The verdict on an item on which no single verdict has a majority."""
UNJUDGED: Mapping[str, object] = {"verdict": "unjudged", "value": None}
"""How an item without a verdict is shown."""
OPEN = frozenset({UNJUDGED["verdict"]})
"""Verdicts that are neither right nor wrong."""

ItemVerdicts = Mapping[int, str]
"""One judge's verdicts by item; items that it left open are absent."""
AnswerT = TypeVar("AnswerT")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JudgeVerdicts(Generic[AnswerT]):
    """One judge's verdicts by item, the value of each from 0 to 1, and its errors."""

    judge: str
    by_item: ItemVerdicts
    points: Mapping[int, float]
    trouble: str = ""
    answers: Mapping[int, AnswerT] = field(default_factory=dict)
    """What the judge answered, as far as the metric keeps it."""

    @classmethod
    def of(
        cls, judge: Judge, results: ItemResults[AnswerT], verdict: Callable[[AnswerT], str], fine: str
    ) -> JudgeVerdicts[AnswerT]:
        """Return a judge's verdicts by its answers; an item counts 1 if the verdict is `fine`, else 0."""
        by_item = {n: verdict(answer) for n, answer in sorted(results.verdicts.items())}
        points = {n: float(verdict == fine) for n, verdict in by_item.items()}
        return cls(judge.name, by_item, points, results.trouble, results.verdicts)

    def confirmed(self, second: JudgeVerdicts[AnswerT], doubted: Sequence[int]) -> JudgeVerdicts[AnswerT]:
        """Return the verdicts, with those of another judge on the items that this one doubted."""

        def merged(first_values: Mapping[int, T], second_values: Mapping[int, T]) -> dict[int, T]:
            undoubted = {n: value for n, value in first_values.items() if n not in doubted}
            return undoubted | {doubted[at]: value for at, value in second_values.items()}

        return JudgeVerdicts(
            f"{self.judge}, confirmed by {second.judge}",
            merged(self.by_item, second.by_item),
            merged(self.points, second.points),
            second.trouble,
            merged(self.answers, second.answers),
        )


@dataclass(frozen=True, slots=True)
class ItemVotes:
    """The verdicts of the judges on one item."""

    verdict: str
    """The majority verdict, or `DISPUTED`."""
    value: float
    """The mean of the judges' values. Every score is a mean of such values, weighted if its items are."""
    votes: Counter[str]

    def objections(self, fine: str) -> int:
        """Return how many judges object."""
        return self.votes.total() - self.votes[fine]

    def said_by(self, fine: str) -> tuple[int, int] | None:
        """Return how many judges object, and how many judged; None for a single judge."""
        return (self.objections(fine), self.votes.total()) if self.votes.total() > 1 else None

    def objection(self, fine: str) -> str:
        """Return the most common objection; among equals the first."""
        return next(verdict for verdict, _ in self.votes.most_common() if verdict != fine)


@dataclass(frozen=True, slots=True)
class PanelVerdicts(Generic[AnswerT]):
    """The verdicts of all judges of a panel on so many items, and the votes on each item that has any."""

    judges: tuple[JudgeVerdicts[AnswerT], ...]
    count: int
    items: Mapping[int, ItemVotes]

    @classmethod
    def of(cls, judges: Iterable[JudgeVerdicts[AnswerT]], count: int) -> PanelVerdicts[AnswerT]:
        """Return the verdicts of some judges on so many items."""
        verdicts = tuple(judges)
        items: dict[int, ItemVotes] = {}
        for n, verdict in majority([judge.by_item for judge in verdicts], range(count)).items():
            voters = [judge for judge in verdicts if n in judge.by_item]
            votes = Counter(judge.by_item[n] for judge in voters)
            items[n] = ItemVotes(verdict, fmean(judge.points[n] for judge in voters), votes)
        return cls(verdicts, count, items)

    def answers(self, n: int, verdict: str | None = None) -> list[AnswerT]:
        """Return the answers behind a verdict on an item, or else behind the panel's own."""
        verdict = verdict or (self.items[n].verdict if n in self.items else None)
        behind = [judge for judge in self.judges if verdict and judge.by_item.get(n) == verdict]
        return [judge.answers[n] for judge in behind if n in judge.answers]

    def shown(self, n: int) -> dict[str, object]:
        """Return the verdict on an item and its value and, where several judges voted, the votes."""
        if n not in self.items:
            return dict(UNJUDGED)
        item = self.items[n]
        votes = {"votes": dict(item.votes)} if item.votes.total() > 1 else {}
        return {"verdict": item.verdict, "value": item.value, **votes}

    def disputed_items(self, fine: str, order: Iterable[int] | None = None) -> list[int]:
        """Return the items that any judge objects to: those with a majority first."""
        disputed = [n for n in (self.items if order is None else order) if self.items[n].objections(fine)]
        return sorted(disputed, key=lambda n: 2 * self.items[n].objections(fine) <= self.items[n].votes.total())


def majority(by_judge: Sequence[ItemVerdicts], items: Iterable[int]) -> dict[int, str]:
    """Return the majority verdict on each item; items without a verdict are left out."""
    result: dict[int, str] = {}
    for item in items:
        if votes := Counter(by_item[item] for by_item in by_judge if item in by_item):
            verdict, count = votes.most_common(1)[0]
            result[item] = verdict if 2 * count > votes.total() else DISPUTED
    return result


def agreement(by_judge: Sequence[ItemVerdicts]) -> float | None:
    """Return the share of equal verdicts over all pairs of judges and the items both judged; None for one judge."""
    pairs = combinations(by_judge, 2)
    equal = [first[item] == second[item] for first, second in pairs for item in first.keys() & second.keys()]
    return fmean(equal) if equal else None


async def panel_verdicts(
    case: Case, items: Sequence[T], fine: str, ask: Callable[[Judge, Sequence[T]], Awaitable[JudgeVerdicts[AnswerT]]]
) -> PanelVerdicts[AnswerT]:
    """Return the verdicts of every judge of the panel on some items. `ask` has one of them judge some items, and
    numbers the verdicts by their position among these. What is not found `fine`, the confirmer decides, if there is
    one."""

    async def verdicts_of(judge: Judge) -> JudgeVerdicts[AnswerT]:
        first = await ask(judge, items)
        doubted = [n for n in range(len(items)) if first.by_item.get(n) != fine]
        if case.confirmer is None or not doubted:
            return first
        return first.confirmed(await ask(case.confirmer, [items[n] for n in doubted]), doubted)

    return PanelVerdicts.of(await gather_all(verdicts_of(judge) for judge in case.panel), len(items))


def mean_evaluation(
    metric: Evaluator,
    panel: PanelVerdicts[Any],
    *,
    weights: Sequence[int] = (),
    unasked: int = 0,
    findings: Iterable[Finding] = (),
    held: Iterable[str] = (),
    details: Mapping[str, object] | None = None,
) -> Evaluation:
    """Return the evaluation whose score is the mean of the items' values, weighted if there are weights; failed if no
    item has a verdict. `unasked` items were never put to the judges."""
    items, figures = panel.items, dict(details or {})
    score = weighted_mean({n: item.value for n, item in items.items()}, weights)
    trouble = next((judge.trouble for judge in panel.judges if judge.trouble), "")
    figures |= {"trouble": trouble} if trouble else {}
    figures |= {WEIGHED: sum(weights[n] for n in items)} if weights else {}
    unjudged = panel.count - len(items) + unasked
    if score is None:
        figures |= {} if trouble or unasked else {ABSTAINED: True}
        failed = metric.failed(trouble or "no judge gave a verdict on any item", unjudged)
        return replace(failed, details=figures)
    if len(panel.judges) > 1:
        by_judge = [weighted_mean(judge.points, weights) for judge in panel.judges]
        figures["judges"] = [
            {"judge": judge.judge, "score": judge_score, "judged": len(judge.by_item)}
            for judge, judge_score in zip(panel.judges, by_judge, strict=True)
        ]
        figures["agreement"] = agreement([judge.by_item for judge in panel.judges])
        scores = [judge_score for judge_score in by_judge if judge_score is not None]
        deviation = stdev(scores) if len(scores) > 1 else 0.0
        ends = {"lowest": min(scores), "highest": max(scores)}
        figures["spread"] = {"n": len(scores), "mean": fmean(scores), "sd": deviation, **ends}
    return Evaluation(
        metric=metric.name,
        version=metric.version,
        outcome="scored",
        score=score,
        judged=len(items),
        unjudged=unjudged,
        findings=tuple(findings),
        held=tuple(held),
        details=figures,
    )
