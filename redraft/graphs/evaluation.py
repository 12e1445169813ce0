"""The evaluation nodes: judge a draft by every metric."""

from __future__ import annotations

from collections import Counter

from langgraph.types import Send

from redraft.domain import REVISION_OF, Evaluation, Parent, Round, widened
from redraft.errors import RedraftError
from redraft.evaluators.metric_info import offline_checks
from redraft.events import FindingFound, MetricScored, StageStarted
from redraft.graphs.job import Job
from redraft.graphs.state import MetricVerdict, State, Update, new_refinement


async def judge(state: State, job: Job) -> Update:
    """Start every metric on the latest draft; the first draft of a refinement is shortened to its limit, and stored."""
    number, draft = state["round"], state["draft"]
    update: Update = {}
    if number == 0 and job.run.refinement is not None:
        await job.rewind_to(-1, draft)
        limit, first = job.revision_words, await job.draft(draft)
        if limit is not None and first.words > limit:
            job.observe(StageStarted(f"shortening the draft to {limit} words", 1))
            written = await job.reviser.shorten(first.text, limit, 0, "draft, shortened")
            draft = await job.keep(written.text, f"{REVISION_OF}{draft}", parents=[Parent.of_draft(first)], number=0)
        await job.keep_round(Round(0, draft, accepted=True, reason="the first draft"))
        update = {"draft": draft, **new_refinement(draft)}
    elif number == 0:
        update = {"best": draft}
    job.observe(StageStarted(f"judging draft {number}" if job.run.refinement else "judging", 0))
    return {**update, "judged": {}, "due": [evaluator.name for evaluator in job.judges.evaluators]}


async def metric(state: State, job: Job) -> Update:
    """Judge by one metric; an error is raised once the other metrics have finished."""
    name, number = state["metric"], state["round"]
    try:
        evaluation = await job.judges.judge_by(name, state["draft"])
    except RedraftError as error:
        job.failures[name] = error
        return {"judged": {}}
    itself = name in offline_checks(job.run.settings, job.run.judging, job.run.refinement)
    job.observe(widened(MetricScored, evaluation, round=number, offline_check=itself))
    for finding in evaluation.findings:
        job.observe(FindingFound(number, finding))
    return {"judged": {name: metric_verdict(evaluation)}}


async def gather(state: State, job: Job) -> Update:
    """Wait for all metrics; a metric that was cut short judges again when the run is resumed."""
    missing = [name for name in state["due"] if name not in state["judged"]]
    if failed := [job.failures[name] for name in missing if name in job.failures]:
        raise failed[0]
    changed = {} if missing else await job.judges.resolve_conflicts(state["draft"])
    verdicts = state["judged"] | {name: metric_verdict(evaluation) for name, evaluation in changed.items()}
    scores = {name: verdict["score"] for name, verdict in verdicts.items() if verdict["outcome"] != "measured"}
    return {
        "due": missing,
        **({"judged": verdicts} if changed else {}),
        **({"scores": scores} if state["round"] == 0 and not missing else {}),
    }


def metric_steps(state: State) -> list[Send]:
    """Return one step for each metric that is due."""
    of_draft = {"run": state["run"], "draft": state["draft"], "round": state["round"]}
    return [Send("metric", {**of_draft, "metric": name}) for name in state["due"]]


def metric_verdict(evaluation: Evaluation) -> MetricVerdict:
    """Return an evaluation as small values for the state."""
    return {
        "outcome": evaluation.outcome,
        "score": evaluation.score,
        "judged": evaluation.judged,
        "unjudged": evaluation.unjudged,
        "findings": dict(Counter(finding.kind for finding in evaluation.findings)),
    }
