"""What rulings make of an evaluation: a finding that is overruled is withdrawn, and its item counts in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from redraft.domain import Evaluation, Finding
from redraft.rulings import Ruling

WITHDRAWN = "withdrawn"
"""Under this name the details of an evaluation hold the findings that were withdrawn."""


def without_overruled(evaluation: Evaluation, rulings: Mapping[str, Ruling]) -> Evaluation:
    """The evaluation without the findings that `rulings`, by the findings' ids, overrule; as it is where none is."""
    gone = [one for one in evaluation.findings if one.id in rulings and rulings[one.id].overruled]
    if not gone:
        return evaluation
    known = evaluation.details.get(WITHDRAWN)
    earlier = list(known) if isinstance(known, list | tuple) else []
    details = {**evaluation.details, WITHDRAWN: [*earlier, *(_shown(one, rulings[one.id]) for one in gone)]}
    return replace(without(evaluation, gone), details=details)


def without(evaluation: Evaluation, gone: Sequence[Finding]) -> Evaluation:
    """The evaluation without some of its findings; their items count in full."""
    left = tuple(one for one in evaluation.findings if one not in gone)
    if evaluation.score is None or not evaluation.judged:
        return replace(evaluation, findings=left)
    gain = sum(1 - one.value for one in gone) / evaluation.judged
    return replace(evaluation, score=min(1.0, evaluation.score + gain), findings=left)


def withdrawn(evaluation: Evaluation) -> list[Mapping[str, object]]:
    """The findings of an evaluation that were withdrawn, as its details have them."""
    known = evaluation.details.get(WITHDRAWN)
    return [one for one in known if isinstance(one, Mapping)] if isinstance(known, list | tuple) else []


def _shown(finding: Finding, ruling: Ruling) -> dict[str, object]:
    return {
        "finding": finding.id,
        "task": finding.task,
        "sentence": finding.sentence,
        "question": finding.question,
        "says": finding.found,
        "quote": ruling.quote,
        "span": [ruling.start, ruling.end],
        "reason": ruling.reason,
        "by": ruling.by,
    }
