"""What a metric says of single sentences, read from the details of its evaluation: right, wrong, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redraft.agents.fact_checker import SUPPORTED
from redraft.domain import Evaluation
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import CLEAR, Booookscore
from redraft.evaluators.consensus import OPEN
from redraft.evaluators.consistency import CONSISTENT, Consistency
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.metric_info import IN_PART

Verdicts = dict[int, bool]
"""By the number of a sentence of ours whether it is right."""


def of_sentences(evaluation: Evaluation, sentences: Sequence[str]) -> tuple[bool | None, ...] | None:
    """A verdict for each of these sentences, paragraphs of the summary that was judged; None where the metric says
    nothing of single sentences, or ends sentences so differently that nobody could tell which is which.

    A sentence of theirs may be several of ours: it is wrong where one of them is.
    """
    read = _READ.get(evaluation.metric)
    if read is None:
        return None
    parts = [len(statements_of(sentence)) for sentence in sentences]
    if sum(parts) != len(statements_of("\n\n".join(sentences))):
        return None
    said = read(evaluation.details)
    found: list[bool | None] = []
    at = 1
    for count in parts:
        own = [said[n] for n in range(at, at + count) if n in said]
        found.append(all(own) if own else None)
        at += count
    return tuple(found)


def _of_claims(details: Mapping[str, Any]) -> Verdicts:
    """A sentence is right where all of its claims are that there is a verdict on, and none only in part."""
    found: Verdicts = {}
    partly = set()
    for claim in details.get("claims") or ():
        if claim["verdict"] == IN_PART:
            partly.add(claim["sentence"])
        elif claim["verdict"] not in OPEN:
            right = claim["verdict"] == CONSISTENT
            found[claim["sentence"]] = found.get(claim["sentence"], True) and right
    return {sentence: right for sentence, right in found.items() if not (right and sentence in partly)}


def _by(fine: str) -> Callable[[Mapping[str, Any]], Verdicts]:
    def read(details: Mapping[str, Any]) -> Verdicts:
        listed = details.get("sentences")
        return {
            one["id"]: one["verdict"] == fine
            for one in (listed if isinstance(listed, list) else ())
            if one["verdict"] not in OPEN
        }

    return read


_READ: Mapping[str, Callable[[Mapping[str, Any]], Verdicts]] = {
    Consistency.name: _of_claims,
    Faithfulness.name: _by(SUPPORTED),
    Booookscore.name: _by(CLEAR),
}
