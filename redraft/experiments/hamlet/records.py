"""What came of each item of an experiment: one query put to one model, as the tables count it and as JSON has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from redraft.domain import Document, Evaluation, KeyFacts, Outcome, Perspective, Totals, Tree
from redraft.evaluators.consensus import total
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.experiments.records import json_of, status_of
from redraft.experiments.stages import JUDGING
from redraft.packs.keyfacts import ALL, LEVELS, bin_of, share
from redraft.runs.experiment_runner import Failure
from redraft.text.cleaning import one_line

KEYFACTS = "key facts"
WHOLE = "whole"
LEVEL_COLUMNS, LEVEL_KEYS = (*LEVELS, WHOLE), (*LEVELS, ALL)
"""The levels of facts and all of them together, as tables and as metrics have it."""
FIFTHS = tuple(bin_of((n + 0.5) / 5) for n in range(5))


class PooledShare(NamedTuple):
    """How many of how many; where judges differ on an item, a part of it counts."""

    part: float
    whole: int

    @property
    def value(self) -> float | None:
        """Equations 1 and 2; None where there is nothing to have a part of."""
        return share(self.part, self.whole)


@dataclass(frozen=True, slots=True)
class HamletScore:
    """What one metric says of one summary, as numbers that can be added up."""

    outcome: Outcome
    score: float | None = None
    levels: Mapping[str, PooledShare] = field(default_factory=dict)
    """By level of the key facts, and over all."""
    unjudged: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    """By category the sentences that are not faithful."""


@dataclass(frozen=True, slots=True)
class HamletItem:
    """One query put to one model, and what came of it. None is what there is not, or not yet."""

    document: str
    title: str
    chunk: int
    position: float
    perspective: Perspective
    query: str
    model: str
    runs: Mapping[str, str] = field(default_factory=dict)
    """By stage the run in which it was done."""
    usage: Mapping[str, Totals] = field(default_factory=dict)
    """By stage what was asked and paid."""
    words: int | None = None
    gaps: int = 0
    """Chunks of the document that the summary leaves out, because the model could not summarize them."""
    recall: HamletScore | None = None
    faithfulness: HamletScore | None = None
    failure: Failure | None = None

    @property
    def bin(self) -> str:
        """In which fifth of the document the facts are."""
        return bin_of(self.position)

    @property
    def status(self) -> str:
        """Whether it is `done`, has `failed`, or was `not made`."""
        return status_of(self.failure, done=self.faithfulness is not None)

    def to_json(self) -> dict[str, object]:
        """The record in `items.json`."""
        return json_of(
            self,
            "document title chunk position bin perspective query model status runs words gaps keyfact_recall:"
            " faithfulness: usage failure",
            keyfact_recall=_measured_json(self.recall),
            faithfulness=_measured_json(self.faithfulness),
        )


@dataclass(frozen=True, slots=True)
class HamletSubject:
    """A document of an experiment, with its key facts once it has them, and what was used to find them."""

    document: Document
    tokens: int = 0
    keyfacts: KeyFacts | None = None
    run: str | None = None
    usage: Totals | None = None
    failure: Failure | None = None

    def to_json(self) -> dict[str, object]:
        """The document as programs read it."""
        return json_of(
            self,
            "id=document.id title=document.title tokens: keyfacts: missing: run usage failure",
            tokens=self.tokens or None,
            keyfacts=self.keyfacts.id if self.keyfacts else None,
            missing=list(self.keyfacts.missing) if self.keyfacts else [],
        )


def item_of(document: Document, tree: Tree, model: str) -> HamletItem:
    """An item that nothing has been done about yet."""
    return HamletItem(document.id, document.title, tree.chunk, tree.position, tree.perspective, tree.query, model)


def judged(item: HamletItem, evaluations: Mapping[str, Evaluation]) -> HamletItem:
    """The item with what the metrics say of its summary. A metric that failed makes the item one that failed."""
    recall, faithfulness = evaluations[KeyfactRecall.name], evaluations[Faithfulness.name]
    failed = next((one for one in (recall, faithfulness) if one.outcome == "failed"), None)
    # Where the facts could not be aligned, nobody knows which of them the sentences carry: only the whole is known.
    levels = _levels(faithfulness, "faithful")
    if faithfulness.score is not None:
        levels[ALL] = PooledShare(total([round(faithfulness.score * faithfulness.judged, 9)]), faithfulness.judged)
    return replace(
        item,
        recall=_measured(recall, _levels(recall, "stated")),
        faithfulness=_measured(faithfulness, levels),
        failure=Failure(JUDGING, "judging", f"{failed.metric}: {one_line(failed.reason)}") if failed else None,
    )


def _measured(evaluation: Evaluation, levels: Mapping[str, PooledShare]) -> HamletScore:
    details: Mapping[str, Any] = evaluation.details
    errors = dict(details.get("errors") or {}) if evaluation.outcome == "scored" else {}
    return HamletScore(evaluation.outcome, evaluation.score, levels, evaluation.unjudged, errors)


def _levels(evaluation: Evaluation, counted: str) -> dict[str, PooledShare]:
    details: Mapping[str, Any] = evaluation.details
    found = details.get("by_level") or {}
    return {
        level: PooledShare(one[counted], one["judged"])
        for level, one in found.items()
        if evaluation.outcome == "scored"
    }


def _measured_json(measured: HamletScore | None) -> dict[str, object] | None:
    if measured is None:
        return None
    levels = {level: {"value": one.value, **one._asdict()} for level, one in measured.levels.items()}
    return json_of(measured, "outcome score unjudged levels: errors", levels=levels)
