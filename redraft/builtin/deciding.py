"""Deciding what to mend without a model: the metric that is furthest from its goal, the first of its findings."""

from __future__ import annotations

from redraft.builtin.registry import answers
from redraft.prompts.deciding import DECIDE, DecideGiven, Decision, Standing


@answers(DECIDE)
def decide(given: DecideGiven) -> Decision:
    """As the policy weakest-first does, and saying so."""
    with_findings = {finding.metric for finding in given.findings}
    missed = [one for one in given.scoreboard if one.metric in with_findings and one.met == "no"]
    if not missed:
        return Decision(why="the built-in model decides as weakest-first does: nothing is left to mend", stop=True)
    weakest = min(missed, key=_reached)
    chosen = [finding.id for finding in given.findings if finding.metric == weakest.metric][: given.at_most]
    why = f"the built-in model decides as weakest-first does: {weakest.metric} is furthest from its goal"
    return Decision(why=why, mend=chosen)


def _reached(standing: Standing) -> float:
    """The part of the goal that is reached."""
    score = 0.0 if standing.score == "none" else float(standing.score)
    return score / max(float(standing.goal), 1e-9)
