"""The outcome of a person's requests, as far as the reviser reports it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redraft.domain import REVIEW, PointAnswer, Round
from redraft.store.store import Store
from redraft.text.sanitizer import one_line
from redraft.text.words import count

_NOT_MET = "request not met"


def not_met(answer: PointAnswer, made: Round) -> str:
    """Return why a revision did not meet a person's request; empty if it did, or if the reviser did not say."""
    if answer.became in ("fixed", ""):
        return "" if made.accepted or not answer.became else made.reason or "the revision was not judged"
    return answer.said or "no reason was given"


def count_unmet(requests: Sequence[str]) -> str:
    """Return, in a clause, how many of the requests that these lines tell of were not met; empty if none."""
    unmet = sum(one.startswith(_NOT_MET) for one in requests)
    if len(requests) == 1:
        return "your request was not met" if unmet else ""
    return f"{unmet} of {count(len(requests), 'request')} not met" if unmet else ""


def told_of_requests(store: Store, rounds: Sequence[Round]) -> Iterator[str]:
    """Yield, in a line each, the outcome of each request; that of the last revision that tried it counts."""
    said: dict[str, str] = {}
    for made in rounds:
        if REVIEW not in made.aims or made.base is None:
            continue
        reviewed = store.judgments.of(made.base).get(REVIEW)
        asked = {one.id: one for one in reviewed.findings} if reviewed else {}
        for answer in made.answers:
            if answer.finding not in asked:
                continue
            wanted = one_line(asked[answer.finding].explanation, 100)
            if why := not_met(answer, made):
                said[wanted] = f"{_NOT_MET}: “{wanted}” in revision {made.number}: {one_line(why, 200)}"
            else:
                unsaid = "sent, but the reviser did not say whether it is met"
                known = "met (as far as the reviser reports)" if answer.became else unsaid
                said[wanted] = f"request {known}: “{wanted}”"
    yield from said.values()
