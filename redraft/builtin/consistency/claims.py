"""Questions about what the sentences of a summary claim, and which of them claim anything."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
from redraft.text.headings import is_heading
from redraft.text.wording import carries, words

_PLAIN, _MOST, _FEWEST_WORDS = 3, 5, 2
_ASKS = re.compile(r"\?[\"'”’»)\]*_]*\s*$")


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
    return [SummaryQuestion(question=ask_whether(text), answer=text, search="", importance=importance)]


def states(text: str, keys: Sequence[str]) -> bool:
    """Whether a sentence with these words says that something is so; headings, questions and scraps do not."""
    if len(keys) < _FEWEST_WORDS or not any(map(carries, keys)):
        return False
    return not is_heading(text) and not _ASKS.search(text)
