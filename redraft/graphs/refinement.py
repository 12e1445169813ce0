"""The refinement loop: decide what the next round does, let a person review that, revise, judge again, and keep the
better draft."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from langgraph.types import interrupt
from pydantic_core import to_jsonable_python

from redraft.agents.arbiter import RulingRequest
from redraft.agents.decider import attempts
from redraft.agents.judge import gather_all
from redraft.agents.reviser import INSTRUCTION, RevisionRequest
from redraft.domain import (
    NO_REVISION_OF,
    REVIEW,
    REVISION_OF,
    Chunk,
    Completion,
    Draft,
    DraftComparison,
    Evaluation,
    Finding,
    Parent,
    PointAnswer,
    ReviewQuestion,
    Round,
    Span,
    widened,
)
from redraft.errors import RejectedRequest, ReplyError
from redraft.evaluators.base import ACCUSING
from redraft.evaluators.metric_info import goal_status
from redraft.events import Notice, RoundSettled, StageStarted
from redraft.graphs import policy
from redraft.graphs.job import Job
from redraft.graphs.state import State, Update
from redraft.prompts.contract import UNSURE
from redraft.prompts.revision import ChooseInput, DecideInput, EditInput, ReviseInput
from redraft.prompts.summarization import outline_text
from redraft.settings import EXTRACTIVE, LEVEL_RATIO, MERGING
from redraft.store.connection import off_loop
from redraft.store.table import now, ordered
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading, sentences_in
from redraft.text.words import count, count_words, enumeration, has_words, is_unspaced, spaced

_MET = {"met": "yes", "missed": "no", "unsure": "unsure"}
_EDITED_BY_HAND = "edited by hand"
_NO_ROOM = "the reviser had no room for"
_DROPPED = "to keep the limit, the built-in model dropped"
_LONGEST_STOP = 400
PartSummaries = tuple[tuple[str, ...], ...]
"""The summaries of a document's parts by level, lowest first."""
# The words of the summary of a part.
_LEAST_WORDS, _MOST_WORDS = 30, 200
# Nobody reads these summaries but the editor: one that is a little long is not asked for again.
_TOLERANCE = 1.1


@dataclass(frozen=True, slots=True)
class _Revised:
    """The best draft and the latest one, a revision of it, with their evaluations."""

    best: Draft
    draft: Draft
    before: Mapping[str, Evaluation]
    after: Mapping[str, Evaluation]
    is_requested: bool
    """Whether a person has asked for the revision."""


async def settle(state: State, job: Job) -> Update:
    """Accept the latest draft as the best, or stay with the best; a new text with errors is corrected first."""
    number, settings, follows_paper = state["round"], job.refinement, job.refinement.policy == "paper"
    status = policy.draft_status(await job.judged(state["draft"]), settings)
    if number == 0:
        job.observe(RoundSettled(0, state["draft"], accepted=True, reason="the first draft", **status))
        return {"best": state["draft"], "accepted": True, "reason": "the first draft", "next": "decide", **status}
    is_new_text = state["way"] == "edit" and not state["by_hand"] and not follows_paper
    if is_new_text and not state["mending"]:
        await confirm(state, job, state["draft"])
    best, draft = await job.draft(state["best"]), await job.draft(state["draft"])
    before, after = await job.judged(best.id), await job.judged(draft.id)
    errors = policy.new_errors(before, after, job.judges.aims) if is_new_text else []
    if errors and not state["mending"]:
        # The confirmed errors that a text written anew has brought are corrected, once.
        return {"mending": [error.id for error in errors], "next": "revise"}
    # A person's requests among what the round was to fix.
    requests = before[REVIEW].findings if REVIEW in before else ()
    requests_to_fix = [finding for finding in requests if finding.id in state["to_fix"]]
    revised = _Revised(best, draft, before, after, is_requested=bool(requests_to_fix))
    comparison = await _comparison(job, revised) if is_new_text and not errors else None
    # Nobody revised a draft that was edited by hand.
    stored = await off_loop(job.store.rounds.first, run=job.run.id, key=ordered(number))
    round_ = stored or Round(number, draft.id, best.id)
    accepted, reason = _ruling(state, job, revised, round_.answers, comparison)
    round_ = replace(round_, accepted=accepted, reason=reason, comparison=comparison)
    await job.keep_round(round_)
    job.observe(widened(RoundSettled, round_, **status))
    settled: Update = {"accepted": accepted, "reason": reason, "mending": [], "next": "decide"}
    dealt_with = [finding.id for finding in requests_to_fix]
    if accepted:
        if REVIEW in before:
            # A person's requests are passed on to the new best draft: the open ones, and those that it meets.
            refused = {answer.finding for answer in round_.answers if answer.became == "left"}
            met = [finding for finding in requests_to_fix if finding.id not in refused]
            gone = {*dealt_with, *state["tried"], *state["dropped"]}
            findings = [finding for finding in requests if finding.id not in gone]
            texts = [f"{finding.explanation} {finding.expected}".strip() for finding in met]
            requests_met = [*before[REVIEW].held, *texts]
            if findings or requests_met:
                await off_loop(job.store.judgments.keep, draft.id, policy.reviewed(None, findings, requests_met))
        return {**settled, **status, "best": draft.id, "tried": [], "refused": 0}
    # What a new text was to solve may still be corrected in place; what a correction could not fix is not tried again.
    is_over = state["way"] == "correct" and not follows_paper
    tried = policy.with_same_errors(state["to_fix"], before) if is_over else dealt_with
    return {**settled, "refused": state["refused"] + 1, "tried": [*state["tried"], *tried]}


async def _comparison(job: Job, revised: _Revised) -> DraftComparison | None:
    """Return how the judges compare a new text without new errors with the best draft; None if none of them could, or
    if a person has asked for it."""
    if not job.referees or revised.best.text == revised.draft.text or revised.is_requested:
        return None
    errors = [
        f"{error.sentence} (the document: {error.answer or error.why or 'nothing supports this'})"
        for evaluations in (revised.before, revised.after)
        for error in policy.errors_in(evaluations, job.judges.aims)
    ]
    notes = ChooseInput(
        must_know=[
            item.model_copy(update={"draft": "", "lacks": "", "quote": ""})
            for item in policy.must_know_in(revised.before)[: policy.MOST_NEEDED]
        ],
        errors=list(dict.fromkeys(errors)),
        query=job.run.settings.query,
        first="",
        second="",
    )
    job.observe(StageStarted("comparing the revision with the best draft", 2 * len(job.referees)))
    readings = await gather_all(
        referee.choose(notes, revised.draft.text, revised.best.text) for referee in job.referees
    )
    votes, reasons = {"revision": 0, "best": 0, "neither": 0}, list[str]()
    places = ({"first": "revision", "second": "best"}, {"first": "best", "second": "revision"})
    for replies in readings:
        if any(reply.overall == UNSURE for reply in replies):
            continue
        for place, reply in zip(places, replies, strict=False):
            votes[place.get(reply.overall, "neither")] += 1
            reasons.append(reply.reason)
    return DraftComparison(**votes, reasons=tuple(reasons)) if reasons else None


def _ruling(
    state: State, job: Job, revised: _Revised, answers: Sequence[PointAnswer], comparison: DraftComparison | None
) -> tuple[bool, str]:
    """Return whether the latest draft is accepted, and why."""
    settings, follows_paper = job.refinement, job.refinement.policy == "paper"
    if state["by_hand"]:
        return True, _EDITED_BY_HAND
    if revised.draft.text == revised.best.text:
        # Without a revision there is nothing to accept, whatever the policy.
        flaws = [note for note in revised.draft.notes if not note.startswith((_NO_ROOM, _DROPPED))]
        failure = f"the revision could not be used: {flaws[0]}" if flaws else ""
        return (follows_paper and not failure, failure or "nothing was changed")
    if follows_paper:
        return True, "the policy accepts every revision"
    before, after, aims = revised.before, revised.after, job.judges.aims
    if revised.is_requested:
        if policy.all_requests_refused(before, answers):
            return False, "no request was met"
        if not policy.new_errors(before, after, aims):
            return True, "requested by a person"
    return policy.acceptance(settings.goals, aims, before, after, state["way"], comparison, compared=bool(job.referees))


async def confirm(state: State, job: Job, draft: str, among: Sequence[Finding] | None = None) -> None:
    """Let a judge confirm what is held against a draft before it is revised."""
    rulings = await off_loop(job.store.rulings.by, "finding", document=job.document.id)
    settled = {*rulings, *state["tried"], *state["dropped"]}
    findings = policy.findings_of(await job.judged(draft)) if among is None else among
    due = [finding for finding in findings if not finding.is_confirmed and finding.id not in settled]
    label = f"second look before revision {state['round'] + 1}"
    await _rule_on(state, job, [(finding, "") for finding in due], label, draft)


async def _rule_on(state: State, job: Job, ruling_requests: Sequence[RulingRequest], label: str, draft: str) -> None:
    """Rule on findings that say that the document does not support the draft, and withdraw those that are overruled
    from all drafts."""
    due = [
        (finding, against)
        for finding, against in ruling_requests
        if finding.task in ACCUSING and finding.metric != REVIEW
    ]
    if job.arbiter is None or job.refinement.policy == "paper" or not due:
        return
    rulings = await job.arbiter.rule(due, label)
    rulings = [replace(ruling, run=job.run.id, round=state["round"]) for ruling in rulings]
    await off_loop(job.store.rulings.put, *rulings, created=now())
    if overruled := [ruling for ruling in rulings if ruling.overruled]:
        job.observe(
            Notice(f"{label}: {len(overruled)} of {count(len(due), 'finding')} withdrawn, since the document says so")
        )
    for draft_key in dict.fromkeys((draft, state["best"], state["first"])):
        await job.judges.apply_rulings(draft_key)


async def decide(state: State, job: Job) -> Update:
    """Choose what the next round does, or stop."""
    settings, best = job.refinement, state["best"]
    if settings.rounds > state["round"]:
        await confirm(state, job, best)
    evaluations = policy.reviser_feedback(await job.judged(best), settings.feedback_name)
    status = policy.draft_status(await job.judged(best), settings)
    # A person who reviews decides whether another text is worth a try.
    is_refused = state["refused"] > 0 and not settings.review
    plan = policy.plan_revision(
        settings.policy,
        evaluations,
        settings.goals,
        job.judges.aims,
        gone=[*state["tried"], *state["dropped"]],
        is_first=state["round"] == 0,
        is_refused=is_refused,
        can_compare=bool(job.referees),
    )
    is_generic = settings.feedback_name == "generic" and (plan is None or REVIEW not in plan.metrics)
    if is_generic:
        missed = policy.missed_metrics(evaluations, settings.goals)
        plan = policy.RevisionPlan("correct", ()) if missed else None
    if stop := policy.reason_to_stop(evaluations, settings, state["round"], plan, is_refused=is_refused):
        if plan is not None and REVIEW in plan.metrics:
            job.observe(Notice("no rounds are left for all requests: more rounds would help"))
        return {**status, "stop": stop, "why": "", "next": "finish"}
    assert plan is not None, "without a plan there is a reason to stop"
    following = "review" if settings.review else "revise"
    new: Update = {**status, "by_hand": False, "next": following, "why": "", "instruction": ""}
    if is_generic:
        best_draft = await job.draft(best)
        criticism = await job.reviser.criticize(best_draft.text, state["round"] + 1)
        return {**new, "way": "correct", "aims": missed, "to_fix": [], "instruction": criticism}
    if settings.policy == "agent" and REVIEW not in plan.metrics:
        return {**new, **await _model_decision(state, job, evaluations, plan)}
    return {**new, **_planned(plan)}


def _planned(plan: policy.RevisionPlan) -> Update:
    return {"way": plan.way, "aims": list(plan.metrics), "to_fix": [finding.id for finding in plan.findings]}


async def _model_decision(
    state: State, job: Job, evaluations: Mapping[str, Evaluation], otherwise: policy.RevisionPlan
) -> Update:
    """Return a model's decision; the plan `otherwise`, if that is invalid. The model reads errors first, then where a
    reader stops and what is missing, weightiest first."""
    number, settings = state["round"] + 1, job.refinement
    text = (await job.draft(state["best"])).text
    goals, scores = settings.goals, policy.metric_scores(evaluations)
    findings = policy.DraftFindings.of(evaluations, goals, job.judges.aims, [*state["tried"], *state["dropped"]])
    lines: list[str] = []
    # Metrics finish in any order, and the prompt must not depend on that.
    for metric in [*(name for name in goals if name in scores), *sorted(scores.keys() - goals.keys())]:
        score, standing = scores[metric], ""
        if (goal := goals.get(metric)) is not None:
            standing = f", goal: {goal:g}, met: {_MET[goal_status(evaluations[metric], goal, settings.judged_share)]}"
        lines.append(f"{metric}: {'none' if score is None else f'{score:.4f}'}{standing}")
    inputs = DecideInput(
        summary=text,
        scoreboard=lines,
        tried=attempts(await off_loop(job.store.rounds.of, job.run.id)),
        rounds_left=settings.rounds - state["round"],
        length=count_words(text),
        words=job.plan.words,
        characters=is_unspaced(text),
        at_most=policy.FINDINGS_AT_ONCE,
    )
    listed = [*findings.points, *findings.stops, *findings.missing]
    decision, chosen = await job.decider.decide(inputs, listed, f"decision before revision {number}")
    if decision.stop:
        return {"stop": "decided", "next": "finish", "why": decision.why}
    if not chosen:
        why = f"{decision.why}; the editor is given everything instead"
        job.observe(Notice(f"revision {number}: {why}"))
        return {**_planned(otherwise), "why": why}
    return {**_planned(policy.RevisionPlan("edit", chosen)), "why": decision.why, "instruction": decision.instruction}


async def review(state: State, job: Job) -> Update:
    """Let a person review the findings: drop some, add some, edit the draft, or stop."""
    best, number = state["best"], state["round"] + 1
    evaluations, draft = await job.judged(best), await job.draft(best)
    question: ReviewQuestion = {
        "run": draft.run,
        "round": number,
        "draft": draft.id,
        "text": draft.text,
        "words": draft.words,
        "scores": dict(state["scores"]),
        "goals": dict(job.refinement.goals),
        "findings": to_jsonable_python(policy.findings_in(evaluations, state["to_fix"])),
        "why": state.get("why", ""),
        "instruction": state.get("instruction", ""),
        "problem": "",
    }
    # An invalid answer is explained, and asked for again.
    while isinstance(answer := policy.answered(interrupt(question), question), str):
        question = {**question, "problem": answer}
    if answer.stop or not answer.go:
        return {"stop": "cancelled", "to_fix": [], "why": "", "next": "finish"}
    added = policy.requests(answer.add)
    if added:
        await off_loop(job.store.judgments.keep, best, policy.reviewed(evaluations.get(REVIEW), added))
    if answer.edited is not None:
        # Requests given with an edited draft are for the revision after this one.
        await job.rewind_to(state["round"], best)
        edited = await job.keep(answer.edited, _EDITED_BY_HAND, parents=[Parent.of_draft(draft)], number=number)
        by_hand: Update = {"way": "edit", "aims": [], "to_fix": [], "why": "", "instruction": "", "by_hand": True}
        return {**by_hand, "draft": edited, "round": number, "next": "judge"}
    dropped = policy.with_same_errors([str(key) for key in answer.drop], evaluations)
    remaining = [finding for finding in state["to_fix"] if finding not in dropped]
    passed: Update = {"dropped": [*state["dropped"], *dropped]}
    if not added:
        return {**passed, "to_fix": remaining, "next": "revise" if remaining else "decide"}
    ids = [*(finding.id for finding in added), *remaining]
    aims = list(dict.fromkeys([REVIEW, *(state["aims"] if remaining else [])]))
    way = state["way"] if job.refinement.policy == "paper" else "edit"
    return {**passed, "way": way, "to_fix": ids, "aims": aims, "next": "revise"}


async def revise(state: State, job: Job) -> Update:
    """Write the best draft anew, or correct it in place; or correct the errors of the text that was just written."""
    mending = state["mending"]
    number = state["round"] if mending else state["round"] + 1
    base = await job.draft(state["draft"] if mending else state["best"])
    if not mending:
        await job.rewind_to(state["round"], state["best"])
    purpose = "correcting its errors" if mending else f"for {enumeration(map(spaced, state['aims']))}"
    job.observe(StageStarted(f"revision {number}, {purpose}", 1))
    ids_to_fix, evaluations = mending or state["to_fix"], await job.judged(base.id)
    request = await _brief(state, job, base, evaluations, number, ids_to_fix)
    unread = [finding.id for finding in request.findings[len(request.inputs.points) :]]
    if unread:
        job.observe(Notice(f"revision {number} has no room for {len(unread)} of {len(request.findings)} findings"))
    try:
        written, answers = await job.reviser.revise(request, f"revision {number}")
    except (ReplyError, RejectedRequest) as error:
        written, answers = Completion("", 0, 1, error.message), ()
    text, places = written.text, request.places
    note = written.flaw or ("" if text else "the reply was empty")
    if note:
        job.observe(Notice(f"revision {number} could not be used: {note}"))
        text, places, answers = base.text, (), ()
    # What the reviser had no room to read has not been tried.
    unread_note = f"{_NO_ROOM} {len(unread)} of {len(ids_to_fix)} findings" if unread else ""
    to_fix = [finding for finding in state["to_fix"] if mending or finding not in unread]
    dropped_note = ""
    if not note and job.run.settings.model == EXTRACTIVE and job.revision_words is not None:
        # The built-in model checks what it adds, but of what it drops it knows only that it is less central than the
        # rest.
        faulty = {finding.sentence for evaluation in evaluations.values() for finding in evaluation.findings}
        left_out = {*sentences_in(base.text)} - {*sentences_in(text)} - faulty
        dropped_note = f"{_DROPPED} {count(len(left_out), 'sentence')} without a finding" if left_out else ""
    parents = [Parent.of_draft(base), *(Parent("evidence", job.document.id, place) for place in places)]
    origin = REVISION_OF if written.text else NO_REVISION_OF
    notes = tuple(filter(None, (note, unread_note, dropped_note)))
    draft = await job.keep(text, f"{origin}{base.id}", notes, parents, number=number)
    why, instruction = state["why"], state["instruction"]
    new = Round(number, draft, state["best"], tuple(state["aims"]), tuple(to_fix), why=why, instruction=instruction)
    stored = await off_loop(job.store.rounds.first, run=job.run.id, key=ordered(number)) if mending else None
    round_ = stored or new
    await job.keep_round(replace(round_, draft=draft, answers=(*round_.answers, *answers)))
    # What the reviser contests with words of the document is ruled on, each quote once.
    quotes = {answer.finding: answer.said for answer in answers if answer.became == "kept"}
    rulings = await off_loop(job.store.rulings.by, "finding", document=job.document.id)
    heard = {(ruling.finding, ruling.contested) for ruling in rulings.values()}
    contests = [
        (finding, quotes[finding.id])
        for finding in policy.findings_in(evaluations, list(quotes))
        if (finding.id, quotes[finding.id]) not in heard
    ]
    await _rule_on(state, job, contests, f"sentences that revision {number} kept", state["best"])
    return {"draft": draft, "round": number, "to_fix": to_fix}


async def _brief(
    state: State, job: Job, base: Draft, evaluations: Mapping[str, Evaluation], number: int, ids_to_fix: Sequence[str]
) -> RevisionRequest:
    """Return the request for a revision of a draft with these findings in view, with all that the reviser reads."""
    instruction = state["instruction"]
    instructions = (Finding(INSTRUCTION, "instruction", "change", instruction),) if instruction else ()
    findings, sorted_findings = policy.findings_in(evaluations, ids_to_fix), None
    if state["way"] == "edit" and not state["mending"]:
        chosen = {finding.id for finding in findings}
        other_ids = [finding.id for finding in policy.findings_of(evaluations) if finding.id not in chosen]
        sorted_findings = policy.DraftFindings.of(evaluations, job.refinement.goals, job.judges.aims, other_ids)
        findings = list(sorted_findings.points)
    reviser, rulings = job.reviser, await off_loop(job.store.rulings.by, "finding", document=job.document.id)
    # What a second look confirmed has the sentences that it quotes as evidence.
    for at, finding in enumerate(findings):
        ruling = rulings.get(finding.id)
        if ruling is not None and ruling.verdict == "contradicted" and ruling.start is not None:
            place = Span(ruling.start, ruling.end or ruling.start)
            evidence = await off_loop(reviser.reader.sentence, ruling.quote, [place])
            findings[at] = replace(finding, evidence=evidence)
    outline = await job.outliner.outline() if job.outliner else None
    inputs = ReviseInput(
        summary=base.text, points=[], words=job.revision_words, outline=outline_text(outline) if outline else None
    )
    request = RevisionRequest(inputs, (*findings, *instructions), number)
    if sorted_findings is not None:
        request = await _editor_notes(request, job, evaluations, sorted_findings, state["dropped"])
    briefed = await asyncio.to_thread(reviser.brief, request)
    if sorted_findings is not None and not request.levels and briefed.inputs.document is None:
        request = replace(request, levels=await _summarize_parts(job, reviser.reader.room // 2))
        briefed = await asyncio.to_thread(reviser.brief, request)
    if number == 1 and briefed.inputs.document is None and (request.findings or sorted_findings is not None):
        reads = "it reads summaries of the parts and the passages around the findings"
        advice = "if the model's window is larger, set its size"
        job.observe(Notice(f"the document does not fit the reviser's window, so {reads} ({advice})"))
    return briefed


async def _editor_notes(
    request: RevisionRequest,
    job: Job,
    evaluations: Mapping[str, Evaluation],
    findings: policy.DraftFindings,
    dropped: Sequence[str],
) -> RevisionRequest:
    """Return the request with an editor's notes on the draft, without the findings that a person has dropped."""
    # What the draft lacks comes first within a weight.
    must_know = policy.must_know_in(evaluations, dropped)
    must_know.sort(key=lambda item: (-item.weight, item.draft == "in full"))
    keep = evaluations[REVIEW].held if REVIEW in evaluations else ()
    coverage = evaluations.get("coverage")
    may_go: list[str] = []
    if coverage is not None and coverage.held:
        # Sentences that answer none of the document's questions, rightly or wrongly, and no request.
        needed, requests = {*coverage.held, *(finding.sentence for finding in coverage.findings)}, " ".join(keep)
        inner = list(await off_loop(sentences_in, request.inputs.summary))[1:-1]
        rest = [sentence for sentence in inner if sentence not in needed and not is_heading(sentence)]
        may_go = [sentence for sentence in rest if sentence not in requests]
    # The words where a reader stops, and the question.
    stops: list[str] = []
    for stop in findings.stops:
        words_of_draft = one_line(stop.found or stop.sentence, _LONGEST_STOP)
        question = one_line(stop.question or stop.explanation, _LONGEST_STOP)
        stops.append(f"“{words_of_draft}” {question}".strip() if words_of_draft else question)
    notes: dict[str, Any] = {"stops": stops, "may_go": may_go, "keep": list(keep)}
    notes |= {**dict(request.inputs), "must_know": must_know[: policy.MOST_NEEDED]}
    inputs, levels = EditInput(**notes), await off_loop(_merged_summaries, job)
    return replace(request, inputs=inputs, stops=findings.stops, missing=findings.missing, levels=levels)


def _merged_summaries(job: Job) -> PartSummaries:
    """Return the summaries of the document's parts that this run, or the latest one for the same question, was merged
    from; nothing without any."""
    runs, sought = job.store.runs, (job.run.settings.query, job.run.settings.language, MERGING, None)
    for run in chain([job.run], runs.newest(documents=[job.document.id])):
        settings, levels = run.settings, defaultdict[int, list[str]](list)
        if (settings.query, settings.language, settings.draft_strategy, settings.until) != sought:
            continue
        for piece in runs.pieces(run.id):
            levels[piece.level].append(piece.text)
        if len(levels[0]) > 1:
            return tuple(tuple(texts) for _, texts in sorted(levels.items()) if len(texts) > 1)
    return ()


async def _summarize_parts(job: Job, room: int) -> PartSummaries:
    """Summarize every part of a document that was never summarized, within `room` tokens in all. A part that the model
    declines is left out."""
    words = max(_LEAST_WORDS, min(_MOST_WORDS, int(room * LEVEL_RATIO / len(job.chunks) / _TOLERANCE)))
    job.observe(StageStarted("summarizing the parts of the document", len(job.chunks)))

    async def summarize(chunk: Chunk) -> str:
        label = f"part {chunk.index + 1}/{len(job.chunks)}"
        limit = min(words, max(_LEAST_WORDS, count_words(job.excerpt(chunk)) // 2))
        request = (job.excerpt(chunk), limit, label, int(limit * _TOLERANCE))
        try:
            part = await job.writer.summarize_chunk(*request, place=job.place(chunk), before=job.before(chunk))
        except (ReplyError, RejectedRequest):
            return ""
        return "" if job.writer.says_nothing(part.text) else part.text

    texts = await gather_all(summarize(chunk) for chunk in job.chunks if has_words(job.excerpt(chunk)))
    return (tuple(text for text in texts if text),)
