"""The examiner: asks questions about a text, and has questions answered from one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from redraft.agents.accounting import Account, Attempt, Entries, account
from redraft.agents.evidence import EvidenceDesk
from redraft.agents.judge import Judge, batch_size, labelled
from redraft.agents.looking import Looks
from redraft.agents.room import Entry
from redraft.agents.searching import Reading, Search
from redraft.agents.together import together
from redraft.domain import Evidence
from redraft.errors import RejectedRequest, ReplyError
from redraft.models.thoughts import declines
from redraft.prompts import judging
from redraft.prompts.judging import UNANSWERABLE, UNDECIDED, Asked, Candidate, Pair, Statement
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
        self, excerpt: str, count: tuple[int, int], label: str, attempt: Attempt | None = None
    ) -> list[judging.DocumentQuestion]:
        """Questions about a stretch of the document, from so many to so many, the most important first.

        Who says which attempt it is asks about less where the reply is cut.
        """
        least, most = count
        given = judging.AskDocumentGiven(excerpt=excerpt, at_least=least if least < most else None, count=most)
        reply = await self.judge.ask(judging.ASK_DOCUMENT, given, most * self.judge.needs(QUESTION), label, attempt)
        return [one for one in reply.value.questions if one.question.strip() and is_answer(one.answer)][:most]

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
        self, statements: Sequence[Statement], among: Sequence[Statement], at_most: int, desk: EvidenceDesk
    ) -> Account[judging.SentenceQuestions]:
        """What some sentences of a summary claim, as questions with the answers that they give.

        The summary is in view, all of it where it fits, or that part of it which a sentence stands in. Remembered are
        the questions by sentence, with what it points back to: another draft that says the same there is asked no more.
        """
        parts = desk.parts(among)
        part_of = {one.id: number for number, part in enumerate(parts) for one in part}
        texts = [" ".join(one.sentence for one in part) for part in parts]
        each = at_most * self.judge.needs(CLAIM)

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[judging.SentenceQuestions]:
            asked = [statements[n].model_copy(update={"id": n + 1}) for n in numbers]
            summary = texts[part_of[statements[numbers[0]].id]]
            given = judging.AskSummaryGiven(summary=summary, sentences=asked, at_most=at_most)
            label = labelled("questions about", numbers)
            reply = await self.judge.ask(judging.ASK_SUMMARY, given, len(numbers) * each, label, attempt)
            return Entries([(one.id - 1, one) for one in reply.value.sentences], reply.repaired)

        async def judged(numbers: Sequence[int]) -> Account[judging.SentenceQuestions]:
            groups = [[n for n in numbers if part_of[statements[n].id] == at] for at in range(len(parts))]
            return await account([batch for group in groups for batch in self.judge.batches(group, each)], ask)

        meant = _pointed_back_to(among)
        return await self.judge.remembered(
            judging.ASK_SUMMARY,
            judging.SentenceQuestions,
            [[desk.document.id, at_most, *meant[one.id], one.sentence] for one in statements],
            judged,
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
            told = [answer for answer in said if answer.answer != UNDECIDED]
            given = [answer for answer in told if is_answer(answer.answer)]
            # That the summary is silent is known only when all of it has been read, by one who can tell.
            if given or len(told) == len(accounts):
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

    async def answers_from_document(
        self, questions: Sequence[str], desk: EvidenceDesk, *, wide: bool = False
    ) -> Account[Remembered]:
        """The document's own answers. Before it is believed to hold none, more of it is read; at once where `wide`."""
        each = self.judge.needs(ANSWER)

        async def ask(reading: Reading) -> Entries[Remembered]:
            some, spans = reading.numbers, reading.spans
            asked = [Asked(id=n + 1, question=questions[n]) for n in some]
            given = judging.AnswerFromDocumentGiven(passages=[desk.text(span) for span in spans], questions=asked)
            label = labelled("read more for" if reading.wide else "looked up", some)
            # A second look at the same pages is a further draw: the first reply would only be repeated.
            attempt = replace(reading.attempt, again=reading.attempt.again != reading.wide)
            room = len(some) * each
            reply = await self.judge.ask(judging.ANSWER_FROM_DOCUMENT, given, room, label, attempt)
            return Entries([(one.id - 1, _remembered(one, desk, spans)) for one in reply.value.answers], reply.repaired)

        fitting = batch_size(self.judge.reply_tokens, each)
        looks = Looks(desk, questions, each, min(fitting, QUESTIONS_NEAR), fitting)
        search = Search(looks, ask, _is_silent)
        return await self.judge.remembered(
            judging.ANSWER_FROM_DOCUMENT,
            Remembered,
            [[desk.name, question, *(["wide"] if wide else [])] for question in questions],
            search.closer if wide else search.verdicts,
        )


def _pointed_back_to(statements: Sequence[Statement]) -> dict[int, list[str]]:
    """By the number of a sentence those right before it that tell whom it means: back to one that stands by itself."""
    meant: dict[int, list[str]] = {}
    chain: list[str] = []
    for one in statements:
        chain = chain if one.before else []
        meant[one.id] = list(chain) or ([one.before] if one.before else [])
        chain = [*chain, one.sentence]
    return meant


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
