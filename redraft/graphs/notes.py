"""What an editor is told of a draft: where a reader stops, what a reader must know and how far the draft has it, and
what may go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redraft.agents.reviser import EditNotes
from redraft.domain import REVIEW, Draft, Evaluation
from redraft.graphs.job import Job
from redraft.graphs.policy import DraftFindings, findings_of
from redraft.prompts.revision import DraftHas, MustKnow
from redraft.store.connection import off_loop
from redraft.text.sentences import is_heading, sentences_in

# The weight of what a metric without weights misses.
_USUAL_WEIGHT = 2
_DRAFT_HAS: Mapping[str, DraftHas] = {
    "answered": "in full",
    "partly answered": "in part",
    "unanswered": "not at all",
    "contradicted": "wrongly",
}


async def editor_notes(
    base: Draft, job: Job, judged: Mapping[str, Evaluation], findings: DraftFindings, dropped: Sequence[str]
) -> EditNotes:
    """Return an editor's notes on a draft, without the findings that a person has dropped."""
    return EditNotes(
        stops=findings.stops,
        must_know=tuple(must_know_in(judged, dropped)),
        missing=findings.missing,
        may_go=tuple(await off_loop(_needless, base.text, judged)),
        keep=judged[REVIEW].held if REVIEW in judged else (),
        parts=await job.part_summaries(),
    )


def must_know_in(judged: Mapping[str, Evaluation], dropped: Sequence[str] = ()) -> list[MustKnow]:
    """Return what a reader must come away with, weightiest first, and how far a draft has it: the document's questions,
    or else what other metrics miss. The findings in `dropped`, by id, do not count."""
    coverage = judged.get("coverage")
    questions: Any = coverage.details.get("questions", ()) if coverage else ()
    dropped_questions = {finding.question for finding in findings_of(judged) if finding.id in dropped}
    quotes = {finding.question: finding.evidence.text for finding in findings_of(judged) if finding.evidence}
    items = [
        MustKnow(
            weight=item["weight"],
            draft=_DRAFT_HAS.get(item["verdict"], ""),
            question=item["question"],
            answer=item["expected"],
            quote=quotes.get(item["question"], ""),
        )
        for item in questions
        if item["question"] not in dropped_questions
    ]
    if not items:
        missing = [finding for finding in findings_of(judged) if finding.task == "add" and finding.answer]
        missing = [finding for finding in missing if finding.id not in dropped]
        items = [
            MustKnow(weight=_USUAL_WEIGHT, draft="not at all", question=finding.question, answer=finding.answer)
            for finding in missing
        ]
    return sorted(items, key=lambda item: -item.weight)


def _needless(text: str, judged: Mapping[str, Evaluation]) -> list[str]:
    """Return the sentences of a draft that answer none of the document's questions."""
    coverage = judged.get("coverage")
    if coverage is None or not coverage.held:
        return []
    return [sentence for sentence in sentences_in(text) if sentence not in coverage.held and not is_heading(sentence)]
