"""Judging a draft: every metric is a step of its own, side by side with the others, and what they say is gathered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from langgraph.graph import StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from redraft.domain import Evaluation, Round
from redraft.errors import RedraftError
from redraft.evaluators.metric_info import self_checks
from redraft.events import FindingFound, Scored, StageStarted
from redraft.graphs.job import Job
from redraft.graphs.nodes import SessionProtocol, node
from redraft.graphs.state import MetricVerdict, State, Update

Then = Literal["settle", "finish"]
"""What follows when a draft has been judged: the refinement, or the end."""


class MetricTask(TypedDict):
    """One metric before one draft."""

    run: str
    draft: str
    round: int
    metric: str


async def judge(state: State, job: Job) -> Update:
    """Call every metric to the latest draft. The first draft of a refinement is put on record before."""
    number, draft = state["round"], state["draft"]
    begun: Update = {}
    if number == 0 and job.run.refinement is not None:
        await job.go_on_from(-1, draft)
        await job.keep_round(Round(0, draft, accepted=True, reason="the first draft"))
        begun = {"first": draft, "tried": [], "dropped": [], "refused": 0, "by_hand": False, "shortening": False}
    elif number == 0:
        begun = {"best": draft}
    job.observe(StageStarted(f"judging draft {number}" if job.run.refinement else "judging", 0))
    return {**begun, "judged": {}, "due": [one.name for one in job.judges.evaluators]}


async def metric(state: MetricTask, job: Job) -> Update:
    """Judge by one metric. What ends its judging is told once the other metrics have come to their end, too."""
    name, number = state["metric"], state["round"]
    try:
        evaluation = await job.judges.judge_by(name, state["draft"])
    except RedraftError as error:
        job.failures[name] = error
        return {"judged": {}}
    _tell(evaluation, number, job)
    return {"judged": {name: in_short(evaluation)}}


async def gather(state: State, job: Job) -> Update:
    """Wait for all metrics. One that was cut short by what stops the run judges again when the run goes on."""
    missing = [name for name in state["due"] if name not in state["judged"]]
    if failed := [job.failures[name] for name in missing if name in job.failures]:
        raise failed[0]
    changed = {} if missing else await job.judges.agreed(state["draft"])
    judged = state["judged"] | {name: in_short(one) for name, one in changed.items()}
    scores = {name: verdict["score"] for name, verdict in judged.items() if verdict["outcome"] != "measured"}
    return {
        "due": missing,
        **({"judged": judged} if changed else {}),
        **({"scores": scores} if state["round"] == 0 and not missing else {}),
    }


def seats(state: State) -> list[Send]:
    """One step for each metric that is due."""
    seat: MetricTask = {"run": state["run"], "draft": state["draft"], "round": state["round"], "metric": ""}
    return [Send("metric", {**seat, "metric": name}) for name in state["due"]]


def add_judging(graph: StateGraph[Any, Any, Any, Any], session: SessionProtocol | None, then: Then) -> None:
    """The steps of judging, from `judge` to whatever comes `then`."""

    def gathered(state: State) -> Sequence[Send] | str:
        return seats(state) or then

    graph.add_node("judge", node(judge, session))
    graph.add_node("metric", node(metric, session), input_schema=MetricTask)
    graph.add_node("gather", node(gather, session))
    graph.add_conditional_edges("judge", seats, ["metric"])
    graph.add_edge("metric", "gather")
    graph.add_conditional_edges("gather", gathered, ["metric", then])


def in_short(evaluation: Evaluation) -> MetricVerdict:
    """An evaluation as small values."""
    return {
        "outcome": evaluation.outcome,
        "score": evaluation.score,
        "judged": evaluation.judged,
        "unjudged": evaluation.unjudged,
        "findings": dict(Counter(finding.kind for finding in evaluation.findings)),
    }


def _tell(evaluation: Evaluation, number: int, job: Job) -> None:
    said = (evaluation.outcome, evaluation.score, evaluation.judged, evaluation.unjudged, evaluation.reason)
    run = job.run
    itself = evaluation.metric in self_checks(run.settings, run.judging, run.refinement)
    job.observe(Scored(evaluation.metric, number, *said, itself))
    for one in evaluation.findings:
        job.observe(FindingFound(number, one))
