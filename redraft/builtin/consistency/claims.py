"""Questions about what the sentences of a summary claim."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from redraft.builtin.consistency.statements import states
from redraft.builtin.details import Detail, details
from redraft.builtin.forms import Claim, ask_whether, read_claim
from redraft.builtin.registry import answers
from redraft.builtin.wording import DAYS, MONTHS, Word, carries, words
from redraft.prompts.judging import (
    ASK_SUMMARY,
    AskSummaryGiven,
    Kind,
    SentenceQuestions,
    SummaryQuestion,
    SummaryQuestions,
    Told,
)

# How long a part of a sentence is that a question asks about: about a clause.
_WORDS_PER_QUESTION = 10
_REACH = 3
_PLAIN, _MOST = 3, 5


@answers(ASK_SUMMARY)
def ask_summary(given: AskSummaryGiven) -> SummaryQuestions:
    """Whether each sentence is true, part by part, so that all that it says is asked about just once."""
    return SummaryQuestions(
        sentences=[
            SentenceQuestions(id=one.id, questions=_questions(one.sentence, given.at_most))
            for one in given.sentences
            if isinstance(one, Told) and (not given.only or one.id in given.only)
        ]
    )


def _questions(sentence: str, at_most: int) -> list[SummaryQuestion]:
    text = " ".join(sentence.split())
    found = words(text)
    if at_most < 1 or not states(text, [word.key for word in found]):
        return []
    known = [detail for detail in details(text, found) if detail.sure]
    count = min(at_most, max(1, round(len(found) / _WORDS_PER_QUESTION)))
    ends = [_cut_near(text, found, known, len(found) * part // count) for part in range(1, count)]
    bounds = [0, *sorted(set(ends)), len(found)]
    asked: list[SummaryQuestion] = []
    for first, end in pairwise(bounds):
        claim = Claim(text, found, first, end)
        kind, importance = _weigh([detail for detail in known if first <= detail.first < end], found)
        question = ask_whether(claim)
        # Brackets within the part are put otherwise in the question, and so in the answer.
        read = read_claim(question) or claim
        asked.append(SummaryQuestion(question=question, kind=kind, answer=read.asked, importance=importance))
    return asked


def _cut_near(text: str, of: Sequence[Word], known: Sequence[Detail], ideal: int) -> int:
    """Where a part of a sentence best ends: behind a mark or before a little word, and never within a name."""
    barred = {at for detail in known for at in range(detail.first + 1, detail.last + 1)}
    free = [
        at
        for at in range(max(1, ideal - _REACH), min(len(of), ideal + _REACH + 1))
        if at not in barred and of[at].start > of[at - 1].start
    ]

    def strain(at: int) -> int:
        between = text[of[at - 1].end : of[at].start]
        turn = carries(of[at - 1].key) and not carries(of[at].key)
        return abs(at - ideal) - (_REACH if between.strip() else 0) - turn

    return min(free, key=strain, default=ideal)


def _weigh(known: Sequence[Detail], of: Sequence[Word]) -> tuple[Kind, int]:
    """What a part of a sentence is about, and how much hangs on it: names and numbers are easily wrong."""
    importance = min(_MOST, _PLAIN + len(known))
    numbers = {of[at].key for detail in known if detail.kind == "number" for at in range(detail.first, detail.last + 1)}
    if numbers & (MONTHS | DAYS):
        return "when", importance
    if any(detail.kind == "name" for detail in known):
        return "who", importance
    return ("how" if numbers else "what"), importance
