"""The outcome of a person's requests, as far as the reviser reports it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic.dataclasses import dataclass as record

from redraft.domain import DEFERRED, REVIEW, Finding, PointAnswer, Round, computed
from redraft.store.store import Store
from redraft.text.sanitizer import one_line
from redraft.text.words import count


@record(frozen=True, slots=True, config=DEFERRED)
class RequestOutcome:
    """The outcome of a person's request in the last revision that tried it."""

    request: str
    round: int
    met: bool | None
    """None if the reviser did not say."""
    reason: str = ""
    """Why it was not met."""

    @computed
    def said(self) -> str:
        """The outcome in one line."""
        wanted = f"“{one_line(self.request, 100)}”"
        if self.met is False:
            return f"request not met: {wanted} in revision {self.round}: {one_line(self.reason, 200)}"
        unsaid = "sent, but the reviser did not say whether it is met"
        return f"request {'met (as far as the reviser reports)' if self.met else unsaid}: {wanted}"


def request_outcome(finding: Finding, answer: PointAnswer, made: Round) -> RequestOutcome:
    """Return what a revision made of a person's request. What a rejected revision met is not met."""
    kept = made.accepted and answer.became == "fixed"
    if kept or not answer.became:
        return RequestOutcome(finding.explanation, made.number, True if kept else None)
    rejected = answer.became == "fixed"
    why = (made.reason or "the revision was not judged") if rejected else answer.said or "no reason was given"
    return RequestOutcome(finding.explanation, made.number, False, why)


def count_unmet(requests: Sequence[RequestOutcome]) -> str:
    """Return, in a clause, how many requests were not met; empty if none."""
    unmet = sum(outcome.met is False for outcome in requests)
    if len(requests) == 1:
        return "your request was not met" if unmet else ""
    return f"{unmet} of {count(len(requests), 'request')} not met" if unmet else ""


def request_outcomes(store: Store, rounds: Sequence[Round]) -> Iterator[RequestOutcome]:
    """Yield the outcome of each request; that of the last revision that tried it counts."""
    # The findings of a file often ask for the same in the same words.
    found: dict[str, RequestOutcome] = {}
    for made in rounds:
        if REVIEW not in made.aims or made.base is None:
            continue
        reviewed = store.judgments.of(made.base).get(REVIEW)
        asked = {finding.id: finding for finding in reviewed.findings} if reviewed else {}
        for answer in made.answers:
            if answer.finding in asked:
                outcome = request_outcome(asked[answer.finding], answer, made)
                found[outcome.request] = outcome
    yield from found.values()
