"""The examiner: asks questions about a text, and answers questions from one. A verdict is given once and remembered."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from redraft.agents.accounting import Account, Entries, account
from redraft.agents.evidence import EvidenceDesk
from redraft.agents.together import together
from redraft.domain import Evidence
from redraft.errors import RejectedRequest, ReplyError
from redraft.models.base import Model, Reply, Request, Sampling
from redraft.prompts import judging
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import Given_, Prompt, Value_
from redraft.prompts.judging import UNANSWERABLE, Asked, Candidate, Pair, Statement
from redraft.store.judgments import Judgments
from redraft.text.cleaning import one_line

Item = TypeVar("Item")
Verdict = TypeVar("Verdict", bound=BaseModel)

# What one entry of a reply may need. A batch is as large as lets all of its entries fit into the room for a reply.
QUESTION_TOKENS = 90
ANSWER_TOKENS = 80
COMPARISON_TOKENS = 60
NUMBER_TOKENS = 6
_REPLY_TOKENS = 3000
_SHARE_OF_WINDOW = 0.3
_REPLY_FRAME = 60
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
    """One judge: a model, and which of its draws."""

    model: Model
    book: PromptBook
    judgments: Judgments
    sample: int = 0
    temperature: float | None = None
    reply_tokens: int = _REPLY_TOKENS
    """The room for a reply, which decides how much is asked at once."""

    @property
    def name(self) -> str:
        """Which judge this is, told from the others of a panel."""
        return f"{self.model.identity}#{self.sample}" if self.sample else self.model.identity

    async def ask_document(self, excerpt: str, count: int, label: str) -> list[judging.DocumentQuestion]:
        """At most `count` questions about a stretch of the document, the most important first; none on a bad reply."""
        given = judging.AskDocumentGiven(excerpt=excerpt, count=count)
        reply = await self._ask(judging.ASK_DOCUMENT, given, count * QUESTION_TOKENS, label)
        return [one for one in reply.value.questions if one.question.strip() and is_answer(one.answer)][:count]

    async def rank(self, candidates: Sequence[Candidate], label: str) -> list[int]:
        """The numbers of the candidates, the most important first. Those that are passed over follow as they came."""
        given = judging.RankGiven(candidates=list(candidates))
        try:
            reply = await self._ask(judging.RANK_QUESTIONS, given, len(candidates) * NUMBER_TOKENS, label)
            order = reply.value.order
        except (ReplyError, RejectedRequest):
            order = []
        known = {candidate.id for candidate in candidates}
        return list(dict.fromkeys([number for number in order if number in known] + sorted(known)))

    async def questions_about(
        self, statements: Sequence[Statement], at_most: int, document: str
    ) -> Account[judging.SentenceQuestions]:
        """What each sentence of a summary claims, as questions with the answers that it gives."""

        async def ask(numbers: Sequence[int], again: bool) -> Entries[judging.SentenceQuestions]:
            asked = [statements[n].model_copy(update={"id": n + 1}) for n in numbers]
            given = judging.AskSummaryGiven(sentences=asked, at_most=at_most)
            room = len(numbers) * at_most * QUESTION_TOKENS
            reply = await self._ask(judging.ASK_SUMMARY, given, room, _label("questions about", numbers), again)
            return Entries([(one.id - 1, one) for one in reply.value.sentences], reply.repaired)

        return await self._remembered(
            judging.ASK_SUMMARY,
            judging.SentenceQuestions,
            [[document, at_most, one.before, one.sentence] for one in statements],
            lambda numbers: account(self._batches(numbers, at_most * QUESTION_TOKENS), ask),
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
        async def ask(numbers: Sequence[int], again: bool) -> Entries[judging.SummaryAnswer]:
            asked = [Asked(id=n + 1, question=questions[n]) for n in numbers]
            # What a sentence points back to is among the others here.
            sentences = [statement.model_copy(update={"before": ""}) for statement in statements]
            given = judging.AnswerFromSummaryGiven(sentences=sentences, questions=asked)
            room = len(numbers) * ANSWER_TOKENS
            reply = await self._ask(judging.ANSWER_FROM_SUMMARY, given, room, _label("answers", numbers), again)
            answers = reply.value.answers
            return Entries([(one.id - 1, one if one.answer.strip() else None) for one in answers], reply.repaired)

        return await account(self._batches(range(len(questions)), ANSWER_TOKENS), ask)

    async def compare(self, pairs: Sequence[Pair]) -> Account[judging.Comparison]:
        """Whether the answers of each pair contradict each other."""

        async def ask(numbers: Sequence[int], again: bool) -> Entries[judging.Comparison]:
            given = judging.CompareGiven(pairs=[pairs[n].model_copy(update={"id": n + 1}) for n in numbers])
            room = len(numbers) * COMPARISON_TOKENS
            reply = await self._ask(judging.COMPARE_ANSWERS, given, room, _label("compared", numbers), again)
            return Entries([(one.id - 1, one) for one in reply.value.comparisons], reply.repaired)

        return await self._remembered(
            judging.COMPARE_ANSWERS,
            judging.Comparison,
            [[pair.question, pair.document, pair.summary] for pair in pairs],
            lambda numbers: account(self._batches(numbers, COMPARISON_TOKENS), ask),
        )

    async def answers_from_document(self, questions: Sequence[str], desk: EvidenceDesk) -> Account[Remembered]:
        """The document's own answers. Before it is believed to hold none, more of it is read."""

        async def search(numbers: Sequence[int]) -> Account[Remembered]:
            near = await self._read(numbers, questions, desk, wide=False)
            silent = [n for n, answer in near.verdicts.items() if not is_answer(answer.answer)]
            if not silent:
                return near
            far = await self._read(silent, questions, desk, wide=True)
            return Account(near.verdicts | far.verdicts, near.trouble or far.trouble)

        return await self._remembered(
            judging.ANSWER_FROM_DOCUMENT,
            Remembered,
            [[desk.name, question] for question in questions],
            search,
        )

    async def _read(
        self, numbers: Sequence[int], questions: Sequence[str], desk: EvidenceDesk, *, wide: bool
    ) -> Account[Remembered]:
        # The first search indexes the document, and nothing else should have to wait for that.
        found = await asyncio.to_thread(
            lambda: {number: desk.evidence(questions[number], wide=wide) for number in numbers}
        )

        async def ask(some: Sequence[int], again: bool) -> Entries[Remembered]:
            spans = desk.together([found[n] for n in some])
            asked = [Asked(id=n + 1, question=questions[n]) for n in some]
            given = judging.AnswerFromDocumentGiven(passages=[desk.text(span) for span in spans], questions=asked)
            label = _label("read more for" if wide else "looked up", some)
            reply = await self._ask(judging.ANSWER_FROM_DOCUMENT, given, len(some) * ANSWER_TOKENS, label, again)
            return Entries([(one.id - 1, _remembered(one, desk, spans)) for one in reply.value.answers], reply.repaired)

        fitting = batch_size(self.reply_tokens, ANSWER_TOKENS)
        most = fitting if wide else min(fitting, QUESTIONS_NEAR)
        return await account(desk.batches(found, most), ask)

    async def _remembered(
        self,
        prompt: Prompt[Any, Any],
        kind: type[Verdict],
        items: Sequence[list[Any]],
        judge: Callable[[Sequence[int]], Any],
    ) -> Account[Verdict]:
        """What is known of the items already, and verdicts on the others, which are stored all at once.

        All at once, because the batches depend on what is known: after a crash they must be the same again.
        """
        frame = [self.book.hash(prompt), self.model.identity, self.sample, self.temperature]
        keys = [hashlib.sha256(json.dumps([*frame, *item]).encode()).hexdigest() for item in items]
        known = self.judgments.verdicts(keys)
        verdicts = {n: kind.model_validate_json(known[key]) for n, key in enumerate(keys) if key in known}
        first = {key: n for n, key in reversed(list(enumerate(keys)))}
        fresh: Account[Verdict] = await judge(sorted(n for key, n in first.items() if key not in known))
        self.judgments.keep_verdicts({keys[n]: verdict.model_dump_json() for n, verdict in fresh.verdicts.items()})
        verdicts |= {n: fresh.verdicts[first[key]] for n, key in enumerate(keys) if first[key] in fresh.verdicts}
        return Account(verdicts, fresh.trouble)

    def _batches(self, numbers: Sequence[int], tokens: int) -> list[Sequence[int]]:
        size = batch_size(self.reply_tokens, tokens)
        return [numbers[at : at + size] for at in range(0, len(numbers), size)]

    async def _ask(
        self, prompt: Prompt[Given_, Value_], given: Given_, room: int, label: str, again: bool = False
    ) -> Reply[Value_]:
        temperature = prompt.temperature if self.temperature is None else self.temperature
        # Asking again for all that was asked would be the same request: it is a further draw of it.
        sampling = Sampling(temperature, room + _REPLY_FRAME, 2 * self.sample + again)
        return await self.model.ask(Request(prompt, given, sampling, label))


def reply_tokens(window: int) -> int:
    """The room for a reply in a window that holds evidence, questions and what is said around them as well."""
    return min(_REPLY_TOKENS, int(window * _SHARE_OF_WINDOW))


def batch_size(room: int, tokens: int) -> int:
    """How many items may be asked about at once, when each takes so many tokens of the reply."""
    return max(1, room // tokens)


def is_answer(text: str) -> bool:
    """Whether a reply's answer is one, and not the word that there is none."""
    words = " ".join(text.casefold().split()).strip(_MARKS)
    return words.partition(" ")[0].rstrip(_MARKS) != UNANSWERABLE.casefold() and words not in _NO_ANSWER


_MARKS = " .,:;!\"'`*()[]"
_NO_ANSWER = {"", "no answer", "not answerable", "n/a"}


def _remembered(answer: judging.DocumentAnswer, desk: EvidenceDesk, spans: Sequence[Any]) -> Remembered | None:
    words = one_line(answer.answer, _LONGEST_ANSWER)
    if not words:
        return None
    if not is_answer(words):
        return Remembered(answer=UNANSWERABLE)
    evidence: Evidence = desk.quoted(answer.quote or words, spans)
    span = evidence.span
    return Remembered(
        answer=words, evidence=evidence.text, start=span.start if span else None, end=span.end if span else None
    )


def _label(what: str, numbers: Sequence[int]) -> str:
    first, last = numbers[0] + 1, numbers[-1] + 1
    return f"{what} {first}" if first == last else f"{what} {first} to {last}"
