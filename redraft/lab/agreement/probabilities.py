"""Reads a judge's probabilities for what people labelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redraft.domain import Evaluation
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import Booookscore
from redraft.evaluators.consistency import Consistency
from redraft.evaluators.faithfulness import Faithfulness
from redraft.lab.agreement.people import HumanItem


def probabilities(evaluation: Evaluation, item: HumanItem) -> tuple[float | None, ...]:
    """Return the probability that each labelled sentence of an item is right, or one for the whole; empty if the judge
    gives none. Of several claims, the least likely one counts."""
    said = _by_sentence(evaluation)
    if not said:
        return ()
    parts = [len(statements_of(sentence)) for sentence in item.sentences] or [len(statements_of(item.text))]
    if sum(parts) != len(statements_of(item.text)):
        return ()
    found: list[float | None] = []
    at = 1
    for size in parts:
        own = [said[n] for n in range(at, at + size) if n in said]
        found.append(min(own) if own else None)
        at += size
    return tuple(found)


def _by_sentence(evaluation: Evaluation) -> dict[int, float]:
    field, number = _LISTED.get(evaluation.metric, ("", ""))
    listed: Any = evaluation.details.get(field)
    found: dict[int, float] = {}
    for one in listed if isinstance(listed, list) else ():
        if (likely := one.get("probability")) is not None:
            found[one[number]] = min(likely, found.get(one[number], 1.0))
    return found


_LISTED: Mapping[str, tuple[str, str]] = {
    Consistency.name: ("claims", "sentence"),
    Faithfulness.name: ("sentences", "id"),
    Booookscore.name: ("sentences", "id"),
}
