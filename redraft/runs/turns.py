"""Single turns of a refinement that somebody else leads: judge the best draft by one metric, or mend some findings."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.agents.together import together
from redraft.domain import Evaluation, Round
from redraft.errors import RunError, UsageError
from redraft.graphs.job import Job
from redraft.graphs.judging import metric
from redraft.graphs.refinement import revise as revised
from redraft.graphs.refinement import settle
from redraft.graphs.state import State
from redraft.runs.jobs import Foreman
from redraft.settings import Judging
from redraft.store.threads import off_loop


async def judge(foreman: Foreman, name: str) -> Evaluation:
    """What one metric says of the best draft, whether or not the run was begun with it."""
    run = await off_loop(foreman.store.runs.get, foreman.run.id)
    if run.draft is None:
        raise RunError(f"run {run.id} has no draft yet", hint=f"redraft resume {run.id}")
    judging = (run.judging or Judging()).model_copy(update={"metrics": (name,)})
    jury = await off_loop(foreman.jury, judging)
    return await jury.judge_by(name, run.draft)


async def revise(foreman: Foreman, findings: Sequence[str], instruction: str) -> State:
    """Mend findings on the best draft in a round of its own, judge it, and take it if it gains."""
    job = await foreman.job()
    state = await _standing(job, findings)
    state["instruction"] = instruction
    state.update(await revised(state, job))  # type: ignore[typeddict-item]  # a node writes the fields of the state
    seats = [
        metric({"run": job.run.id, "draft": state["draft"], "round": state["round"], "metric": one.name}, job)
        for one in job.judges.evaluators
    ]
    await together(seats)
    if job.failures:
        raise next(iter(job.failures.values()))
    state.update(await settle(state, job))  # type: ignore[typeddict-item]
    return state


async def _standing(job: Job, findings: Sequence[str]) -> State:
    """The state of the refinement so far, as the run's record has it."""
    run = await off_loop(job.store.runs.get, job.run.id)
    if run.draft is None or run.judging is None:
        raise RunError(f"run {run.id} has no judged draft", hint="begin it with metrics or goals")
    judged = await job.judged(run.draft)
    known = {one.id: one.metric for said in judged.values() for one in said.findings}
    if unknown := [one for one in findings if one not in known]:
        raise UsageError(f"there is no finding {unknown[0]!r} on the best draft", hint="list_findings has their ids")
    rounds = await off_loop(job.store.judgments.rounds, run.id)
    if not rounds:
        rounds = [Round(0, run.draft, accepted=True, reason="the first draft")]
        await job.keep_round(rounds[0])
    return {
        "run": run.id,
        "draft": run.draft,
        "round": rounds[-1].number,
        "first": rounds[0].draft,
        "best": run.draft,
        "scores": {name: said.score for name, said in judged.items() if said.outcome != "measured"},
        "aims": list(dict.fromkeys(known[one] for one in findings)),
        "findings": list(findings),
        "tried": [],
        "dropped": [],
        "refused": 0,
        "by_hand": False,
        "why": "",
    }
