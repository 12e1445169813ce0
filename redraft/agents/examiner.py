"""The examiner: asks questions about a text, and has questions answered from one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from redraft.agents.accounting import Account, Attempt, Entries, account
from redraft.agents.evidence import EvidenceDesk, Placed, Wanted
from redraft.agents.judge import Judge, batch_size, in_batches, labelled
from redraft.agents.looking import Looks
from redraft.agents.room import Entry
from redraft.agents.searching import Reading, Search
from redraft.agents.standing import Standing, sentence_names
from redraft.agents.together import together
from redraft.domain import Evidence
from redraft.errors import RejectedRequest, ReplyError
from redraft.models.thoughts import declines
from redraft.prompts import judging
from redraft.prompts.judging import UNANSWERABLE, UNDECIDED, Asked, Candidate, Pair, Statement, Told
from redraft.prompts.silence import is_answer
from redraft.text.cleaning import one_line

# What one entry of a reply may hold.
QUESTION = Entry(frame=32, words=28, sentences=1)
CLAIM = Entry(frame=40, words=32)
ANSWER = Entry(frame=36, words=12, sentences=1)
COMPARISON = Entry(frame=32, words=20)
NUMBER = Entry(frame=8)
# Entries hardly ever need all at once what each of them may need. As a rule they take so much of it, indented or not;
# and of the questions that may be asked about a sentence two of three are asked.
_AS_A_RULE, _ASKED_AS_A_RULE = 0.6, 0.67
# Questions about a document are answered from shared passages: the fewer at once, the less there is to read past.
QUESTIONS_NEAR = 32
# What a prompt about a summary says besides, with the schema of its reply; and around a question to number it.
_FRAME_TOKENS, _AROUND = 600, 8
_LONGEST_ANSWER = 600


class Remembered(Placed):
    """An answer from the document as it is remembered: with the place that holds it."""

    answer: str


@dataclass(frozen=True, slots=True)
class Examiner:
    """Asks a judge questions about texts, and for answers from them."""

    judge: Judge

    async def ask_document(
        self, excerpt: str, count: tuple[int, int], label: str, attempt: Attempt | None = None
    ) -> tuple[list[judging.DocumentQuestion], bool]:
        """Questions about a stretch of the document, from so many to so many, the most important first, each once; and
        whether the reply was cut, and would have had more of them.

        Who says which attempt it is asks about less where the reply is cut.
        """
        least, most = count
        given = judging.AskDocumentGiven(excerpt=excerpt, at_least=least if least < most else None, count=most)
        reply = await self.judge.ask(judging.ASK_DOCUMENT, given, most * self.judge.needs(QUESTION), label, attempt)
        asked = [one for one in reply.value.questions if one.question.strip() and is_answer(one.answer)][:most]
        once = {one_line(one.question).casefold(): one for one in reversed(asked)}
        return [one for one in asked if once[one_line(one.question).casefold()] is one], reply.broken_off

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
        place = {one.id: n for n, one in enumerate(statements)}
        each = at_most * self.judge.needs(CLAIM)
        rooms = [self.judge.room_beside(_FRAME_TOKENS + desk.tokens_of(part), desk.window) for part in parts]

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[judging.SentenceQuestions]:
            part = parts[part_of[statements[numbers[0]].id]]
            only = [] if len(numbers) == len(part) else [statements[n].id for n in numbers]
            given = judging.AskSummaryGiven(sentences=_told(part), only=only, at_most=at_most)
            room = min(len(numbers) * each, rooms[part_of[statements[numbers[0]].id]])
            label = labelled("questions about", numbers)
            reply = await self.judge.ask(judging.ASK_SUMMARY, given, room, label, attempt)
            found = [(place[one.id], one) for one in reply.value.sentences if one.id in place]
            return Entries(found, reply.repaired, reply.broken_off)

        async def judged(numbers: Sequence[int]) -> Account[judging.SentenceQuestions]:
            batches: list[Sequence[int]] = []
            for at in range(len(parts)):
                group = [n for n in numbers if part_of[statements[n].id] == at]
                batches += in_batches(group, entries_at_once(rooms[at], each * _ASKED_AS_A_RULE))
            return await account(batches, ask)

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
        names = sentence_names(statements, _pointed_back_to(statements))
        accounts = await together(
            Standing(self.judge, desk.document.id, questions, part, names).answers(
                lambda some, numbers: self._answers_from(some, numbers, questions, desk)
            )
            for part in desk.parts(statements)
        )
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
        self, statements: Sequence[Statement], wanted: Sequence[int], questions: Sequence[str], desk: EvidenceDesk
    ) -> Account[judging.SummaryAnswer]:
        each = self.judge.needs(ANSWER)
        asking = sum(desk.tokenizer.count(questions[n]) + _AROUND for n in wanted)
        limit = self.judge.room_beside(_FRAME_TOKENS + desk.tokens_of(statements) + asking, desk.window)

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[judging.SummaryAnswer]:
            asked = [Asked(id=n + 1, question=questions[n]) for n in numbers]
            given = judging.AnswerFromSummaryGiven(sentences=_told(statements), questions=asked)
            room, label = min(len(numbers) * each, limit), labelled("answers", numbers)
            reply = await self.judge.ask(judging.ANSWER_FROM_SUMMARY, given, room, label, attempt)
            answers = reply.value.answers
            return Entries(
                [(one.id - 1, one if _is_given(one.answer) else None) for one in answers],
                reply.repaired,
                reply.broken_off,
            )

        return await account(in_batches(wanted, entries_at_once(limit, each)), ask)

    async def compare_answers(self, pairs: Sequence[Pair]) -> Account[judging.Comparison]:
        """Whether the answers of each pair contradict each other."""
        each = self.judge.needs(COMPARISON)

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[judging.Comparison]:
            given = judging.CompareGiven(pairs=[pairs[n].model_copy(update={"id": n + 1}) for n in numbers])
            room = len(numbers) * each
            reply = await self.judge.ask(judging.COMPARE_ANSWERS, given, room, labelled("compared", numbers), attempt)
            return Entries([(one.id - 1, one) for one in reply.value.comparisons], reply.repaired, reply.broken_off)

        return await self.judge.remembered(
            judging.COMPARE_ANSWERS,
            judging.Comparison,
            [[pair.question, pair.document, pair.summary] for pair in pairs],
            lambda numbers: account(in_batches(numbers, batch_size(self.judge.reply_tokens, each)), ask),
        )

    async def answers_from_document(
        self, wanted: Sequence[Wanted], desk: EvidenceDesk, *, wide: bool = False
    ) -> Account[Remembered]:
        """The document's own answers. Before it is believed to hold none, all of it is read; where `wide`, more windows
        of it than at first.

        What the judge cannot tell is remembered as that, and has no answer here.
        """
        each = self.judge.needs(ANSWER)

        async def ask(reading: Reading) -> Entries[Remembered]:
            some, spans = reading.numbers, reading.spans
            asked = [Asked(id=n + 1, question=wanted[n].text) for n in some]
            given = judging.AnswerFromDocumentGiven(passages=[desk.text(span) for span in spans], questions=asked)
            label = labelled("read more for" if reading.wide else "looked up", some)
            # A second look at the same pages is a further draw: the first reply would only be repeated.
            attempt = replace(reading.attempt, again=reading.attempt.again != reading.wide)
            room = min(len(some) * each, self.judge.longest_reply)
            reply = await self.judge.ask(judging.ANSWER_FROM_DOCUMENT, given, room, label, attempt)
            return Entries(
                [(one.id - 1, _remembered(one, desk, spans)) for one in reply.value.answers],
                reply.repaired,
                reply.broken_off,
            )

        fitting = entries_at_once(self.judge.longest_reply, each)
        looks = Looks(desk, wanted, each, min(fitting, QUESTIONS_NEAR), fitting)
        search = Search(looks, ask, _is_silent, unsure=_is_undecided)
        found = await self.judge.remembered(
            judging.ANSWER_FROM_DOCUMENT,
            Remembered,
            [[*desk.key(one, wide=wide), *(["wide"] if wide else [])] for one in wanted],
            search.closer if wide else search.verdicts,
        )
        return found.decided(lambda answer: answer.answer != UNDECIDED)


def entries_at_once(room: int, tokens: float) -> int:
    """How many entries, each of which may need so many tokens, are asked for in a reply that has this room."""
    return max(1, int(room / (_AS_A_RULE * tokens)))


def _told(statements: Sequence[Statement]) -> list[Told | str]:
    """The sentences of a summary, or of a part of it, after what the first of them points back to."""
    before = [one.before for one in statements[:1] if one.before]
    return [*before, *(Told(id=one.id, sentence=one.sentence, quoted=one.quoted) for one in statements)]


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


def _is_undecided(answer: Remembered) -> bool:
    return answer.answer == UNDECIDED


def _is_silent(answer: Remembered) -> bool:
    return answer.answer == UNDECIDED or not is_answer(answer.answer)


def _remembered(answer: judging.DocumentAnswer, desk: EvidenceDesk, spans: Sequence[Any]) -> Remembered | None:
    words = one_line(answer.answer, _LONGEST_ANSWER)
    if not _is_given(words):
        return None
    if words == UNDECIDED or not is_answer(words):
        return Remembered(answer=UNDECIDED if words == UNDECIDED else UNANSWERABLE)
    evidence: Evidence = desk.sentence(answer.quote or words, spans)
    span = evidence.span
    return Remembered(
        answer=words, evidence=evidence.text, start=span.start if span else None, end=span.end if span else None
    )
