"""What every metric has in common: what it is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, get_args

from redraft.agents.evidence import EvidenceDesk
from redraft.agents.judge import Judge
from redraft.domain import Evaluation, KeyFacts, Pack, Perspective, Tree
from redraft.evaluators.consensus import Ballot, agreement, spread
from redraft.packs.keyfacts import trees_for
from redraft.prompts.judging import Statement
from redraft.settings import BuildName
from redraft.text.cleaning import one_line
from redraft.text.references import points_back
from redraft.text.sentences import sentences
from redraft.text.words import count_words

# How many sentences stand before one that points back.
_BEFORE = 1


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What of the document's pack is there: its questions, and its key facts, to be used from these perspectives."""

    pack: Pack | None = None
    keyfacts: KeyFacts | None = None
    perspectives: tuple[Perspective, ...] = get_args(Perspective)


@dataclass(frozen=True, slots=True)
class Case:
    """A draft before its judges. The first of the panel asks the questions, all of them answer."""

    statements: tuple[Statement, ...]
    panel: tuple[Judge, ...]
    desk: EvidenceDesk
    yardstick: Yardstick = Yardstick()
    query: str | None = None
    """The question that the summary answers, where it is not about the document as a whole."""
    text: str = ""
    """The summary as it stands, with its paragraphs."""

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The key facts that the summary is held against."""
        known = self.yardstick.keyfacts
        return trees_for(known, self.query, self.yardstick.perspectives) if known else ()


class Evaluator(Protocol):
    """A metric: frozen settings, a name, a version to raise when scores change, and no memory."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def needs(self) -> BuildName | None:
        """What of the document's pack is built for it, if it is not there."""
        ...

    @property
    def uses(self) -> BuildName | None:
        """What of the pack it takes where it is there."""
        ...

    async def evaluate(self, case: Case) -> Evaluation:
        """Judge the draft. What cannot be judged is counted; it never becomes a score."""
        ...


def statements_of(summary: str) -> tuple[Statement, ...]:
    """The sentences of a summary that have words, numbered from 1, with those before where they point back."""
    texts = [one_line(summary[span.start : span.end]) for span in sentences(summary)]
    texts = [text for text in texts if count_words(text)]
    return tuple(
        Statement(
            id=at + 1, before=" ".join(texts[max(0, at - _BEFORE) : at]) if points_back(text) else "", sentence=text
        )
        for at, text in enumerate(texts)
    )


@dataclass(frozen=True, slots=True)
class Sitting:
    """What came of one judge: a score, None where it gave no verdict; its verdicts by item; what went wrong."""

    judge: str
    score: float | None
    ballot: Ballot
    trouble: str = ""


def concluded(evaluation: Evaluation, sittings: Sequence[Sitting]) -> Evaluation:
    """The evaluation with the mean of the judges' scores; failed when none of them gave a verdict on anything."""
    scores = [sitting.score for sitting in sittings if sitting.score is not None]
    trouble = next((sitting.trouble for sitting in sittings if sitting.trouble), "")
    if not scores:
        reason = trouble or "no judge gave a verdict on any item"
        return replace(evaluation, outcome="failed", score=None, findings=(), held=(), reason=reason)
    details = dict(evaluation.details)
    if len(sittings) > 1:
        details["judges"] = [
            {"judge": sitting.judge, "score": sitting.score, "judged": len(sitting.ballot)} for sitting in sittings
        ]
        details["agreement"] = agreement([sitting.ballot for sitting in sittings])
        details["spread"] = spread(scores)
    if trouble:
        details["trouble"] = trouble
    return replace(evaluation, score=sum(scores) / len(scores), details=details)
