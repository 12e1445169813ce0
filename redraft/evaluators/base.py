"""What every metric has in common: what it is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from redraft.agents.evidence import EvidenceDesk
from redraft.agents.examiner import Examiner
from redraft.domain import Evaluation, Pack
from redraft.evaluators.consensus import Ballot, agreement, spread
from redraft.prompts.judging import Statement
from redraft.text.cleaning import one_line
from redraft.text.references import points_back
from redraft.text.sentences import sentences
from redraft.text.words import count_words

# How many sentences stand before one that points back.
_BEFORE = 1


@dataclass(frozen=True, slots=True)
class Case:
    """A draft before its judges. The first of the panel asks the questions, all of them answer."""

    statements: tuple[Statement, ...]
    pack: Pack | None
    panel: tuple[Examiner, ...]
    desk: EvidenceDesk


class Evaluator(Protocol):
    """A metric: frozen settings, a name, a version to raise when scores change, and no memory."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def needs_pack(self) -> bool:
        """Whether the case must hold the document's pack."""
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
