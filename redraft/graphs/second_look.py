"""Second looks at findings: before a revision at what is to be removed or corrected, and at what a reviser contests.

A finding that is overruled is withdrawn from what was said of the best draft and of the first one, whose scores rise
by that, and it is never made again of any draft of the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redraft.agents.arbiter import Arbiter, Plea
from redraft.domain import REVIEW, Finding
from redraft.events import Noted
from redraft.graphs.job import Job
from redraft.graphs.policy import POLICIES, findings_in, stands
from redraft.graphs.state import State, Update
from redraft.store.threads import off_loop

_ACCUSING = ("remove", "correct")


def is_accusing(finding: Finding) -> bool:
    """Whether a finding says that the document does not say what the draft says; a person's request does not."""
    return finding.task in _ACCUSING and finding.metric != REVIEW


def arbiter_of(job: Job) -> Arbiter | None:
    """Who takes second looks; nobody where the policy takes every finding as it is."""
    return None if POLICIES[job.refinement.policy].follows else job.arbiter


async def confirm(state: State, job: Job) -> Update:
    """Take a second look at what the next revision is to remove or to correct, and at all else of the kind.

    Whoever has read the document for some of a metric's findings has read it for the others, too.
    """
    onward: Update = {"next": "review" if job.refinement.review else "revise"}
    arbiter, judged = arbiter_of(job), await job.judged(state["best"])
    if arbiter is None:
        return onward
    chosen = findings_in(judged, state["findings"])
    metrics = dict.fromkeys(one.metric for one in chosen if is_accusing(one))
    beside = [one for metric in metrics for one in judged[metric].findings]
    known = await off_loop(job.store.rulings.of, job.document.id)
    gone = {*state["tried"], *state["dropped"]}
    due = {one.id: one for one in (*chosen, *beside) if is_accusing(one) and one.id not in {*known, *gone}}
    pleas = [Plea(one) for one in due.values()]
    ruled = await ruled_on(state, job, arbiter, pleas, f"second look before revision {state['round'] + 1}")
    return {**ruled, "next": "decide"} if ruled else onward


async def contest(state: State, job: Job) -> Update:
    """Hand the sentences that the reviser has kept back to a judge, with the words of the document that it quotes."""
    rounds = await off_loop(job.store.judgments.rounds, job.run.id)
    kept = {one.finding: one.said for one in rounds[-1].answers if one.became == "kept"}
    judged = await job.judged(state["best"])
    pleas = [Plea(one, kept[one.id]) for one in findings_in(judged, list(kept))]
    return {"next": "judge", **await contested(state, job, pleas, f"what revision {state['round']} contests")}


async def contested(state: State, job: Job, pleas: Sequence[Plea], label: str) -> Update:
    """Rule on findings that somebody contests with words of the document; the same words are heard once."""
    arbiter = arbiter_of(job)
    if arbiter is None or not pleas:
        return {}
    known = await off_loop(job.store.rulings.of, job.document.id)
    heard = {(one.finding, one.contested) for one in known.values()}
    new = [one for one in pleas if is_accusing(one.finding) and (one.finding.id, one.against) not in heard]
    return await ruled_on(state, job, arbiter, new, label)


async def ruled_on(state: State, job: Job, arbiter: Arbiter, pleas: Sequence[Plea], label: str) -> Update:
    """Rule on findings, and withdraw those that are overruled; nothing where none is."""
    if not pleas:
        return {}
    rulings = [replace(one, run=job.run.id, round=state["round"]) for one in await arbiter.rule(pleas, label)]
    await off_loop(job.store.rulings.keep, rulings)
    if overruled := [one for one in rulings if one.overruled]:
        of = f"{len(overruled)} of {len(pleas)} finding{'s' * (len(pleas) != 1)}"
        job.observe(Noted(f"{label}: {of} withdrawn, for the document says so"))
    best = state["best"]
    changed = [await job.judges.apply_rulings(draft) for draft in dict.fromkeys((best, state["first"]))]
    return {**stands(await job.judged(best), job.refinement)} if any(changed) else {}
