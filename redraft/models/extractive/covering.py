"""Answering the document's questions from a summary, and comparing the answers with the document's own."""

from __future__ import annotations

from redraft.models.extractive.details import details
from redraft.models.extractive.finding import look_up
from redraft.models.extractive.forms import read_question
from redraft.models.extractive.registry import answers
from redraft.models.extractive.source import Source
from redraft.models.extractive.wording import carries, is_negation, words
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
)

_SAME_SUBJECT = 0.5
_LONGEST_NAME_ANSWER = 8
_YES, _NO = frozenset(["yes", "true"]), frozenset(["no", "not", "false"])


@answers(ANSWER_FROM_SUMMARY)
def answer_from_summary(given: AnswerFromSummaryGiven) -> SummaryAnswers:
    """Each answer from the sentence that says most of what the question says."""
    kept = [statement for statement in given.sentences if words(statement.sentence)]
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
    reason = _difference(pair)
    return Comparison(
        id=pair.id,
        reason=reason or "Both say the same, or one says more.",
        verdict="contradicts" if reason else "agrees",
    )


def _difference(pair: Pair) -> str:
    document, summary = words(pair.document), words(pair.summary)
    of_document, of_summary = {word.key for word in document}, {word.key for word in summary}
    if not of_document or not of_summary or of_document <= of_summary or of_summary <= of_document:
        return ""
    for kind in ("number", "name"):
        here = _keys_of(pair.document, kind)
        there = _keys_of(pair.summary, kind)
        short = max(len(document), len(summary)) <= _LONGEST_NAME_ANSWER
        if here and there and not here & there and (short or kind == "number"):
            return f"The document has {pair.document}, the summary {pair.summary}."
    if (of_document & _YES and of_summary & _NO) or (of_document & _NO and of_summary & _YES):
        return "One says yes, the other no."
    shared = {key for key in of_document & of_summary if carries(key)}
    smaller = min(sum(map(carries, of_document)), sum(map(carries, of_summary)))
    denied = any(map(is_negation, of_document)) != any(map(is_negation, of_summary))
    if denied and len(shared) >= _SAME_SUBJECT * smaller:
        return "One denies what the other says."
    return ""


def _keys_of(text: str, kind: str) -> set[str]:
    found = words(text)
    return {
        word.key
        for detail in details(text, found)
        if detail.kind == kind
        for word in found[detail.first : detail.last + 1]
    }
