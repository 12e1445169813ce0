"""The reviser: turns findings into plain instructions, and a summary into a better one within its limit."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.agents.pen import Pen, Written
from redraft.domain import Finding
from redraft.prompts.revising import REVISE, Point, ReviseGiven


class Reviser:
    """Revises with one pen, towards the question that the summary answers where there is one."""

    def __init__(self, pen: Pen, *, query: str | None = None) -> None:
        self._pen = pen
        self._query = query

    async def revise(
        self,
        summary: str,
        findings: Sequence[Finding],
        keep: Sequence[str],
        document: str | None,
        words: int,
        label: str,
    ) -> Written:
        """Mend what the findings say and keep what `keep` lists, in at most `words` words."""
        points = [_point(number, finding) for number, finding in enumerate(findings, 1)]
        return await self._pen.within(
            REVISE,
            lambda limit: ReviseGiven(
                summary=summary, points=points, keep=list(keep), document=document, words=limit, query=self._query
            ),
            words,
            label,
        )


def _point(number: int, finding: Finding) -> Point:
    return Point(
        id=number,
        task=finding.task,
        instruction=finding.explanation,
        sentence=finding.sentence,
        question=finding.question,
        answer=finding.expected,
        evidence=finding.evidence.text if finding.evidence else "",
    )
