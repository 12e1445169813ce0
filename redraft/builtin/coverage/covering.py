"""Answering the document's questions from a summary, and comparing the answers with the document's own."""

from __future__ import annotations

from redraft.builtin.coverage.agreeing import differ
from redraft.builtin.coverage.finding import look_up
from redraft.builtin.forms import read_claim, read_question
from redraft.builtin.registry import answers
from redraft.builtin.source import Source
from redraft.builtin.wording import words
from redraft.prompts.judging import (
    ANSWER_FROM_SUMMARY,
    COMPARE_ANSWERS,
    UNANSWERABLE,
    AnswerFromSummaryGiven,
    CompareGiven,
    Comparison,
    Comparisons,
    Pair,
    SummaryAnswer,
    SummaryAnswers,
    Told,
)


@answers(ANSWER_FROM_SUMMARY)
def answer_from_summary(given: AnswerFromSummaryGiven) -> SummaryAnswers:
    """Each answer from the sentence that says most of what the question says."""
    told = [one for one in given.sentences if isinstance(one, Told)]
    kept = [one for one in told if words(one.sentence)]
    source = Source([statement.sentence for statement in kept], whole=True)
    answered: list[SummaryAnswer] = []
    for asked in given.questions:
        found = look_up(source, read_question(asked.question))
        answered.append(
            SummaryAnswer(id=asked.id, answer=found.answer, sentences=sorted(kept[line].id for line in found.lines))
            if found
            else SummaryAnswer(id=asked.id, answer=UNANSWERABLE, sentences=[])
        )
    return SummaryAnswers(answers=answered)


@answers(COMPARE_ANSWERS)
def compare_answers(given: CompareGiven) -> Comparisons:
    """Answers contradict each other when they have different numbers or names, or one denies what the other says."""
    return Comparisons(comparisons=[_compare(pair) for pair in given.pairs])


def _compare(pair: Pair) -> Comparison:
    # To the question whether a sentence is so, what the document has instead is the answer.
    other = f"The document has “{pair.document}”." if pair.document != pair.summary else ""
    reason = other if read_claim(pair.question) else differ(pair)
    return Comparison(
        id=pair.id,
        reason=reason or "Both say the same, or one says more.",
        verdict="contradicts" if reason else "agrees",
    )
