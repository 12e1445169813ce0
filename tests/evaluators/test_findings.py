"""An error is one finding, however many questions hit it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from redraft.domain import Evidence, Finding, Span
from redraft.evaluators.findings import distinct_errors

SENTENCE = "Hester Vane shot Crane in 1901."


def wrong(question: str, found: str, expected: str, place: tuple[int, int] | None, **changes: Any) -> Finding:
    """A finding that the document says something else than the sentence, at a place."""
    evidence = Evidence("words", Span(*place)) if place else None
    finding = Finding(
        *("consistency", "inconsistent", "correct", "x"),
        sentence=SENTENCE,
        question=question,
        found=found,
        expected=expected,
        evidence=evidence,
    )
    return replace(finding, **changes)


WHO = wrong("Who shot Crane?", "Hester Vane", "Ruth Lee", (10, 40))


@pytest.mark.parametrize(
    "second",
    [
        wrong("Who fired at him?", "Hester Vane.", "Ruth", (90, 99)),
        wrong("Whom did Vane shoot?", "Crane", "not Crane but Ruth Lee did", (30, 60)),
        wrong("Who fired?", "the Hester Vane", "", None, kind="unsupported", task="remove"),
        replace(WHO, metric="coverage", kind="contradicted", found="Vane", weight=3, counts=3),
    ],
    ids=["the same answer", "the same words of the document", "without a place", "another metric"],
)
def test_same_claim_makes_one_finding(second: Finding) -> None:
    (finding,) = distinct_errors([WHO, second])

    assert (finding.question, finding.found, finding.expected) == (WHO.question, WHO.found, WHO.expected)
    assert finding.id == WHO.id
    # It counts for its own metric alone.
    assert (finding.counts, finding.weight) == (1 + (second.metric == WHO.metric), second.weight)
    assert distinct_errors([finding]) == [finding]


def test_right_answers_are_joined() -> None:
    unsupported = wrong("Who fired?", "Hester Vane", "", None, kind="unsupported", task="remove")
    (finding,) = distinct_errors([unsupported, WHO])
    assert (finding.task, finding.expected, finding.counts) == ("correct", "Ruth Lee", 2)
    (finding,) = distinct_errors([WHO, wrong("In which year?", "1901", "1903", (10, 40))])
    assert finding.question == "Who shot Crane? In which year?"
    assert (finding.found, finding.expected) == ("Hester Vane; 1901", "Ruth Lee; 1903")


@pytest.mark.parametrize(
    "second",
    [
        wrong("In which year?", "1901", "1903", (40, 60)),
        replace(WHO, sentence="Hester Vane came."),
        replace(WHO, metric="faithfulness", question=""),
        replace(WHO, task="add", kind="unanswered"),
    ],
    ids=["another claim", "another sentence", "a metric of sentences", "what is missing"],
)
def test_other_findings_stay_apart(second: Finding) -> None:
    assert distinct_errors([WHO, second]) == [WHO, second]
