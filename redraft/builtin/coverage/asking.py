"""Questions about a document, for its pack: about the sentences that a summary of it would hold."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from statistics import fmean
from typing import NamedTuple

from redraft.builtin.cast import Cast
from redraft.builtin.consistency.families import family
from redraft.builtin.coverage.finding import look_up
from redraft.builtin.coverage.phrasing import Asking, questions_about
from redraft.builtin.details import details
from redraft.builtin.forms import ask_for_gap, read_question
from redraft.builtin.lexicon import GESTURE
from redraft.builtin.origin import origin_of
from redraft.builtin.prose import finish, first_clause, plain
from redraft.builtin.registry import answers
from redraft.builtin.source import Source
from redraft.prompts.judging import (
    ASK_DOCUMENT,
    RANK_QUESTIONS,
    AskDocumentGiven,
    DocumentQuestion,
    DocumentQuestions,
    RankGiven,
    Ranking,
)
from redraft.text.ranking import DUPLICATE, rank
from redraft.text.sentences import sentences
from redraft.text.vectors import SentenceVectors
from redraft.text.wording import carries, keys, words
from redraft.text.words import count_words

# A question about a part, or a sentence, that has been asked about is worth so much less each time.
_AGAIN_PART, _AGAIN_SENTENCE = 0.6, 0.3
_QUESTIONS_A_PART = 2
# How far it counts that a sentence is central, and that what it speaks of is spoken of again and again: chosen by what
# people's summaries of other stories hold.
_WORTH_POWER, _ECHO_POWER, _BLOCK = 0.5, 4.0, 40
_FEWEST_WORDS = 8
_LONGEST_GAP, _FEWEST_TELLING, _FEWEST_SAID = 30, 3, 2
_GAP, _GESTURE = 0.1, 0.2
_IS_GAP = re.compile(r"_{2,}")
_BODY = re.compile(r"\b(?:hands?|legs?|feet|foot|knees?|hair|chin|nose|eyes|teeth)\b")


@answers(ASK_DOCUMENT)
def ask_document(given: AskDocumentGiven) -> DocumentQuestions:
    """Questions on the sentences that matter most, from all stretches of the excerpt."""
    left = list(_candidates(given.excerpt))
    source = Source([quote for _, quote in _quoted(given.excerpt)], whole=True) if left else Source([])
    parts = max(1, given.count // _QUESTIONS_A_PART)
    asked: list[_Candidate] = []
    crowds: Counter[int] = Counter()
    quotes: Counter[str] = Counter()
    while left and len(asked) < given.count:
        best = max(
            left,
            key=lambda one: (
                one.worth
                * _AGAIN_PART ** crowds[int(one.place * parts)]
                * _AGAIN_SENTENCE ** quotes[one.question.quote]
            ),
        )
        left.remove(best)
        again = any(best.question.question == one.question.question or best.says == one.says for one in asked)
        if again or not _is_answered(source, best.question):
            continue
        asked.append(best)
        crowds[int(best.place * parts)] += 1
        quotes[best.question.quote] += 1
    asked.sort(key=lambda one: -one.worth)
    return DocumentQuestions(questions=[one.question for one in asked])


@answers(RANK_QUESTIONS)
def rank_questions(given: RankGiven) -> Ranking:
    """What the others speak of too first; gestures, what has a gap, and repetitions last."""
    vectors = SentenceVectors([f"{candidate.question} {candidate.answer}" for candidate in given.candidates])
    central = rank(vectors)
    worth = [float(central[at]) * _form(one.question) for at, one in enumerate(given.candidates)]
    first, repeated = list[int](), list[int]()
    for best in sorted(range(len(worth)), key=lambda at: (-worth[at], at)):
        near, same = vectors.neighbours(best)
        alike = {int(index) for index, how in zip(near, same, strict=True) if how >= DUPLICATE}
        (repeated if alike & set(first) else first).append(best)
    return Ranking(order=[given.candidates[at].id for at in first + repeated])


def _form(question: str) -> float:
    """What a question is worth by what it asks for, and how."""
    if _IS_GAP.search(question):
        return _GAP
    return _GESTURE if GESTURE.search(question) or _BODY.search(question) else 1.0


class _Echo:
    """How often a text comes back to what it speaks of: what a story is about is all through it."""

    def __init__(self, excerpt: str) -> None:
        found = [family(word.key) for word in words(excerpt)]
        self._blocks = Counter(one for at in range(0, len(found), _BLOCK) for one in set(found[at : at + _BLOCK]))

    def of(self, text: str) -> float:
        """The mean logarithm of in how many stretches the telling words of a text stand."""
        told = {family(key) for key in keys(text) if carries(key)}
        return fmean(math.log1p(self._blocks[one]) for one in told) if told else 0.0


def _is_answered(source: Source, question: DocumentQuestion) -> bool:
    """Whether the excerpt gives the answer that is meant to whoever goes by words."""
    found = look_up(source, read_question(question.question))
    meant = set(filter(carries, keys(question.answer)))
    return found is not None and bool(meant & set(keys(found.answer)) or not meant)


class _Candidate(NamedTuple):
    """A question that can be asked, what it is worth to ask it, and where in the excerpt it is about."""

    question: DocumentQuestion
    worth: float
    place: float
    says: frozenset[str]
    """The words of the question and of its answer."""


def _candidates(excerpt: str) -> Iterator[_Candidate]:
    """The questions about the sentences that are understood by themselves."""
    origin = origin_of([excerpt])
    quotes = {finish(plain(quote)): (quote, start) for start, quote in _quoted(excerpt)}
    echo = _Echo(excerpt)
    for at, one in origin.alone():
        text = origin.lines[at].text
        if text not in quotes or one.words < _FEWEST_WORDS:
            continue
        quote, start = quotes[text]
        told_there = " ".join(quote.split())
        about = questions_about(one.unmarked, partial(_is_person, origin.cast))
        asked = [one for one in about if one.answer.strip(" .") in told_there and _is_telling(one)]
        for asking in asked or _gaps(text):
            says = f"{asking.question} {asking.answer}"
            yield _Candidate(
                DocumentQuestion(question=asking.question, kind=asking.kind, answer=asking.answer, quote=quote),
                origin.worth_of(at) ** _WORTH_POWER * echo.of(says) ** _ECHO_POWER * _form(says),
                start / len(excerpt),
                frozenset(filter(carries, keys(says))),
            )


def _is_telling(asking: Asking) -> bool:
    """Whether a question says enough, besides names, for the place to be found that it is about."""
    sought = read_question(asking.question)
    said = {key for key in sought.keys if carries(key) and key not in sought.names}
    return len(said) >= _FEWEST_SAID


def _quoted(excerpt: str) -> Iterator[tuple[int, str]]:
    for span in sentences(excerpt):
        yield span.start, excerpt[span.start : span.end]


def _is_person(cast: Cast, name: str) -> bool:
    """Whether all of a phrase is somebody's name."""
    named = cast.mentions(f"{name} .")
    return bool(named) and named[0].end - named[0].start >= len(name) - 1


def _gaps(text: str) -> Iterator[Asking]:
    """A sentence that cannot be put as a question in good English, without one of its names or numbers."""
    text = first_clause(text)
    for detail in details(text, words(text)):
        asked = ask_for_gap(text, detail)
        telling = sum(map(carries, keys(asked))) >= _FEWEST_TELLING
        if 2 * (detail.end - detail.start) < len(text) and telling and count_words(asked) <= _LONGEST_GAP:
            yield Asking(asked, "how" if detail.kind == "number" else "who", text[detail.start : detail.end])
