"""Answers to questions: given, absent or undecided, and which of them an earlier draft already gave."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from pydantic import BaseModel

from redraft.agents.accounts import ItemResults
from redraft.agents.judge import Judge
from redraft.errors import RejectedRequest, ReplyError
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.qa import ANSWER_FROM_SUMMARY, DocumentAnswer, Statement, SummaryAnswer, yes_or_no
from redraft.prompts.silence import is_answer
from redraft.store.connection import off_loop
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


class GivenAnswerSource(BaseModel):
    """An answer, and the names of the sentences that support it."""

    answer: str
    answered: bool | Unsure = True
    sentences: list[str]
    read: str = ""
    """The name of all the sentences that were read for it."""


class KnownAnswers(BaseModel):
    """What is known of one question: the sentences that do not answer it, and the answers in the others."""

    silent: list[str] = []
    answers: list[GivenAnswerSource] = []

    def supported_answer(self, there: Mapping[str, int], *, whole: bool) -> GivenAnswerSource | None:
        """Return the first answer whose sentences are all present, preferably one that all of these sentences, and no
        others, were read for; with `whole` only such an answer."""
        supported = [source for source in self.answers if all(name in there for name in source.sentences)]
        read_whole = [source for source in supported if source.read == _name_of(there)]
        return next(iter(read_whole or ([] if whole else supported)), None)

    @property
    def names(self) -> set[str]:
        """Return the names of all sentences about which something is known."""
        return {*self.silent, *(name for source in self.answers for name in source.sentences)}


def _name_of(names: Iterable[str]) -> str:
    return hashlib.sha256(json.dumps(sorted(set(names))).encode()).hexdigest()[:_LETTERS]


def sentence_names(statements: Sequence[Statement], meant: Mapping[int, Sequence[str]]) -> dict[int, str]:
    """Return a name for each sentence, a hash of its text and of what it refers back to."""
    return {
        statement.id: hashlib.sha256(json.dumps([*meant[statement.id], statement.sentence]).encode()).hexdigest()[
            :_LETTERS
        ]
        for statement in statements
    }


@dataclass(frozen=True, slots=True)
class SummaryAnswerCache:
    """The answers that one summary, or part of one, gives to questions about a document; known ones are reused."""

    judge: Judge
    document: str
    questions: Sequence[str]
    statements: Sequence[Statement]
    names: Mapping[int, str]

    whole: bool = False
    """Whether an answer counts as known only if all the sentences were read for it."""

    async def answers(self, read: Read) -> ItemResults[SummaryAnswer]:
        """Return an answer to each question, reading only the sentences that are not known yet."""
        numbers = range(len(self.questions))
        items = [["standing", self.document, question] for question in self.questions]
        keys = self.judge.keys(ANSWER_FROM_SUMMARY, items)
        known = await off_loop(self.judge.judgments.verdicts, keys)
        knowledge = [KnownAnswers.model_validate_json(known[key]) if key in known else KnownAnswers() for key in keys]
        settled = {n: answer for n in numbers if (answer := self._settled(n, knowledge[n]))}
        left = [n for n in numbers if n not in settled]
        if not left:
            return ItemResults(settled)
        sentences = self.statements if self.whole else self._to_read(left, knowledge)
        fresh = await read(sentences, left)
        learned = {n: self._learned(answer, sentences) for n, answer in fresh.verdicts.items()}
        lost = [
            n
            for n, answers in learned.items()
            if not answers.answers and self._settled(n, _joined(knowledge[n], answers)) is None
        ]
        more: ItemResults[SummaryAnswer] = await read(self.statements, lost) if lost else ItemResults()
        learned |= {n: self._learned(answer, self.statements) for n, answer in more.verdicts.items()}
        said = {keys[n]: answers.model_dump_json() for n, answers in learned.items()}
        await off_loop(self.judge.judgments.add_to_verdicts, said, _merged, self.document)
        found = {n: answer for n, answer in fresh.verdicts.items() if n not in lost} | more.verdicts
        return ItemResults(settled | found, fresh.trouble or more.trouble)

    def _settled(self, n: int, known: KnownAnswers) -> SummaryAnswer | None:
        """Return the known answer, or that there is none; None if neither is known."""
        ids = {name: number for number, name in reversed(self._named())}
        if source := known.supported_answer(ids, whole=self.whole):
            sentences = [ids[name] for name in source.sentences]
            return SummaryAnswer(id=n + 1, answered=source.answered, answer=source.answer, sentences=sentences)
        silent = set(known.silent)
        if all(name in silent for _, name in self._named()):
            return SummaryAnswer(id=n + 1, answered=False, answer="", sentences=[])
        return None

    def _named(self) -> list[tuple[int, str]]:
        return [(statement.id, self.names[statement.id]) for statement in self.statements]

    def _to_read(self, left: Sequence[int], knowledge: Sequence[KnownAnswers]) -> Sequence[Statement]:
        """Return the sentences that these questions are asked of."""
        seen = {name for answers in knowledge for name in answers.names}
        new = {
            at
            for n in left
            for at, (_, name) in enumerate(self._named())
            # If a question had an answer, new sentences are read first.
            if name not in (seen if knowledge[n].answers else knowledge[n].silent)
        }
        wanted = {at + step for at in new for step in range(-_AROUND, _AROUND + 1)} & set(range(len(self.statements)))
        if len(wanted) <= _MAJORITY_SHARE * len(self.statements):
            vectors = SentenceVectors([statement.sentence for statement in self.statements])
            for n in left:
                near = vectors.similarity_to(self.questions[n])
                wanted |= {int(at) for at in (-near).argsort(kind="stable")[:_NEAREST] if near[at] > 0}
        if len(wanted) > _MAJORITY_SHARE * len(self.statements):
            return self.statements
        return [self.statements[at] for at in sorted(wanted)]

    def _learned(self, answer: SummaryAnswer, read: Sequence[Statement]) -> KnownAnswers:
        if not answer.answered:
            return KnownAnswers(silent=[self.names[statement.id] for statement in read])
        rests_on = answer.sentences or [statement.id for statement in read]
        names = [self.names[number] for number in dict.fromkeys(rests_on)]
        source = GivenAnswerSource(
            answer=answer.answer,
            answered=answer.answered,
            sentences=names,
            read=_name_of(self.names[statement.id] for statement in read),
        )
        return KnownAnswers(answers=[source])


def _joined(one: KnownAnswers, other: KnownAnswers) -> KnownAnswers:
    fresh = [answer for answer in other.answers if answer not in one.answers]
    return KnownAnswers(silent=list(dict.fromkeys(one.silent + other.silent)), answers=one.answers + fresh)


def _merged(one: str, other: str) -> str:
    return _joined(KnownAnswers.model_validate_json(one), KnownAnswers.model_validate_json(other)).model_dump_json()


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
        self, answers: Sequence[Answer], again: Callable[[list[int]], Awaitable[Sequence[Answer]]]
    ) -> list[tuple[int, Answer | None]]:
        """Return each settled answer by the number of its question; None means no verdict. `again` repeats the doubtful
        questions."""
        found, doubted = self._weighed(answers)
        if not doubted:
            return found
        try:
            replies = await again(sorted(doubted))
        except (ReplyError, RejectedRequest):
            replies = ()
        second, still = self._weighed(replies)
        # Without a place the second time there is no answer; a bare "yes" is left open.
        closed = [
            (n, None if one is None or _is_yes_or_no(one.answer) else _silent(one)) if n in still else (n, one)
            for n, one in second
        ]
        return [(n, one) for n, one in found if n not in doubted] + [(n, one) for n, one in closed if n in doubted]

    def _weighed(self, answers: Sequence[Answer]) -> tuple[list[tuple[int, Answer | None]], set[int]]:
        """Return the answers settled without asking again, and the numbers of the doubtful ones."""
        repeated = _repeated(answers)
        found: list[tuple[int, Answer | None]] = []
        doubted: set[int] = set()
        for answer in answers:
            placed = self.placed(answer)
            answered = is_answered(answer.answered, answer.answer, placed=placed, by_words=not self.compared)
            settled = None if answered is None else answer.model_copy(update={"answered": answered})
            if settled is not None and answered is True and not (self.compared and placed):
                if words_key(answer.answer) in repeated and not self._is_supported(answer.answer, placed=placed):
                    if _is_yes_or_no(answer.answer):
                        doubted.add(answer.id)
                    else:
                        settled = None if placed else _silent(answer)
                elif not placed and not _is_yes_or_no(answer.answer) and not self._shares(answer.answer):
                    doubted.add(answer.id)
            found.append((answer.id, settled))
        return found, doubted

    def _is_supported(self, answer: str, *, placed: bool) -> bool:
        """Return whether an answer that several questions share may still be right, as a name may be."""
        if placed and (_is_yes_or_no(answer) or self._shares(answer)):
            return True
        return f" {words_key(answer)} " in f" {_key(self.read())} "

    def _shares(self, answer: str) -> bool:
        """Return whether the answer shares a telling word with the text."""
        read = self.read()
        language = language_of(read)
        return not telling_terms(read, language).isdisjoint(telling_terms(answer, language))


def _is_yes_or_no(answer: str) -> bool:
    return yes_or_no(answer) is not None and len(_WORD.findall(answer)) == 1


def _silent(answer: Answer) -> Answer:
    return answer.model_copy(update={"answered": False})


def _repeated(answers: Sequence[Answer]) -> set[str]:
    """Return the answers that are given to several questions."""
    questions = {answer.id for answer in answers}
    given = Counter(key for _, key in {(answer.id, words_key(answer.answer)) for answer in answers} if key)
    fewest = min(_SEVERAL, max(2, len(questions)))
    return {key for key, times in given.items() if times >= fewest}


@lru_cache(maxsize=4)
def _key(text: str) -> str:
    return words_key(text)
