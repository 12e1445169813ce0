"""The examiner: asks questions about a text, and has questions answered from one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from redraft.agents.accounting import Account, Attempt, Entries, account
from redraft.agents.evidence import EvidenceDesk
from redraft.agents.judge import Judge, batch_size, labelled
from redraft.agents.room import Entry
from redraft.agents.searching import Reading, Search
from redraft.agents.together import together
from redraft.domain import Evidence
from redraft.errors import RejectedRequest, ReplyError
from redraft.models.thoughts import declines
from redraft.prompts import judging
from redraft.prompts.judging import UNANSWERABLE, Asked, Candidate, Pair, Statement
from redraft.prompts.silence import is_answer
from redraft.text.cleaning import one_line

# What one entry of a reply may hold. A batch is as large as lets all of its entries fit into the room for a reply.
QUESTION = Entry(frame=32, words=28, sentences=1)
CLAIM = Entry(frame=40, words=32)
ANSWER = Entry(frame=36, words=12, sentences=1)
COMPARISON = Entry(frame=32, words=20)
NUMBER = Entry(frame=8)
# Questions about a document are answered from shared passages: the fewer at once, the less there is to read past.
QUESTIONS_NEAR = 20
_LONGEST_ANSWER = 600


class Remembered(BaseModel):
    """An answer from the document as it is remembered: with the place that holds it."""

    answer: str
    evidence: str = ""
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Examiner:
    """Asks a judge questions about texts, and for answers from them."""

    judge: Judge

    async def ask_document(
        self, excerpt: str, count: int, label: str, attempt: Attempt | None = None
    ) -> list[judging.DocumentQuestion]:
        """At most `count` questions about a stretch of the document, the most important first.

        Who says which attempt it is asks about less where the reply is cut.
        """
        given = judging.AskDocumentGiven(excerpt=excerpt, count=count)
        reply = await self.judge.ask(judging.ASK_DOCUMENT, given, count * self.judge.needs(QUESTION), label, attempt)
        return [one for one in reply.value.questions if one.question.strip() and is_answer(one.answer)][:count]

    async def rank(self, candidates: Sequence[Candidate], label: str) -> list[int]:
        """The numbers of the candidates, the most important first. Those that are passed over follow as they came."""
        given = judging.RankGiven(candidates=list(candidates))
        try:
            reply = await self.judge.ask(
                judging.RANK_QUESTIONS, given, len(candidates) * self.judge.needs(NUMBER), label
            )
            order = reply.value.order
        except (ReplyError, RejectedRequest):
            order = []
        known = {candidate.id for candidate in candidates}
        return list(dict.fromkeys([number for number in order if number in known] + sorted(known)))

    async def questions_about(
        self, statements: Sequence[Statement], at_most: int, document: str
    ) -> Account[judging.SentenceQuestions]:
        """What each sentence of a summary claims, as questions with the answers that it gives."""

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[judging.SentenceQuestions]:
            asked = [statements[n].model_copy(update={"id": n + 1}) for n in numbers]
            given = judging.AskSummaryGiven(sentences=asked, at_most=at_most)
            room = len(numbers) * at_most * self.judge.needs(CLAIM)
            label = labelled("questions about", numbers)
            reply = await self.judge.ask(judging.ASK_SUMMARY, given, room, label, attempt)
            return Entries([(one.id - 1, one) for one in reply.value.sentences], reply.repaired)

        return await self.judge.remembered(
            judging.ASK_SUMMARY,
            judging.SentenceQuestions,
            [[document, at_most, one.before, one.sentence] for one in statements],
            lambda numbers: account(self.judge.batches(numbers, at_most * self.judge.needs(CLAIM)), ask),
        )

    async def answers_from_summary(
        self, statements: Sequence[Statement], questions: Sequence[str], desk: EvidenceDesk
    ) -> Account[list[judging.SummaryAnswer]]:
        """The answers that a summary gives to each question; none where it is silent.

        A summary too long for one prompt is read in parts, and more than one of them may have an answer.
        """
        parts = desk.parts(statements)
        accounts = await together(self._answers_from(part, questions) for part in parts)
        verdicts: dict[int, list[judging.SummaryAnswer]] = {}
        for n in range(len(questions)):
            said = [one.verdicts[n] for one in accounts if n in one.verdicts]
            given = [answer for answer in said if is_answer(answer.answer)]
            # That the summary is silent is known only when all of it has been read.
            if given or len(said) == len(accounts):
                verdicts[n] = given
        return Account(verdicts, next((one.trouble for one in accounts if one.trouble), ""))

    async def _answers_from(
        self, statements: Sequence[Statement], questions: Sequence[str]
    ) -> Account[judging.SummaryAnswer]:
        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[judging.SummaryAnswer]:
            asked = [Asked(id=n + 1, question=questions[n]) for n in numbers]
            given = judging.AnswerFromSummaryGiven(sentences=list(statements), questions=asked)
            room = len(numbers) * self.judge.needs(ANSWER)
            label = labelled("answers", numbers)
            reply = await self.judge.ask(judging.ANSWER_FROM_SUMMARY, given, room, label, attempt)
            answers = reply.value.answers
            return Entries([(one.id - 1, one if _is_given(one.answer) else None) for one in answers], reply.repaired)

        return await account(self.judge.batches(range(len(questions)), self.judge.needs(ANSWER)), ask)

    async def compare_answers(self, pairs: Sequence[Pair]) -> Account[judging.Comparison]:
        """Whether the answers of each pair contradict each other."""

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[judging.Comparison]:
            given = judging.CompareGiven(pairs=[pairs[n].model_copy(update={"id": n + 1}) for n in numbers])
            room = len(numbers) * self.judge.needs(COMPARISON)
            reply = await self.judge.ask(judging.COMPARE_ANSWERS, given, room, labelled("compared", numbers), attempt)
            return Entries([(one.id - 1, one) for one in reply.value.comparisons], reply.repaired)

        return await self.judge.remembered(
            judging.COMPARE_ANSWERS,
            judging.Comparison,
            [[pair.question, pair.document, pair.summary] for pair in pairs],
            lambda numbers: account(self.judge.batches(numbers, self.judge.needs(COMPARISON)), ask),
        )

    async def answers_from_document(self, questions: Sequence[str], desk: EvidenceDesk) -> Account[Remembered]:
        """The document's own answers. Before it is believed to hold none, more of it is read."""

        async def ask(reading: Reading) -> Entries[Remembered]:
            some, spans = reading.numbers, reading.spans
            asked = [Asked(id=n + 1, question=questions[n]) for n in some]
            given = judging.AnswerFromDocumentGiven(passages=[desk.text(span) for span in spans], questions=asked)
            label = labelled("read more for" if reading.wide else "looked up", some)
            room = len(some) * self.judge.needs(ANSWER)
            reply = await self.judge.ask(judging.ANSWER_FROM_DOCUMENT, given, room, label, reading.attempt)
            return Entries([(one.id - 1, _remembered(one, desk, spans)) for one in reply.value.answers], reply.repaired)

        fitting = batch_size(self.judge.reply_tokens, self.judge.needs(ANSWER))
        search = Search(desk, questions, ask, _is_silent, min(fitting, QUESTIONS_NEAR), fitting)
        return await self.judge.remembered(
            judging.ANSWER_FROM_DOCUMENT,
            Remembered,
            [[desk.name, question] for question in questions],
            search.verdicts,
        )


def _is_given(answer: str) -> bool:
    """Whether there is an answer, be it that there is none: to say nothing, or that one will not, is neither."""
    return bool(answer.strip()) and not (is_answer(answer) and declines(answer))


def _is_silent(answer: Remembered) -> bool:
    return not is_answer(answer.answer)


def _remembered(answer: judging.DocumentAnswer, desk: EvidenceDesk, spans: Sequence[Any]) -> Remembered | None:
    words = one_line(answer.answer, _LONGEST_ANSWER)
    if not _is_given(words):
        return None
    if not is_answer(words):
        return Remembered(answer=UNANSWERABLE)
    evidence: Evidence = desk.quoted(answer.quote or words, spans)
    span = evidence.span
    return Remembered(
        answer=words, evidence=evidence.text, start=span.start if span else None, end=span.end if span else None
    )
