"""The examiner: asks questions about a text, and answers questions from one; typed questions have a questioner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from redraft.agents.accounts import Attempt, Entries, ItemResults, ask_all, first_error, gather_all
from redraft.agents.answers import ReplyAnswers, SummaryAnswerCache, is_answered, sentence_names
from redraft.agents.evidence import CitedPlace, EntryBudget, EvidenceQuery, EvidenceReader, Scope, document_fields
from redraft.agents.judge import Judge, batch_size, in_batches, label_of
from redraft.agents.retrieval import EvidenceRequest, EvidenceSearch, ReadingPlan
from redraft.domain import AGAIN, Document, QuestionType, Span
from redraft.errors import RejectedRequest, ReplyError
from redraft.llm.base import Reply
from redraft.prompts import qa
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.qa import Candidate, Comparison, Pair, QuestionItem, Statement, SummaryLine, Verdict
from redraft.prompts.silence import is_answer
from redraft.store.connection import off_loop
from redraft.text.languages import language_key
from redraft.text.sanitizer import one_line
from redraft.text.units import changed_words, words
from redraft.text.vectors import telling_terms
from redraft.text.word_keys import telling
from redraft.text.words import same_words

# What one entry of a reply may hold.
QUESTION = EntryBudget(frame=38, words=34, sentences=1)
CLAIM = EntryBudget(frame=46, words=38)
ANSWER = EntryBudget(frame=42, words=12, sentences=1)
COMPARISON = EntryBudget(frame=32, words=24)
NUMBER = EntryBudget(frame=8)
# Entries usually take this share of their maximum, and every other possible question about a sentence is asked.
_AS_A_RULE, _ASKED_AS_A_RULE = 0.6, 0.5
# Questions are answered from shared passages: fewer at once leave less to read past.
QUESTIONS_NEAR = 32
# Tokens of the prompt and reply schema, and of a question's number.
_FRAME_TOKENS, _AROUND = 600, 8
_LONGEST_ANSWER = 600


# An answer usually rests on one or two sentences.
_MOST_CITED = 4
# A changed context leaves a sentence's meaning alone if at most this share of its last sentences is new.
_CHANGED, _LAST = 0.3, 2


class CachedQuestions(BaseModel):
    """The questions about a sentence, and the sentences that it referred back to."""

    meant: list[str]
    asked: qa.SentenceQuestions

    def applies_to(self, sentence: str, meant: Sequence[str]) -> bool:
        """Return whether the questions fit the sentence after these sentences: little has changed in them, and none of
        the changed words is in a question or an answer."""
        last, now = [" ".join(one[-_LAST:]) for one in (self.meant, meant)]
        if len(changed_words(last, now)) > _CHANGED * len({*words(last), *words(now)}):
            return False
        changed = telling_terms(" ".join(sorted(changed_words(" ".join(self.meant), " ".join(meant)))))
        said = telling_terms(" ".join(f"{question.question} {question.answer}" for question in self.asked.questions))
        return changed.isdisjoint(said - telling_terms(sentence))


class CachedQuestionLists(BaseModel):
    """All that was asked about a sentence, in different contexts."""

    asked: list[CachedQuestions] = []

    @staticmethod
    def merged(one: str, other: str) -> str:
        both = [CachedQuestionLists.model_validate_json(text).asked for text in (one, other)]
        return CachedQuestionLists(asked=both[0] + both[1]).model_dump_json()


class StoredAnswer(CitedPlace):
    """An answer from the document, as stored, with its place."""

    answered: bool | Unsure
    answer: str
    share: float | None = None
    """How much of a claim's wording the document has, if the judge measures that."""


@dataclass(frozen=True, slots=True)
class Examiner:
    """Asks a judge questions about texts, and for answers from them."""

    judge: Judge

    async def ask_document(
        self, asked: qa.AskDocumentInput, label: str, attempt: Attempt | None = None
    ) -> tuple[list[qa.DocumentQuestion], bool]:
        """Return questions about a document or an excerpt, most important first, and whether the reply was cut. With an
        `attempt`, the caller retries a cut reply."""
        reply = await self.judge.ask(
            qa.ASK_DOCUMENT, asked, asked.count * self.judge.entry_tokens(QUESTION), label, attempt
        )
        questions = [
            question for question in reply.value.questions if question.question.strip() and is_answer(question.answer)
        ]
        return questions[: asked.count], reply.is_truncated

    async def weights(self, candidates: Sequence[Candidate], label: str, outline: str | None = None) -> dict[int, int]:
        """Return the weights of the candidates in the whole document by number, without those that the reply leaves
        out."""
        rank_input = qa.RankInput(candidates=list(candidates), outline=outline)
        room = len(candidates) * self.judge.entry_tokens(NUMBER)
        try:
            return (await self.judge.ask(qa.RANK_QUESTIONS, rank_input, room, label)).value.weights
        except (ReplyError, RejectedRequest):
            return {}

    async def questions_about(
        self, statements: Sequence[Statement], among: Sequence[Statement], at_most: int, reader: EvidenceReader
    ) -> ItemResults[qa.SentenceQuestions]:
        """Return the claims of some sentences of a summary as questions with answers. Questions are stored by sentence
        and what it refers back to, so an unchanged sentence of another draft is not asked about again."""
        parts = reader.parts(among)
        part_of = {statement.id: number for number, part in enumerate(parts) for statement in part}
        place = {statement.id: n for n, statement in enumerate(statements)}
        each = at_most * self.judge.entry_tokens(CLAIM)
        rooms = [self.judge.reply_room(_FRAME_TOKENS + reader.tokens_of(part), reader.window) for part in parts]

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[qa.SentenceQuestions]:
            part = parts[part_of[statements[numbers[0]].id]]
            only = [] if len(numbers) == len(part) else [statements[n].id for n in numbers]
            summary_input = qa.AskSummaryInput(**_shown(part), only=only, at_most=at_most, searched=reader.is_searched)
            room = min(len(numbers) * each, rooms[part_of[statements[numbers[0]].id]])
            label = label_of("questions about", numbers)
            reply = await self.judge.ask(qa.ASK_SUMMARY, summary_input, room, label, attempt)
            return Entries.of(
                reply,
                ((place[questions.id], questions) for questions in reply.value.sentences if questions.id in place),
            )

        async def judged(numbers: Sequence[int]) -> ItemResults[qa.SentenceQuestions]:
            batches: list[Sequence[int]] = []
            for at in range(len(parts)):
                group = [n for n in numbers if part_of[statements[n].id] == at]
                batches += in_batches(group, entries_per_request(rooms[at], each * _ASKED_AS_A_RULE))
            return await ask_all(batches, ask)

        meant = _antecedents(among)
        keys = self.judge.keys(qa.ASK_SUMMARY, [["asked", reader.document.id, at_most, s.sentence] for s in statements])
        stored = await off_loop(self.judge.judgments.verdicts, keys)
        # What each sentence referred back to when it was asked about, if the questions still hold.
        before = [
            next((e.meant for e in _asked(stored.get(key)) if e.applies_to(s.sentence, meant[s.id])), meant[s.id])
            for key, s in zip(keys, statements, strict=True)
        ]
        results = await self.judge.cached_verdicts(
            qa.ASK_SUMMARY,
            qa.SentenceQuestions,
            [[reader.document.id, at_most, *before[n], statement.sentence] for n, statement in enumerate(statements)],
            judged,
        )
        new = {
            keys[n]: CachedQuestionLists(asked=[CachedQuestions(meant=before[n], asked=questions)]).model_dump_json()
            for n, questions in results.verdicts.items()
            if before[n] and all(e.meant != before[n] for e in _asked(stored.get(keys[n])))
        }
        await off_loop(self.judge.judgments.add_to_verdicts, new, CachedQuestionLists.merged, reader.document.id)
        return results

    async def answers_from_summary(
        self, statements: Sequence[Statement], questions: Sequence[str], reader: EvidenceReader, *, whole: bool = False
    ) -> ItemResults[list[qa.SummaryAnswer]]:
        """Return the answers that a summary gives to each question, without those it does not answer; a long summary is
        read in parts. An earlier summary's answer stands while its sentences do, unless the `whole` summary is to be
        read for each answer."""
        names = sentence_names(statements, _antecedents(statements))
        accounts = await gather_all(
            SummaryAnswerCache(self.judge, reader.document.id, questions, part, names, whole).answers(
                lambda some, numbers: self._answers_from(some, numbers, questions, reader)
            )
            for part in reader.parts(statements)
        )
        verdicts: dict[int, list[qa.SummaryAnswer]] = {}
        for n in range(len(questions)):
            answers = [results.verdicts[n] for results in accounts if n in results.verdicts]
            summary_answers = [answer for answer in answers if answer.answered != UNSURE]
            given = [answer for answer in summary_answers if answer.answered]
            # A summary is silent only if every part was read and none left it open.
            if given or len(summary_answers) == len(accounts):
                verdicts[n] = given
        return ItemResults(verdicts, first_error(accounts))

    async def _answers_from(
        self, statements: Sequence[Statement], wanted: Sequence[int], questions: Sequence[str], reader: EvidenceReader
    ) -> ItemResults[qa.SummaryAnswer]:
        each = self.judge.entry_tokens(ANSWER)
        asking = sum(reader.tokenizer.count(questions[n]) + _AROUND for n in wanted)
        limit = self.judge.reply_room(_FRAME_TOKENS + reader.tokens_of(statements) + asking, reader.window)

        shown = _shown(statements)
        known = {statement.id for statement in statements}
        answers: ReplyAnswers[qa.SummaryAnswer] = ReplyAnswers(
            lambda: "\n".join(f"{statement.before} {statement.sentence}" for statement in statements),
            lambda one: not known.isdisjoint(one.sentences),
            compared=True,
        )

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[qa.SummaryAnswer]:
            async def asked(some: Sequence[int], *, again: bool) -> Reply[qa.SummaryAnswers]:
                summary_input = qa.AnswerFromSummaryInput(
                    **shown, questions=[QuestionItem(id=n + 1, question=questions[n]) for n in some], again=again
                )
                room, label = min(len(some) * each, limit), label_of("doubted" if again else "answers", some)
                return await self.judge.ask(qa.ANSWER_FROM_SUMMARY, summary_input, room, label, attempt)

            async def doubted(some: Sequence[int]) -> Sequence[qa.SummaryAnswer]:
                return (await asked([number - 1 for number in some], again=True)).value.answers

            reply = await asked(numbers, again=False)
            found = await answers.settled(reply.value.answers, doubted)
            return Entries.of(reply, ((number - 1, answer) for number, answer in found))

        return await ask_all(in_batches(wanted, entries_per_request(limit, each)), ask)

    async def compare_answers(self, pairs: Sequence[Pair]) -> ItemResults[qa.Comparison]:
        """Return how much of the document's answer the summary's gives, for each pair; undecidable pairs are left
        out."""
        each = self.judge.entry_tokens(COMPARISON)

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[qa.Comparison]:
            compare_input = qa.CompareInput(pairs=[pairs[n].model_copy(update={"id": n + 1}) for n in numbers])
            reply = await self.judge.ask_items(
                qa.COMPARE_ANSWERS, compare_input, numbers, COMPARISON, "compared", attempt
            )
            return Entries.of(reply, ((comparison.id - 1, comparison) for comparison in reply.value.comparisons))

        results = await self.judge.cached_verdicts(
            qa.COMPARE_ANSWERS,
            qa.Comparison,
            [[pair.question, pair.document, pair.summary, pair.sentence] for pair in pairs],
            lambda numbers: ask_all(in_batches(numbers, batch_size(self.judge.reply_tokens, each)), ask),
        )
        return results.decided(lambda one: one.verdict != "unclear")

    async def answers_from_document(
        self, wanted: Sequence[EvidenceQuery], reader: EvidenceReader, *, wide: bool = False
    ) -> ItemResults[StoredAnswer]:
        """Return the document's answers. The whole document is read before an answer counts as absent; `wide` reads
        more windows at first."""
        each = self.judge.entry_tokens(ANSWER)

        async def ask(reading: EvidenceRequest) -> Entries[StoredAnswer]:
            return await self._read(reading, wanted, reader)

        fitting = entries_per_request(self.judge.longest_reply, each)
        plan = ReadingPlan(reader, wanted, each, min(fitting, QUESTIONS_NEAR), fitting)
        search = EvidenceSearch(
            plan, ask, lambda one: one.answered is not True, unsure=lambda one: one.answered == UNSURE
        )
        document_key = reader.document.id, language_key(reader.document), reader.reading
        results = await self.judge.cached_verdicts(
            qa.ANSWER_FROM_DOCUMENT,
            StoredAnswer,
            [[*reader.key(query, wide=wide), *(["wide"] if wide else [])] for query in wanted],
            search.closer if wide else search.verdicts,
            # An answer in the document depends neither on what a summary says nor on how it was found.
            general=[] if wide else [[*document_key, "answered", query.text] for query in wanted],
            is_general=lambda one: one.answered is True,
        )
        return results.decided(lambda answer: answer.answered != UNSURE)

    async def _read(
        self, reading: EvidenceRequest, wanted: Sequence[EvidenceQuery], reader: EvidenceReader
    ) -> Entries[StoredAnswer]:
        """Return the answers to some questions from some places of the document."""
        each, spans = self.judge.entry_tokens(ANSWER), reading.spans
        # A second look at the same pages is a new sample, since the first reply is cached.
        attempt = replace(reading.attempt, again=reading.attempt.again != reading.wide)
        answers: ReplyAnswers[qa.DocumentAnswer] = ReplyAnswers(
            lambda: "\n".join(map(reader.text, spans)), lambda one: reader.quoted(one.quote, spans).span is not None
        )

        async def asked(some: Sequence[int], label: str, *, again: bool) -> Reply[qa.DocumentAnswers]:
            document_input = qa.AnswerFromDocumentInput(
                **document_fields(reader, spans),
                questions=[QuestionItem(id=n + 1, question=wanted[n].text) for n in some],
                again=again,
            )
            room = min(len(some) * each, self.judge.longest_reply)
            return await self.judge.ask(qa.ANSWER_FROM_DOCUMENT, document_input, room, label_of(label, some), attempt)

        async def doubted(some: Sequence[int]) -> Sequence[qa.DocumentAnswer]:
            return (await asked([number - 1 for number in some], "doubted", again=True)).value.answers

        reply = await asked(reading.numbers, "read more for" if reading.wide else "looked up", again=False)
        found = await answers.settled(reply.value.answers, doubted)
        return Entries.of(
            reply,
            ((number - 1, _remembered(answer, reader, spans) if answer else None) for number, answer in found),
        )


def _asked(stored: str | None) -> list[CachedQuestions]:
    return CachedQuestionLists.model_validate_json(stored).asked if stored else []


def entries_per_request(room: int, tokens: float) -> int:
    """Return how many entries of a given size are requested in a reply with this room."""
    return max(1, int(room / (_AS_A_RULE * tokens)))


def _shown(statements: Sequence[Statement]) -> dict[str, Any]:
    """Return the prompt fields for some sentences of a summary."""
    lines = [SummaryLine(id=statement.id, sentence=statement.sentence) for statement in statements]
    return {"context": statements[0].before if statements else "", "sentences": lines}


def _antecedents(statements: Sequence[Statement]) -> dict[int, list[str]]:
    """Return for each sentence the earlier ones that it refers back to, up to a self-contained one."""
    meant: dict[int, list[str]] = {}
    chain: list[str] = []
    for statement in statements:
        chain = chain if statement.before else []
        meant[statement.id] = list(chain) or ([statement.before] if statement.before else [])
        chain = [*chain, statement.sentence]
    return meant


def cited_text(statements: Sequence[Statement], question: str, answer: qa.SummaryAnswer) -> str:
    """Return the sentences that an answer cites, with what they refer back to; those that have most of its words where
    there are many, and the nearest sentence where it cites none."""
    wanted = telling(f"{question} {answer.answer}")
    cited = [statement for statement in statements if statement.id in answer.sentences]
    ranked = sorted(cited or statements, key=lambda statement: -len(wanted & telling(statement.sentence)))
    chosen = ranked[: _MOST_CITED if cited else 1]
    meant = _antecedents(statements)
    before = {sentence for statement in chosen for sentence in meant[statement.id][-_LAST:]}
    texts = before | {statement.sentence for statement in chosen}
    return " ".join(dict.fromkeys(statement.sentence for statement in statements if statement.sentence in texts))


def _remembered(answer: qa.DocumentAnswer, reader: EvidenceReader, spans: Sequence[Span]) -> StoredAnswer:
    if answer.answered is not True:
        return StoredAnswer(answered=UNSURE if answer.answered == UNSURE else False, answer="")
    words = one_line(answer.answer, _LONGEST_ANSWER)
    cited = CitedPlace.fields_of(reader.sentence(answer.quote or words, spans))
    return StoredAnswer(answered=True, answer=words, share=answer.share, **cited)


@dataclass(frozen=True, slots=True)
class AnswerComparison:
    """How the summary's answer compares with the document's, why, and the answer of the second look."""

    verdict: Verdict
    reason: str
    read: StoredAnswer | None = None
    """None if the second look found the same answer as the first."""
    scope: Scope | None = None
    """The part of the document read for the second look."""
    quoted: bool = False
    """Whether the second look quotes the document."""

    def described(self, first: str) -> str:
        """Return what was read of the document: `first`, and again for a second look that quotes it."""
        return f"{first}{AGAIN}{self.scope.description}" if first and self.scope and self.quoted else first


async def compare_twice(
    examiner: Examiner,
    pairs: Sequence[Pair],
    wanted: Sequence[EvidenceQuery],
    reader: EvidenceReader,
    *,
    confirm: bool = True,
) -> ItemResults[AnswerComparison]:
    """Return a comparison of each pair. With `confirm`, the question of a contradicting pair is answered from the
    document once more, with more of it in view, and compared again."""
    first = await examiner.compare_answers(pairs)
    doubted = (
        [n for n, comparison in sorted(first.verdicts.items()) if comparison.verdict == "contradicts"]
        if confirm
        else []
    )
    found = {n: AnswerComparison(comparison.verdict, comparison.reason) for n, comparison in first.verdicts.items()}
    if not doubted:
        return ItemResults(found, first.trouble)
    wider = await examiner.answers_from_document([wanted[n] for n in doubted], reader, wide=True)
    read = {n: wider.verdicts[at] for at, n in enumerate(doubted) if at in wider.verdicts}
    second = await _second_look(examiner, pairs, read)
    for n in doubted:
        if n not in read or (n in second and second[n] is None):
            del found[n]
        elif (other := second.get(n)) is not None:
            found[n] = AnswerComparison(other.verdict, other.reason, read[n], read[n].scope, bool(read[n].evidence))
        else:
            found[n] = replace(found[n], scope=read[n].scope, quoted=bool(read[n].evidence))
    return ItemResults(found, first.trouble or wider.trouble)


async def _second_look(
    examiner: Examiner, pairs: Sequence[Pair], read: Mapping[int, StoredAnswer]
) -> dict[int, Comparison | None]:
    """Return the verdicts on pairs for which the second look gave another answer; None without one."""
    other = [n for n, answer in read.items() if answer.answered and not same_words(answer.answer, pairs[n].document)]
    account = await examiner.compare_answers([pairs[n].model_copy(update={"document": read[n].answer}) for n in other])
    return {n: account.verdicts.get(at) for at, n in enumerate(other)}


# Tokens of one question, one answer and one verdict in a reply.
TYPED_QUESTION = EntryBudget(frame=40, words=90)
TYPED_ANSWER = EntryBudget(frame=40, words=70)
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
        typed_input = qa.AskTypedInput(summary=summary, context=context, excerpt=paragraph, type=of_type)
        return (await self.judge.ask(qa.ASK_TYPED, typed_input, self.judge.entry_tokens(TYPED_QUESTION), label)).value

    async def answer(self, text: str, questions: Sequence[str], at_once: int, label: str) -> ItemResults[Response]:
        """Return the model's answer to each question from this text alone."""
        each = self.judge.entry_tokens(TYPED_ANSWER)

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[Response]:
            items = [QuestionItem(id=n + 1, question=questions[n]) for n in numbers]
            questions_input = qa.AnswerQuestionsInput(document=text, questions=items)
            room, where = len(numbers) * each, f"{label_of('questions', numbers)} {label}"
            reply = await self.judge.ask(qa.ANSWER_QUESTIONS, questions_input, room, where, attempt)
            return Entries.of(
                reply, ((given_answer.id - 1, _response(given_answer)) for given_answer in reply.value.answers)
            )

        results = await ask_all(in_batches(range(len(questions)), at_once), ask)
        return results.decided(lambda one: not one.unsure)

    async def verdicts(self, pairs: Sequence[qa.AnswerPair], document: Document) -> ItemResults[JudgedAnswer]:
        """Return whether each answer is right; the same answer to a question is judged once."""
        each = self.judge.entry_tokens(VERDICT)

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[JudgedAnswer]:
            answer_pairs = [pairs[n].model_copy(update={"id": n + 1}) for n in numbers]
            answers_input = qa.JudgeAnswersInput(answers=answer_pairs)
            reply = await self.judge.ask_items(
                qa.JUDGE_ANSWERS, answers_input, numbers, VERDICT, "answers judged", attempt
            )
            return Entries.of(reply, ((verdict.id - 1, _judged(verdict)) for verdict in reply.value.answers))

        results = await self.judge.cached_verdicts(
            qa.JUDGE_ANSWERS,
            JudgedAnswer,
            [[document.id, pair.question, pair.reference, pair.answer] for pair in pairs],
            lambda numbers: ask_all(in_batches(numbers, batch_size(self.judge.reply_tokens, each)), ask),
        )
        return results.decided(lambda one: one.right is not None)


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
