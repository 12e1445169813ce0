"""Questions about what the sentences of a summary claim."""

from __future__ import annotations

from redraft.builtin.consistency.statements import states
from redraft.builtin.details import details
from redraft.builtin.forms import ask_whether
from redraft.builtin.registry import answers
from redraft.prompts.judging import (
    ASK_SUMMARY,
    AskSummaryGiven,
    SentenceQuestions,
    SummaryQuestion,
    SummaryQuestions,
    Told,
)
from redraft.text.wording import words

_PLAIN, _MOST = 3, 5


@answers(ASK_SUMMARY)
def ask_summary(given: AskSummaryGiven) -> SummaryQuestions:
    """Whether each sentence is so that says something."""
    return SummaryQuestions(
        sentences=[
            SentenceQuestions(id=one.id, questions=_questions(one.sentence) if given.at_most else [])
            for one in given.sentences
            if isinstance(one, Told) and (not given.only or one.id in given.only)
        ]
    )


def _questions(sentence: str) -> list[SummaryQuestion]:
    text = " ".join(sentence.split())
    found = words(text)
    if not states(text, [word.key for word in found]):
        return []
    # Names and numbers are easily wrong.
    importance = min(_MOST, _PLAIN + sum(detail.sure for detail in details(text, found)))
    return [SummaryQuestion(question=ask_whether(text), answer=text, importance=importance)]
