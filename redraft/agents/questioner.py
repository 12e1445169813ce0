"""The questioner: asks typed questions about paragraphs, answers them from a document, and judges the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from redraft.agents.accounts import Account, Attempt, Entries, account
from redraft.agents.answers import is_answered
from redraft.agents.evidence import EntryBudget
from redraft.agents.judge import Judge, batch_size, in_batches, label_of
from redraft.domain import Document
from redraft.prompts import qa
from redraft.prompts.contract import UNSURE
from redraft.prompts.qa import QuestionItem
from redraft.questions import QuestionType
from redraft.text.sanitizer import one_line

# Tokens of one question, one answer and one verdict in a reply.
QUESTION = EntryBudget(frame=40, words=90)
ANSWER = EntryBudget(frame=40, words=70)
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


@dataclass(frozen=True, slots=True)
class Questioner:
    """Lets a judge, or a model under test, ask, answer and judge."""

    judge: Judge

    async def ask(
        self, context: str, paragraph: str, of_type: QuestionType, label: str, summary: str = ""
    ) -> qa.TypedReply:
        """Return one question of a type about a paragraph, preferably about what a summary of the document mentions."""
        given = qa.AskTypedGiven(summary=summary, context=context, excerpt=paragraph, type=of_type)
        return (await self.judge.ask(qa.ASK_TYPED, given, self.judge.needs(QUESTION), label)).value

    async def answer(self, text: str, questions: Sequence[str], at_once: int, label: str) -> Account[Response]:
        """Return the model's answer to each question from this text alone."""
        each = self.judge.needs(ANSWER)

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[Response]:
            asked = [QuestionItem(id=n + 1, question=questions[n]) for n in numbers]
            given = qa.AnswerQuestionsGiven(document=text, questions=asked)
            room, where = len(numbers) * each, f"{label_of('questions', numbers)} {label}"
            reply = await self.judge.ask(qa.ANSWER_QUESTIONS, given, room, where, attempt)
            return Entries.of(reply, ((one.id - 1, _response(one)) for one in reply.value.answers))

        said = await account(in_batches(range(len(questions)), at_once), ask)
        return said.decided(lambda one: not one.unsure)

    async def verdicts(self, pairs: Sequence[qa.AnswerPair], document: Document) -> Account[JudgedAnswer]:
        """Return whether each answer is right; the same answer to a question is judged once."""
        each = self.judge.needs(VERDICT)

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[JudgedAnswer]:
            some = [pairs[n].model_copy(update={"id": n + 1}) for n in numbers]
            given = qa.JudgeAnswersGiven(answers=some)
            reply = await self.judge.ask_items(qa.JUDGE_ANSWERS, given, numbers, VERDICT, "answers judged", attempt)
            return Entries.of(reply, ((one.id - 1, _judged(one)) for one in reply.value.answers))

        said = await self.judge.remembered(
            qa.JUDGE_ANSWERS,
            JudgedAnswer,
            [[document.id, pair.question, pair.reference, pair.answer] for pair in pairs],
            lambda numbers: account(in_batches(numbers, batch_size(self.judge.reply_tokens, each)), ask),
        )
        return said.decided(lambda one: one.right is not None)


def _response(one: qa.GivenAnswer) -> Response | None:
    """Return the response; None without one, or if the model declines."""
    answer, reason = one_line(one.answer, _LONGEST), one_line(one.reason, _LONGEST)
    answered = is_answered(one.answered, answer, placed=False)
    if answered is None:
        return None
    if answered == UNSURE:
        return Response(answer="", unsure=True)
    return Response(answer=answer, reason=reason) if answered else Response(answer=answer, abstained=True)


def _judged(one: qa.AnswerVerdict) -> JudgedAnswer:
    right = None if one.verdict == UNSURE else one.verdict == "right"
    return JudgedAnswer(right=right, reason=one_line(one.reason, _LONGEST))
