"""Ruling on findings without a model: by rules nobody can tell, so that every finding stands."""

from __future__ import annotations

from redraft.builtin.registry import answers
from redraft.prompts.ruling import RULE_ON_FINDINGS, RuledPoint, RuledPoints, RuleGiven


@answers(RULE_ON_FINDINGS)
def rule_on_findings(given: RuleGiven) -> RuledPoints:
    """Abstain."""
    why = "The built-in model cannot tell; a language model can (--judge)."
    return RuledPoints(points=[RuledPoint(id=one.id, reason=why, quote="", verdict="unclear") for one in given.points])
