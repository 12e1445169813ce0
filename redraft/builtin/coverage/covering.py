"""Answering the document's questions from a summary, and comparing the answers with the document's own."""

from __future__ import annotations

from redraft.builtin.coverage.agreeing import differ
from redraft.builtin.coverage.finding import look_up, silence
from redraft.builtin.forms import read_claim, read_question
from redraft.builtin.registry import answers
from redraft.builtin.source import Source
from redraft.prompts.contract import UNSURE
from redraft.prompts.judging import (
    ANSWER_FROM_SUMMARY,
    COMPARE_ANSWERS,
    AnswerFromSummaryGiven,
    CompareGiven,
    Comparison,
    Comparisons,
    Pair,
    SummaryAnswer,
    SummaryAnswers,
    Told,
)
from redraft.text.wording import words

# Which share of a summary's sentences the document has in nearly the same words.
_MADE_OF_QUOTATIONS = 0.8


@answers(ANSWER_FROM_SUMMARY)
def answer_from_summary(given: AnswerFromSummaryGiven) -> SummaryAnswers:
    """Each answer from the sentence that says most of what the question says.

    That there is none is said only of a summary of the kind that can be read here, which is made of quotations, and of
    questions that can be: what is put in other words may be an answer all the same. Nor is it said who it was where
    only some of what is asked is said of somebody: "chairman and treasurer" is not "clerk and treasurer".
    """
    told = [one for one in given.sentences if isinstance(one, Told)]
    kept = [one for one in told if words(one.sentence)]
    source = Source([statement.sentence for statement in kept], whole=True)
    readable = sum(one.quoted for one in kept) >= _MADE_OF_QUOTATIONS * len(kept)
    answered: list[SummaryAnswer] = []
    for asked in given.questions:
        sought = read_question(asked.question)
        found = look_up(source, sought)
        if found and (found.is_whole or sought.asks != "who"):
            said = sorted(kept[line].id for line in found.lines)
            answered.append(SummaryAnswer(id=asked.id, sentences=said, answered=True, answer=found.answer))
        else:
            silent = silence(sought) if readable and not found else UNSURE
            answered.append(SummaryAnswer(id=asked.id, sentences=[], answered=silent, answer=""))
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
