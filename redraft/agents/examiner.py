"""The examiner: asks questions about a text, and answers questions from one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from redraft.agents.accounts import Attempt, Entries, ItemResults, ask_all, first_error, gather_all
from redraft.agents.answers import ReplyAnswers, SummaryAnswerSource
from redraft.agents.evidence import CitedPlace, EntryBudget, EvidenceQuery, EvidenceReader, Scope, document_fields
from redraft.agents.judge import Judge, Memory, batch_size, in_batches, label_of
from redraft.agents.retrieval import EvidenceRequest, EvidenceSearch, ReadingPlan
from redraft.domain import AGAIN, Span
from redraft.errors import RejectedRequest, ReplyError
from redraft.llm.base import Reply
from redraft.prompts import qa
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.qa import Candidate, Pair, QuestionItem, Statement, SummaryLine, Verdict
from redraft.prompts.silence import is_answer
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


class AskedQuestions(BaseModel):
    """The questions about a sentence, and the sentences that it referred back to."""

    meant: list[str]
    asked: qa.SentenceQuestions

    def applies_to(self, sentence: str, meant: Sequence[str]) -> bool:
        """Return whether the questions fit the sentence after these sentences: little has changed in them, and none of
        the changed words is in a question or an answer."""
        last, now = [" ".join(texts[-_LAST:]) for texts in (self.meant, meant)]
        if len(changed_words(last, now)) > _CHANGED * len({*words(last), *words(now)}):
            return False
        changed = telling_terms(" ".join(sorted(changed_words(" ".join(self.meant), " ".join(meant)))))
        question_terms = telling_terms(
            " ".join(f"{question.question} {question.answer}" for question in self.asked.questions)
        )
        return changed.isdisjoint(question_terms - telling_terms(sentence))


class SentenceMemory(BaseModel):
    """All that was asked about a sentence, in different contexts."""

    asked: list[AskedQuestions] = []

    @staticmethod
    def merge(stored: str, new: str) -> str:
        """Join what is stored with what is new."""
        both = [SentenceMemory.model_validate_json(text).asked for text in (stored, new)]
        return SentenceMemory(asked=both[0] + both[1]).model_dump_json()


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
        self, document_input: qa.AskDocumentInput, label: str, attempt: Attempt | None = None
    ) -> tuple[list[qa.DocumentQuestion], bool]:
        """Return questions about a document or an excerpt, most important first, and whether the reply was cut. With an
        `attempt`, the caller retries a cut reply."""
        reply = await self.judge.ask(
            qa.ASK_DOCUMENT, document_input, document_input.count * self.judge.entry_tokens(QUESTION), label, attempt
        )
        questions = [
            question for question in reply.value.questions if question.question.strip() and is_answer(question.answer)
        ]
        return questions[: document_input.count], reply.is_truncated

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
        entry_tokens = at_most * self.judge.entry_tokens(CLAIM)
        rooms = [self.judge.reply_room(_FRAME_TOKENS + reader.tokens_of(part), reader.window) for part in parts]

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[qa.SentenceQuestions]:
            number = part_of[statements[numbers[0]].id]
            only = [] if len(numbers) == len(parts[number]) else [statements[n].id for n in numbers]
            summary_input = qa.AskSummaryInput(
                **_shown(parts[number]), only=only, at_most=at_most, searched=reader.is_searched
            )
            room = min(len(numbers) * entry_tokens, rooms[number])
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
                batches += in_batches(group, entries_per_request(rooms[at], entry_tokens * _ASKED_AS_A_RULE))
            return await ask_all(batches, ask)

        meant = antecedents(among)

        def recall(number: int, text: str) -> qa.SentenceQuestions | None:
            statement = statements[number]
            earlier = SentenceMemory.model_validate_json(text).asked
            return next((e.asked for e in earlier if e.applies_to(statement.sentence, meant[statement.id])), None)

        def note(number: int, questions: qa.SentenceQuestions) -> str | None:
            before = meant[statements[number].id]
            questions_asked = AskedQuestions(meant=before, asked=questions)
            return SentenceMemory(asked=[questions_asked]).model_dump_json() if before else None

        document = reader.document.id
        memory = Memory(
            [["asked", document, at_most, s.sentence] for s in statements], recall, note, SentenceMemory.merge
        )
        items = [[document, at_most, *meant[statement.id], statement.sentence] for statement in statements]
        return await self.judge.verdicts(qa.ASK_SUMMARY, qa.SentenceQuestions, items, judged, memory)

    async def answers_from_summary(
        self,
        statements: Sequence[Statement],
        questions: Sequence[str],
        reader: EvidenceReader,
        *,
        read_whole: bool = False,
    ) -> ItemResults[list[qa.SummaryAnswer]]:
        """Return the answers that a summary gives to each question, without those it does not answer; a long summary is
        read in parts. An earlier summary's answer stands while its sentences do, unless the `whole` summary is to be
        read for each answer."""
        meant = antecedents(statements)

        async def read(sentences: Sequence[Statement], numbers: Sequence[int]) -> ItemResults[qa.SummaryAnswer]:
            return await self._read_summary(sentences, numbers, questions, reader)

        accounts = await gather_all(
            SummaryAnswerSource(questions, part, meant, whole=read_whole).look_up(self.judge, reader.document.id, read)
            for part in reader.parts(statements)
        )
        verdicts: dict[int, list[qa.SummaryAnswer]] = {}
        for n in range(len(questions)):
            answers = [results.verdicts[n] for results in accounts if n in results.verdicts]
            sure = [answer for answer in answers if answer.answered != UNSURE]
            affirmative = [answer for answer in sure if answer.answered]
            # A summary is silent only if every part was read and none left it open.
            if affirmative or len(sure) == len(accounts):
                verdicts[n] = affirmative
        return ItemResults(verdicts, first_error(accounts))

    async def _read_summary(
        self,
        statements: Sequence[Statement],
        asked_numbers: Sequence[int],
        questions: Sequence[str],
        reader: EvidenceReader,
    ) -> ItemResults[qa.SummaryAnswer]:
        """Return the answers that some sentences give to some questions."""
        entry_tokens = self.judge.entry_tokens(ANSWER)
        asking = sum(reader.tokenizer.count(questions[n]) + _AROUND for n in asked_numbers)
        limit = self.judge.reply_room(_FRAME_TOKENS + reader.tokens_of(statements) + asking, reader.window)
        ids = {statement.id for statement in statements}
        answers: ReplyAnswers[qa.SummaryAnswer] = ReplyAnswers(
            lambda: " ".join(f"{statement.before} {statement.sentence}" for statement in statements),
            lambda answer: not ids.isdisjoint(answer.sentences),
            compared=True,
        )

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[qa.SummaryAnswer]:
            async def send(chosen: Sequence[int], label: str, *, repeat: bool) -> Reply[qa.SummaryAnswers]:
                items = [QuestionItem(id=n + 1, question=questions[n]) for n in chosen]
                summary_input = qa.AnswerFromSummaryInput(**_shown(statements), questions=items, again=repeat)
                room = min(len(chosen) * entry_tokens, limit)
                return await self.judge.ask(
                    qa.ANSWER_FROM_SUMMARY, summary_input, room, label_of(label, chosen), attempt
                )

            async def doubt(chosen: Sequence[int]) -> Sequence[qa.SummaryAnswer]:
                return (await send([number - 1 for number in chosen], "doubted", repeat=True)).value.answers

            reply = await send(numbers, "answers", repeat=False)
            return Entries.of(reply, await answers.settled(reply.value.answers, doubt))

        return await ask_all(in_batches(asked_numbers, entries_per_request(limit, entry_tokens)), ask)

    async def compare_answers(self, pairs: Sequence[Pair]) -> ItemResults[qa.Comparison]:
        """Return how much of the document's answer the summary's gives, for each pair; undecidable pairs are left
        out."""
        entry_tokens = self.judge.entry_tokens(COMPARISON)

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[qa.Comparison]:
            compare_input = qa.CompareInput(pairs=[pairs[n].model_copy(update={"id": n + 1}) for n in numbers])
            reply = await self.judge.ask_items(
                qa.COMPARE_ANSWERS, compare_input, numbers, COMPARISON, "compared", attempt
            )
            return Entries.of(reply, ((comparison.id - 1, comparison) for comparison in reply.value.comparisons))

        results = await self.judge.verdicts(
            qa.COMPARE_ANSWERS,
            qa.Comparison,
            [[pair.question, pair.document, pair.summary, pair.sentence] for pair in pairs],
            lambda numbers: ask_all(in_batches(numbers, batch_size(self.judge.reply_tokens, entry_tokens)), ask),
        )
        return results.decided(lambda comparison: comparison.verdict != "unclear")

    async def answers_from_document(
        self, queries: Sequence[EvidenceQuery], reader: EvidenceReader, *, wide: bool = False
    ) -> ItemResults[StoredAnswer]:
        """Return the document's answers. The whole document is read before an answer counts as absent; `wide` reads
        more windows at first."""
        entry_tokens = self.judge.entry_tokens(ANSWER)

        async def ask(reading: EvidenceRequest) -> Entries[StoredAnswer]:
            return await self._read_document(reading, queries, reader)

        fitting = entries_per_request(self.judge.longest_reply, entry_tokens)
        plan = ReadingPlan(reader, queries, entry_tokens, min(fitting, QUESTIONS_NEAR), fitting)
        search = EvidenceSearch(
            plan, ask, lambda answer: answer.answered is not True, unsure=lambda answer: answer.answered == UNSURE
        )
        # An answer in the document depends neither on what a summary says nor on how it was found.
        document_key = reader.document.id, language_key(reader.document), reader.reading
        memory: Memory[StoredAnswer] = Memory(
            [[*document_key, "answered", query.text] for query in queries],
            lambda _, text: StoredAnswer.model_validate_json(text),
            lambda _, answer: answer.model_dump_json() if answer.answered is True else None,
        )
        results = await self.judge.verdicts(
            qa.ANSWER_FROM_DOCUMENT,
            StoredAnswer,
            [[*reader.key(query, wide=wide), *(["wide"] if wide else [])] for query in queries],
            search.closer if wide else search.verdicts,
            None if wide else memory,
        )
        return results.decided(lambda answer: answer.answered != UNSURE)

    async def _read_document(
        self, reading: EvidenceRequest, queries: Sequence[EvidenceQuery], reader: EvidenceReader
    ) -> Entries[StoredAnswer]:
        """Return the answers to some questions from some places of the document."""
        spans = reading.spans
        # A second look at the same pages is a new sample, since the first reply is cached.
        attempt = replace(reading.attempt, again=reading.attempt.again != reading.wide)
        answers: ReplyAnswers[qa.DocumentAnswer] = ReplyAnswers(
            lambda: "\n".join(map(reader.text, spans)),
            lambda answer: reader.quoted(answer.quote, spans).span is not None,
        )

        async def send(chosen: Sequence[int], label: str, *, repeat: bool) -> Reply[qa.DocumentAnswers]:
            items = [QuestionItem(id=n + 1, question=queries[n].text) for n in chosen]
            document_input = qa.AnswerFromDocumentInput(**document_fields(reader, spans), questions=items, again=repeat)
            room = min(len(chosen) * self.judge.entry_tokens(ANSWER), self.judge.longest_reply)
            return await self.judge.ask(qa.ANSWER_FROM_DOCUMENT, document_input, room, label_of(label, chosen), attempt)

        async def doubt(chosen: Sequence[int]) -> Sequence[qa.DocumentAnswer]:
            return (await send([number - 1 for number in chosen], "doubted", repeat=True)).value.answers

        reply = await send(reading.numbers, "read more for" if reading.wide else "looked up", repeat=False)
        settled = await answers.settled(reply.value.answers, doubt)
        return Entries.of(reply, ((n, _stored(answer, reader, spans) if answer else None) for n, answer in settled))


def entries_per_request(room: int, tokens: float) -> int:
    """Return how many entries of a given size are requested in a reply with this room."""
    return max(1, int(room / (_AS_A_RULE * tokens)))


def _shown(statements: Sequence[Statement]) -> dict[str, Any]:
    """Return the prompt fields for some sentences of a summary."""
    lines = [SummaryLine(id=statement.id, sentence=statement.sentence) for statement in statements]
    return {"context": statements[0].before if statements else "", "sentences": lines}


def antecedents(statements: Sequence[Statement]) -> dict[int, list[str]]:
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
    answer_words = telling(f"{question} {answer.answer}")
    cited = [statement for statement in statements if statement.id in answer.sentences]
    ranked = sorted(cited or statements, key=lambda statement: -len(answer_words & telling(statement.sentence)))
    chosen = ranked[: _MOST_CITED if cited else 1]
    meant = antecedents(statements)
    before = {sentence for statement in chosen for sentence in meant[statement.id][-_LAST:]}
    texts = before | {statement.sentence for statement in chosen}
    return " ".join(dict.fromkeys(statement.sentence for statement in statements if statement.sentence in texts))


def _stored(answer: qa.DocumentAnswer, reader: EvidenceReader, spans: Sequence[Span]) -> StoredAnswer:
    """Return an answer as it is stored, with its place."""
    if answer.answered is not True:
        return StoredAnswer(answered=UNSURE if answer.answered == UNSURE else False, answer="")
    text = one_line(answer.answer, _LONGEST_ANSWER)
    cited = CitedPlace.fields_of(reader.sentence(answer.quote or text, spans))
    return StoredAnswer(answered=True, answer=text, share=answer.share, **cited)


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
    queries: Sequence[EvidenceQuery],
    reader: EvidenceReader,
    *,
    confirm: bool = True,
) -> ItemResults[AnswerComparison]:
    """Return a comparison of each pair. With `confirm`, the question of a contradicting pair is answered from the
    document once more, with more of it in view, and compared again."""
    first = await examiner.compare_answers(pairs)
    compared = {n: AnswerComparison(comparison.verdict, comparison.reason) for n, comparison in first.verdicts.items()}
    doubted = [n for n, comparison in sorted(compared.items()) if confirm and comparison.verdict == "contradicts"]
    if not doubted:
        return ItemResults(compared, first.trouble)
    wider = await examiner.answers_from_document([queries[n] for n in doubted], reader, wide=True)
    read = {n: wider.verdicts[at] for at, n in enumerate(doubted) if at in wider.verdicts}
    # Where the second look gave another answer, that is the one to compare.
    changed = [n for n, answer in read.items() if answer.answered and not same_words(answer.answer, pairs[n].document)]
    second = await examiner.compare_answers([pairs[n].model_copy(update={"document": read[n].answer}) for n in changed])
    recompared = dict(zip(changed, map(second.verdicts.get, range(len(changed))), strict=True))
    for n in doubted:
        if n not in read or (n in recompared and recompared[n] is None):
            del compared[n]
            continue
        compared[n] = replace(compared[n], scope=read[n].scope, quoted=bool(read[n].evidence))
        if (comparison := recompared.get(n)) is not None:
            compared[n] = replace(compared[n], verdict=comparison.verdict, reason=comparison.reason, read=read[n])
    return ItemResults(compared, first.trouble or wider.trouble)
