"""The words that metrics report in and that those who show a report know, apart from the metrics themselves.

Whoever only shows what was found needs none of the machinery that found it, which takes a while to import.
"""

from __future__ import annotations

from collections.abc import Mapping

from redraft.domain import Evaluation

ABSTAINED = "abstained"
"""The detail of an evaluation without any verdict that says whether its judges have themselves left all items open."""
PREFERENCE = "preference"
"""Under which the comparison of two summaries is on record."""
IN_PART = "in part"
"""A verdict that neither finds an item fine nor objects to it: it counts for as much as there is of it."""
UNSUPPORTED = "unsupported"
"""A sentence about which the document says nothing."""
NONE = "none"
"""The level of a sentence that states no key fact."""
FINE: Mapping[str, str] = {
    "coverage": "answered",
    "consistency": "consistent",
    "keyfact_recall": "stated",
    "faithfulness": "none",
}
"""By metric the verdict on an item that nothing is wrong with."""
LACKING: Mapping[str, frozenset[str]] = {
    "coverage": frozenset({"unanswered", "contradicted"}),
    "keyfact_recall": frozenset({"missing"}),
}
"""By metric the verdicts on what the summary does not say, or says otherwise."""


def in_part(evaluation: Evaluation) -> int:
    """How many items are judged in part, and so neither right nor wrong."""
    claims = evaluation.details.get("claims")
    return sum(one.get("verdict") == IN_PART for one in claims) if isinstance(claims, list) else 0


def is_unheard(evaluation: Evaluation) -> bool:
    """Whether a metric has failed, as no judge could be heard. One that leaves things open was heard: it has no score,
    and what it has found stands."""
    return evaluation.outcome == "failed" and not evaluation.judged and not evaluation.details.get(ABSTAINED)
