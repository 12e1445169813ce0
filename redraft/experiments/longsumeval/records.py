"""What came of refining: where each draft stood after each round, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from redraft.domain import Totals
from redraft.errors import BudgetError
from redraft.experiments.longsumeval.design import Design, Way
from redraft.experiments.records import json_of, status_of
from redraft.runs.experiment_runner import Failure


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
    way: Way
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

    design: Design
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

    def of(self, group: tuple[str, str], way: Way) -> list[Refined]:
        """What one writer makes of one system's drafts in one way."""
        return [one for one in self.refined if (one.system, one.writer) == group and one.way == way]
