"""Answers to questions: given, absent or undecided, and which of them an earlier draft already gave."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from pydantic import BaseModel

from redraft.agents.accounts import ItemResults
from redraft.agents.judge import Judge, Memory
from redraft.errors import RejectedRequest, ReplyError
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.qa import ANSWER_FROM_SUMMARY, DocumentAnswer, Statement, SummaryAnswer, yes_or_no
from redraft.prompts.silence import is_answer
from redraft.text.languages import language_of
from redraft.text.refusals import declines
from redraft.text.vectors import SentenceVectors, telling_terms
from redraft.text.words import has_words, words_key

# What is read along with new sentences: the neighbours of each, and the sentences nearest to a question.
_AROUND, _NEAREST = 1, 2
# Above this share of the summary, all of it is read.
_MAJORITY_SHARE = 0.6
_LETTERS = 16

Read = Callable[[Sequence[Statement], Sequence[int]], Awaitable[ItemResults[SummaryAnswer]]]
"""Answers questions, by number, from some sentences."""


class AnswerSource(BaseModel):
    """An answer, and the names of the sentences that support it."""

    answer: str
    answered: bool | Unsure = True
    sentences: list[str]
    read: str = ""
    """The name of all the sentences that were read for it."""


class KnownAnswers(BaseModel):
    """What is known of one question: the sentences that do not answer it, and the answers in the others."""

    silent: list[str] = []
    answers: list[AnswerSource] = []

    def joined(self, newer: KnownAnswers) -> KnownAnswers:
        """Return what both know."""
        answers = [answer for answer in newer.answers if answer not in self.answers]
        return KnownAnswers(silent=list(dict.fromkeys(self.silent + newer.silent)), answers=self.answers + answers)

    @staticmethod
    def merge(stored: str, new: str) -> str:
        """Join what is stored with what is new."""
        joined_answers = KnownAnswers.model_validate_json(stored).joined(KnownAnswers.model_validate_json(new))
        return joined_answers.model_dump_json()


def _name_of(*texts: str) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:_LETTERS]


class SummaryAnswerSource:
    """The answers that one summary, or a part of one, gives to questions about a document. What an earlier summary said
    to a question stands while the sentences are there that said it; only sentences that are new are read for it."""

    def __init__(
        self,
        questions: Sequence[str],
        statements: Sequence[Statement],
        antecedents: Mapping[int, Sequence[str]],
        *,
        whole: bool,
    ) -> None:
        """With `whole`, an answer stands only if all these sentences, and no others, were read for it. A sentence is
        known by its text and the sentences that it refers back to."""
        self._questions, self._statements, self._whole = questions, statements, whole
        self._names = {
            statement.id: _name_of(*antecedents[statement.id], statement.sentence) for statement in statements
        }
        self._known: dict[int, KnownAnswers] = {}
        self._learned: dict[int, KnownAnswers] = {}

    async def look_up(self, judge: Judge, document: str, read: Read) -> ItemResults[SummaryAnswer]:
        """Return an answer to each question, reading only the sentences that are not known yet."""

        def recall(number: int, text: str) -> SummaryAnswer | None:
            self._known[number] = KnownAnswers.model_validate_json(text)
            return self._settled(number, self._known[number])

        async def ask(numbers: Sequence[int]) -> ItemResults[SummaryAnswer]:
            return await self._read(numbers, read) if numbers else ItemResults()

        memory = Memory(
            [["standing", document, question] for question in self._questions],
            recall,
            lambda number, _: self._learned[number].model_dump_json(),
            KnownAnswers.merge,
        )
        return await judge.verdicts(ANSWER_FROM_SUMMARY, SummaryAnswer, [], ask, memory)

    async def _read(self, numbers: Sequence[int], read: Read) -> ItemResults[SummaryAnswer]:
        """Read the new sentences and, where the answer that they replaced is gone, all sentences."""
        statements = self._statements if self._whole else self._to_read(numbers)
        first = await read(statements, numbers)
        self._learned = {number: self._learn(answer, statements) for number, answer in first.verdicts.items()}
        lost = [
            number
            for number, learned in self._learned.items()
            if not learned.answers and self._settled(number, self._known_of(number).joined(learned)) is None
        ]
        second: ItemResults[SummaryAnswer] = await read(self._statements, lost) if lost else ItemResults()
        self._learned |= {number: self._learn(answer, self._statements) for number, answer in second.verdicts.items()}
        confirmed = {number: answer for number, answer in first.verdicts.items() if number not in lost}
        return ItemResults(confirmed | second.verdicts, first.trouble or second.trouble)

    def _known_of(self, number: int) -> KnownAnswers:
        return self._known.get(number, KnownAnswers())

    def _settled(self, number: int, memory: KnownAnswers) -> SummaryAnswer | None:
        """Return the known answer, preferably one for which all of these sentences were read, or that there is none;
        None if neither is known."""
        ids = {name: id_ for id_, name in reversed(self._names.items())}
        valid_answers = [answer for answer in memory.answers if ids.keys() >= set(answer.sentences)]
        read_whole = [answer for answer in valid_answers if answer.read == _name_of(*sorted(ids))]
        for source in read_whole or ([] if self._whole else valid_answers):
            sentences = [ids[name] for name in source.sentences]
            return SummaryAnswer(id=number + 1, answered=source.answered, answer=source.answer, sentences=sentences)
        if ids.keys() <= set(memory.silent):
            return SummaryAnswer(id=number + 1, answered=False, answer="", sentences=[])
        return None

    def _to_read(self, numbers: Sequence[int]) -> Sequence[Statement]:
        """Return the sentences that these questions are asked of: the new ones with their neighbours, and the nearest
        to each question; all of them, where that is most of them."""
        names, count = list(self._names.values()), len(self._statements)
        read_before: set[str] = set()
        for memory in self._known.values():
            read_before.update(memory.silent, *(answer.sentences for answer in memory.answers))
        new = {
            at
            for number in numbers
            for memory in [self._known_of(number)]
            for at, name in enumerate(names)
            # If a question had an answer, new sentences are read first.
            if name not in (read_before if memory.answers else memory.silent)
        }
        chosen = {at + step for at in new for step in range(-_AROUND, _AROUND + 1)} & set(range(count))
        if len(chosen) <= _MAJORITY_SHARE * count:
            vectors = SentenceVectors([statement.sentence for statement in self._statements])
            for number in numbers:
                near = vectors.similarity_to(self._questions[number])
                chosen |= {int(at) for at in (-near).argsort(kind="stable")[:_NEAREST] if near[at] > 0}
        if len(chosen) > _MAJORITY_SHARE * count:
            return self._statements
        return [self._statements[at] for at in sorted(chosen)]

    def _learn(self, answer: SummaryAnswer, read: Sequence[Statement]) -> KnownAnswers:
        """Return what an answer from these sentences says of its question."""
        names = [self._names[statement.id] for statement in read]
        if not answer.answered:
            return KnownAnswers(silent=names)
        supporting = [self._names[id_] for id_ in dict.fromkeys(answer.sentences)] or names
        source = AnswerSource(
            answer=answer.answer, answered=answer.answered, sentences=supporting, read=_name_of(*sorted(set(names)))
        )
        return KnownAnswers(answers=[source])


# An answer given to this many questions is suspicious, or to all of them if there are fewer.
_SEVERAL = 3
_WORD = re.compile(r"\w+")
# Counts as an answer if its place is named: to "who was hurt", for instance.
_NONE = "none"

Answer = TypeVar("Answer", SummaryAnswer, DocumentAnswer)


def is_answered(
    answered: bool | Unsure | None, answer: str, *, placed: bool, by_words: bool = True
) -> bool | Unsure | None:
    """Return whether an answer counts as one; None if that is not a verdict. `placed` says that it names an existing
    place of the text, which outweighs a reply that denies having an answer. With `by_words`, words that say that there
    is no answer are none."""
    if answered == UNSURE:
        return UNSURE
    if not answer.strip():
        return None if answered is not False else False
    if by_words and not is_answer(answer):
        if answered is True and placed and words_key(answer) == _NONE:
            return True
        return None if answered and not has_words(answer) else False
    if declines(answer):
        return None
    return True if answered is not False else placed


@dataclass(frozen=True, slots=True)
class ReplyAnswers(Generic[Answer]):
    """Checks the answers of one reply to questions about the text that `read` returns."""

    read: Callable[[], str]
    placed: Callable[[Answer], bool]
    """Whether an answer names an existing place of the text."""
    compared: bool = False
    """Whether every answer is compared with its place afterwards, which finds those that say nothing."""

    async def settled(
        self, answers: Sequence[Answer], ask_again: Callable[[list[int]], Awaitable[Sequence[Answer]]]
    ) -> list[tuple[int, Answer | None]]:
        """Return each settled answer by the number of its question, from 0; None means no verdict. `again` repeats the
        doubtful questions."""
        settled, doubted = self._weighed(answers)
        if doubted:
            try:
                replies = await ask_again(sorted(doubted))
            except (ReplyError, RejectedRequest):
                replies = ()
            settled = [(number, answer) for number, answer in settled if number not in doubted]
            second, still = self._weighed(replies)
            for number, answer in second:
                if number in still and answer is not None:
                    # Without a place the second time there is no answer; a bare "yes" is left open.
                    answer = None if _is_yes_or_no(answer.answer) else _silent(answer)
                settled += [(number, answer)] if number in doubted else []
        return [(number - 1, answer) for number, answer in settled]

    def _weighed(self, answers: Sequence[Answer]) -> tuple[list[tuple[int, Answer | None]], set[int]]:
        """Return the answers settled without asking again, and the numbers of the doubtful ones."""
        keys = {(answer.id, words_key(answer.answer)) for answer in answers}
        fewest = min(_SEVERAL, max(2, len({number for number, _ in keys})))
        times = Counter(key for _, key in keys if key)
        settled: list[tuple[int, Answer | None]] = []
        doubted: set[int] = set()
        for answer in answers:
            placed = self.placed(answer)
            answered = is_answered(answer.answered, answer.answer, placed=placed, by_words=not self.compared)
            verdict = None if answered is None else answer.model_copy(update={"answered": answered})
            if answered is True and not (self.compared and placed):
                repeated = times[words_key(answer.answer)] >= fewest
                if repeated and not (placed and self._is_in_words(answer)) and not self._has_words(answer):
                    if _is_yes_or_no(answer.answer):
                        doubted.add(answer.id)
                    else:
                        verdict = None if placed else _silent(answer)
                elif not placed and not self._is_in_words(answer):
                    doubted.add(answer.id)
            settled.append((answer.id, verdict))
        return settled, doubted

    def _has_words(self, answer: Answer) -> bool:
        """Return whether the text has the answer's very words, as it has a name that answers several questions."""
        return f" {words_key(answer.answer)} " in f" {_key(self.read())} "

    def _is_in_words(self, answer: Answer) -> bool:
        """Return whether the answer is yes or no, or shares a telling word with the text."""
        text = self.read()
        language = language_of(text)
        return _is_yes_or_no(answer.answer) or not telling_terms(text, language).isdisjoint(
            telling_terms(answer.answer, language)
        )


def _is_yes_or_no(answer: str) -> bool:
    return yes_or_no(answer) is not None and len(_WORD.findall(answer)) == 1


def _silent(answer: Answer) -> Answer:
    return answer.model_copy(update={"answered": False})


@lru_cache(maxsize=4)
def _key(text: str) -> str:
    return words_key(text)
