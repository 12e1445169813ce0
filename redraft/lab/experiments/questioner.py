"""Typed questions (thesis, 5.8): each about one paragraph of a third of a document, with its reference answer. They are
written, answered and judged by models."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import log
from typing import Annotated, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass as record
from sklearn.feature_extraction import DictVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import safe_sparse_dot

from redraft.agents.evidence import EvidenceQuery, EvidenceReader
from redraft.agents.examiner import answers_from_document, is_answered
from redraft.agents.judge import (
    Attempt,
    Entries,
    EntryBudget,
    ItemResults,
    Judge,
    ask_all,
    gather_all,
    in_batches,
    label_of,
)
from redraft.domain import DEFERRED, Document, Span, content_id
from redraft.errors import RejectedRequest, ReplyError
from redraft.evaluators.reference.builders import FailedReplies, build_error
from redraft.events import Notice, Observer
from redraft.prompts import qa
from redraft.prompts.contract import UNSURE
from redraft.prompts.qa import ANSWER_FROM_DOCUMENT, ASK_TYPED, QuestionItem, QuestionType, yes_or_no
from redraft.prompts.silence import is_answer
from redraft.text.languages import language_of, language_spans_in
from redraft.text.sanitizer import one_line
from redraft.text.sentences import paragraph_seams, sentences
from redraft.text.vectors import Encoder, terms
from redraft.text.words import count_words, has_words, words_key

Third = Literal["beginning", "middle", "end"]
TYPES: tuple[QuestionType, ...] = get_args(QuestionType)
THIRDS: tuple[Third, ...] = get_args(Third)


@record(frozen=True, slots=True, config=DEFERRED)
class TypedQuestion:
    """A question about one paragraph, with its reference answer."""

    id: Annotated[int, Field(alias="rank")]
    type: QuestionType
    text: Annotated[str, Field(alias="question")]
    answer: str
    reason: str
    """Why "yes" or "no"; empty for other types, as the answer to an unanswerable question is."""
    paragraph: Span

    @property
    def is_answerable(self) -> bool:
        """Return whether the document has an answer."""
        return self.type != "unanswerable"


@record(frozen=True, slots=True, config=DEFERRED)
class TypedQuestions:
    """The typed questions of one document in paragraph order. They cover its text up to `end`."""

    document: str
    model: str
    end: int
    questions: tuple[TypedQuestion, ...]
    missing: tuple[str, ...] = ()
    """The questions that could not be written, and why."""

    @property
    def id(self) -> str:
        """Return the id, which is derived from the content."""
        questions = ([q.type, q.text, q.answer, q.reason, *q.paragraph] for q in self.questions)
        return content_id(json.dumps([self.document, self.end, *questions], ensure_ascii=False))[:16]


def third_of(place: Span, end: int) -> Third:
    """Return the third of a text ending at `end` that contains the middle of a place."""
    return THIRDS[min(2, int(3 * (place.start + place.end) / 2 / end))]


def flaw_of(question: TypedQuestion, paragraph: str) -> str:
    """Return why a question is not of its type, or an empty string."""
    answered, reasoned = has_words(question.answer), has_words(question.reason)
    match question.type:
        case _ if not has_words(question.text):
            return "has no words"
        case "unanswerable":
            return "has an answer" if question.answer or question.reason else ""
        case _ if not answered:
            return "has no answer"
        case "binary" if question.answer not in ("yes", "no"):
            return "is answered with neither yes nor no"
        case "binary":
            return "" if reasoned else "has no reason"
        case _ if question.reason:
            return "has a reason, which only yes and no have"
        case "extractive" if f" {words_key(question.answer)} " not in f" {words_key(paragraph)} ":
            return "has an answer that is not in its paragraph"
    return ""


# Tokens of one question, one answer and one verdict in a reply.
TYPED_QUESTION = EntryBudget(frame=40, words=90)
TYPED_ANSWER = EntryBudget(frame=40, words=70)
VERDICT = EntryBudget(frame=36, words=30)
_LONGEST = 600


class Response(BaseModel):
    """A model's answer to a question with its reason, or that there is none, or that it cannot tell."""

    answer: str
    reason: str = ""
    abstained: bool = False
    unsure: bool = False


class JudgedAnswer(BaseModel):
    """Whether an answer is right, as stored; None if the judge cannot tell."""

    right: bool | None
    reason: str


async def answer_from_text(model: Judge, text: str, questions: Sequence[str], label: str) -> ItemResults[Response]:
    """Return a model's answer to each question from this text alone, each asked by itself so that none gives away
    another's answer."""
    tokens_each = TYPED_ANSWER.tokens(model.wording)

    async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[Response]:
        items = [QuestionItem(id=n + 1, question=questions[n]) for n in numbers]
        questions_input = qa.AnswerQuestionsInput(document=text, questions=items)
        room, where = len(numbers) * tokens_each, f"{label_of('questions', numbers)} {label}"
        reply = await model.ask(qa.ANSWER_QUESTIONS, questions_input, room, where, attempt)
        responses: list[tuple[int, Response | None]] = []
        for entry in reply.value.answers:
            answer, reason = one_line(entry.answer, _LONGEST), one_line(entry.reason, _LONGEST)
            answered = is_answered(entry.answered, answer, placed=False)
            response = Response(answer=answer, reason=reason) if answered else Response(answer=answer, abstained=True)
            response = Response(answer="", unsure=True) if answered == UNSURE else response
            responses.append((entry.id - 1, None if answered is None else response))
        return reply, responses

    results = await ask_all(in_batches(range(len(questions)), 1), ask)
    return results.decided(lambda response: not response.unsure)


async def judge_pairs(judge: Judge, pairs: Sequence[qa.AnswerPair], document: Document) -> ItemResults[JudgedAnswer]:
    """Return whether each answer is right; the same answer to a question is judged once."""

    async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[JudgedAnswer]:
        answers_input = qa.JudgeAnswersInput(answers=[pairs[n].model_copy(update={"id": n + 1}) for n in numbers])
        reply = await judge.ask_items(qa.JUDGE_ANSWERS, answers_input, numbers, VERDICT, "answers judged", attempt)
        judged: list[tuple[int, JudgedAnswer]] = []
        for verdict in reply.value.answers:
            right = None if verdict.verdict == UNSURE else verdict.verdict == "right"
            judged.append((verdict.id - 1, JudgedAnswer(right=right, reason=one_line(verdict.reason, _LONGEST))))
        return reply, judged

    size = max(1, judge.reply_tokens // VERDICT.tokens(judge.wording))
    items = [[document.id, pair.question, pair.reference, pair.answer] for pair in pairs]
    results = await judge.verdicts(
        qa.JUDGE_ANSWERS, JudgedAnswer, items, lambda numbers: ask_all(in_batches(numbers, size), ask)
    )
    return results.decided(lambda verdict: verdict.right is not None)


BUILDING = (ASK_TYPED, ANSWER_FROM_DOCUMENT)
"""The prompts that typed questions depend on."""
MAX_ATTEMPTS_EACH = 3
"""How many paragraphs are tried for a question of the type."""
# Words of a paragraph: lines of dialogue are merged, and very long paragraphs split.
_MIN, _MAX = 40, 250
# Characters before a paragraph, which tell whom it refers to.
_BEFORE = 800
_LONGEST_TEXT = 500


@dataclass(frozen=True, slots=True)
class TypedQuestionBuilder:
    """Writes `each` questions of every type about every third of a document up to `end`."""

    judge: Judge
    reader: EvidenceReader
    end: int
    each: int
    observer: Observer
    summary: str = ""
    """A summary of the document that the judge has in view, as in the thesis."""

    async def build(self) -> TypedQuestions:
        """Write all questions, in paragraph order. Failures are recorded and do not stop the rest."""
        failures, document = FailedReplies(), self.reader.document
        question_slots = slots(document.text, self.end, self.each)
        outcomes = await gather_all(self._question(slot, failures) for slot in question_slots)
        troubles = [problem for problem in outcomes if isinstance(problem, str)]
        by_words: dict[str, TypedQuestion] = {}
        for (_, name, _), question in zip(question_slots, outcomes, strict=True):
            if (
                isinstance(question, TypedQuestion)
                and by_words.setdefault(words_key(question.text), question) is not question
            ):
                troubles += [f"no {name}: it is a duplicate"]
        if not by_words:
            first = troubles[0] if troubles else ""
            raise build_error(failures, "the model returned no typed question", first, document.title)
        for trouble in troubles:
            self.observer(Notice(trouble))
        ordered = sorted(by_words.values(), key=lambda q: (q.paragraph, TYPES.index(q.type), q.text))
        questions = tuple(replace(question, id=number) for number, question in enumerate(ordered, 1))
        return TypedQuestions(document.id, self.judge.model.identity, self.end, questions, tuple(troubles))

    async def _question(self, slot: QuestionSlot, failures: FailedReplies) -> TypedQuestion | str:
        """Write the question of a slot from the first paragraph that yields one; returns what went wrong."""
        of_type, name, candidates = slot
        why = "there is no paragraph to ask about"
        for at, paragraph in enumerate(candidates, 1):
            label = f"{name}, paragraph {at} of {len(candidates)}"
            start = max(0, paragraph.start - _BEFORE)
            before = self.reader.document.text[start : paragraph.start].partition(" ")[2] if start else ""
            try:
                excerpt, tokens = self.reader.text(paragraph), TYPED_QUESTION.tokens(self.judge.wording)
                typed_input = qa.AskTypedInput(summary=self.summary, context=before, excerpt=excerpt, type=of_type)
                reply = (await self.judge.ask(ASK_TYPED, typed_input, tokens, label)).value
                parts = (one_line(part, _LONGEST_TEXT) for part in (reply.question, reply.answer, reply.reason))
                text, answer, reason = parts
                answer = answer if is_answer(answer) else ""
                if of_type == "binary":
                    answer = yes_or_no(answer) or answer
                question = TypedQuestion(0, of_type, text, answer, reason if of_type == "binary" else "", paragraph)
                flaw = flaw_of(question, excerpt)
                why = f"the model's question {flaw}" if flaw else ""
                if not has_words(text):
                    why = "the model returned none"
                elif not flaw and not question.is_answerable:
                    results = await answers_from_document(self.judge, [EvidenceQuery(question.text)], self.reader)
                    if not results.verdicts:
                        why = "whether the document has an answer was not judged"
                    elif results.verdicts[0].answered:
                        why = "the document has an answer to it"
            except (ReplyError, RejectedRequest) as error:
                failures.append(error)
                why = error.message
            else:
                if not why:
                    return question
        return f"no {name}: {why}"


QuestionSlot = tuple[QuestionType, str, tuple[Span, ...]]
"""The type of a question to write, its name, such as "abstractive question 1 about the middle", and the candidate
paragraphs in order."""


def slots(text: str, end: int, per_type: int) -> list[QuestionSlot]:
    """Return all questions to write about a text up to `end`, with paragraphs spread evenly over each third."""
    spans = paragraphs(text, end)
    kinds = [(number, of_type) for number in range(1, per_type + 1) for of_type in TYPES]
    question_slots: list[QuestionSlot] = []
    for third in THIRDS:
        spans_of_third = [span for span in spans if third_of(span, end) == third]
        for at, (number, of_type) in enumerate(kinds):
            size = len(spans_of_third)
            first, tries = int((at + 0.5) * size / len(kinds)), min(MAX_ATTEMPTS_EACH, size)
            tried = tuple(spans_of_third[(first + step) % size] for step in range(tries))
            name = f"{of_type} question {number} about the {third}"
            question_slots.append((of_type, name, tried))
    return question_slots


def paragraphs(text: str, end: int) -> list[Span]:
    """Return the paragraphs of a text up to `end`, without surrounding whitespace: consecutive short ones merged, long
    ones split into parts of sensible length at sentence ends."""
    seams = [0, *(seam for seam in paragraph_seams(text) if 0 < seam < end), end]
    spans: list[Span] = []
    start = 0
    for _, stop in pairwise(seams):
        if count_words(text[start:stop]) < _MIN:
            continue
        within, first, words, start = sentences(text, Span(start, stop)), 0, 0, stop
        for at, span in enumerate(within):
            words += count_words(text[span.start : span.end])
            if words >= _MAX or at + 1 == len(within):
                spans.append(Span(within[first].start, span.end))
                first, words = at + 1, 0
    return spans or ([Span(0, end)] if has_words(text[:end]) else [])


_USUAL = (*range(10_000, 128_000, 10_000), 128_000)
# The maximum steps, and minimum tokens of a step, for a document too short for the usual steps.
_STEPS, _SHORTEST = 13, 256
# The minimum ratio of the words that are summarized to those of the summary.
_LONGER = 2


@dataclass(frozen=True, slots=True)
class ReadingStep:
    """A step that reads so many tokens; without `until` it reads the whole document, of about so many tokens."""

    number: int
    tokens: int
    until: int | None


def plan_steps(
    chosen_steps: Sequence[int] | None, tokens: int, words: int, limit: int | None
) -> tuple[tuple[ReadingStep, ...], str]:
    """Return the steps for a document of so many tokens and words, and a note where they are not as asked.

    Without `chosen_steps` they are the usual ones, or equal parts of a document with room for fewer than two of
    those. `limit` is the length of its summaries, if known.
    """
    steps = tuple(chosen_steps or _USUAL)
    read, note = [step for step in steps if step < tokens], ""
    if len(read) < len(steps) and (chosen_steps or len(read) > 1):
        note = f"has about {tokens:,} tokens: {len(read) + 1} steps, the last of which is all of it"
    elif len(read) < len(steps):
        count = max(1, min(_STEPS, tokens // _SHORTEST, words // (_LONGER * limit) if limit else _STEPS))
        read, each = [round(n * tokens / count) for n in range(1, count)], f"{count} of about {tokens // count:,} each"
        note = f"has about {tokens:,} tokens, too few for steps of {_USUAL[0]:,}: {each}"
    whole = [ReadingStep(len(read) + 1, tokens, None)] if note else []
    return (*(ReadingStep(n, step, step) for n, step in enumerate(read, 1)), *whole), note


Matrix = npt.NDArray[np.float64]
# Likeness is rounded, so that a statement equals itself.
_DECIMALS = 6
COSINE_THRESHOLD = 0.7
"""The traceability thesis's threshold for all-MiniLM-L6-v2."""


@dataclass(frozen=True, slots=True)
class SentenceSimilarity:
    """How alike statements are: the cosines of their vectors."""

    name: str
    threshold: float
    """Two statements of which the cosine is above it count as the same."""
    vectors: Callable[[Sequence[str]], Any]
    """Returns a vector for each text, of length 1, or 0 where the text has nothing to compare."""

    def between(self, statements: Sequence[str], candidates: Sequence[str]) -> Matrix:
        """Return the cosines, none below zero."""
        if not statements or not candidates:
            return np.zeros((len(statements), len(candidates)))
        vectors = self.vectors([*statements, *candidates])
        cosines = safe_sparse_dot(vectors[: len(statements)], vectors[len(statements) :].T, dense_output=True)
        return np.asarray(np.round(np.clip(cosines, 0.0, 1.0), _DECIMALS), dtype=np.float64)

    @classmethod
    def by_embeddings(cls, encoder: Encoder) -> SentenceSimilarity:
        """Return the cosine of embeddings."""
        name = f"cosine of {encoder.name}"
        return cls(name, COSINE_THRESHOLD, lambda texts: encoder.encode(texts).astype(np.float64))

    @classmethod
    def by_terms(cls, document: str) -> SentenceSimilarity:
        """Return the cosine of TF-IDF vectors by section 2.5.1 of the traceability thesis: a term's number times the
        log of the sentences of the document over those with it. The threshold of 0.5 is not fitted: with equal weights
        half of each statement is in the other."""
        own_language = language_of(document)
        lines = [
            frozenset(terms(document[sentence.start : sentence.end], language))
            for span, language in language_spans_in(document)
            for sentence in sentences(document, span, language)
        ]
        holding = Counter(term for line in lines for term in line)

        @cache
        def weights(text: str) -> dict[str, float]:
            counts = Counter(terms(text, own_language))
            # A term that the document lacks is as rare as any in it. A text without terms has a vector, too.
            idf = {term: log(max(1, len(lines)) / max(1, holding[term])) for term in counts}
            return {"": 0.0, **{term: count * idf[term] for term, count in counts.items()}}

        def vectors(texts: Sequence[str]) -> Any:
            return normalize(DictVectorizer().fit_transform(map(weights, texts)))

        return cls("TF-IDF cosine", 0.5, vectors)
