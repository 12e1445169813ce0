"""The evaluation nodes: judge a draft, and choose between several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any, Literal

from langgraph.graph import StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from redraft.agents.accounts import gather_all
from redraft.domain import REVISION_OF, Evaluation, Parent, Round
from redraft.errors import RedraftError
from redraft.evaluators.metric_info import offline_checks
from redraft.evaluators.preference import prefer
from redraft.events import FindingFound, MetricScored, Notice, StageStarted
from redraft.graphs.job import Job
from redraft.graphs.policy import Goals, Scores, scores_of
from redraft.graphs.state import MetricVerdict, SessionProtocol, State, Update, node
from redraft.store.connection import off_loop
from redraft.store.documents import DraftCandidate
from redraft.text.words import score as shown_score

Then = Literal["settle", "finish"]
"""What follows once a draft has been judged: the refinement, or the end."""


class MetricTask(TypedDict):
    """One metric of one draft."""

    run: str
    draft: str
    round: int
    metric: str


async def judge(state: State, job: Job) -> Update:
    """Start every metric on the latest draft; the first draft of a refinement is shortened to its limit, and stored."""
    number, draft = state["round"], state["draft"]
    update: Update = {}
    if number == 0 and job.run.refinement is not None:
        await job.rewind_to(-1, draft)
        draft = await _within_limit(draft, job)
        await job.keep_round(Round(0, draft, accepted=True, reason="the first draft"))
        update = {"draft": draft, "first": draft, "tried": [], "dropped": [], "refused": 0, "by_hand": False}
        update |= {"mending": [], "instruction": "", "way": "edit"}
    elif number == 0:
        update = {"best": draft}
    job.observe(StageStarted(f"judging draft {number}" if job.run.refinement else "judging", 0))
    return {**update, "judged": {}, "due": [evaluator.name for evaluator in job.judges.evaluators]}


async def _within_limit(draft: str, job: Job) -> str:
    """Return the draft, or a shorter one where it is over the limit of the run."""
    limit, long = job.revision_words, await job.draft(draft)
    if limit is None or long.words <= limit:
        return draft
    job.observe(StageStarted(f"shortening the draft to {limit} words", 1))
    written = await job.reviser.shorten(long.text, limit, 0, "draft, shortened")
    return await job.add_draft(written.text, f"{REVISION_OF}{draft}", 0, parents=[Parent.of_draft(long)])


async def metric(state: MetricTask, job: Job) -> Update:
    """Judge by one metric; an error is raised once the other metrics have finished."""
    name, number = state["metric"], state["round"]
    try:
        evaluation = await job.judges.judge_by(name, state["draft"])
    except RedraftError as error:
        job.failures[name] = error
        return {"judged": {}}
    _report(evaluation, number, job)
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
    task: MetricTask = {"run": state["run"], "draft": state["draft"], "round": state["round"], "metric": ""}
    return [Send("metric", {**task, "metric": name}) for name in state["due"]]


def add_judging(graph: StateGraph[Any, Any, Any, Any], session: SessionProtocol | None, then: Then) -> None:
    """Add the judging steps, from `judge` to the node `then`."""

    def gathered(state: State) -> Sequence[Send] | str:
        return metric_steps(state) or then

    graph.add_node("judge", node(judge, session))
    graph.add_node("metric", node(metric, session), input_schema=MetricTask)
    graph.add_node("gather", node(gather, session))
    graph.add_conditional_edges("judge", metric_steps, ["metric"])
    graph.add_edge("metric", "gather")
    graph.add_conditional_edges("gather", gathered, ["metric", then])


def metric_verdict(evaluation: Evaluation) -> MetricVerdict:
    """Return an evaluation as small values for the state."""
    return {
        "outcome": evaluation.outcome,
        "score": evaluation.score,
        "judged": evaluation.judged,
        "unjudged": evaluation.unjudged,
        "findings": dict(Counter(finding.kind for finding in evaluation.findings)),
    }


def _report(evaluation: Evaluation, number: int, job: Job) -> None:
    figures = (evaluation.outcome, evaluation.score, evaluation.judged, evaluation.unjudged, evaluation.reason)
    run = job.run
    itself = evaluation.metric in offline_checks(run.settings, run.judging, run.refinement)
    job.observe(MetricScored(evaluation.metric, number, *figures, itself))
    for finding in evaluation.findings:
        job.observe(FindingFound(number, finding))


def overall_votes(details: object) -> dict[str, int]:
    """Return how often each side was found better overall, from the details of a preference."""
    assert isinstance(details, dict)
    overall = details["aspects"]["overall"]
    return {side: int(overall[side]) for side in ("a", "b", "tie")}


# Drafts whose attainment of the goals differs by no more are compared by reading.
_EQUAL = 0.02
CANDIDATE = "candidate "
"""The prefix of the node name of a draft from another run; the candidate's number follows."""


async def choose(state: State, job: Job) -> Update:
    """Choose the draft to continue with among the candidates; stored verdicts are reused."""
    candidates = await off_loop(job.store.candidates.of, job.run.id)
    drafts = await _drafts(state["draft"], candidates, job)
    draft_scores = await _judged(drafts, job) if job.panel is not None and len(drafts) > 1 else {}
    best, why = await _best(drafts, draft_scores, job)
    draft_candidates: list[DraftCandidate] = []
    for candidate in candidates:
        draft = drafts.get(candidate.number, "")
        reason = (
            (why if candidate.number == best else "")
            if draft
            else candidate.reason or "it gave no text, or the same text"
        )
        draft_candidates.append(replace(candidate, draft=draft, chosen=candidate.number == best, reason=reason))
        job.observe(Notice(_said(draft_candidates[-1], len(candidates), draft_scores.get(candidate.number, {}))))
    await off_loop(job.store.candidates.put, *draft_candidates, run=job.run.id)
    await off_loop(job.store.runs.choose_draft, job.run.id, drafts[best])
    return {"draft": drafts[best]}


async def _drafts(first_draft: str, candidates: list[DraftCandidate], job: Job) -> dict[int, str]:
    """Return the drafts by candidate number, each text once; those of other runs are copied into this one."""
    drafts, texts = {1: first_draft}, {(await job.draft(first_draft)).text}
    for candidate in candidates:
        part = await off_loop(job.store.runs.get, candidate.run) if candidate.run else None
        if part is None or part.draft is None or part.status != "done":
            continue
        draft = await job.draft(part.draft)
        if draft.text not in texts:
            texts.add(draft.text)
            node = f"{CANDIDATE}{candidate.number}"
            drafts[candidate.number] = await job.add_draft(draft.text, node, 0, draft.notes, [Parent.of_draft(draft)])
    return drafts


async def _judged(drafts: Mapping[int, str], job: Job) -> dict[int, Scores]:
    """Return the scores of each draft by the metrics with a goal, or by all scoring metrics if nothing is refined."""
    goals = job.refinement.goals
    job.observe(StageStarted("judging the candidates", 0))
    await gather_all(job.judges.judge_by(metric, draft) for draft in drafts.values() for metric in goals)
    for draft in drafts.values():
        await job.judges.resolve_conflicts(draft)
    all_scores = {number: scores_of(await job.judged(draft)) for number, draft in drafts.items()}
    return {number: {metric: scores.get(metric) for metric in goals} for number, scores in all_scores.items()}


async def _best(drafts: Mapping[int, str], draft_scores: Mapping[int, Scores], job: Job) -> tuple[int, str]:
    """Return the number of the best draft, and why: those whose scores are about as good are compared."""
    if len(drafts) == 1:
        return next(iter(drafts)), "it is the only one"
    attained = attainment(draft_scores, job.refinement.goals) if draft_scores else {}
    top = max(attained.values(), default=0.0)
    equal = [draft for draft in drafts if not attained or attained[draft] >= top - _EQUAL - 1e-9]
    first = max(equal, key=lambda number: (attained.get(number, 0.0), -number))
    if len(equal) == 1 or not job.referees:
        return first, "by its scores" if attained else "no model can compare them"
    best, tokens = equal[0], job.tokenizer.count(job.document.text)
    job.observe(StageStarted("comparing the candidates", 2 * len(job.referees) * (len(equal) - 1)))
    for rival in equal[1:]:
        a, b = [(await job.draft(drafts[number])).text for number in (best, rival)]
        votes = overall_votes((await prefer(job.referees, job.document, tokens, a, b)).details)
        best = rival if votes["b"] > votes["a"] else best
    return best, "it reads best"


def attainment(draft_scores: Mapping[int, Scores], goals: Goals) -> dict[int, float]:
    """Return how far each draft attains its goals, as a mean over the metrics that scored every draft."""
    shared = [metric for metric in goals if all(scores.get(metric) is not None for scores in draft_scores.values())]
    if not shared:
        return {}
    return {
        number: mean(min(1.0, (scores[metric] or 0.0) / goals[metric]) if goals[metric] else 1.0 for metric in shared)
        for number, scores in draft_scores.items()
    }


def _said(candidate: DraftCandidate, count: int, scores: Scores) -> str:
    figures = [f"{metric} {'no score' if score is None else shown_score(score)}" for metric, score in scores.items()]
    verdict = (
        f"chosen: {candidate.reason}"
        if candidate.chosen
        else f"not chosen{f': {candidate.reason}' if candidate.reason else ''}"
    )
    return f"candidate {candidate.number} of {count}: {', '.join([*figures, verdict])}"
