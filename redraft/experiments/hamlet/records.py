"""What came of each item of an experiment: one query put to one model, as the tables count it and as JSON has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from redraft.domain import Document, Evaluation, KeyFacts, Outcome, Perspective, Totals, Tree
from redraft.evaluators.consensus import total
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.experiments.stages import JUDGING, usage_json
from redraft.packs.keyfacts import ALL, bin_of, share
from redraft.runs.failures import Failure
from redraft.text.cleaning import one_line

KEYFACTS = "key facts"


class Share(NamedTuple):
    """How many of how many; where judges differ on an item, a part of it counts."""

    part: float
    whole: int

    @property
    def value(self) -> float | None:
        """Equations 1 and 2; None where there is nothing to have a part of."""
        return share(self.part, self.whole)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one metric says of one summary, as numbers that can be added up."""

    outcome: Outcome
    score: float | None = None
    levels: Mapping[str, Share] = field(default_factory=dict)
    """By level of the key facts, and over all."""
    unjudged: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    """By category the sentences that are not faithful."""


@dataclass(frozen=True, slots=True)
class Item:
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
    recall: Measured | None = None
    faithfulness: Measured | None = None
    failure: Failure | None = None

    @property
    def bin(self) -> str:
        """In which fifth of the document the facts are."""
        return bin_of(self.position)

    @property
    def status(self) -> str:
        """Whether it is `done`, has `failed`, or was `not made`."""
        if self.failure is not None:
            return "failed"
        return "not made" if self.faithfulness is None else "done"

    def to_json(self) -> dict[str, object]:
        """The record in `items.json`."""
        return {
            "document": self.document,
            "title": self.title,
            "chunk": self.chunk,
            "position": self.position,
            "bin": self.bin,
            "perspective": self.perspective,
            "query": self.query,
            "model": self.model,
            "status": self.status,
            "runs": dict(self.runs),
            "words": self.words,
            "gaps": self.gaps,
            "keyfact_recall": _measured_json(self.recall),
            "faithfulness": _measured_json(self.faithfulness),
            "usage": {stage: usage_json(used) for stage, used in self.usage.items()},
            "failure": asdict(self.failure) if self.failure else None,
        }


@dataclass(frozen=True, slots=True)
class Subject:
    """A document of an experiment, with its key facts once it has them, and what was used to find them."""

    document: Document
    tokens: int = 0
    keyfacts: KeyFacts | None = None
    run: str | None = None
    usage: Totals | None = None
    failure: Failure | None = None

    def to_json(self) -> dict[str, object]:
        """The document as programs read it."""
        return {
            "id": self.document.id,
            "title": self.document.title,
            "tokens": self.tokens or None,
            "keyfacts": self.keyfacts.id if self.keyfacts else None,
            "missing": list(self.keyfacts.missing) if self.keyfacts else [],
            "run": self.run,
            "usage": usage_json(self.usage),
            "failure": asdict(self.failure) if self.failure else None,
        }


def item_of(document: Document, tree: Tree, model: str) -> Item:
    """An item that nothing has been done about yet."""
    return Item(document.id, document.title, tree.chunk, tree.position, tree.perspective, tree.query, model)


def judged(item: Item, evaluations: Mapping[str, Evaluation]) -> Item:
    """The item with what the metrics say of its summary. A metric that failed makes the item one that failed."""
    recall, faithfulness = evaluations[KeyfactRecall.name], evaluations[Faithfulness.name]
    failed = next((one for one in (recall, faithfulness) if one.outcome == "failed"), None)
    # Where the facts could not be aligned, nobody knows which of them the sentences carry: only the whole is known.
    levels = _levels(faithfulness, "faithful")
    if faithfulness.score is not None:
        levels[ALL] = Share(total([round(faithfulness.score * faithfulness.judged, 9)]), faithfulness.judged)
    return replace(
        item,
        recall=_measured(recall, _levels(recall, "stated")),
        faithfulness=_measured(faithfulness, levels),
        failure=Failure(JUDGING, "judging", f"{failed.metric}: {one_line(failed.reason)}") if failed else None,
    )


def _measured(evaluation: Evaluation, levels: Mapping[str, Share]) -> Measured:
    return Measured(evaluation.outcome, evaluation.score, levels, evaluation.unjudged, _errors(evaluation))


def _errors(evaluation: Evaluation) -> dict[str, int]:
    details: Mapping[str, Any] = evaluation.details
    return dict(details.get("errors") or {}) if evaluation.outcome == "scored" else {}


def _levels(evaluation: Evaluation, counted: str) -> dict[str, Share]:
    details: Mapping[str, Any] = evaluation.details
    found = details.get("by_level") or {}
    return {level: Share(one[counted], one["judged"]) for level, one in found.items() if evaluation.outcome == "scored"}


def _measured_json(measured: Measured | None) -> dict[str, object] | None:
    if measured is None:
        return None
    levels = {
        level: {"value": found.value, "part": found.part, "whole": found.whole}
        for level, found in measured.levels.items()
    }
    return {
        "outcome": measured.outcome,
        "score": measured.score,
        "unjudged": measured.unjudged,
        "levels": levels,
        "errors": dict(measured.errors),
    }
