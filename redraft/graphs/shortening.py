"""Keeping the result to its limit of words: between rounds a draft may be a little over it, in the end none may.

A revision that is three words too long is worth more than none, and the next one may take the words out again. Where
there is no next one, a round of its own only shortens. Until then what the run would hand out, were it stopped, is the
latest draft that keeps to the limit.
"""

from __future__ import annotations

from collections.abc import Mapping

from redraft.agents.reviser import Order
from redraft.builtin.door import shortened
from redraft.domain import Draft, Evaluation, Finding
from redraft.graphs.job import Job
from redraft.graphs.policy import Policy, Ruling, held_by, rule
from redraft.graphs.state import State, Update


async def ending(state: State, job: Job) -> Update:
    """Where to go once nothing more is to be mended: to the end, or to a round that shortens the best draft first."""
    if job.keeps_to_the_limit(await job.draft(state["best"])):
        return {"next": "finish"}
    return {"next": "revise", "shortening": True, "aims": [], "findings": [], "instruction": "", "by_hand": False}


def order(base: Draft, judged: Mapping[str, Evaluation], state: State, job: Job) -> Order:
    """What such a round asks for."""
    keep = tuple(held_by(judged, job.judges.aims, state["dropped"]))
    return Order(base.text, (too_long(base.words, job.plan.words),), keep, job.plan.words, state["round"] + 1)


def too_long(words: int, limit: int) -> Finding:
    """All that such a round is for."""
    said = (
        f"The summary counts {words} words, {max(1, words - limit)} more than it may have (a range such as 3-4 is two)."
    )
    asked = "Say the same in fewer words, or leave out what matters least, and change nothing else."
    return Finding("limit", "too long", "change", f"{said} {asked}")


def by_sentences(base: Draft, job: Job) -> tuple[str, str]:
    """The draft without the sentences that matter least, and a note: for one that the model has not shortened."""
    return shortened([base.text], job.plan.words), "sentences were left out to keep to the limit of words"


async def ruled(state: State, job: Job, policy: Policy) -> tuple[Ruling, str]:
    """Whether the shortened draft is handed out, or the latest one before it that keeps to the limit, and which it is.

    It has to be the better of the two: what was gained by being too long may have been lost again.
    """
    fitting = await job.latest_within_limit()
    if fitting is None:
        return Ruling(True, "shortened to the limit of words"), state["best"]
    goals, tolerance = job.refinement.goals, job.refinement.tolerance
    before, start, after = [await job.judged(one) for one in (fitting, state["first"], state["draft"])]
    ruling = rule(policy, list(goals), goals, job.judges.aims, before, start, after, tolerance)
    reason = f"shortened to the limit of words{'' if policy.follows else f': {ruling.reason}'}"
    return Ruling(ruling.accepted, reason), fitting
