"""Findings that contradict each other: nobody is asked to add to a summary what somebody else wants out of it."""

from __future__ import annotations

from collections.abc import Mapping

from redraft.domain import Evaluation, Finding
from redraft.evaluators.overruled import without
from redraft.evaluators.similarity import is_same
from redraft.text.wording import telling

# The share of telling words that two questions about the same thing have in common.
_ALIKE = 0.5


def without_conflicts(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Those evaluations of a draft that are others now: a finding is withdrawn that wants removed what another one
    wants added, and has the document's words for. What it is about counts as borne out."""
    wanted = [one for said in evaluations.values() for one in said.findings if one.task == "add" and one.evidence]
    changed: dict[str, Evaluation] = {}
    for name, evaluation in evaluations.items():
        dropped = [
            one for one in evaluation.findings if one.task == "remove" and any(_clash(one, add) for add in wanted)
        ]
        if dropped:
            changed[name] = without(evaluation, dropped)
    return changed


def _clash(remove: Finding, add: Finding) -> bool:
    """Whether one wants out of the summary what the other wants in it."""
    if not add.question or not remove.question:
        return is_same(add.expected, remove.found or remove.sentence)
    if not is_same(add.expected, remove.found):
        return False
    one, other = telling(add.question), telling(remove.question)
    return is_same(add.question, remove.question) or len(one & other) >= _ALIKE * len(one | other) > 0
