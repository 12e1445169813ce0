"""Questions about a document, for its pack."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from redraft.models.extractive.details import TITLES, Detail, details
from redraft.models.extractive.finding import look_up
from redraft.models.extractive.forms import ask_for_gap, read_question
from redraft.models.extractive.grammar import acts, first_clause, reason_in, subject_of, time_in, within_sentence
from redraft.models.extractive.lexicon import FIRST_PERSON, PERSONAL, SECOND_PERSON
from redraft.models.extractive.prose import LAST_RESORT, finish, plain, read
from redraft.models.extractive.registry import answers
from redraft.models.extractive.source import Source
from redraft.models.extractive.wording import DAYS, MONTHS, carries, keys, words
from redraft.prompts.judging import (
    ASK_DOCUMENT,
    RANK_QUESTIONS,
    AskDocumentGiven,
    DocumentQuestion,
    DocumentQuestions,
    Kind,
    RankGiven,
    Ranking,
)
from redraft.text.ranking import DUPLICATE, rank
from redraft.text.sentences import sentences
from redraft.text.vectors import SentenceVectors
from redraft.text.words import count_words

_ADRIFT = 0.1
# A pronoun before any name has to be guessed at; so has who speaks to whom in direct speech.
_VAGUE = 0.3
_SPOKEN = 0.02
_FEWEST_WORDS, _MOST_WORDS = 6, 60
_LONGEST_QUESTION = 30
_LONGEST_VERB = 20
_FEWEST_TELLING = 3
_SPOKEN_OR_ASIDE = re.compile(r"[\"“”«»「」()\[\]?]|(?<!\w)['‘]\w")
_POINTS = re.compile(r"\b(?:it|him|them|hers|theirs|this|these|those|that[.,;])(?!\w)", re.IGNORECASE)


class _Told(NamedTuple):
    """A sentence of the excerpt: as it stands there, on one line, where it is, and what it is worth asking about."""

    quote: str
    text: str
    place: float
    worth: float
    clear: bool
    """Nothing in it has to be guessed at."""


@answers(ASK_DOCUMENT)
def ask_document(given: AskDocumentGiven) -> DocumentQuestions:
    """Questions on the sentences that matter most, from all stretches of the excerpt."""
    return DocumentQuestions(questions=_Asker(given.excerpt).ask(given.count))


@answers(RANK_QUESTIONS)
def rank_questions(given: RankGiven) -> Ranking:
    """The most central first; what asks for the same as a better one comes last."""
    vectors = SentenceVectors([f"{candidate.question} {candidate.answer}" for candidate in given.candidates])
    order = np.argsort(-rank(vectors), kind="stable")
    taken: set[int] = set()
    first: list[int] = []
    repeated: list[int] = []
    for at in map(int, order):
        near, same = vectors.neighbours(at)
        alike = {int(index) for index, how in zip(near, same, strict=True) if how >= DUPLICATE}
        (repeated if alike & taken else first).append(at)
        taken.add(at)
    return Ranking(order=[given.candidates[at].id for at in first + repeated])


class _Asker:
    """Asks about one excerpt; keeps what it has asked, so that the kinds of questions are mixed."""

    def __init__(self, excerpt: str) -> None:
        self._told = _told(excerpt)
        self._source = Source([sentence.text for sentence in self._told], whole=True)
        self._names, self._people = _names(self._told), _people(excerpt)
        self._kinds: Counter[Kind] = Counter()
        self._asked: list[tuple[float, DocumentQuestion]] = []
        self._more: list[tuple[float, DocumentQuestion]] = []

    def ask(self, count: int) -> list[DocumentQuestion]:
        """One question for each of `count` stretches, where they have one; the most important question first.

        Where there are too few sentences for that, some are asked about twice.
        """
        stretches: list[list[_Told]] = [[] for _ in range(max(1, count))]
        for sentence in self._told:
            if sentence.clear:
                stretches[int(sentence.place * len(stretches))].append(sentence)
        spare = [sentence for stretch in stretches for sentence in self._ask_one(stretch, count)]
        spare += [sentence for sentence in self._told if not sentence.clear]
        while spare and len(self._asked) < count:
            spare = self._ask_one(spare, count)
        self._more.sort(key=lambda more: -more[0])
        self._asked += self._more[: max(0, count - len(self._asked))]
        self._asked.sort(key=lambda asked: -asked[0])
        return [question for _, question in self._asked]

    def _ask_one(self, told: Sequence[_Told], count: int) -> list[_Told]:
        """Ask about the best sentence that gives a question; returns those not tried."""
        ranked = sorted(told, key=lambda sentence: -sentence.worth)
        if len(self._asked) >= count:
            return []
        for at, sentence in enumerate(ranked):
            fit = [question for question in self._questions(sentence) if self._is_answered(question)]
            if fit:
                best = min(fit, key=lambda question: self._kinds[question.kind])
                self._kinds[best.kind] += 1
                self._asked.append((sentence.worth, best))
                self._more += [(sentence.worth, other) for other in fit if not _same(other, best)][:1]
                return ranked[at + 1 :]
        return []

    def _is_answered(self, question: DocumentQuestion) -> bool:
        """Whether the question is of a readable length, and the excerpt gives just the answer that is meant."""
        sought = read_question(question.question)
        if count_words(question.question) > _LONGEST_QUESTION or sum(map(carries, sought.keys)) < _FEWEST_TELLING:
            return False
        found = look_up(self._source, sought)
        return found is not None and set(keys(found.answer)) <= set(keys(question.answer))

    def _questions(self, sentence: _Told) -> Iterator[DocumentQuestion]:
        """The questions that can be asked about a sentence, the most natural first."""
        for part in (reason_in(sentence.text), time_in(sentence.text)):
            if part:
                asks = "Why was it that" if part.kind == "why" else "When was it that"
                clause = within_sentence(first_clause(part.rest), named=self._begins_with_name(part.rest))
                yield _question(f"{asks} {clause}?", part.kind, part.answer, sentence)
        text = first_clause(sentence.text)
        if parts := subject_of(text):
            subject, rest = parts
            kind: Kind = "who" if self._is_person(subject) else "what"
            yield _question(f"{kind.capitalize()} {rest}?", kind, subject, sentence)
        for detail in self._details(text):
            if 2 * (detail.end - detail.start) < len(text):
                kind = self._kind_of(text, detail)
                yield _question(ask_for_gap(text, detail), kind, text[detail.start : detail.end], sentence)

    def _details(self, text: str) -> list[Detail]:
        """The names and numbers of a sentence, without what has its capital only from standing at the beginning."""
        return [
            detail
            for detail in details(text, words(text))
            if detail.kind == "number"
            or detail.first < detail.last
            or detail.start > 0
            or self._names.issuperset(keys(text[: detail.end]))
        ]

    def _begins_with_name(self, text: str) -> bool:
        return any(detail.kind == "name" and detail.start == 0 for detail in self._details(text))

    def _is_person(self, name: str) -> bool:
        return name[:1].isupper() and bool(self._people & set(keys(name))) and name.split()[0].lower() != "the"

    def _kind_of(self, text: str, detail: Detail) -> Kind:
        own = text[detail.start : detail.end]
        if detail.kind == "number":
            return "when" if set(keys(own)) & (MONTHS | DAYS) else "how"
        if self._is_person(own):
            return "who"
        before = text[: detail.start].split()[-1:]
        return "where" if before and before[0].lower() in ("in", "at", "to", "from", "near", "of") else "what"


def _question(question: str, kind: Kind, answer: str, sentence: _Told) -> DocumentQuestion:
    return DocumentQuestion(question=question, kind=kind, answer=answer, quote=sentence.quote)


def _same(one: DocumentQuestion, other: DocumentQuestion) -> bool:
    return bool(set(keys(one.answer)) & set(keys(other.answer)))


def _told(excerpt: str) -> list[_Told]:
    """The sentences of the excerpt that can be asked about."""
    judged = {sentence.text: sentence for sentence in read([excerpt])}
    if not judged:
        return []
    ranks = dict(zip(judged, rank(SentenceVectors(list(judged))), strict=True))
    told: list[_Told] = []
    for span in sentences(excerpt):
        quote = excerpt[span.start : span.end]
        text = finish(plain(quote))
        sentence = judged.get(text)
        if sentence and sentence.standing > LAST_RESORT and _FEWEST_WORDS <= sentence.words <= _MOST_WORDS:
            clearness = _clearness(text) * (_ADRIFT if sentence.leans else 1)
            worth = float(ranks[text]) * sentence.standing * clearness
            told.append(_Told(quote, text, span.start / len(excerpt), worth, clearness == 1))
    return told


def _clearness(text: str) -> float:
    """How well a question made of a sentence would be understood by somebody who has only the question: 1 is best."""
    pointing = PERSONAL.search(text)
    named = next((detail.start for detail in details(text, words(text)) if detail.kind == "name"), len(text))
    drawbacks = (
        pointing and pointing.start() < named,
        _POINTS.search(text),
        FIRST_PERSON.search(text) or SECOND_PERSON.search(text),
    )
    return float(_VAGUE ** sum(map(bool, drawbacks))) * (_SPOKEN if _SPOKEN_OR_ASIDE.search(text) else 1.0)


def _names(told: Sequence[_Told]) -> set[str]:
    """The words of names that stand within sentences."""
    return {
        key
        for sentence in told
        for detail in details(sentence.text, words(sentence.text))
        if detail.kind == "name" and detail.start > 0 and detail.sure
        for key in keys(sentence.text[detail.start : detail.end])
    }


def _people(excerpt: str) -> set[str]:
    """The names of those who speak, think, come and go."""
    found = words(excerpt)
    people: set[str] = set()
    for detail in details(excerpt, found):
        own = {word.key for word in found[detail.first : detail.last + 1]}
        before = excerpt[found[detail.first - 1].start : found[detail.first - 1].end] if detail.first else ""
        behind = excerpt[detail.end : detail.end + _LONGEST_VERB].split()[:1]
        if detail.kind == "name" and (own & TITLES or (behind and acts(before, behind[0]))):
            people |= own - TITLES
    return people
