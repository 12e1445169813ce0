"""The design of a grid experiment, and its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations, product
from typing import Any

from redraft.domain import Evaluation, Outcome, Totals
from redraft.errors import BudgetError, UsageError
from redraft.evaluators.catalog import metrics
from redraft.evaluators.preference import Winner
from redraft.lab.experiments.frames import where
from redraft.lab.experiments.plan import NamedModel, check_models, judged_by, keyed
from redraft.lab.experiments.runner import json_of, parts_for, plain_json, status_of
from redraft.lab.experiments.sources import Ready
from redraft.prompts.coherence import Aspect
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.model_pool import located
from redraft.runs.prepare import RunSpec
from redraft.settings import (
    BuildKeyfacts,
    BuildQuestions,
    Compare,
    DraftConfig,
    Evaluate,
    JudgeConfig,
    PackPart,
    Refine,
    RefineConfig,
)
from redraft.text.words import count_words

GRID = "grid"
"""What its runs are for, and the command that repeats them."""
_REFINED = "refined"


@dataclass(frozen=True, slots=True)
class GridSystem:
    """One way of coming to summaries: a model under settings, another's drafts refined, or summaries that are there."""

    name: str
    settings: DraftConfig | None = None
    """How it drafts, or refines; None where its summaries are ready."""
    model: str = ""
    """The model as it was named."""
    refines: str | None = None
    """The contestant whose drafts it refines."""


@dataclass(frozen=True, slots=True)
class Yardsticks:
    """What one document's summaries are judged by: the same for all contestants and all judges."""

    pack: str | None = None
    keyfacts: str | None = None


@dataclass(frozen=True, slots=True)
class GridDesign:
    """All contestants are judged on all documents by all judges, each judge by itself."""

    contestants: tuple[GridSystem, ...]
    judges: tuple[NamedModel, ...]
    judging: JudgeConfig
    refinement: RefineConfig | None = None
    panel: JudgeConfig = field(default_factory=JudgeConfig)
    """Who judges while drafts are refined: the first of the judges."""
    ready: Ready = field(default_factory=Ready)
    prefers: bool = False
    """Whether the judges are asked which of two summaries is better, too."""
    against: str | None = None
    """The contestant that all others are held against; without one each is held against each."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """What summaries are scored by."""
        return self.judging.metrics

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The contestants that are held against each other, by name."""
        names = [one.name for one in self.contestants]
        if self.against is None:
            return list(combinations(names, 2))
        return [(name, self.against) for name in names if name != self.against]

    @property
    def needs(self) -> list[PackPart]:
        """What has to be known of a document before its summaries can be judged."""
        goals = tuple(self.refinement.goals) if self.refinement else ()
        return parts_for((*self.metrics, *goals))

    def drafting(self, one: GridSystem) -> DraftConfig:
        """How a contestant drafts."""
        assert one.settings is not None
        return keyed(one.settings, self._everyone)

    def configured(self, judge: NamedModel) -> DraftConfig:
        """How a judge judges summaries that are given."""
        return keyed(judge.settings, self._everyone).model_copy(update={"strategy": "given", "words": None})

    @property
    def builder(self) -> DraftConfig:
        """Under which settings the first judge finds what summaries are judged by, whatever they are to answer."""
        return self.configured(self.judges[0]).model_copy(update={"query": None})

    @property
    def _everyone(self) -> list[DraftConfig]:
        return [one.settings for one in self.contestants if one.settings] + [judge.settings for judge in self.judges]

    def building(self, part: PackPart) -> RunSpec:
        """The order to build what summaries are judged by; the first judge does."""
        asked = judged_by(self.judging.model_copy(update={"metrics": ()}), self.judges[0].name, self.builder)
        judging = located(asked, self.builder)
        purpose = BuildQuestions(judging=judging) if part == "questions" else BuildKeyfacts(judging=judging)
        return RunSpec(purpose, experiment=GRID)

    def refining(self, one: GridSystem, draft: str, by: Yardsticks) -> RunSpec:
        """The order to refine a draft."""
        assert self.refinement is not None
        panel = self.panel.model_copy(update={"metrics": tuple(self.refinement.goals), **_asked(by)})
        judging = located(panel, self.drafting(one), self.refinement)
        # Its tables say where the built-in model judges itself.
        refinement = self.refinement.model_copy(update={"allow_self_check": True})
        return RunSpec(Refine(judging=judging, refinement=refinement), given=draft, experiment=GRID)

    def verdict(self, judge: NamedModel, summary: str, by: Yardsticks, scored: Sequence[str]) -> RunSpec:
        """The order that a judge judges a summary."""
        changes: dict[str, object] = {"metrics": tuple(scored), "validator": None, "models": {}, **_asked(by)}
        judging = judged_by(self.judging.model_copy(update=changes), judge.name, self.configured(judge))
        return RunSpec(Evaluate(judging=judging), given=summary, experiment=GRID)

    def comparing(self, judge: NamedModel, first: str, second: str) -> RunSpec:
        """The order that a judge says which of two summaries is better."""
        judging = judged_by(JudgeConfig(repeat=self.judging.repeat), judge.name, self.configured(judge))
        return RunSpec(Compare(judging=judging), given=first, other=second, experiment=GRID)

    def check(self, runner: ExperimentRunner) -> None:
        """Refuse what cannot be meant, a name or a price that nobody knows, before anything is paid for."""
        names = [one.name for one in self.contestants]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"two systems are named {twice}", hint="rename the folder, or the system, of one")
        if self.against is not None and self.against not in names:
            raise UsageError(f"--against: there is no system {self.against!r}", hint=f"there are: {'; '.join(names)}")
        for metric in metrics(self.metrics):
            if metric.aim is None:
                raise UsageError(
                    f"--metric: {metric.name} gives no score to compare systems by",
                    hint="leave it out; lengths and repetition are in the tables anyway",
                )
        drafting = [
            (self.drafting(one), self.panel if one.refines else None) for one in self.contestants if one.settings
        ]
        check_models(runner, *drafting, *((self.configured(judge), None) for judge in self.judges))


def _asked(by: Yardsticks) -> dict[str, str | None]:
    return {"pack": by.pack, "keyfacts": by.keyfacts}


def contestants(
    models: Sequence[NamedModel],
    strategies: Sequence[str],
    chunks: Sequence[int],
    words: Sequence[int | None],
    *,
    refined: bool,
    ready: Sequence[str] = (),
) -> tuple[GridSystem, ...]:
    """Every model by every strategy, size of chunks and limit, named by what there are several of; each once more with
    its drafts refined, if that is wanted; and whoever has summaries that are there."""
    made: list[GridSystem] = []
    for model, strategy, chunk, limit in product(models, strategies, chunks, words):
        if strategy == "direct" and chunk != chunks[0]:
            continue  # it takes the document whole, whatever chunks would be
        changes = {"strategy": strategy, "chunk_tokens": chunk, "words": limit}
        parts = [
            *([strategy] if len(strategies) > 1 else []),
            *([f"chunks of {chunk}"] if len(chunks) > 1 and strategy != "direct" else []),
            *([f"{limit} words"] if len(words) > 1 else []),
        ]
        own = GridSystem(", ".join((model.name, *parts)), model.settings.model_copy(update=changes), model.name)
        made += [own, *([_refining(own)] if refined else [])]
    return (*made, *(GridSystem(name) for name in ready))


def _refining(own: GridSystem) -> GridSystem:
    return GridSystem(f"{own.name}, {_REFINED}", own.settings, own.model, own.name)


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
            **json_of(it, "document title system=contestant number"),
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
        return [judge.name for judge in self.design.judges]

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
        return [one for one in where(self.judged, judge=judge) if one.summary.contestant == contestant]

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
