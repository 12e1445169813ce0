"""What is refined, by whom and how: everything but the documents and the limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from redraft.evaluators.catalog import check_goals, metrics
from redraft.experiments.ready import Ready
from redraft.experiments.seats import Seat, check_seats, judged_by, keyed
from redraft.experiments.yardsticks import parts_for
from redraft.runs.experiment_runner import Bench
from redraft.runs.model_pool import located
from redraft.runs.prepare import Order
from redraft.settings import (
    BuildKeyfacts,
    BuildQuestions,
    Judging,
    PackPart,
    PolicyName,
    Refine,
    Refinement,
    Settings,
)

LONGSUMEVAL = "longsumeval"
"""What its runs are for, and the command that repeats them."""
Goals = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to refine: up to which thresholds, and in which order."""

    goals: tuple[tuple[str, float], ...]
    policy: PolicyName

    @property
    def thresholds(self) -> str:
        """The thresholds in a line."""
        return ", ".join(f"{metric} {least:g}" for metric, least in self.goals)


@dataclass(frozen=True, slots=True)
class Design:
    """Every summary is refined by every writer in every way, from the same first draft."""

    writers: tuple[Seat, ...]
    judge: Seat
    """Who builds what summaries are judged by, and judges."""
    judging: Judging
    """How summaries are judged, with the judge by its name."""
    thresholds: tuple[tuple[tuple[str, float], ...], ...]
    orders: tuple[PolicyName, ...]
    rounds: int | None = None
    low: tuple[tuple[str, float], ...] = ()
    """Below which score a first draft is a low one, by metric; without any, below the first of the thresholds."""
    ready: Ready = field(default_factory=Ready)

    @property
    def ways(self) -> list[Way]:
        """Every order up to every threshold."""
        return [Way(goals, policy) for goals in self.thresholds for policy in self.orders]

    @property
    def metrics(self) -> tuple[str, ...]:
        """What summaries are scored by, however they are refined."""
        return tuple(dict.fromkeys(metric for goals in (*self.thresholds, self.low) for metric, _ in goals))

    @property
    def lows(self) -> dict[str, float]:
        """Below which score a first draft is a low one, by metric."""
        return dict(self.low or self.thresholds[0])

    @property
    def needs(self) -> list[PackPart]:
        """What has to be known of a document before its summaries can be judged."""
        return parts_for(self.metrics)

    def drafting(self, writer: Seat) -> Settings:
        """How a writer drafts."""
        return keyed(writer.settings, self._everyone)

    def seated(self) -> Settings:
        """Under which settings the judge builds."""
        return keyed(self.judge.settings, self._everyone)

    @property
    def _everyone(self) -> list[Settings]:
        return [*(writer.settings for writer in self.writers), self.judge.settings]

    def building(self, part: PackPart) -> Order:
        """The order to build what summaries are judged by."""
        changes: dict[str, object] = {"metrics": (), "judges": (), "models": {}, "base_url": None}
        asked = judged_by(self.judging.model_copy(update=changes), self.judge.name, self.seated())
        judging = located(asked, self.seated())
        purpose = BuildQuestions(judging=judging) if part == "questions" else BuildKeyfacts(judging=judging)
        return Order(purpose, experiment=LONGSUMEVAL)

    def refining(self, writer: Seat, way: Way, draft: str, by: Mapping[str, str | None]) -> Order:
        """The order to refine a draft in one way; every metric is scored, whatever is a goal."""
        refinement = Refinement(goals=dict(way.goals), policy=way.policy, allow_self_check=True)
        if self.rounds is not None:
            refinement = refinement.model_copy(update={"rounds": self.rounds})
        asked = self.judging.model_copy(update={"metrics": self.metrics, **by})
        judging = located(asked, self.drafting(writer), refinement)
        return Order(Refine(judging=judging, refinement=refinement), given=draft, experiment=LONGSUMEVAL)

    def check(self, bench: Bench) -> None:
        """Refuse what cannot be meant, a name or a price that nobody knows, before anything is paid for."""
        check_goals(self.metrics, metrics(self.metrics))
        check_seats(bench, *((self.drafting(writer), self.judging) for writer in self.writers), (self.seated(), None))
