"""What came of a grid: summaries, what each judge says of each, and which of two it prefers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from redraft.domain import Evaluation, Outcome, Totals
from redraft.errors import BudgetError
from redraft.evaluators.preference import Winner
from redraft.lab.experiments.grid.design import GridDesign, GridSystem
from redraft.lab.experiments.runner import json_of, plain_json, status_of
from redraft.prompts.coherence import Aspect
from redraft.runs.experiment_runner import Failure
from redraft.text.words import count_words


@dataclass(frozen=True, slots=True)
class GridScore:
    """What one metric says of one summary."""

    outcome: Outcome
    score: float | None = None
    judged: int = 0
    unjudged: int = 0
    reason: str = ""

    @classmethod
    def of(cls, one: Evaluation) -> GridScore:
        """What an evaluation comes to."""
        return cls(one.outcome, one.score, one.judged, one.unjudged, one.reason)


@dataclass(frozen=True, slots=True)
class GridSummary:
    """One summary of one document by one contestant, or why there is none."""

    document: str
    title: str
    contestant: str
    number: int = 1
    """Which of several of the same document by the same contestant, from 1."""
    text: str | None = None
    limit: int | None = None
    """How many words it might have."""
    gaps: int = 0
    """Chunks that it leaves out, because they could not be summarized."""
    run: str | None = None
    taken: Totals | None = None
    """What its making took, as if nothing had been known before; None where it was there already."""
    failure: Failure | None = None
    made: bool = True
    """False where the budget was used up before."""

    @property
    def words(self) -> int | None:
        """How long it is."""
        return None if self.text is None else count_words(self.text)

    @property
    def key(self) -> tuple[str, str, int]:
        """Which it is."""
        return (self.document, self.contestant, self.number)


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long a summary is, and how much it copies and repeats."""

    tokens: int | None = None
    novel_trigrams: float | None = None
    repeated_trigrams: float | None = None


@dataclass(frozen=True, slots=True)
class GridJudgment:
    """One summary before one judge."""

    summary: GridSummary
    judge: str
    scores: Mapping[str, GridScore] = field(default_factory=dict)
    lengths: Lengths = field(default_factory=Lengths)
    run: str | None = None
    failure: Failure | None = None

    @property
    def status(self) -> str:
        """Whether it is `done`, has `failed`, or was `not made`."""
        if self.summary.failure or self.failure:
            return "failed"
        if any(one.outcome == "failed" for one in self.scores.values()):
            return "failed"
        return "done" if self.scores else "not made"

    def score(self, metric: str) -> float | None:
        """The score, where there is one."""
        found = self.scores.get(metric)
        return found.score if found else None

    def to_json(self) -> dict[str, object]:
        """The record in `items.json`."""
        it = self.summary
        scores: dict[str, object] = {}
        for metric, one in self.scores.items():
            scores |= {metric: one.score, f"{metric}_judged": one.judged, f"{metric}_unjudged": one.unjudged}
            scores |= {f"{metric}_outcome": one.outcome, f"{metric}_reason": one.reason or None}
        return {
            "unit": "summary",
            **json_of(it, "document title contestant number"),
            **json_of(self, "judge status words=summary.words"),
            **asdict(self.lengths),
            "gaps": it.gaps,
            **scores,
            **json_of(self, "made_in=summary.run judged_in=run taken=summary.taken"),
            "failure": plain_json(it.failure or self.failure),
        }


@dataclass(frozen=True, slots=True)
class AspectVotes:
    """What a judge says in both orders on one aspect of two summaries."""

    winner: Winner
    leaning: str | None = None
    order_decides: bool = False


@dataclass(frozen=True, slots=True)
class GridPreference:
    """Two summaries of a document before a judge. An aspect without a verdict is one of which it cannot tell."""

    document: str
    title: str
    first: str
    second: str
    judge: str
    votes: Mapping[Aspect, AspectVotes] = field(default_factory=dict)
    same: bool = False
    """Whether both are one text, for which nobody was asked."""
    run: str | None = None
    failure: Failure | None = None
    made: bool = True

    @property
    def status(self) -> str:
        """Whether it is `done`, has `failed`, or was `not made`."""
        return status_of(self.failure, done=self.made)

    def to_json(self) -> dict[str, object]:
        """The record in `items.json`."""
        return {
            "unit": "pair",
            **json_of(self, "document title first second judge status same"),
            **{f"preferred_{aspect}": _named(self, vote.winner) for aspect, vote in self.votes.items()},
            "order_decides": [aspect for aspect, vote in self.votes.items() if vote.order_decides],
            **json_of(self, "judged_in=run failure"),
        }


def _named(pair: GridPreference, winner: Winner) -> str:
    return {"a": pair.first, "b": pair.second, "tie": "tie"}[winner]


@dataclass(frozen=True, slots=True)
class UnjudgedDocument:
    """What a document's summaries could not be judged by."""

    document: str
    title: str
    part: str
    failure: Failure


@dataclass(frozen=True, slots=True)
class GridOutcome:
    """All that came of a grid."""

    design: GridDesign
    documents: tuple[tuple[str, str], ...]
    """Ids and titles."""
    judged: tuple[GridJudgment, ...]
    preferred: tuple[GridPreference, ...] = ()
    troubles: tuple[UnjudgedDocument, ...] = ()
    built: Totals | None = None
    """What building the yardsticks took."""
    judging: Mapping[str, Totals] = field(default_factory=dict)
    """By judge what its verdicts took."""
    whole: Totals = field(default_factory=Totals)
    """What all of it took, each answer counted once."""
    stopped: BudgetError | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing failed and nothing is missing."""
        done = all(one.status == "done" for one in self.judged) and all(one.status == "done" for one in self.preferred)
        return self.stopped is None and done and not self.troubles

    @property
    def contestants(self) -> tuple[GridSystem, ...]:
        """Who took part."""
        return self.design.contestants

    @property
    def judges(self) -> list[str]:
        """Who judged, by name."""
        return [seat.name for seat in self.design.judges]

    @property
    def labels(self) -> dict[str, str]:
        """By document its title, with a number where others have the same."""
        seen: Counter[str] = Counter()
        found: dict[str, str] = {}
        for document, title in self.documents:
            seen[title] += 1
            found[document] = title if seen[title] == 1 else f"{title} ({seen[title]})"
        return found

    def of(self, contestant: str, judge: str) -> list[GridJudgment]:
        """A contestant's summaries before one judge."""
        return [one for one in self.judged if (one.summary.contestant, one.judge) == (contestant, judge)]

    @property
    def summaries(self) -> list[GridSummary]:
        """Each summary once."""
        return list({one.summary.key: one.summary for one in self.judged}.values())


def votes_of(details: Mapping[str, Any], aspects: Sequence[Aspect]) -> dict[Aspect, AspectVotes]:
    """The votes of the one judging that an evaluation of a preference has; a tie on everything where both are one
    text."""
    if details["same"]:
        return {aspect: AspectVotes("tie") for aspect in aspects}
    found: dict[Aspect, AspectVotes] = {}
    for judging in details["judgings"][:1]:
        for aspect, said in judging["verdicts"].items():
            found[aspect] = AspectVotes(said["winner"], said["leaning"], said["order_decides"])
    return found
