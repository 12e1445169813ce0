"""Questions about a document, for its pack."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from redraft.builtin.concepts import concept, concepts, weight
from redraft.builtin.coverage.agreeing import differ
from redraft.builtin.coverage.clauses import take_apart
from redraft.builtin.coverage.finding import look_up
from redraft.builtin.coverage.importance import importance
from redraft.builtin.coverage.phrasing import questions_about
from redraft.builtin.coverage.relating import related, said_of
from redraft.builtin.coverage.telling import Echo, Told, names_in, parts_of, people_in, told_in
from redraft.builtin.details import Detail, details
from redraft.builtin.forms import ask_for_gap, ask_for_relation, read_question
from redraft.builtin.grammar import first_clause
from redraft.builtin.lexicon import GESTURE
from redraft.builtin.prose import finish
from redraft.builtin.registry import answers
from redraft.builtin.source import Source
from redraft.builtin.verbs import EVENTS, GESTURES, plain_form
from redraft.builtin.wording import DAYS, MONTHS, carries, keys, words
from redraft.prompts.judging import (
    ASK_DOCUMENT,
    RANK_QUESTIONS,
    AskDocumentGiven,
    DocumentQuestion,
    DocumentQuestions,
    Kind,
    Pair,
    RankGiven,
    Ranking,
)
from redraft.text.ranking import DUPLICATE, rank
from redraft.text.sentences import sentences
from redraft.text.vectors import SentenceVectors
from redraft.text.words import count_words

_LONGEST_QUESTION, _LONGEST_GAP = 18, 30
# A question of a kind, or about a part, that has been asked about is worth so much less each time.
_AGAIN_KIND, _AGAIN_FORM, _AGAIN_PART = 0.6, 0.85, 0.6
_EVENT, _GESTURE = 2.0, 0.3
_QUESTIONS_A_PART = 2
# How often a question may turn out not to be answered, for each that is wanted.
_TRIES = 12
_SAME = 0.6
_FEWEST_MENTIONS = 3
_LEAST_SAID = 1.7
_MATTERS = 0.9
# What a sentence says besides what else it is asked for.
_TOLD_IN_PASSING = frozenset(["form identity"])
_WORTH_POWER = 0.4
_RANK_POWER = 0.5
_IN_PASSING = 0.05
# A question in which nobody is named.
_NOBODY = 0.4
_BEGINS_WITH_PRONOUN = re.compile(r"(?:He|She)\b")
# Who is meant by a pronoun has to be found out first, and a sentence that begins with one is of less use elsewhere.
_BY_PRONOUN = 0.7
_LONGEST_QUOTE = 450
_BODY = re.compile(
    r"\b(?:eyes?|faces?|heads?|shoulders?|lips?|mouth|voices?|fingers?|arms?|throat|cheeks?|breath|smiles?|legs?|foot|feet"
    r"|knees?|hands?|chin|hair|skin|nose|ears?|chest|elbows?|brow|teeth|tongue|heart|pulse|muscles?|toes?|thumbs?|back)\b",
    re.IGNORECASE,
)
_FEWEST_TELLING = 3


@answers(ASK_DOCUMENT)
def ask_document(given: AskDocumentGiven) -> DocumentQuestions:
    """Questions on the sentences that matter most, from all stretches of the excerpt."""
    return DocumentQuestions(questions=_Asker(given.excerpt).ask(given.count))


@answers(RANK_QUESTIONS)
def rank_questions(given: RankGiven) -> Ranking:
    """What asks for causes and outcomes, and for what the others speak of too, first; repetitions last.

    The more questions of a kind come before, the later comes the next.
    """
    vectors = SentenceVectors([f"{candidate.question} {candidate.answer}" for candidate in given.candidates])
    central = rank(vectors) ** _RANK_POWER
    worth = [importance(one.question) * float(central[at]) for at, one in enumerate(given.candidates)]
    left, first, repeated = set(range(len(worth))), list[int](), list[int]()
    sorts = [_sorts(one.question) for one in given.candidates]
    asked: Counter[str] = Counter()
    while left:
        best = max(left, key=lambda at: (worth[at] * _again(sorts[at], asked), -at))
        left.remove(best)
        near, same = vectors.neighbours(best)
        alike = {int(index) for index, how in zip(near, same, strict=True) if how >= DUPLICATE}
        if alike & set(first):
            repeated.append(best)
        else:
            first.append(best)
            asked.update(sorts[best])
    return Ranking(order=[given.candidates[at].id for at in first + repeated])


class _Candidate(NamedTuple):
    """A question that can be asked, and what it is worth to ask it."""

    question: DocumentQuestion
    worth: float
    place: float
    asks_of: frozenset[str]
    """What its words and those of its answer stand for."""
    matters: bool
    """It asks for more than how somebody moves or looks."""
    sorts: tuple[str, str]
    """Which word it asks with, and in which form."""


class _Asker:
    """Asks about one excerpt; keeps what it has asked, so that the questions are of all kinds and from all parts."""

    def __init__(self, excerpt: str) -> None:
        self._excerpt = excerpt
        self._told = told_in(excerpt)
        self._source = Source([excerpt[span.start : span.end] for span in sentences(excerpt)], whole=True)
        self._names, self._people = names_in(self._told), people_in(excerpt)
        self._mentions = Counter(word.key for word in words(excerpt))
        self._echo = Echo(excerpt)
        self._kinds: Counter[str] = Counter()
        self._asked: list[_Candidate] = []

    def ask(self, count: int) -> list[DocumentQuestion]:
        """At most `count` questions, the most important first."""
        if count < 1:
            return []
        left = [*self._candidates(), *self._relations()]
        self._take([one for one in left if one.matters], count)
        self._take([one for one in left if not one.matters], count)
        self._take(left, count, again=True)
        if len(self._asked) < count:  # what cannot be put as a question in good English leaves a gap to fill
            gaps = [candidate for sentence in self._told for candidate in self._gaps(sentence)]
            self._take([*gaps], count)
            self._take(gaps, count, patterned=True)
        self._asked.sort(key=lambda asked: -asked.worth)
        return [asked.question for asked in self._asked]

    def _take(self, left: list[_Candidate], count: int, *, again: bool = False, patterned: bool = False) -> None:
        """Ask the questions that are worth most beside those asked already, or `again` about the same sentences.

        Of a text that is `patterned`, in which all sentences are much alike, those are asked that have other answers.
        """
        tries = _TRIES * count
        parts = max(1, count // _QUESTIONS_A_PART)
        while left and len(self._asked) < count and tries:
            tries -= 1
            parts_asked = Counter(int(asked.place * parts) for asked in self._asked)

            def gain(candidate: _Candidate) -> float:
                kept = _again(candidate.sorts, self._kinds)
                crowd = parts_asked[int(candidate.place * parts)]  # noqa: B023
                return candidate.worth * kept * _AGAIN_PART**crowd

            best = max(left, key=gain)
            left.remove(best)
            asked_before = any(
                _is_same(asked, best) if patterned else _alike(asked, best, again=again) for asked in self._asked
            )
            if not asked_before and self._is_answered(best.question):
                self._kinds.update(best.sorts)
                self._asked.append(best)

    def _is_answered(self, question: DocumentQuestion) -> bool:
        """Whether the excerpt gives the answer that is meant."""
        found = look_up(self._source, read_question(question.question))
        if found is None:
            return False
        pair = Pair(id=0, question=question.question, document=question.answer, summary=found.answer)
        return bool(concepts(found.answer) & concepts(question.answer)) and not differ(pair)

    def _candidates(self) -> Iterator[_Candidate]:
        """The questions in good English that can be asked about the sentences."""
        meant: Told | None = None
        name = pronoun = ""
        for sentence in self._told:
            opening = _BEGINS_WITH_PRONOUN.match(sentence.text)
            if opening is None:
                yield from self._asked_about(sentence, sentence.text)
                clause = take_apart(sentence.text)
                named = clause is not None and self._is_person(clause.subject) and " and " not in clause.subject
                if clause and named:
                    meant, name, pronoun = sentence, clause.subject, ""
                elif self._people & set(keys(sentence.text)) or not sentence.follows:
                    meant = None
            elif meant and name and sentence.follows and pronoun in ("", opening.group().lower()):
                pronoun = opening.group().lower()
                start = self._excerpt.find(meant.quote)
                end = self._excerpt.find(sentence.quote, start) + len(sentence.quote)
                if 0 <= start < end <= start + _LONGEST_QUOTE:
                    both = sentence._replace(quote=self._excerpt[start:end], worth=_BY_PRONOUN * sentence.worth)
                    yield from self._asked_about(both, f"{name}{sentence.text[opening.end() :]}")
            else:
                meant = None

    def _asked_about(self, sentence: Told, text: str) -> Iterator[_Candidate]:
        for part in parts_of(text):
            quoted = sentence._replace(quote=part) if part in sentence.quote and len(part) < len(text) - 1 else sentence
            for asking in questions_about(finish(part), self._is_person):
                if count_words(asking.question) <= _LONGEST_QUESTION and self._is_telling(asking.question):
                    yield self._candidate(_question(asking.question, asking.kind, asking.answer, quoted), sentence)

    def _relations(self) -> Iterator[_Candidate]:
        """Questions for what those have to do with each other who are spoken of together most."""
        for pair in related([sentence.text for sentence in self._told], frozenset(self._people)):
            asked = ask_for_relation(pair.one, pair.other)
            one, other = ({concept(key) for key in name} for name in read_question(asked).people)
            told = [(self._told[n], said_of(self._told[n].text, one, other)) for n in pair.sentences]
            if said := [(sentence, answer) for sentence, answer in told if answer]:
                best, answer = max(said, key=lambda one: one[0].worth * _moves(one[1]))
                worth = importance(asked) * _IN_PASSING * math.log1p(len(said))
                question = _question(asked, "what", answer, best)
                yield _Candidate(question, worth, best.place, frozenset(one | other), True, _sorts(asked))

    def _gaps(self, sentence: Told) -> Iterator[_Candidate]:
        """The sentence without one of its names or numbers."""
        text = first_clause(sentence.text)
        for detail in self._details(text):
            asked = ask_for_gap(text, detail)
            telling = sum(map(carries, read_question(asked).keys)) >= _FEWEST_TELLING
            if 2 * (detail.end - detail.start) < len(text) and telling and count_words(asked) <= _LONGEST_GAP:
                answer = text[detail.start : detail.end]
                yield self._candidate(_question(asked, self._kind_of(text, detail), answer, sentence), sentence)

    def _candidate(self, question: DocumentQuestion, sentence: Told) -> _Candidate:
        beside = self._standing(question.question, question.answer)
        # Who somebody is may be told in passing, wherever that is.
        told = read_question(question.question).form == "identity"
        worth = _IN_PASSING if told else sentence.worth**_WORTH_POWER
        asks_of = frozenset(concepts(f"{question.question} {question.answer}"))
        important = importance(question.question)
        of_body = _BODY.search(f"{question.question} {question.answer}") or GESTURE.search(question.question)
        matters = important >= _MATTERS and not of_body
        return _Candidate(
            question, important * worth * beside, sentence.place, asks_of, matters, _sorts(question.question)
        )

    def _standing(self, question: str, answer: str) -> float:
        """How much a question is about people and things that are spoken of together all through the excerpt."""
        sought = read_question(question)
        if sought.form in ("identity", "fate"):
            return max((self._echo.of(concept(key)) for key in sought.names), default=0.0)
        telling = {concept(key) for key in keys(f"{question} {answer}") if weight(key) == 1.0}
        people = 1.0 if self._people & set(keys(f"{question} {answer}")) else _NOBODY
        return self._echo.of_all(sorted(telling)) * people

    def _is_telling(self, question: str) -> bool:
        """Whether there is something in a question by which its answer can be found: a name and more, or two things."""
        sought = read_question(question)
        if sought.form == "identity":
            return any(self._mentions[key] >= _FEWEST_MENTIONS for key in sought.names)
        if sought.form == "fate":
            return bool(sought.names)
        said = [weight(key) for key in sought.keys if key not in sought.names]
        return 1.0 in said and sum(said) + len(sought.people) >= _LEAST_SAID

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


def _is_same(asked: _Candidate, candidate: _Candidate) -> bool:
    """Whether one sentence is asked about twice, or the same is asked for."""
    one, other = asked.question, candidate.question
    return one.quote == other.quote or bool(concepts(one.answer) & concepts(other.answer))


def _alike(asked: _Candidate, candidate: _Candidate, *, again: bool) -> bool:
    """Whether two questions ask for much the same, or are about the same sentence."""
    one, other = asked.question, candidate.question
    if one.question == other.question:
        return True
    if one.quote == other.quote and again:
        return bool(concepts(one.answer) & concepts(other.answer))
    if asked.sorts[1] != candidate.sorts[1]:
        return one.quote == other.quote and not _TOLD_IN_PASSING & {asked.sorts[1], candidate.sorts[1]}
    shared = len(asked.asks_of & candidate.asks_of)
    return one.quote == other.quote or shared > _SAME * min(len(asked.asks_of), len(candidate.asks_of))


def _question(question: str, kind: Kind, answer: str, sentence: Told) -> DocumentQuestion:
    return DocumentQuestion(question=question, kind=kind, answer=answer, quote=sentence.quote)


def _sorts(question: str) -> tuple[str, str]:
    """Which word a question asks with, and in which form."""
    sought = read_question(question)
    return sought.asks, f"form {sought.form}"


def _again(sorts: tuple[str, str], before: Mapping[str, int]) -> float:
    """What is left of the worth of a question when others like it come before."""
    kind, form = sorts
    return float(_AGAIN_KIND ** before[kind] * _AGAIN_FORM ** before[form])


def _moves(answer: str) -> float:
    """How much an answer tells of what moves a story, and not only of who says or looks what."""
    told = {plain_form(word.strip(".,;:")) for word in answer.split()}
    return (_EVENT if told & EVENTS else 1.0) * (_GESTURE if GESTURE.search(answer) or told & GESTURES else 1.0)
