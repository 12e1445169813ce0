"""The answerer: answers a reader's question from the document. Each sentence of an answer has a quote that is verified
there; sentences without one are left out, and named in a note.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from redraft.agents.evidence import CitedPlace, EvidenceBatch, EvidenceQuery, EvidenceReader, EvidenceSearch
from redraft.agents.judge import Attempt, Entries, EntryBudget, Judge
from redraft.domain import Span
from redraft.errors import IncompleteError, Set
from redraft.prompts import qa
from redraft.prompts.silence import is_answer
from redraft.settings import Exchange
from redraft.text.quotes import locate
from redraft.text.reply_cleanup import declines
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words, is_unspaced

_MAX_SENTENCES = 12
_LONGEST_SENTENCE, _LONGEST_QUOTE = 600, 200
# The words of a sentence with its quote, of which a reply may have several.
_WORDS_A_SENTENCE = 15
# A single word occurs somewhere in every document.
_MIN_WORDS = 2
# The words for a part of the question that is asked by itself, at least.
_MIN_REMAINING = 40
_GAP = re.compile(r"…|\.\.\.|\[…\]")


class CitedSentence(BaseModel):
    """A sentence of a reply, with the place that it cites. Without one it is no part of the answer."""

    text: str
    place: Span | None


class FoundAnswer(CitedPlace):
    """An answer, as stored. Its place is the first one cited."""

    answered: bool
    sentences: tuple[CitedSentence, ...] = ()
    missing: str = ""
    """The part of the question that it leaves open, as a question."""

    @property
    def text(self) -> str:
        """Return the answer as a text: the sentences whose quotes are in the document."""
        texts = [sentence.text for sentence in self.sentences if sentence.place]
        return ("" if is_unspaced("".join(texts)) else " ").join(texts)

    @property
    def places(self) -> list[Span]:
        """Return the cited places, each once."""
        return list(dict.fromkeys(sentence.place for sentence in self.sentences if sentence.place))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on what was left out."""
        unverified = dict.fromkeys(sentence.text for sentence in self.sentences if not sentence.place)
        notes = [f"left out, not found in the document: “{text}”" for text in unverified]
        return (*notes, *([f"the document does not say: {self.missing}"] if self.missing else []))


@dataclass(frozen=True, slots=True)
class Answerer:
    """Answers questions about one document. What was asked `earlier` shows what a question refers to."""

    judge: Judge
    reader: EvidenceReader
    language: str | None = None
    earlier: tuple[Exchange, ...] = ()

    async def answer(self, question: str, words: int) -> FoundAnswer:
        """Return the answer. A part of the question that the passages read do not answer is asked by itself, once."""
        answer = await self._answer(question, words)
        if not (answer.answered and answer.missing and self.reader.is_searched):
            return answer
        rest = await self._answer(answer.missing, max(_MIN_REMAINING, words - count_words(answer.text)))
        if not rest.answered:
            return answer
        return answer.model_copy(update={"sentences": (*answer.sentences, *rest.sentences), "missing": rest.missing})

    async def _answer(self, question: str, words: int) -> FoundAnswer:
        """Return the answer. Before reporting that there is none, the whole document is read, part by part. Raises
        `IncompleteError` if no reply can be read."""
        budget = EntryBudget(frame=60, words=words, sentences=1 + words // _WORDS_A_SENTENCE)
        room = min(budget.tokens(self.judge.wording), self.judge.longest_reply)
        conversation = [f"Question: {exchange.question}\nAnswer: {exchange.answer}" for exchange in self.earlier]

        async def ask(reading: EvidenceBatch, attempt: Attempt) -> Entries[FoundAnswer]:
            inputs = qa.AnswerInput(
                **self.reader.fields(reading.spans),
                question=question,
                words=words,
                language=self.language,
                earlier=conversation,
                again=attempt.again,
            )
            label = "reading more for the answer" if reading.wide else "answer"
            reply = await self.judge.ask(qa.WRITE_ANSWER, inputs, room, label, attempt)
            answer = self._found(reply.value, reading.spans)
            last = attempt.again or reply.repaired
            # An answer that loses its first sentence is asked for again: the others seldom stand without it.
            is_sourced = not answer.answered or answer.sentences[0].place is not None
            return reply, [(0, answer if last or is_sourced else None)]

        # "Why did he do it?" is found by the words of the question before it.
        query = EvidenceQuery(question, also=(conversation[-1],) if conversation else ())
        search = EvidenceSearch(self.reader, [query], room, 1, 1, ask, lambda answer: not answer.places)
        item = [*self.reader.key(query), words, self.language, *([conversation] if conversation else [])]
        account = await self.judge.verdicts(qa.WRITE_ANSWER, FoundAnswer, [item], search.verdicts)
        if 0 not in account.verdicts:
            fix = ("try another ", Set("model"), ", or ", Set("prompts", "simple"), " for a weak one")
            raise IncompleteError(f"there is no answer: {account.trouble or 'the replies disagree'}", fix=fix)
        answer = account.verdicts[0]
        # A statement without support in the document is not an answer from it.
        return answer if answer.places else answer.model_copy(update={"answered": False})

    def _found(self, reply: qa.WrittenAnswer, spans: Sequence[Span]) -> FoundAnswer:
        """Return the answer in a reply, with its quotes located."""
        answer_sentences = [
            sentence for sentence in reply.sentences if is_answer(sentence.sentence) and not declines(sentence.sentence)
        ]
        if reply.answered is False or not answer_sentences:
            return FoundAnswer(answered=False)
        sentences: list[CitedSentence] = []
        for sentence in answer_sentences[:_MAX_SENTENCES]:
            quote = max(_GAP.split(sentence.quote), key=len).strip()
            place = locate(self.reader.document.text, quote, spans) if count_words(quote) >= _MIN_WORDS else None
            place = (self.reader.sentences_at(place).span or place) if place else None
            text = one_line(sentence.sentence, _LONGEST_SENTENCE)
            sentences.append(CitedSentence(text=text, place=place))
        missing = one_line(reply.missing, _LONGEST_QUOTE)
        first = next((sentence.place for sentence in sentences if sentence.place), None)
        evidence = self.reader.place(first) if first else None
        return FoundAnswer(answered=True, sentences=tuple(sentences), missing=missing, evidence=evidence)
