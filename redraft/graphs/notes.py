"""What an editor is told of a draft: where a reader stops, what a reader must know and how far the draft has it, and
what may go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from redraft.agents.judge import gather_all
from redraft.agents.reviser import RevisionRequest
from redraft.domain import REVIEW, Chunk, Evaluation
from redraft.errors import RejectedRequest, ReplyError
from redraft.events import StageStarted
from redraft.graphs.job import Job
from redraft.graphs.policy import DraftFindings, findings_of
from redraft.prompts.revision import DraftHas, EditInput, MustKnow
from redraft.settings import LEVEL_RATIO, MERGING
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading, sentences_in
from redraft.text.words import count_words, has_words

PartSummaries = tuple[tuple[str, ...], ...]
"""The summaries of a document's parts by level, lowest first."""
# With more to say, a text of any length is crammed.
MOST_NEEDED = 12
# The words of the summary of a part.
_LEAST_WORDS, _MOST_WORDS = 30, 200
_LONGEST_STOP = 400
# Nobody reads these summaries but the editor: one that is a little long is not asked for again.
_TOLERANCE = 1.1
# The weight of what a metric without weights misses.
_USUAL_WEIGHT = 2
_DRAFT_HAS: Mapping[str, DraftHas] = {
    "answered": "in full",
    "partly answered": "in part",
    "unanswered": "not at all",
    "contradicted": "wrongly",
}


async def editor_notes(
    request: RevisionRequest,
    job: Job,
    evaluations: Mapping[str, Evaluation],
    findings: DraftFindings,
    dropped: Sequence[str],
) -> RevisionRequest:
    """Return the request with an editor's notes on the draft, without the findings that a person has dropped."""
    # What the draft lacks comes first within a weight.
    must_know = sorted(must_know_in(evaluations, dropped), key=lambda item: (-item.weight, item.draft == "in full"))
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
    notes: dict[str, Any] = {"stops": stops, "must_know": must_know[:MOST_NEEDED], "may_go": may_go, "keep": list(keep)}
    inputs, levels = EditInput(**{**dict(request.inputs), **notes}), await _merged_summaries(job)
    return replace(request, inputs=inputs, stops=findings.stops, missing=findings.missing, levels=levels)


async def _merged_summaries(job: Job) -> PartSummaries:
    """Return the summaries of the document's parts that this run, or an earlier one for the same question, was merged
    from; nothing without any."""
    settings = job.run.settings

    def is_merged(run: Run) -> bool:
        same = (run.settings.query, run.settings.language) == (settings.query, settings.language)
        return same and run.settings.draft_strategy == MERGING and run.settings.until is None

    runs = await off_loop(partial(job.store.runs.latest, 1, documents=[job.document.id], wanted=is_merged))
    for run in filter(is_merged, [job.run, *runs]):
        levels: dict[int, list[str]] = {}
        for piece in await off_loop(job.store.runs.pieces, run.id):
            levels.setdefault(piece.level, []).append(piece.text)
        if len(levels.get(0, ())) > 1:
            return tuple(tuple(texts) for _, texts in sorted(levels.items()) if len(texts) > 1)
    return ()


async def summarize_parts(job: Job, room: int) -> PartSummaries:
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


def must_know_in(evaluations: Mapping[str, Evaluation], dropped: Sequence[str] = ()) -> list[MustKnow]:
    """Return what a reader must come away with, and how far a draft has it: the document's questions, and what other
    metrics miss, weightiest first. The findings in `dropped`, by id, do not count."""
    coverage = evaluations.get("coverage")
    questions: Any = coverage.details.get("questions", ()) if coverage else ()
    findings = {finding.question: finding for finding in coverage.findings} if coverage else {}
    # A missing key sentence has no question.
    not_asked = {finding.question or finding.expected for finding in findings_of(evaluations) if finding.id in dropped}
    items = [
        MustKnow(
            weight=item["weight"],
            draft=_DRAFT_HAS.get(item["verdict"], ""),
            question=item["question"],
            answer=item["expected"],
            lacks=finding.missing if finding else "",
            quote=finding.evidence.text if finding and finding.evidence else "",
        )
        for item in questions
        for finding in [findings.get(item["question"])]
        if not not_asked & {item["question"], item["expected"]}
    ]
    questions_listed = {item.question for item in items}
    missing = [finding for finding in findings_of(evaluations) if finding.task == "add" and finding.answer]
    items += [
        MustKnow(
            weight=_USUAL_WEIGHT,
            draft="not at all",
            question=finding.question,
            answer=finding.answer,
            quote=finding.evidence.text if finding.evidence else "",
        )
        for finding in missing
        if finding.question not in questions_listed and finding.id not in dropped
    ]
    return sorted(items, key=lambda item: -item.weight)
