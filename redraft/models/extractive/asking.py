"""Questions about a document, for its pack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from redraft.models.extractive.details import Detail, details
from redraft.models.extractive.finding import look_up
from redraft.models.extractive.forms import ask_for_gap, read_question
from redraft.models.extractive.grammar import opened_as_clause, reason_in, subject_of, time_in
from redraft.models.extractive.prose import LAST_RESORT, finish, plain, read
from redraft.models.extractive.registry import answers
from redraft.models.extractive.source import Source
from redraft.models.extractive.wording import DAYS, MONTHS, keys, words
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
_FEWEST_WORDS, _MOST_WORDS = 6, 40
_REPEATED_KIND = 0.75


class _Told(NamedTuple):
    """A sentence of the excerpt: as it stands there, on one line, where it is, and what it is worth asking about."""

    quote: str
    text: str
    place: float
    worth: float


@answers(ASK_DOCUMENT)
def ask_document(given: AskDocumentGiven) -> DocumentQuestions:
    """Questions on the sentences that matter most, from all stretches of the excerpt."""
    told = _told(given.excerpt)
    source = Source([sentence.text for sentence in told], whole=True)
    stretches: list[list[_Told]] = [[] for _ in range(max(1, given.count))]
    for sentence in told:
        stretches[min(int(sentence.place * len(stretches)), len(stretches) - 1)].append(sentence)
    asked: list[tuple[float, DocumentQuestion]] = []
    kinds: Counter[Kind] = Counter()
    spare: list[_Told] = []
    for stretch in stretches:
        ranked = sorted(stretch, key=lambda sentence: -sentence.worth)
        spare += _ask_one(source, ranked, kinds, asked)
    spare.sort(key=lambda sentence: -sentence.worth)
    while len(asked) < given.count and spare:
        spare = _ask_one(source, spare, kinds, asked)
    asked.sort(key=lambda question: -question[0])
    return DocumentQuestions(questions=[question for _, question in asked[: max(0, given.count)]])


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
        alike = {int(index) for index, how in zip(near, same, strict=True) if how >= DUPLICATE and index != at}
        (repeated if alike & taken else first).append(at)
        taken.add(at)
    return Ranking(order=[given.candidates[at].id for at in first + repeated])


def _told(excerpt: str) -> list[_Told]:
    """The sentences of the excerpt that can be asked about."""
    read_ = read([excerpt])
    standing = {sentence.text: sentence.standing * (_ADRIFT if sentence.leans else 1) for sentence in read_}
    ranks = dict(zip(standing, rank(SentenceVectors(list(standing))), strict=True)) if standing else {}
    told: list[_Told] = []
    for span in sentences(excerpt):
        quote = excerpt[span.start : span.end]
        text = finish(plain(quote))
        if standing.get(text, 0.0) > LAST_RESORT and _FEWEST_WORDS <= count_words(text) <= _MOST_WORDS:
            told.append(_Told(quote, text, span.start / len(excerpt), float(ranks[text]) * standing[text]))
    return told


def _ask_one(
    source: Source, ranked: Sequence[_Told], kinds: Counter[Kind], asked: list[tuple[float, DocumentQuestion]]
) -> list[_Told]:
    """Ask about the first of `ranked` that gives a question; returns the others."""
    for at, sentence in enumerate(ranked):
        fit = [question for question in _questions(sentence) if _answers_itself(source, question)]
        if fit:
            best = min(fit, key=lambda question: kinds[question.kind])
            kinds[best.kind] += 1
            asked.append((sentence.worth, best))
            return list(ranked[at + 1 :])
    return []


def _answers_itself(source: Source, question: DocumentQuestion) -> bool:
    """Whether the excerpt gives just the answer that is meant."""
    found = look_up(source, read_question(question.question))
    return found is not None and bool(set(keys(found.answer)) & set(keys(question.answer)))


def _questions(sentence: _Told) -> Iterator[DocumentQuestion]:
    """The questions that can be asked about a sentence, the most natural first."""
    text, quote = sentence.text, sentence.quote
    found = words(text)
    named = [detail for detail in details(text, found) if detail.sure]
    begins_with_name = bool(named) and named[0].kind == "name" and named[0].start == 0
    for parted in filter(None, (reason_in(text), time_in(text))):
        clause = opened_as_clause(parted.rest, name=begins_with_name or text[0] != parted.rest[0])
        asks = "Why was it that" if parted.kind == "why" else "When was it that"
        yield DocumentQuestion(question=f"{asks} {clause}?", kind=parted.kind, answer=parted.answer, quote=quote)
    if parts := subject_of(text):
        subject, rest = parts
        who = begins_with_name and named[0].end == len(subject)
        asks = "Who" if who else "What"
        yield DocumentQuestion(
            question=f"{asks} {rest.rstrip(' .')}?", kind="who" if who else "what", answer=subject, quote=quote
        )
    for detail in named:
        if detail.end - detail.start < len(text) // 2:
            yield DocumentQuestion(
                question=ask_for_gap(text, detail),
                kind=_kind_of(text, detail),
                answer=text[detail.start : detail.end],
                quote=quote,
            )


def _kind_of(text: str, detail: Detail) -> Kind:
    if detail.kind == "number":
        return "when" if set(keys(text[detail.start : detail.end])) & (MONTHS | DAYS) else "how"
    before = text[: detail.start].split()[-1:]
    return "where" if before and before[0].lower() in ("in", "at", "to", "from", "near", "on") else "who"
