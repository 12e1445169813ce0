"""Builds a document's typed questions: of each type about each third, each from one paragraph."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from redraft.agents.accounts import gather_all
from redraft.agents.evidence import EvidenceQuery, EvidenceReader
from redraft.agents.examiner import Examiner, Questioner
from redraft.agents.judge import Judge
from redraft.domain import THIRDS, TYPES, QuestionType, Span, Third, TypedQuestion, TypedQuestions, content_id, third_of
from redraft.errors import RejectedRequest, ReplyError
from redraft.evaluators.reference.keyfact_builder import FailedReplies
from redraft.events import Notice, Observer
from redraft.prompts.qa import ANSWER_FROM_DOCUMENT, ASK_TYPED, TypedReply, yes_or_no
from redraft.prompts.silence import is_answer
from redraft.text.sanitizer import one_line
from redraft.text.sentences import paragraph_seams, sentences
from redraft.text.words import count_words, has_words, words_key

BUILDING = (ASK_TYPED, ANSWER_FROM_DOCUMENT)
"""The prompts that typed questions depend on."""
PER_THIRD = 1
"""Questions of each type about each third, as in the thesis."""
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

    @property
    def key(self) -> str:
        """Return the cache key: the same for the same judge, prompts, number and text."""
        hashes = [self.judge.book.hash(prompt) for prompt in BUILDING]
        material = [
            self.judge.model.identity,
            self.judge.sample,
            *self.judge.sampling_key,
            *hashes,
            self.each,
            self.end,
        ]
        material += [self.summary] if self.summary else []
        return content_id(json.dumps([*material, self.reader.name]))[:32]

    async def build(self) -> TypedQuestions:
        """Write all questions, in paragraph order. Failures are recorded and do not stop the rest."""
        misses, document = FailedReplies(), self.reader.document
        question_slots = slots(document.text, self.end, self.each)
        made = await gather_all(self._question(slot, misses) for slot in question_slots)
        troubles = [one for one in made if isinstance(one, str)]
        found: dict[str, TypedQuestion] = {}
        for slot, question in zip(question_slots, made, strict=True):
            if (
                isinstance(question, TypedQuestion)
                and found.setdefault(words_key(question.text), question) is not question
            ):
                troubles += [f"no {slot.name}: it is a duplicate"]
        if not found:
            raise misses.build_error(
                "the model returned no typed question", troubles[0] if troubles else "", document.title
            )
        for trouble in troubles:
            self.observer(Notice(trouble))
        questions = in_order(list(found.values()))
        hashes = {prompt.name: self.judge.book.hash(prompt) for prompt in BUILDING}
        key, by = typed_id(document.id, self.end, questions), self.judge.model.identity
        return TypedQuestions(key, document.id, by, hashes, self.end, questions, tuple(troubles))

    async def _question(self, slot: QuestionSlot, misses: FailedReplies) -> TypedQuestion | str:
        """Write the question of a slot from the first paragraph that yields one; returns what went wrong."""
        why = "there is no paragraph to ask about"
        for at, paragraph in enumerate(slot.paragraphs, 1):
            label = f"{slot.name}, paragraph {at} of {len(slot.paragraphs)}"
            start = max(0, paragraph.start - _BEFORE)
            before = self.reader.document.text[start : paragraph.start].partition(" ")[2] if start else ""
            try:
                typed_reply = await Questioner(self.judge).ask(
                    before, self.reader.text(paragraph), slot.type, label, self.summary
                )
                question = _made(typed_reply, slot.type, paragraph)
                if not has_words(question.text):
                    why = "the model returned none"
                    continue
                flaw = flaw_of(question, self.reader.text(paragraph))
                why = f"the model's question {flaw}" if flaw else await self._answered(question)
            except (ReplyError, RejectedRequest) as error:
                misses.note(error)
                why = error.message
            else:
                if not why:
                    return question
        return f"no {slot.name}: {why}"

    async def _answered(self, made: TypedQuestion) -> str:
        """Return what is wrong with an unanswerable question: the document answers it, or the check failed."""
        if made.is_answerable:
            return ""
        results = await Examiner(self.judge).answers_from_document([EvidenceQuery(made.text)], self.reader)
        if not results.verdicts:
            return "whether the document has an answer was not judged"
        return "the document has an answer to it" if results.verdicts[0].answered else ""


@dataclass(frozen=True, slots=True)
class QuestionSlot:
    """A question to write, and the candidate paragraphs in order."""

    third: Third
    type: QuestionType
    number: int
    paragraphs: tuple[Span, ...]

    @property
    def name(self) -> str:
        """Return its name, such as "abstractive question 1 about the middle"."""
        return f"{self.type} question {self.number} about the {self.third}"


def slots(text: str, end: int, each: int) -> list[QuestionSlot]:
    """Return all questions to write about a text up to `end`, with paragraphs spread evenly over each third."""
    spans = paragraphs(text, end)
    wanted = [(number, of_type) for number in range(1, each + 1) for of_type in TYPES]
    question_slots: list[QuestionSlot] = []
    for third in THIRDS:
        own = [span for span in spans if third_of(span, end) == third]
        for at, (number, of_type) in enumerate(wanted):
            first = int((at + 0.5) * len(own) / len(wanted))
            tried = tuple(own[(first + step) % len(own)] for step in range(min(MAX_ATTEMPTS_EACH, len(own))))
            question_slots.append(QuestionSlot(third, of_type, number, tried))
    return question_slots


def paragraphs(text: str, end: int) -> list[Span]:
    """Return the paragraphs of a text up to `end`: consecutive short ones merged, long ones split."""
    seams = [0, *(seam for seam in paragraph_seams(text) if 0 < seam < end), end]
    spans: list[Span] = []
    start = 0
    for _, stop in pairwise(seams):
        if count_words(text[start:stop]) >= _MIN:
            spans += _cut(text, Span(start, stop))
            start = stop
    return spans or ([Span(0, end)] if has_words(text[:end]) else [])


def _cut(text: str, whole: Span) -> Iterator[Span]:
    """Split a paragraph into parts of sensible length at sentence ends, without surrounding whitespace."""
    spans = sentences(text, whole)
    first, words = 0, 0
    for at, span in enumerate(spans):
        words += count_words(text[span.start : span.end])
        if words >= _MAX or at + 1 == len(spans):
            yield Span(spans[first].start, span.end)
            first, words = at + 1, 0


def in_order(questions: Sequence[TypedQuestion]) -> tuple[TypedQuestion, ...]:
    """Return the questions in paragraph order, numbered from 1."""
    ordered = sorted(questions, key=lambda one: (one.paragraph, TYPES.index(one.type), one.text))
    return tuple(
        TypedQuestion(number, question.type, question.text, question.answer, question.reason, question.paragraph)
        for number, question in enumerate(ordered, 1)
    )


def typed_id(document: str, end: int, questions: Sequence[TypedQuestion]) -> str:
    """Return the id of a text's typed questions, derived from their content."""
    material = [document, end, *([q.type, q.text, q.answer, q.reason, *q.paragraph] for q in questions)]
    return content_id(json.dumps(material, ensure_ascii=False))[:16]


def flaw_of(one: TypedQuestion, paragraph: str) -> str:
    """Return why a question is not of its type, or an empty string."""
    if not has_words(one.text):
        return "has no words"
    if one.type == "unanswerable":
        return "has an answer" if one.answer or one.reason else ""
    if not has_words(one.answer):
        return "has no answer"
    if one.type == "binary":
        if one.answer not in ("yes", "no"):
            return "is answered with neither yes nor no"
        return "" if has_words(one.reason) else "has no reason"
    if one.reason:
        return "has a reason, which only yes and no have"
    stands = one.type != "extractive" or f" {words_key(one.answer)} " in f" {words_key(paragraph)} "
    return "" if stands else "has an answer that is not in its paragraph"


def _made(asked: TypedReply, of_type: QuestionType, paragraph: Span) -> TypedQuestion:
    """Return the question in a reply without the fields that its type does not use."""
    answer = one_line(asked.answer, _LONGEST_TEXT)
    answer = answer if is_answer(answer) else ""
    reason = one_line(asked.reason, _LONGEST_TEXT)
    if of_type == "binary":
        answer = yes_or_no(answer) or answer
    reason = reason if of_type == "binary" else ""
    return TypedQuestion(0, of_type, one_line(asked.question, _LONGEST_TEXT), answer, reason, paragraph)
