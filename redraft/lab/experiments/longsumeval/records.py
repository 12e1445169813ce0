"""LongSumEval's refinement: what is refined, by whom and how, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from redraft.domain import Totals
from redraft.errors import BudgetError
from redraft.evaluators.catalog import check_goals, metrics
from redraft.lab.experiments.plan import NamedModel, check_seats, judged_by, keyed
from redraft.lab.experiments.runner import json_of, parts_for, status_of
from redraft.lab.experiments.sources import Ready
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.model_pool import located
from redraft.runs.prepare import RunSpec
from redraft.settings import (
    BuildKeyfacts,
    BuildQuestions,
    DraftConfig,
    JudgeConfig,
    PackPart,
    PolicyName,
    Refine,
    RefineConfig,
)

LONGSUMEVAL = "longsumeval"
"""What its runs are for, and the command that repeats them."""
Goals = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RefineSetting:
    """One way to refine: up to which thresholds, and in which order."""

    goals: tuple[tuple[str, float], ...]
    policy: PolicyName

    @property
    def thresholds(self) -> str:
        """The thresholds in a line."""
        return ", ".join(f"{metric} {least:g}" for metric, least in self.goals)


@dataclass(frozen=True, slots=True)
class LongSumEvalDesign:
    """Every summary is refined by every writer in every way, from the same first draft."""

    writers: tuple[NamedModel, ...]
    judge: NamedModel
    """Who builds what summaries are judged by, and judges."""
    judging: JudgeConfig
    """How summaries are judged, with the judge by its name."""
    thresholds: tuple[tuple[tuple[str, float], ...], ...]
    orders: tuple[PolicyName, ...]
    rounds: int | None = None
    low: tuple[tuple[str, float], ...] = ()
    """Below which score a first draft is a low one, by metric; without any, below the first of the thresholds."""
    ready: Ready = field(default_factory=Ready)

    @property
    def ways(self) -> list[RefineSetting]:
        """Every order up to every threshold."""
        return [RefineSetting(goals, policy) for goals in self.thresholds for policy in self.orders]

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

    def drafting(self, writer: NamedModel) -> DraftConfig:
        """How a writer drafts."""
        return keyed(writer.settings, self._everyone)

    def seated(self) -> DraftConfig:
        """Under which settings the judge builds."""
        return keyed(self.judge.settings, self._everyone)

    @property
    def _everyone(self) -> list[DraftConfig]:
        return [*(writer.settings for writer in self.writers), self.judge.settings]

    def building(self, part: PackPart) -> RunSpec:
        """The order to build what summaries are judged by."""
        changes: dict[str, object] = {"metrics": (), "judges": (), "models": {}, "base_url": None}
        asked = judged_by(self.judging.model_copy(update=changes), self.judge.name, self.seated())
        judging = located(asked, self.seated())
        purpose = BuildQuestions(judging=judging) if part == "questions" else BuildKeyfacts(judging=judging)
        return RunSpec(purpose, experiment=LONGSUMEVAL)

    def refining(self, writer: NamedModel, way: RefineSetting, draft: str, by: Mapping[str, str | None]) -> RunSpec:
        """The order to refine a draft in one way; every metric is scored, whatever is a goal."""
        refinement = RefineConfig(goals=dict(way.goals), policy=way.policy, allow_self_check=True)
        if self.rounds is not None:
            refinement = refinement.model_copy(update={"rounds": self.rounds})
        asked = self.judging.model_copy(update={"metrics": self.metrics, **by})
        judging = located(asked, self.drafting(writer), refinement)
        return RunSpec(Refine(judging=judging, refinement=refinement), given=draft, experiment=LONGSUMEVAL)

    def check(self, bench: ExperimentRunner) -> None:
        """Refuse what cannot be meant, a name or a price that nobody knows, before anything is paid for."""
        check_goals(self.metrics, metrics(self.metrics))
        check_seats(bench, *((self.drafting(writer), self.judging) for writer in self.writers), (self.seated(), None))


@dataclass(frozen=True, slots=True)
class Stand:
    """Where the best draft stands after a round."""

    round: int
    scores: Mapping[str, float | None]
    revised: bool = False
    """Whether there was a revision in this round."""
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class Refined:
    """One summary refined in one way, or why it is not."""

    document: str
    title: str
    system: str
    """Who has written the first draft."""
    number: int
    writer: str
    """Who refines it."""
    way: RefineSetting
    stands: tuple[Stand, ...] = ()
    """From the first draft on; nothing where it is not done."""
    stop: str | None = None
    words: tuple[int, int] | None = None
    """Of the first draft and of the last."""
    run: str | None = None
    taken: Totals | None = None
    failure: Failure | None = None
    made: bool = True

    @property
    def status(self) -> str:
        """Whether it is `done`, has `failed`, or was `not made`."""
        return status_of(self.failure, done=bool(self.stands))

    @property
    def revisions(self) -> int:
        """How often it was revised."""
        return sum(one.revised for one in self.stands)

    def score(self, metric: str, after: int | None = None) -> float | None:
        """Where it stood after a round, or at the end. What has come to its end stays where it was."""
        known = [one for one in self.stands if after is None or one.round <= after]
        return known[-1].scores.get(metric) if known else None

    def meets(self, after: int | None = None) -> bool | None:
        """Whether all goals are met; None where a score is missing."""
        scores = [(self.score(metric, after), least) for metric, least in self.way.goals]
        if any(score is None for score, _ in scores):
            return None
        return all(score is not None and score >= least for score, least in scores)

    def to_json(self) -> dict[str, object]:
        """The record in `items.json`."""
        return json_of(
            self,
            "document title system number refined_by=writer thresholds=way.thresholds order=way.policy status stop"
            " revisions initial: final: rounds=stands words run taken failure",
            initial=self.stands[0].scores if self.stands else None,
            final=self.stands[-1].scores if self.stands else None,
        )


@dataclass(frozen=True, slots=True)
class RefinedOutcome:
    """All that came of it."""

    design: LongSumEvalDesign
    documents: tuple[tuple[str, str], ...]
    refined: tuple[Refined, ...]
    troubles: tuple[tuple[str, Failure], ...] = ()
    """What could not be built, by title of the document."""
    whole: Totals = field(default_factory=Totals)
    """What all of it took, each answer counted once."""
    stopped: BudgetError | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing failed and nothing is missing."""
        return self.stopped is None and not self.troubles and all(one.status == "done" for one in self.refined)

    @property
    def groups(self) -> list[tuple[str, str]]:
        """Whose drafts are refined by whom."""
        return list(dict.fromkeys((one.system, one.writer) for one in self.refined))

    def of(self, group: tuple[str, str], way: RefineSetting) -> list[Refined]:
        """What one writer makes of one system's drafts in one way."""
        return [one for one in self.refined if (one.system, one.writer) == group and one.way == way]
