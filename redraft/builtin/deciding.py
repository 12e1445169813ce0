"""Deciding what to mend without a model: the metric that is furthest from its goal, the first of its findings."""

from __future__ import annotations

from redraft.builtin.registry import answers
from redraft.prompts.deciding import DECIDE, DecideGiven, Decision, Standing

_AT_ONCE = 6


@answers(DECIDE)
def decide(given: DecideGiven) -> Decision:
    """As the policy weakest-first does, and saying so."""
    with_findings = {finding.metric for finding in given.findings}
    missed = [one for one in given.scoreboard if one.metric in with_findings and _reached(one) < 1]
    if not missed:
        return Decision(why="the built-in model decides as weakest-first does: nothing is left to mend", stop=True)
    weakest = min(missed, key=_reached)
    chosen = [finding.id for finding in given.findings if finding.metric == weakest.metric][:_AT_ONCE]
    why = f"the built-in model decides as weakest-first does: {weakest.metric} is furthest from its goal"
    return Decision(why=why, mend=chosen)


def _reached(standing: Standing) -> float:
    """The part of the goal that is reached; a metric without a goal asks for nothing."""
    goal = _number(standing.goal)
    return 1.0 if goal is None else (_number(standing.score) or 0.0) / max(goal, 1e-9)


def _number(figure: str) -> float | None:
    return None if figure == "none" else float(figure)
