"""A person's part in the refinement: what is asked before a revision, and what the answer changes."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import TypedDict

from redraft.domain import Evaluation, Finding

REVIEW = "review"
"""The name under which a person's own requests stand beside the findings of the metrics."""


class ReviewRequest(TypedDict):
    """What a person is asked about: the next round, the draft to be revised, and the findings to be mended."""

    round: int
    draft: str
    findings: list[str]


class ReviewAnswer(TypedDict, total=False):
    """What the person says. All of it may be left out, which lets the revision go ahead as planned."""

    drop: list[str]
    """Findings that are not to be mended."""
    add: list[str]
    """Requests in the person's own words."""
    edited: str
    """The id of the text of a draft that the person has edited, to be judged instead of a revision."""
    stop: bool
    """Leave it at the best draft."""


def requests(texts: Sequence[str]) -> tuple[Finding, ...]:
    """A person's requests in the form of findings."""
    return tuple(Finding(REVIEW, "request", "change", text.strip()) for text in texts if text.strip())


def reviewed(earlier: Evaluation | None, added: Sequence[Finding]) -> Evaluation:
    """All that a person has asked for on one draft: what refused rounds were to mend stays on record."""
    known = earlier.findings if earlier else ()
    findings = (*known, *(finding for finding in added if finding not in known))
    return Evaluation(REVIEW, 1, "not_applicable", findings=findings, reason="what a person has asked for")
