"""What a grid compares, and how: contestants, judges and metrics, everything but the documents and the limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

from redraft.errors import UsageError
from redraft.evaluators.catalog import metrics
from redraft.lab.experiments.plan import NamedModel, check_seats, judged_by, keyed
from redraft.lab.experiments.runner import parts_for
from redraft.lab.experiments.sources import Ready
from redraft.runs.experiment_runner import ExperimentRunner
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

    def seated(self, seat: NamedModel) -> DraftConfig:
        """How a judge judges by itself."""
        return keyed(seat.settings, self._everyone)

    @property
    def builder(self) -> DraftConfig:
        """Under which settings the first judge finds what summaries are judged by, whatever they are to answer."""
        return self.seated(self.judges[0]).model_copy(update={"query": None})

    @property
    def _everyone(self) -> list[DraftConfig]:
        return [one.settings for one in self.contestants if one.settings] + [seat.settings for seat in self.judges]

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

    def verdict(self, seat: NamedModel, summary: str, by: Yardsticks, scored: Sequence[str]) -> RunSpec:
        """The order that a judge judges a summary."""
        changes: dict[str, object] = {"metrics": tuple(scored), "validator": None, "models": {}, **_asked(by)}
        judging = judged_by(self.judging.model_copy(update=changes), seat.name, self.seated(seat))
        return RunSpec(Evaluate(judging=judging), given=summary, experiment=GRID)

    def comparing(self, seat: NamedModel, first: str, second: str) -> RunSpec:
        """The order that a judge says which of two summaries is better."""
        judging = judged_by(JudgeConfig(repeat=self.judging.repeat), seat.name, self.seated(seat))
        return RunSpec(Compare(judging=judging), given=first, other=second, experiment=GRID)

    def check(self, bench: ExperimentRunner) -> None:
        """Refuse what cannot be meant, a name or a price that nobody knows, before anything is paid for."""
        names = [one.name for one in self.contestants]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"two contestants are named {twice}", hint="rename the folder, or the system, of one")
        if self.against is not None and self.against not in names:
            raise UsageError(f"--against: nobody is named {self.against!r}", hint=f"there are: {'; '.join(names)}")
        for metric in metrics(self.metrics):
            if metric.aim is None:
                raise UsageError(
                    f"--metric: {metric.name} gives no score that contestants could be compared by",
                    hint="leave it out; lengths and repetition are in the tables anyway",
                )
        drafting = [
            (self.drafting(one), self.panel if one.refines else None) for one in self.contestants if one.settings
        ]
        check_seats(bench, *drafting, *((self.seated(seat), None) for seat in self.judges))


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
