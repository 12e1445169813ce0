"""Refining: judge the draft, decide what to mend, revise, judge again, until the goals are met or nothing helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from typing_extensions import TypedDict

from redraft.agents.reviser import Reviser
from redraft.domain import Evaluation, Finding, Round
from redraft.errors import JudgingError, RejectedRequest, ReplyError
from redraft.evaluators.jury import Jury
from redraft.events import Noted, StageStarted
from redraft.graphs.policy import POLICIES, Aims, aim, held_by, reason_to_stop, rule, scores_of
from redraft.graphs.reviewing import REVIEW, ReviewAnswer, ReviewRequest, requests, reviewed
from redraft.settings import Refinement
from redraft.text.words import count_words

Update = dict[str, object]


@dataclass(frozen=True, slots=True)
class RefiningContext:
    """Passed to the graph as its runtime context, again on every resumption. Never part of a checkpoint."""

    jury: Jury
    reviser: Reviser
    refinement: Refinement
    words: int
    document: str | None
    """The document's text where a prompt has room for it beside a summary."""

    def keep(self, run: str, made: Round) -> None:
        """Store a round; a draft that was accepted is the run's result from here on."""
        self.jury.store.judgments.keep_round(run, made)
        if made.accepted:
            self.jury.store.runs.choose_draft(run, made.draft)


class RefiningInput(TypedDict):
    """The draft to begin with."""

    run: str
    draft: str


class RefiningOutput(TypedDict):
    """The best draft, and why it is the last."""

    best: str
    stop: str


class RefiningState(TypedDict):
    """Ids and small values; drafts, evaluations and findings are in the store."""

    run: str
    draft: str
    """The draft that was made last."""
    round: int
    first: str
    best: str
    aims: list[str]
    findings: list[str]
    """What the next revision is to mend, or the last one was."""
    tried: list[str]
    """The findings on the best draft that refused revisions were to mend."""
    dropped: list[str]
    """The findings that a person does not want mended."""
    refused: int
    """How many revisions in a row have been refused."""
    by_hand: bool
    """Whether a person has made the latest draft."""
    stop: str


async def prepare(state: RefiningState, runtime: Runtime[RefiningContext]) -> Update:
    """Put the first draft on record, before anything is judged."""
    draft = state["draft"]
    runtime.context.jury.store.judgments.forget_rounds(state["run"])
    runtime.context.keep(state["run"], Round(0, draft, accepted=True, reason="the first draft"))
    return {
        "round": 0,
        "first": draft,
        "best": draft,
        "aims": [],
        "findings": [],
        "tried": [],
        "dropped": [],
        "refused": 0,
        "by_hand": False,
        "stop": "",
    }


async def evaluate(state: RefiningState, runtime: Runtime[RefiningContext]) -> Update:
    """Judge the latest draft by every metric at once."""
    jury = runtime.context.jury
    jury.observer(StageStarted(f"judging draft {state['round']}", 0))
    judged = await jury.judge(state["draft"])
    if state["round"] == 0:
        _require_verdicts(judged, runtime.context.refinement)
    return {}


async def settle(state: RefiningState, runtime: Runtime[RefiningContext]) -> Update:
    """Take the latest draft as the best, or refuse it and stay with the best."""
    context, jury, number = runtime.context, runtime.context.jury, state["round"]
    if number == 0:
        return {}
    settings, draft, best = context.refinement, state["draft"], state["best"]
    before, start, after = (scores_of(jury.judged(which)) for which in (best, state["first"], draft))
    policy = POLICIES[settings.policy]
    ruling = rule(policy, state["aims"], settings.goals, before, start, after, settings.tolerance)
    accepted, reason = ruling.accepted, ruling.reason
    if state["by_hand"]:
        accepted, reason = True, "edited by hand"
    elif jury.text(draft) == jury.text(best):
        accepted, reason = policy.follows, _unchanged(jury.store.runs.draft(draft).notes)
    made = Round(number, draft, best, tuple(state["aims"]), tuple(state["findings"]), accepted, reason)
    context.keep(state["run"], made)
    if accepted:
        return {"best": draft, "tried": [], "refused": 0}
    return {"tried": [*state["tried"], *state["findings"]], "refused": state["refused"] + 1}


async def decide(state: RefiningState, runtime: Runtime[RefiningContext]) -> Update:
    """Choose what the next revision shall mend, or stop."""
    settings = runtime.context.refinement
    judged = runtime.context.jury.judged(state["best"])
    policy = POLICIES[settings.policy]
    chosen = aim(policy, judged, settings.goals, [*state["tried"], *state["dropped"]], runtime.context.jury.aims)
    stop = reason_to_stop(
        policy,
        scores_of(judged),
        settings.goals,
        rounds_left=settings.rounds - state["round"],
        refused_in_a_row=state["refused"],
        next_aim=chosen,
    )
    if chosen is None or stop:
        return {"stop": stop or "nothing_to_fix"}
    return {"aims": list(chosen.metrics), "findings": [one.id for one in chosen.findings], "by_hand": False}


async def review(state: RefiningState, runtime: Runtime[RefiningContext]) -> Update:
    """Let a person look at the findings first: drop some, add some, edit the draft, or leave it at that."""
    jury, best, number = runtime.context.jury, state["best"], state["round"] + 1
    asked: ReviewRequest = {"round": number, "draft": best, "findings": state["findings"]}
    answer: ReviewAnswer = interrupt(asked)
    if answer.get("stop"):
        return {"stop": "cancelled", "findings": []}
    if edited := answer.get("edited"):
        text = jury.store.documents.text(edited)
        draft = jury.store.runs.add_draft(state["run"], text, count_words(text), "edited by hand", number)
        return {"draft": draft, "round": number, "aims": [], "findings": [], "by_hand": True}
    dropped = answer.get("drop", [])
    added = requests(answer.get("add", []))
    left = [finding for finding in state["findings"] if finding not in dropped]
    if not added:
        return {"findings": left, "dropped": [*state["dropped"], *dropped]}
    jury.store.judgments.keep(best, reviewed(jury.judged(best).get(REVIEW), added))
    return {
        "findings": [*(finding.id for finding in added), *left],
        "aims": [REVIEW, *(state["aims"] if left else [])],
        "dropped": [*state["dropped"], *dropped],
    }


async def revise(state: RefiningState, runtime: Runtime[RefiningContext]) -> Update:
    """Mend the chosen findings in the best draft."""
    context, jury, number = runtime.context, runtime.context.jury, state["round"] + 1
    jury.observer(StageStarted(f"revision {number}, for {' and '.join(state['aims'])}", 1))
    base, judged = jury.text(state["best"]), jury.judged(state["best"])
    findings = _findings(judged, state["findings"])
    text, notes = base, ""
    try:
        keep = _kept(judged, findings, jury.aims)
        label = f"revision {number}"
        written = await context.reviser.revise(base, findings, keep, context.document, context.words, label)
        # A text that is over the limit, or breaks off, is no revision.
        text, notes = (base, written.flaw) if written.flaw else (written.text, "")
    except (ReplyError, RejectedRequest) as error:
        notes = error.message
    if notes:
        jury.observer(Noted(f"revision {number} is of no use: {notes}"))
    draft = jury.store.runs.add_draft(
        state["run"], text, count_words(text), f"revision of {state['best']}", number, (notes,) if notes else ()
    )
    context.keep(state["run"], Round(number, draft, state["best"], tuple(state["aims"]), tuple(state["findings"])))
    return {"draft": draft, "round": number}


def after_deciding(state: RefiningState, runtime: Runtime[RefiningContext]) -> Literal["review", "revise", "__end__"]:
    """Stop, or go on, past a person where one wants to see the findings."""
    if state["stop"]:
        return "__end__"
    return "review" if runtime.context.refinement.review else "revise"


def after_review(state: RefiningState) -> Literal["evaluate", "revise", "decide", "__end__"]:
    """A draft edited by hand is judged like any other; with nothing left to mend, something else is looked for."""
    if state["stop"]:
        return "__end__"
    if state["by_hand"]:
        return "evaluate"
    return "revise" if state["findings"] else "decide"


def refining_graph() -> StateGraph[RefiningState, RefiningContext, RefiningInput, RefiningOutput]:
    """The uncompiled graph; compile it with a checkpointer of your choice."""
    graph = StateGraph(
        RefiningState, context_schema=RefiningContext, input_schema=RefiningInput, output_schema=RefiningOutput
    )
    graph.add_node(prepare)
    graph.add_node(evaluate)
    graph.add_node(settle)
    graph.add_node(decide)
    graph.add_node(review)
    graph.add_node(revise)
    graph.add_edge(START, "prepare")
    graph.add_edge("prepare", "evaluate")
    graph.add_edge("evaluate", "settle")
    graph.add_edge("settle", "decide")
    graph.add_conditional_edges("decide", after_deciding)
    graph.add_conditional_edges("review", after_review)
    graph.add_edge("revise", "evaluate")
    return graph


def _require_verdicts(judged: Mapping[str, Evaluation], refinement: Refinement) -> None:
    """A first draft that a goal cannot be judged by leaves nothing to compare revisions with."""
    for metric in refinement.goals:
        if judged[metric].outcome == "failed":
            raise JudgingError(
                f"{metric} could not be judged: {judged[metric].reason}",
                hint="try another --judge, or --prompts simple; what was done is kept",
            )


def _findings(judged: Mapping[str, Evaluation], wanted: Sequence[str]) -> list[Finding]:
    """The findings with these ids, in their order."""
    known = {finding.id: finding for evaluation in judged.values() for finding in evaluation.findings}
    return [known[key] for key in wanted if key in known]


def _kept(judged: Mapping[str, Evaluation], findings: Sequence[Finding], aims: Aims) -> list[str]:
    """The sentences that what is covered rests on, save those that are to be mended."""
    mended = {finding.sentence for finding in findings}
    return [sentence for sentence in held_by(judged, aims) if sentence not in mended]


def _unchanged(notes: Sequence[str]) -> str:
    return f"the revision was of no use: {notes[0]}" if notes else "nothing was changed"
