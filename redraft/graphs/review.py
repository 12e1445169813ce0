"""A person's part in the refinement: the question before a revision, its possible answers, and their effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import ConfigDict, Field, ValidationError

from redraft.domain import REVIEW, Evaluation, Finding, ReviewQuestion
from redraft.fields import Settings, error_text
from redraft.text.sanitizer import clean, one_line
from redraft.text.words import has_words

Id = TypeVar("Id", int, str)
_LONGEST_ANSWER = 2_000_000


class ReviewAnswer(Settings):
    """What the person says. All of it may be left out, which lets the revision go ahead as planned."""

    model_config = ConfigDict(extra="forbid", strict=True)

    drop: list[int | str] = Field(default=[], max_length=1000)
    """Findings that should not be fixed, by number or id."""
    add: list[str] = Field(default=[], max_length=100)
    """Requests in the person's own words."""
    edited: str | None = Field(default=None, max_length=_LONGEST_ANSWER)
    """The text of a draft that the person has edited, to be judged instead of a revision."""
    stop: bool = False
    """Leave it at the best draft."""
    go: bool = True
    """Continue; an answer must not be empty, and this is the value to send if there is nothing else."""


def answered(reply: Any, review_question: ReviewQuestion) -> ReviewAnswer | str:
    """Return the answer with the findings it names by their ids, or what is wrong with it."""
    try:
        answer = ReviewAnswer.model_validate(reply)
    except ValidationError as error:
        first = error.errors()[0]
        where = str(first["loc"][0]) if first["loc"] else ""
        example = "give an object such as {'drop': [1, 3], 'add': ['...'], 'edited': 'text', 'stop': false}"
        if not where:
            return f"an answer cannot be of the type {type(reply).__name__}; {example}"
        return f"{where}: {error_text(first)}; {example}"
    ids = {
        key: item["id"] for number, item in enumerate(review_question["findings"], 1) for key in (number, item["id"])
    }
    if unknown := [item for item in answer.drop if item not in ids or isinstance(item, bool)]:
        available = (
            f"they are numbered from 1 to {len(review_question['findings'])}"
            if review_question["findings"]
            else "there is none"
        )
        return f"drop: there is no finding {one_line(str(unknown[0]), 40)!r}; {available}"
    edited = None if answer.edited is None else clean(answer.edited).strip()
    if edited is not None and not has_words(edited):
        return "edited: the draft is empty; leave it out, or give the text"
    if any(not text.strip() for text in answer.add):
        return "add: a request is empty; leave it out, or say what to change"
    return answer.model_copy(update={"drop": list(dict.fromkeys(ids[item] for item in answer.drop)), "edited": edited})


def requests(texts: Sequence[str]) -> tuple[Finding, ...]:
    """Return a person's requests as findings."""
    return tuple(Finding(REVIEW, "request", "change", text.strip()) for text in texts)


def reviewed(earlier: Evaluation | None, added: Sequence[Finding], requests_met: Sequence[str] = ()) -> Evaluation:
    """Return everything that a person has asked for on one draft; `held` are the requests that it meets."""
    earlier_findings = earlier.findings if earlier else ()
    findings = (*earlier_findings, *(finding for finding in added if finding not in earlier_findings))
    met = tuple(dict.fromkeys((*(earlier.held if earlier else ()), *requests_met)))
    reason = "requests by a person"
    return Evaluation(REVIEW, 1, "not_applicable", findings=findings, held=met, reason=reason)
