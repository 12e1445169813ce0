"""Findings as points of a prompt: to choose what to fix, to rule on them, and to fix them."""

from __future__ import annotations

from redraft.domain import Finding
from redraft.prompts.revision import Point
from redraft.text.sanitizer import one_line

_LONGEST_TO_CHOOSE, _LONGEST_TO_RULE_ON = 300, 600
# What the paper's document answers to a question that it does not answer.
_UNANSWERABLE = "UNANSWERABLE"


def point_to_choose(number: int, finding: Finding) -> Point:
    """Return a finding for the choice of what to fix."""
    texts = {
        "problem": finding.explanation,
        "sentence": finding.sentence,
        "question": finding.question,
        "answer": finding.answer,
        "why": finding.why,
        "evidence": finding.evidence.text if finding.evidence else "",
    }
    short = {name: one_line(text, _LONGEST_TO_CHOOSE) for name, text in texts.items()}
    return Point(id=number, metric=finding.metric, task=finding.task, **short)


def point_to_rule_on(number: int, finding: Finding, against: str) -> Point:
    """Return a finding for a second look, with the words that are held against it."""
    texts = {
        "sentence": finding.sentence,
        "question": finding.question,
        "says": finding.found,
        "judged": finding.expected or finding.explanation,
        "against": against,
    }
    return Point(id=number, **{name: one_line(text, _LONGEST_TO_RULE_ON) for name, text in texts.items()})


def point_to_fix(number: int, finding: Finding) -> Point:
    """Return a finding for the reviser."""
    return Point(
        id=number,
        task=finding.task,
        # What the summary says to a question, and what the document does, say it all.
        instruction="" if finding.found else finding.explanation,
        sentence=finding.sentence,
        question=finding.question,
        says=finding.found,
        answer=finding.answer,
        why=finding.why,
        evidence=finding.evidence.text if finding.evidence else "",
    )


def point_in_paper(number: int, finding: Finding) -> Point:
    """Return a finding as LongSumEval's prompts tell it: the question, and what is right where the summary is wrong."""
    if not finding.question:
        return point_to_fix(number, finding)
    answer = "" if finding.task == "add" else finding.answer or _UNANSWERABLE
    return Point(
        id=number, task=finding.task, instruction=finding.explanation, question=finding.question, answer=answer
    )
