"""What is known of the answers that sentences of a summary give, so that another draft is read for what is new in it.

An answer stands as long as the sentences stand that it rests on. A question that has none is put to the sentences that
are new to it, with what stands around them. One whose answer has lost a sentence is put to the whole summary as well
before it is believed to have none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from redraft.agents.accounts import Account
from redraft.agents.judge import Judge
from redraft.prompts.contract import Unsure
from redraft.prompts.judging import ANSWER_FROM_SUMMARY, Statement, SummaryAnswer
from redraft.store.connection import off_loop
from redraft.text.vectors import SentenceVectors

# What is read along with new sentences: the one before and the one behind each, and those nearest to a question.
_AROUND, _NEAREST = 1, 2
# Where that is more of the summary, all of it is read.
_MOST_OF_IT = 0.6
_LETTERS = 16

Read = Callable[[Sequence[Statement], Sequence[int]], Awaitable[Account[SummaryAnswer]]]
"""Has questions, by their numbers, answered from some sentences."""


class GivenAnswerSource(BaseModel):
    """An answer, and the names of the sentences that it rests on."""

    answer: str
    answered: bool | Unsure = True
    sentences: list[str]


class KnownAnswers(BaseModel):
    """What is known of one question: the sentences that do not answer it, and what others answer."""

    silent: list[str] = []
    answers: list[GivenAnswerSource] = []

    def stands(self, there: Mapping[str, int]) -> GivenAnswerSource | None:
        """The first answer all of whose sentences are there."""
        return next((one for one in self.answers if all(name in there for name in one.sentences)), None)

    @property
    def names(self) -> set[str]:
        """Of all sentences that it says something of."""
        return {*self.silent, *(name for one in self.answers for name in one.sentences)}


def sentence_names(statements: Sequence[Statement], meant: Mapping[int, Sequence[str]]) -> dict[int, str]:
    """A name for each sentence, which depends on what it says and on what it points back to."""
    return {
        one.id: hashlib.sha256(json.dumps([*meant[one.id], one.sentence]).encode()).hexdigest()[:_LETTERS]
        for one in statements
    }


@dataclass(frozen=True, slots=True)
class KnownStanding:
    """The answers of one summary, or of a part of it, to some questions about a document."""

    judge: Judge
    document: str
    questions: Sequence[str]
    statements: Sequence[Statement]
    names: Mapping[int, str]

    async def answers(self, read: Read) -> Account[SummaryAnswer]:
        """An answer to each question, or that there is none; read is what must be."""
        numbers = range(len(self.questions))
        items = [["standing", self.document, question] for question in self.questions]
        keys = self.judge.keys(ANSWER_FROM_SUMMARY, items)
        known = await off_loop(self.judge.judgments.verdicts, keys)
        knowledge = [KnownAnswers.model_validate_json(known[key]) if key in known else KnownAnswers() for key in keys]
        settled = {n: answer for n in numbers if (answer := self._settled(n, knowledge[n]))}
        left = [n for n in numbers if n not in settled]
        if not left:
            return Account(settled)
        sentences = self._to_read(left, knowledge)
        fresh = await read(sentences, left)
        learned = {n: self._learned(answer, sentences) for n, answer in fresh.verdicts.items()}
        lost = [
            n for n, one in learned.items() if not one.answers and self._settled(n, _joined(knowledge[n], one)) is None
        ]
        more: Account[SummaryAnswer] = await read(self.statements, lost) if lost else Account()
        learned |= {n: self._learned(answer, self.statements) for n, answer in more.verdicts.items()}
        said = {keys[n]: one.model_dump_json() for n, one in learned.items()}
        await off_loop(self.judge.judgments.add_to_verdicts, said, _merged, self.document)
        found = {n: answer for n, answer in fresh.verdicts.items() if n not in lost} | more.verdicts
        return Account(settled | found, fresh.trouble or more.trouble)

    def _settled(self, n: int, known: KnownAnswers) -> SummaryAnswer | None:
        """The answer that is known, also that there is none."""
        ids = {name: number for number, name in reversed(self._named())}
        if given := known.stands(ids):
            sentences = [ids[name] for name in given.sentences]
            return SummaryAnswer(id=n + 1, answered=given.answered, answer=given.answer, sentences=sentences)
        silent = set(known.silent)
        if all(name in silent for _, name in self._named()):
            return SummaryAnswer(id=n + 1, answered=False, answer="", sentences=[])
        return None

    def _named(self) -> list[tuple[int, str]]:
        return [(one.id, self.names[one.id]) for one in self.statements]

    def _to_read(self, left: Sequence[int], knowledge: Sequence[KnownAnswers]) -> Sequence[Statement]:
        """The sentences that these questions are put to."""
        seen = {name for known in knowledge for name in known.names}
        new = {
            at
            for n in left
            for at, (_, name) in enumerate(self._named())
            # Of a question that had an answer nobody knows which other sentences answer it: the new ones come first.
            if name not in (seen if knowledge[n].answers else knowledge[n].silent)
        }
        wanted = {at + step for at in new for step in range(-_AROUND, _AROUND + 1)} & set(range(len(self.statements)))
        if len(wanted) <= _MOST_OF_IT * len(self.statements):
            vectors = SentenceVectors([one.sentence for one in self.statements])
            for n in left:
                near = vectors.similarity_to(self.questions[n])
                wanted |= {int(at) for at in (-near).argsort(kind="stable")[:_NEAREST] if near[at] > 0}
        if len(wanted) > _MOST_OF_IT * len(self.statements):
            return self.statements
        return [self.statements[at] for at in sorted(wanted)]

    def _learned(self, answer: SummaryAnswer, read: Sequence[Statement]) -> KnownAnswers:
        """What is known of a question by an answer that was given to it."""
        if not answer.answered:
            return KnownAnswers(silent=[self.names[one.id] for one in read])
        rests_on = answer.sentences or [one.id for one in read]
        names = [self.names[number] for number in dict.fromkeys(rests_on)]
        return KnownAnswers(
            answers=[GivenAnswerSource(answer=answer.answer, answered=answer.answered, sentences=names)]
        )


def _joined(one: KnownAnswers, other: KnownAnswers) -> KnownAnswers:
    """All that is known by both."""
    fresh = [answer for answer in other.answers if answer not in one.answers]
    return KnownAnswers(silent=list(dict.fromkeys(one.silent + other.silent)), answers=one.answers + fresh)


def _merged(one: str, other: str) -> str:
    return _joined(KnownAnswers.model_validate_json(one), KnownAnswers.model_validate_json(other)).model_dump_json()
