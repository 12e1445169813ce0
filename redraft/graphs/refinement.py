"""The refinement loop: choose findings, confirm, review, revise, judge again, accept or reject."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from langgraph.graph import StateGraph
from langgraph.types import interrupt

from redraft.agents.arbiter import Arbiter, RulingRequest
from redraft.agents.decider import Decider, DecisionContext
from redraft.agents.evidence import EvidenceReader
from redraft.agents.reviser import INSTRUCTION, RevisionRequest
from redraft.agents.structured_writer import max_intermediate_words
from redraft.builtin.facade import shortened
from redraft.domain import (
    NO_REVISION_OF,
    REVIEW,
    REVISION_OF,
    Draft,
    Evaluation,
    Finding,
    Parent,
    PointAnswer,
    ReviewQuestion,
    Round,
    Ruling,
    Span,
)
from redraft.errors import RejectedRequest, ReplyError
from redraft.events import Notice, RoundSettled, StageStarted
from redraft.graphs.evaluation import compare
from redraft.graphs.job import Job
from redraft.graphs.policy import (
    ACCUSING,
    FINDINGS_AT_ONCE,
    POLICIES,
    AcceptanceDecision,
    Policy,
    RevisionPlan,
    acceptance,
    all_requests_refused,
    draft_status,
    findings_in,
    interleaved,
    metric_scores,
    missed_metrics,
    missing_content,
    open_requests,
    plan_revision,
    reason_to_stop,
    reviser_feedback,
    room_for_more,
    scores_of,
    sentences_to_keep,
    undecided_metrics,
)
from redraft.graphs.review import ReviewAnswer, answered, question, requests, reviewed
from redraft.graphs.state import SessionProtocol, State, Update, node
from redraft.prompts.summarization import outline_text
from redraft.store.connection import off_loop
from redraft.text.sentences import sentences_in


async def _step_at_end(state: State, job: Job) -> Update:
    """Return the next step once nothing more is to be fixed: the end, or a round that shortens the best draft first."""
    if job.is_within_limit(await job.draft(state["best"])):
        return {"next": "finish"}
    return {"next": "revise", "shortening": True, "aims": [], "to_fix": [], "instruction": "", "by_hand": False}


async def _rule_on_shortened(state: State, job: Job, policy: Policy) -> tuple[AcceptanceDecision, str]:
    """Return whether the shortened draft is returned, or the latest earlier one within the limit, and which: the better
    of the two."""
    fitting = await job.latest_within_limit()
    if fitting is None:
        return AcceptanceDecision(True, "shortened to the word limit"), state["best"]
    goals, tolerance = job.refinement.goals, job.refinement.tolerance
    before, start, after = [await job.judged(one) for one in (fitting, state["first"], state["draft"])]
    ruling = acceptance(policy, list(goals), goals, job.judges.aims, before, start, after, tolerance)
    against = "" if policy.follows else f"; against the last draft within it: {ruling.reason}"
    reason = f"shortened to the word limit{against}"
    return AcceptanceDecision(ruling.accepted, reason), fitting


def is_accusing(finding: Finding) -> bool:
    """Return whether a finding says that the document does not support the draft."""
    return finding.task in ACCUSING and finding.metric != REVIEW


def arbiter_of(job: Job) -> Arbiter | None:
    """Return the arbiter; None if the policy accepts every finding unchecked."""
    return None if POLICIES[job.refinement.policy].follows else job.arbiter


async def confirm(state: State, job: Job) -> Update:
    """Let a judge confirm the findings that the next revision removes or corrects, and all others of their metrics."""
    onward: Update = {"next": "review" if job.refinement.review else "revise"}
    arbiter, judged = arbiter_of(job), await job.judged(state["best"])
    if arbiter is None:
        return onward
    findings = findings_in(judged, state["to_fix"])
    metrics = dict.fromkeys(finding.metric for finding in findings if is_accusing(finding))
    beside = [finding for metric in metrics for finding in judged[metric].findings]
    known = await off_loop(job.store.rulings.of, job.document.id)
    gone = {*state["tried"], *state["dropped"]}
    due = {
        finding.id: finding
        for finding in (*findings, *beside)
        if is_accusing(finding) and finding.id not in {*known, *gone}
    }
    ruling_requests = [RulingRequest(finding) for finding in due.values()]
    ruled = await ruled_on(state, job, arbiter, ruling_requests, f"second look before revision {state['round'] + 1}")
    return {**ruled, "next": "decide"} if ruled else onward


async def contest(state: State, job: Job) -> Update:
    """Let a judge rule on the sentences that the reviser kept, with its quotes from the document."""
    rounds = await off_loop(job.store.judgments.rounds, job.run.id)
    kept = {answer.finding: answer.said for answer in rounds[-1].answers if answer.became == "kept"}
    judged = await job.judged(state["best"])
    ruling_requests = [RulingRequest(finding, kept[finding.id]) for finding in findings_in(judged, list(kept))]
    return {
        "next": "judge",
        **await contested(state, job, ruling_requests, f"sentences that revision {state['round']} kept"),
    }


async def contested(state: State, job: Job, ruling_requests: Sequence[RulingRequest], label: str) -> Update:
    """Rule on findings that are contested with words of the document, each quote once."""
    arbiter = arbiter_of(job)
    if arbiter is None or not ruling_requests:
        return {}
    known = await off_loop(job.store.rulings.of, job.document.id)
    heard = {(ruling.finding, ruling.contested) for ruling in known.values()}
    new = [
        request
        for request in ruling_requests
        if is_accusing(request.finding) and (request.finding.id, request.against) not in heard
    ]
    return await ruled_on(state, job, arbiter, new, label)


async def ruled_on(
    state: State, job: Job, arbiter: Arbiter, ruling_requests: Sequence[RulingRequest], label: str
) -> Update:
    """Rule on findings, and withdraw those that are overruled."""
    if not ruling_requests:
        return {}
    rulings = [
        replace(ruling, run=job.run.id, round=state["round"]) for ruling in await arbiter.rule(ruling_requests, label)
    ]
    await off_loop(job.store.rulings.keep, rulings)
    if overruled := [ruling for ruling in rulings if ruling.overruled]:
        of = f"{len(overruled)} of {len(ruling_requests)} finding{'s' * (len(ruling_requests) != 1)}"
        job.observe(Notice(f"{label}: {of} withdrawn, since the document says so"))
    best = state["best"]
    changed = [await job.judges.apply_rulings(draft) for draft in dict.fromkeys((best, state["first"]))]
    return {**draft_status(await job.judged(best), job.refinement)} if any(changed) else {}


NO_DOCUMENT = (
    "the document does not fit the reviser's window, so it reads the passages around the findings"
    " (if the model's window is larger, set --context-tokens)"
)

_NO_ROOM = "the reviser had no room for"


async def settle(state: State, job: Job) -> Update:
    """Accept the latest draft as the best, or reject it and stay with the best."""
    number, draft, settings = state["round"], state["draft"], job.refinement
    its = draft_status(await job.judged(draft), settings)
    if number == 0:
        job.observe(RoundSettled(0, draft, accepted=True, reason="the first draft", **its))
        return {"best": draft, "accepted": True, "reason": "the first draft", **its}
    policy, best = POLICIES[settings.policy], state["best"]
    if state.get("shortening"):
        ruling, otherwise = await _rule_on_shortened(state, job, policy)
    else:
        ruling, otherwise = await _rule_on_revision(state, job, policy), best
    accepted, reason = ruling.accepted, ruling.reason
    made = _round(state, number, draft, await _answers(job, number), accepted=accepted, reason=reason)
    await job.keep_round(made)
    job.observe(RoundSettled(number, draft, accepted, reason, made.aims, **its))
    settled: Update = {"accepted": accepted, "reason": reason}
    if accepted:
        await _pass_on_requests(state, job, draft)
        return {**settled, **its, "best": draft, "tried": [], "refused": 0}
    settled["refused"] = state["refused"] + 1
    if otherwise != best:
        return {**settled, **draft_status(await job.judged(otherwise), settings), "best": otherwise, "tried": []}
    tried = state["to_fix"]
    if REVIEW in state["aims"]:
        # Corrections beyond a person's requests get a revision of their own.
        requests = {finding.id for finding in open_requests(await job.judged(best), [])}
        tried = [one for one in tried if one in requests] or tried
    elif policy.follows:
        tried = []
    return {**settled, "tried": [*state["tried"], *tried]}


async def _pass_on_requests(state: State, job: Job, draft: str) -> None:
    """Pass a person's open requests, and the sentences kept for earlier ones, on to the new best draft."""
    base, judged = await job.draft(state["best"]), await job.judged(state["best"])
    if REVIEW not in judged:
        return
    findings = open_requests(judged, [*state["to_fix"], *state["tried"], *state["dropped"]])
    had, held = set(sentences_in(base.text)), judged[REVIEW].held
    brought = REVIEW in state["aims"]
    kept = [
        sentence
        for sentence in sentences_in((await job.draft(draft)).text)
        if sentence in held or (brought and sentence not in had)
    ]
    if findings or kept:
        await off_loop(job.store.judgments.keep, draft, reviewed(None, findings, kept))


async def _rule_on_revision(state: State, job: Job, policy: Policy) -> AcceptanceDecision:
    """Decide whether to accept the revision."""
    settings = job.refinement
    revised, base = await job.draft(state["draft"]), await job.draft(state["best"])
    if state["by_hand"]:
        return AcceptanceDecision(True, "edited by hand")
    if revised.text == base.text:
        # Without a revision there is nothing to accept, whatever the policy.
        flaws = [note for note in revised.notes if not note.startswith(_NO_ROOM)]
        failed = f"the revision could not be used: {flaws[0]}" if flaws else ""
        return AcceptanceDecision(policy.follows and not failed, failed or "nothing was changed")
    before, start, after = [await job.judged(one) for one in (base.id, state["first"], revised.id)]
    aims = state["aims"]
    if REVIEW in aims and all_requests_refused(before, await _answers(job, state["round"])):
        aims = [aim for aim in aims if aim != REVIEW]
        if not aims:
            return AcceptanceDecision(policy.follows, "no request was met")
    return acceptance(policy, aims, settings.goals, job.judges.aims, before, start, after, settings.tolerance)


async def decide(state: State, job: Job) -> Update:
    """Choose what the next revision fixes, or stop."""
    settings = job.refinement
    if state["stop"]:
        # A person has stopped the run, and the draft has been shortened since.
        return {"next": "finish"}
    best = await job.draft(state["best"])
    limit = job.revision_words
    if state["round"] == 0 and limit and best.words > max_intermediate_words(limit) and not job.is_within_limit(best):
        # Whatever else a revision did within the limit would be compared with the longer text.
        return {"why": "", **await _step_at_end(state, job)}
    judged = reviser_feedback(await job.judged(best.id), settings.feedback_name)
    policy = POLICIES[settings.policy]
    free = room_for_more(best.words, job.revision_words)
    gone = [*state["tried"], *state["dropped"]]
    revision_plan = plan_revision(policy, judged, settings.goals, gone, job.judges.aims, free)
    is_generic = settings.feedback_name == "generic" and (revision_plan is None or REVIEW not in revision_plan.metrics)
    if is_generic:
        revision_plan = (
            RevisionPlan(tuple(missed), ()) if (missed := missed_metrics(scores_of(judged), settings.goals)) else None
        )
    stop = reason_to_stop(
        policy,
        scores_of(judged),
        settings.goals,
        rounds_left=settings.rounds - state["round"],
        refused_in_a_row=state["refused"],
        next_aim=revision_plan,
        unsure=undecided_metrics(judged, settings.goals, settings.judged_share),
    )
    if revision_plan is None or stop:
        if revision_plan is not None and REVIEW in revision_plan.metrics:
            job.observe(Notice("no rounds are left for all requests (use a higher --rounds)"))
        end = await _step_at_end(state, job)
        # A shortened draft may have new findings.
        reason = {"stop": stop or "nothing_to_fix"} if end["next"] == "finish" else {}
        return {"why": "", **reason, **end}
    new: Update = {"by_hand": False, "shortening": False, "next": "confirm", "why": "", "instruction": ""}
    if is_generic:
        criticism = await job.reviser.criticize(best.text, state["round"] + 1)
        return {**new, **_aimed(revision_plan.metrics, ()), "instruction": criticism}
    if job.decider is not None and REVIEW not in revision_plan.metrics:
        return {**new, **await _model_decision(state, job, job.decider, judged, revision_plan)}
    return {**new, **_aimed(revision_plan.metrics, revision_plan.findings)}


async def _model_decision(
    state: State, job: Job, decider: Decider, judged: Mapping[str, Evaluation], otherwise: RevisionPlan
) -> Update:
    """Return a model's decision; the policy's choice `otherwise`, if that is invalid."""
    goals, number = job.refinement.goals, state["round"]
    decision_result = await decider.decide(
        await _decision_input(state, job, judged), f"decision before revision {number + 1}"
    )
    await off_loop(job.store.judgments.keep_lookups, job.run.id, number + 1, decision_result.lookups)
    ruling_requests = [RulingRequest(*one) for one in decision_result.kept]
    if contests := await contested(state, job, ruling_requests, f"contested before revision {number + 1}"):
        # The scores are different now.
        return {**contests, "next": "decide"}
    if decision_result.stop:
        return {"stop": "decided", **await _step_at_end(state, job), "why": decision_result.why}
    if not decision_result.findings:
        why = f"{decision_result.why}; using weakest-first instead"
        job.observe(Notice(f"revision {number + 1}: {why}"))
        return {**_aimed(otherwise.metrics, otherwise.findings), "why": why}
    metrics = dict.fromkeys(finding.metric for finding in decision_result.findings)
    aims = [metric for metric in metrics if metric in goals] or list(metrics)
    return {
        **_aimed(aims, decision_result.findings),
        "why": decision_result.why,
        "instruction": decision_result.instruction,
    }


async def _decision_input(state: State, job: Job, judged: Mapping[str, Evaluation]) -> DecisionContext:
    """Return the decider's input: metrics that miss their goals first, without findings tried in vain."""
    goals, gone = job.refinement.goals, {*state["tried"], *state["dropped"]}
    known = metric_scores(scores_of(judged))
    # Metrics finish in any order, and the prompt must not depend on that.
    scores = {name: known[name] for name in (*goals, *sorted(known.keys() - goals.keys())) if name in known}
    missed = set(missed_metrics(scores, goals))
    offered = {name: [finding for finding in judged[name].findings if finding.id not in gone] for name in scores}
    findings = [
        finding
        for first in (True, False)
        for finding in interleaved([offered[name] for name in scores if (name in missed) is first])
    ]
    draft = await job.draft(state["best"])
    rounds = await off_loop(job.store.judgments.rounds, job.run.id)
    left = job.refinement.rounds - state["round"]
    open_goals = undecided_metrics(judged, goals, job.refinement.judged_share)
    most = job.plan.words
    return DecisionContext(draft.text, scores, goals, findings, rounds, left, FINDINGS_AT_ONCE, most, open_goals)


def _aimed(metrics: Sequence[str], findings: Sequence[Finding]) -> Update:
    return {"aims": list(metrics), "to_fix": [finding.id for finding in findings]}


async def review(state: State, job: Job) -> Update:
    """Let a person review the findings: drop some, add some, edit the draft, or stop."""
    best, number = state["best"], state["round"] + 1
    judged = await job.judged(best)
    findings = findings_in(judged, state["to_fix"])
    draft, goals = await job.draft(best), job.refinement.goals
    asked = question(
        draft, number, state["scores"], goals, findings, state.get("why", ""), state.get("instruction", "")
    )
    answer = _ask(asked)
    if answer.stop or not answer.go:
        return {"stop": "cancelled", "to_fix": [], "why": "", **await _step_at_end(state, job)}
    added = requests(answer.add)
    if added:
        await off_loop(job.store.judgments.keep, best, reviewed(judged.get(REVIEW), added))
    if answer.edited is not None:
        # Requests given with an edited draft are for the revision after this one.
        await job.rewind_to(state["round"], best)
        edited = await job.add_draft(answer.edited, "edited by hand", number, parents=[Parent.of_draft(draft)])
        by_hand: Update = {"aims": [], "to_fix": [], "why": "", "instruction": "", "by_hand": True}
        return {**by_hand, "draft": edited, "round": number, "next": "judge"}
    dropped = [str(one) for one in answer.drop]
    left = [finding for finding in state["to_fix"] if finding not in dropped]
    passed: Update = {"dropped": [*state["dropped"], *dropped]}
    if not added:
        return {**passed, "to_fix": left, "next": "revise" if left else "decide"}
    wanted = [*(finding.id for finding in added), *left]
    aims = list(dict.fromkeys([REVIEW, *(state["aims"] if left else [])]))
    return {**passed, "to_fix": wanted, "aims": aims, "next": "revise"}


def _ask(asked: ReviewQuestion) -> ReviewAnswer:
    """Wait for an answer; an invalid one is explained, and asked for again."""
    while True:
        answer = answered(interrupt(asked), asked)
        if isinstance(answer, ReviewAnswer):
            return answer
        asked = {**asked, "problem": answer}


async def revise(state: State, job: Job) -> Update:
    """Fix the chosen findings in the best draft, or only shorten it."""
    number = state["round"] + 1
    await job.rewind_to(state["round"], state["best"])
    purpose = "to keep to the word limit" if state.get("shortening") else f"for {' and '.join(state['aims'])}"
    job.observe(StageStarted(f"revision {number}, {purpose}", 1))
    base = await job.draft(state["best"])
    text, note, unread, read, point_answers = await _revision(base, state, job, number)
    made = REVISION_OF if text or state.get("shortening") else NO_REVISION_OF
    if note:
        job.observe(Notice(f"revision {number} could not be used: {note}"))
        text, read = base.text, ()
        if state.get("shortening"):
            text, note = shortened([base.text], job.plan.words), "sentences were left out to keep to the word limit"
            job.observe(Notice(note))
    # What the reviser had no room to read has not been tried.
    findings = state["to_fix"][: len(state["to_fix"]) - unread]
    left = f"{_NO_ROOM} {unread} of {len(state['to_fix'])} findings" if unread else ""
    parents = [Parent.of_draft(base), *(Parent("evidence", job.document.id, place) for place in read)]
    draft = await job.add_draft(text, f"{made}{base.id}", number, tuple(filter(None, (note, left))), parents)
    answers = tuple(answer for answer in point_answers if answer.finding in findings)
    await job.keep_round(_round({**state, "to_fix": findings}, number, draft, answers))
    return {"draft": draft, "round": number, "to_fix": findings}


class _Revision(NamedTuple):
    """The reviser's result for a draft."""

    text: str
    """Empty if there is none."""
    flaw: str
    """Its flaw, such as being over the limit or cut off."""
    unread: int
    """The number of findings that did not fit the reviser's prompt."""
    read: tuple[Span, ...]
    """The places of the document that the reviser read."""
    answers: tuple[PointAnswer, ...] = ()
    """The reviser's answer to each finding."""


async def _revision(base: Draft, state: State, job: Job, number: int) -> _Revision:
    """Ask for a revision of a draft that fixes the chosen findings, or is only shorter."""
    judged = await job.judged(base.id)
    outline = await job.outline()
    bare = job.refinement.feedback_name == "questions"
    reviser = replace(job.reviser, outline=outline_text(outline) if outline else None, bare=bare)
    request = RevisionRequest(base.text, (), (), job.revision_words, number)
    if state.get("shortening"):
        reviser = replace(reviser, strict=True)
    else:
        told = state.get("instruction", "")
        instruction = [Finding(INSTRUCTION, "instruction", "change", told)] if told else []
        rulings = await off_loop(job.store.rulings.of, job.document.id)
        findings = findings_in(judged, state["to_fix"])
        chosen = await off_loop(_with_ruled_evidence, findings, rulings, reviser.reader)
        # A general criticism does not say what is good, so nothing is marked to be kept.
        generic = job.refinement.feedback_name == "generic"
        keep = () if generic else tuple(sentences_to_keep(judged, job.judges.aims, state["dropped"]))
        missing = missing_content(judged) if any(finding.metric == REVIEW for finding in chosen) else ()
        request = replace(request, findings=(*chosen, *instruction), keep=keep, missing=tuple(missing))
    brief = await reviser.brief(request)
    if number == 1 and request.findings and brief.given.document is None:
        job.observe(Notice(NO_DOCUMENT))
    unread = max(0, len(state["to_fix"]) - len(brief.given.points))
    if unread:
        job.observe(Notice(f"revision {number} has no room for {unread} of {len(state['to_fix'])} findings"))
    try:
        revised = await reviser.revise(request, brief.given, f"revision {number}")
    except (ReplyError, RejectedRequest) as error:
        return _Revision("", error.message, unread, ())
    completion = revised.written
    return _Revision(completion.text, completion.flaw, unread, brief.places, () if completion.flaw else revised.answers)


def _with_ruled_evidence(
    findings: Sequence[Finding], rulings: Mapping[str, Ruling], reader: EvidenceReader
) -> list[Finding]:
    """Return the findings; those that a second look confirmed with the sentences that it quotes as evidence."""
    ruled = []
    for finding in findings:
        ruling = rulings.get(finding.id)
        if ruling is not None and ruling.verdict == "contradicted" and ruling.start is not None:
            place = Span(ruling.start, ruling.end or ruling.start)
            finding = replace(finding, evidence=reader.sentence(ruling.quote, [place]))
        ruled.append(finding)
    return ruled


def decided(state: State) -> str:
    """Go to the node that the previous step chose."""
    return state["next"]


def add_refinement(graph: StateGraph[Any, Any, Any, Any], session: SessionProtocol | None) -> None:
    """Add the refinement steps, from `settle` to `finish`, after those of judging."""
    ends: dict[Hashable, str] = {"finish": "compare"}
    for step in (settle, decide, review, confirm, revise, contest, compare):
        graph.add_node(step.__name__, node(step, session))
    graph.add_edge("settle", "decide")
    graph.add_conditional_edges("decide", decided, {**_to("confirm", "decide", "revise"), **ends})
    graph.add_conditional_edges("confirm", decided, _to("decide", "review", "revise"))
    graph.add_conditional_edges("review", decided, {**_to("judge", "revise", "decide"), **ends})
    graph.add_edge("revise", "contest")
    graph.add_edge("contest", "judge")
    graph.add_edge("compare", "finish")


def _to(*names: str) -> dict[Hashable, str]:
    return {name: name for name in names}


async def _answers(job: Job, number: int) -> tuple[PointAnswer, ...]:
    """Return the reviser's answers to the findings of a stored round."""
    rounds = await off_loop(job.store.judgments.rounds, job.run.id)
    return next((one.answers for one in rounds if one.number == number), ())


def _round(
    state: State,
    number: int,
    draft: str,
    answers: tuple[PointAnswer, ...] = (),
    *,
    accepted: bool | None = None,
    reason: str = "",
) -> Round:
    return Round(
        number,
        draft,
        state["best"],
        tuple(state["aims"]),
        tuple(state["to_fix"]),
        accepted,
        reason,
        state.get("why", ""),
        state.get("instruction", ""),
        answers,
    )
