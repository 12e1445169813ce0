"""Questions about a document in short, correct English, and about each sentence of a summary: is it true?

Who or what did something is asked where subject and verb are easy to tell; otherwise whether the sentence is true. Such
a question quotes the sentence, so that its place in the document can be found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from lemminflect import getAllLemmas, getInflection

from redraft.builtin.draft import centrality, standing_alone
from redraft.builtin.prose import LAST_RESORT, finish, plain, read
from redraft.builtin.references import NamedPeople
from redraft.domain import QuestionWord
from redraft.prompts import qa
from redraft.prompts.qa import AskTypedGiven, TypedReply
from redraft.text.languages import ENGLISH
from redraft.text.pagerank import rank
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading, sentences
from redraft.text.vectors import SentenceVectors
from redraft.text.word_keys import carries, keys, listed
from redraft.text.words import count_words

_WHETHER = "Is this so: “{}”?"
_IS_WHETHER = re.compile(r"Is this so: “(.*)”\?", re.DOTALL)

_FEWEST_WORDS, _FEWEST_ASKED, _MOST_ASKED, _FEWEST_TELLING, _LONGEST_SUBJECT = 8, 4, 18, 3, 7
# The discount for each earlier question about the same stretch.
_AGAIN_STRETCH, _QUESTIONS_A_STRETCH = 0.6, 2
# A yes-or-no question is worth less than one with an answer.
_WHETHER_WORTH = 0.2
_IMPORTANCE, _FEWEST_CLAIMED = 3, 2
_LONGEST_ANSWER, _TRIED = 10, 6

_NAME = re.compile(r"(?:(?:Mr|Mrs|Ms|Dr|Col)\. )?[A-Z][\w’'-]*[a-z](?: (?:of |de |van |von )?[A-Z][\w’'-]*[a-z])*")
_ARTICLE = re.compile(r"(?:the|an?) ", re.IGNORECASE)
_PERSON = re.compile(r"(?:m[ae]n|boy|girl|child|father|mother|son|sister|king|queen|woman|lady)")
# Words with these endings may or may not be people: a keeper is, a river is not.
_EITHER = re.compile(r"[a-z]+(?:er|or|ist|ian|ain|ant|ent)|first|second|third|last|rest")
_AUXILIARIES = listed(
    "be am is are was were been would could should might must will can may shall had have has did does do"
)
_NOT_IN_SUBJECT = listed("as that who which when while where in on at with and or but from to for by about like")
_BREAK = re.compile(r"[;:—–\"“”()]")
_CLAUSE_END = re.compile(
    r",? (?:and|but|or) |, (?!\d)"
    r"| (?:who|which|whose|whom|what|how|why|whether|than|when|while|as|if|although|though|where|that|until) "
)
_POINTS = re.compile(
    r"\b(?:he|him|his|she|her|its?|they|them|their|this|that|these|those|there|here|I|me|my|we|us|our|you|your|such|same"
    r"|others?|another|one|so|nobody|nothing|each|none|some(?:one|thing|body)|not|never|no|\w+sel(?:f|ves))\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\?[\"'”’»)\]*_]*\s*$")
_FIGURE = re.compile(r"(?<![\d.,])[1-9]\d{0,3}(?![\d.,]*\d)")


def ask_whether(sentence: str) -> str:
    """Return the question whether a sentence is entirely true."""
    return _WHETHER.format(sentence)


def read_claim(question: str) -> str:
    """Return the sentence that such a question quotes; empty for any other question."""
    return quoted.group(1) if (quoted := _IS_WHETHER.fullmatch(question)) else ""


def ask_summary(given: qa.AskSummaryGiven) -> qa.SummaryQuestions:
    """Ask whether each informative sentence of a summary is true."""
    return qa.SummaryQuestions(
        sentences=[
            qa.SentenceQuestions(id=one.id, questions=_claims(one.sentence) if given.at_most else [])
            for one in given.sentences
            if not given.only or one.id in given.only
        ]
    )


def _claims(sentence: str) -> list[qa.SummaryQuestion]:
    text = one_line(sentence)
    if not states(text):
        return []
    return [qa.SummaryQuestion(question=ask_whether(text), answer=text, search="", importance=_IMPORTANCE)]


def states(text: str) -> bool:
    """Return whether a text is a statement, not a heading, question or fragment."""
    said = keys(text)
    enough = len(said) >= _FEWEST_CLAIMED and any(map(carries, said))
    return enough and not is_heading(text) and not _ASKS.search(text)


def ask_document(given: qa.AskDocumentGiven) -> qa.DocumentQuestions:
    """Ask questions about the most important sentences, from all stretches of the excerpt."""
    left = list(_candidates(given.excerpt))
    stretches = max(1, given.count // _QUESTIONS_A_STRETCH)
    asked: list[_Candidate] = []
    crowds: Counter[int] = Counter()
    while left and len(asked) < given.count:
        worth = [one.worth * _AGAIN_STRETCH ** crowds[int(one.place * stretches)] for one in left]
        best = left.pop(worth.index(max(worth)))
        crowds[int(best.place * stretches)] += 1
        asked.append(best)
    return qa.DocumentQuestions(questions=[one.question for one in sorted(asked, key=lambda one: -one.worth)])


def rank_questions(given: qa.RankGiven) -> qa.Ranking:
    """Rank questions by how much the others mention their words."""
    worth = rank(SentenceVectors([f"{candidate.question} {candidate.answer}" for candidate in given.candidates]))
    order = sorted(range(len(worth)), key=lambda at: (-worth[at], at))
    return qa.Ranking(order=[given.candidates[at].id for at in order])


def ask_typed(given: AskTypedGiven) -> TypedReply:
    """Ask a question that the paragraph answers, or whether one of its sentences is true. Abstractive and unanswerable
    questions are left out: it cannot write the former or verify the latter."""
    for one in ask_document(qa.AskDocumentGiven(excerpt=given.excerpt, count=_TRIED)).questions:
        if given.type == "binary":
            return _yes_or_no(one_line(one.quote))
        if given.type == "extractive" and not read_claim(one.question) and count_words(one.answer) <= _LONGEST_ANSWER:
            return TypedReply(question=one.question, answer=one.answer, reason="")
    return TypedReply(question="", answer="", reason="")


def _yes_or_no(sentence: str) -> TypedReply:
    """Ask whether the sentence is true; if it has a figure, with the figure changed."""
    if (figure := _FIGURE.search(sentence)) is None:
        return TypedReply(question=ask_whether(sentence), answer="yes", reason=sentence)
    other = f"{sentence[: figure.start()]}{int(figure.group()) + 1}{sentence[figure.end() :]}"
    return TypedReply(question=ask_whether(other), answer="no", reason=sentence)


class _Candidate(NamedTuple):
    """A possible question, its value, and the position of its sentence in the excerpt from 0 to 1."""

    question: qa.DocumentQuestion
    worth: float
    place: float


def _candidates(excerpt: str) -> Iterator[_Candidate]:
    """Return a question about each self-contained sentence."""
    found = standing_alone(read([excerpt], ENGLISH), ENGLISH)
    worth = centrality(SentenceVectors([one.text for one in found]), found) if found else ()
    spans = {finish(plain(excerpt[one.start : one.end])): one for one in sentences(excerpt)}
    people = NamedPeople([one.text for one in found if not one.spoken])
    for one, own in zip(found, worth, strict=True):
        span = spans.get(one.text)
        if span is None or one.standing <= LAST_RESORT or one.words < _FEWEST_WORDS or not states(one.text):
            continue
        quote = excerpt[span.start : span.end]
        told = one_line(quote)
        question, answer = question_about(told, people) or (ask_whether(told), told)
        kind: QuestionWord = "who" if question.startswith("Who") else "what"
        asked = qa.DocumentQuestion(question=question, kind=kind, answer=answer, quote=quote)
        yield _Candidate(asked, own * (_WHETHER_WORTH if answer == told else 1), span.start / len(excerpt))


def question_about(sentence: str, people: NamedPeople) -> tuple[str, str] | None:
    """Return the question for the subject of a sentence and its answer; None where it would not be good English."""
    subject, predicate = ("", "") if _BREAK.search(sentence) else _parted(sentence.rstrip(".!?"))
    end = _CLAUSE_END.search(predicate)
    predicate = predicate[: end.start() if end else None]
    telling = sum(map(carries, keys(predicate)))
    long_enough = telling >= _FEWEST_TELLING and _FEWEST_ASKED <= len(predicate.split()) < _MOST_ASKED
    if not long_enough or _POINTS.search(f"{subject} {predicate}"):
        return None
    head, article = subject.partition(" of ")[0].split()[-1], _ARTICLE.match(subject)
    if people.gender(subject) or (article and _PERSON.fullmatch(head)):
        return f"Who {predicate}?", subject
    known = article and head.islower() and not _EITHER.fullmatch(head)
    return (f"What {predicate}?", subject) if known else None


def _parted(text: str) -> tuple[str, str]:
    """Split a text into subject and predicate; None where either is hard to tell."""
    said = text.split(" ")
    name = _NAME.match(text)
    sizes = range(2, _LONGEST_SUBJECT) if _ARTICLE.match(text) else [len(name.group().split())] if name else []
    for size in sizes:
        verb = next((word for word in said[size:] if word not in _AUXILIARIES and not word.endswith("ly")), "")
        if said[size - 1] in _NOT_IN_SUBJECT or said[size - 1].endswith(","):
            break
        if len(said) > size and (_is_past(said[size]) or (said[size] in _AUXILIARIES and _is_past(verb))):
            return " ".join(said[:size]), " ".join(said[size:])
    return "", ""


@lru_cache(maxsize=20_000)
def _is_past(word: str) -> bool:
    """Return whether a word may be a past tense or participle, other than an auxiliary such as "was"."""
    if not (word.isascii() and word.isalpha() and word.islower()) or word in _AUXILIARIES:
        return False
    if word.endswith("ed") and not getAllLemmas(word):
        return True
    plain = getAllLemmas(word, upos="VERB").get("VERB", ())
    return any(word in getInflection(one, tag) for one in plain for tag in ("VBD", "VBN"))
