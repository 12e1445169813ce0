"""The end of a refinement: the first draft and the best one are compared, and the one that reads better is handed out.

Scores count what is said; whether a text that was mended four times is still one that somebody likes to read they do
not tell. So whoever judges in words is asked which of the two is better, in both orders.
"""

from __future__ import annotations

from redraft.domain import REVIEW, Round
from redraft.evaluators.preference import prefer
from redraft.events import Noted, StageStarted
from redraft.graphs.job import Job
from redraft.graphs.policy import POLICIES, stands
from redraft.graphs.state import State, Update
from redraft.rulings import FinalComparison
from redraft.store.threads import off_loop
from redraft.text.cleaning import one_line

FIRST_PREFERRED = "first_draft_preferred"
"""The reason for which a refinement returns the draft that it began with."""


async def compare(state: State, job: Job) -> Update:
    """Compare the first draft with the best one; where the first one wins, it is the result."""
    await off_loop(job.store.rulings.forget_comparison, job.run.id)
    first, best = await job.draft(state["first"]), await job.draft(state["best"])
    rounds = await off_loop(job.store.judgments.rounds, job.run.id)
    if not _is_wanted(state, job, rounds) or first.text.strip() == best.text.strip():
        return {"next": "finish"}
    job.observe(StageStarted("comparing the first draft with the best one", 2 * len(job.referees)))
    tokens = job.judges.desk.document_tokens
    found = await prefer(job.referees, job.document, tokens, first.text, best.text)
    counted = overall_votes(found.details)
    made = FinalComparison(
        job.run.id,
        first.id,
        best.id,
        counted["a"] > counted["b"],
        _reason(found.details),
        (counted["a"], counted["b"], counted["tie"]),
        bool(found.details["document_read"]),
    )
    await off_loop(job.store.rulings.keep_comparison, made)
    if not made.first_won:
        return {"next": "finish"}
    job.observe(Noted("the first draft reads better than the best of the revisions, so it is handed out"))
    return {
        "next": "finish",
        "best": first.id,
        "stop": FIRST_PREFERRED,
        **stands(await job.judged(first.id), job.refinement),
    }


def _is_wanted(state: State, job: Job, rounds: list[Round]) -> bool:
    """Whether there is anybody to ask, and what was made may be undone: not where a person has asked for it."""
    settings = job.refinement
    asked = settings.final_comparison and job.referees and not POLICIES[settings.policy].follows
    return bool(asked) and state["stop"] != "cancelled" and not _edited(rounds)


def _edited(rounds: list[Round]) -> bool:
    """Whether a person has asked for something that was done, or has written a draft that was taken."""
    return any(one.accepted and (REVIEW in one.aims or one.reason == "edited by hand") for one in rounds)


def overall_votes(details: object) -> dict[str, int]:
    """How often each side was found better overall, in the details of a preference."""
    assert isinstance(details, dict)
    overall = details["aspects"]["overall"]
    return {side: int(overall[side]) for side in ("a", "b", "tie")}


def _reason(details: object) -> str:
    """The reason of the first judge who gave one, with the first draft in the first place."""
    assert isinstance(details, dict)
    said = [reply["reason"] for one in details["judgings"] if (reply := one["a_first"]) and reply.get("reason")]
    return one_line(said[0], 300) if said else ""
