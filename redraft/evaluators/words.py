"""The words that metrics report in and that those who show a report know, apart from the metrics themselves.

Whoever only shows what was found needs none of the machinery that found it, which takes a while to import.
"""

from __future__ import annotations

from redraft.domain import Evaluation

ABSTAINED = "abstained"
"""The detail of an evaluation without any verdict that says whether its judges have themselves left all items open."""
PREFERENCE = "preference"
"""Under which the comparison of two summaries is on record."""
UNSUPPORTED = "unsupported"
"""A sentence about which the document says nothing."""
NONE = "none"
"""The level of a sentence that states no key fact."""


def is_unheard(evaluation: Evaluation) -> bool:
    """Whether a metric has failed, as no judge could be heard. One that leaves things open was heard: it has no score,
    and what it has found stands."""
    return evaluation.outcome == "failed" and not evaluation.judged and not evaluation.details.get(ABSTAINED)
