"""Single turns of a refinement that somebody else leads: judge the best draft by one metric, or mend some findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from redraft.agents.together import together
from redraft.domain import REVIEW, Evaluation, Round
from redraft.errors import RunError, UsageError
from redraft.graphs.job import Job
from redraft.graphs.judging import metric
from redraft.graphs.policy import findings_in
from redraft.graphs.refinement import revise as revised
from redraft.graphs.refinement import settle
from redraft.graphs.second_look import confirm, contest
from redraft.graphs.state import State
from redraft.runs.jobs import Foreman
from redraft.settings import FIGURES, Judging
from redraft.store.runs import Run
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
    """Mend findings on the best draft in a round of its own, judge it, and take it if it gains.

    The revision is judged as the run is, and by the metrics that have found what is mended.
    """
    run = await off_loop(foreman.store.runs.get, foreman.run.id)
    _check(run)
    known = await _metrics_of(foreman, run)
    if unknown := [one for one in findings if one not in known]:
        raise UsageError(f"there is no finding {unknown[0]!r} on the best draft", hint="list_findings has their ids")
    aims = tuple(dict.fromkeys(known[one] for one in findings))
    job = await _job(foreman, run, aims)
    state = await _confirmed(await _standing(job, run, aims, findings, instruction), job)
    state = cast(State, {**state, **await revised(state, job)})
    state = cast(State, {**state, **await contest(state, job)})
    seats = [
        metric({"run": run.id, "draft": state["draft"], "round": state["round"], "metric": one.name}, job)
        for one in job.judges.evaluators
    ]
    await together(seats)
    if job.failures:
        raise next(iter(job.failures.values()))
    return cast(State, {**state, **await settle(state, job)})


async def _confirmed(state: State, job: Job) -> State:
    """The state with the findings that a second look at them has left. Raises a `UsageError` where it has left none."""
    state = cast(State, {**state, **await confirm(state, job)})
    left = [one.id for one in findings_in(await job.judged(state["best"]), state["findings"])]
    if not left:
        raise UsageError(
            "a second look at the document has found that it says so: the findings are withdrawn",
            hint="list_findings has those that are left",
        )
    return cast(State, {**state, "findings": left})


def _check(run: Run) -> None:
    """Refuse a run that a graph is in the middle of: it would go on from what it knows."""
    if run.status != "done":
        raise RunError(
            f"run {run.id} is {run.status}, and revised when it is done", hint="let it come to its end first"
        )
    if run.draft is None or run.judging is None:
        raise RunError(f"run {run.id} has no judged draft", hint="begin it with metrics or goals")


async def _metrics_of(foreman: Foreman, run: Run) -> dict[str, str]:
    """The findings on the best draft by id, each with its metric."""
    judged = await off_loop(foreman.store.judgments.of, run.draft or "")
    return {one.id: one.metric for said in judged.values() for one in said.findings}


async def _job(foreman: Foreman, run: Run, aims: Sequence[str]) -> Job:
    """The run at work, judged by the metrics that matter to this turn, too."""
    judging = run.judging or Judging()
    metrics = dict.fromkeys([*judging.metrics, *(aim for aim in aims if aim != REVIEW)])
    jury = await off_loop(foreman.jury, judging.model_copy(update={"metrics": tuple(metrics)}))
    job = await foreman.job()
    # Whoever leads from outside may leave it at any draft, so none of them is over the limit.
    return replace(job, jury=jury, reviser=replace(job.reviser, strict=True))


async def _standing(job: Job, run: Run, aims: Sequence[str], findings: Sequence[str], instruction: str) -> State:
    """The state of the refinement so far, as the run's record has it."""
    best = run.draft or ""
    rounds = await off_loop(job.store.judgments.rounds, run.id)
    if not rounds:
        rounds = [Round(0, best, accepted=True, reason="the first draft")]
        await job.keep_round(rounds[0])
    judged = await job.judged(best)
    return {
        "run": run.id,
        "draft": best,
        "round": rounds[-1].number,
        "first": rounds[0].draft,
        "best": best,
        "scores": {name: said.score for name, said in judged.items() if name not in {REVIEW, *FIGURES}},
        "aims": list(aims),
        "findings": list(findings),
        "instruction": instruction,
        "tried": [],
        "dropped": [],
        "refused": 0,
        "by_hand": False,
        "why": "",
    }
