"""Coverage: how much of the answers to the document's questions the summary gives, by weight (after LongSumEval)."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from redraft.agents import examiner
from redraft.agents.evidence import EvidenceQuery
from redraft.agents.judge import Attempt, Entries, ItemResults, Judge, Memory, ask_all, in_batches, in_parts
from redraft.domain import Evaluation, Finding, PackQuestion
from redraft.evaluators.base import (
    Case,
    ConfiguredMetric,
    ItemVotes,
    PanelVotes,
    Vote,
    Votes,
    bin_of,
    conciseness,
    distinct_errors,
    mean_evaluation,
    panel_votes,
    weighted_mean,
)
from redraft.prompts import qa
from redraft.prompts.contract import Unsure
from redraft.settings import FormulaName
from redraft.text.sanitizer import one_line
from redraft.text.word_keys import telling

UNANSWERED, PARTLY, ANSWERED, CONTRADICTED = "unanswered", "partly answered", "answered", "contradicted"
KEY_SENTENCE_MISSING = "key sentence missing"
_VERDICTS: Mapping[qa.Verdict, str | None] = {
    "full": ANSWERED,
    "unclear": None,
    "contradicts": CONTRADICTED,
    "part": PARTLY,
    "none": UNANSWERED,
}
"""The verdict on a question by that on its answer; of several answers the first of these counts."""
_WEIGHTED: Mapping[str, float] = {ANSWERED: 1.0, PARTLY: 0.5, CONTRADICTED: 0.0, UNANSWERED: 0.0}
VALUES: Mapping[FormulaName, Mapping[str, float]] = {
    "weighted": _WEIGHTED,
    # Equation 3 counts what is answered, right or wrong.
    "paper": {verdict: float(verdict != UNANSWERED) for verdict in _WEIGHTED},
}
"""What a question counts, by formula and verdict."""
_SAME, _OPEN = examiner.AnswerComparison("full", ""), examiner.AnswerComparison("unclear", "")
_LONGEST_REASON = 400
_PLACE = "the place of the answer"
# An answer usually rests on one or two sentences.
_MOST_CITED = 4
_NAME_LETTERS = 16
# Tokens of a question's number.
_TAG_TOKENS = 8


_CheckedAnswer = tuple[qa.SummaryAnswer, examiner.AnswerComparison]
"""A judge's answer from the summary, and how it compares with the document's."""
_Checked = dict[int, list[_CheckedAnswer]]
"""The answers to each question that has been asked."""


class Coverage(ConfiguredMetric):
    """Asks a summary the questions of the document's pack, or the `top_k` most important ones. By the `formula` counts
    what each answer gives of the document's, by weight, or, as in the paper, every answer. With a `second_look` more of
    the document is read before an answer counts as contradicting it."""

    name = "coverage"
    meaning = "How much of what a summary needs to say of the document it says, by questions, from 0 to 1."
    version = 8
    prompts = (qa.ASK_DOCUMENT, qa.RANK_QUESTIONS, qa.ANSWER_FROM_SUMMARY, qa.COMPARE_ANSWERS, qa.ANSWER_FROM_DOCUMENT)
    item = "question"
    aim = "content"
    needs = uses = "questions"

    async def evaluate(self, case: Case) -> Evaluation:
        """Score the draft, and find what it does not answer or answers differently from the document."""
        if not case.statements:
            return self.not_applicable("the summary has no sentence")
        questions = case.pack.questions[: self.judging.top_k] if case.pack else ()
        if not questions:
            return self.not_applicable("the document's pack has no questions")
        weights = [question.weight for question in questions] if self.judging.formula == "weighted" else []
        panel = await panel_votes(case, questions, ANSWERED, partial(self._votes, case))
        # The sentences that answer questions, or give a part of an answer.
        answered = [n for n, item in panel.items.items() if item.verdict in (ANSWERED, PARTLY)]
        needed = {number for n in answered for answer in panel.answers(n) for number in answer[0].sentences}
        shown_answers = [next((answer for answer, _ in panel.answers(n)), None) for n in range(len(questions))]
        return mean_evaluation(
            self,
            panel,
            weights=weights,
            # Questions without a full answer: those with most votes first, then by importance.
            findings=distinct_errors(
                _finding(case, n, questions[n], panel, weights[n] if weights else 0) for n in panel.disputed_items()
            ),
            held=[statement.sentence for statement in case.statements if statement.id in needed],
            details={
                "conciseness": conciseness(case.statements, needed),
                "by_kind": shares(panel.items, [question.kind for question in questions], weights),
                "by_position": shares(panel.items, [bin_of(question.position) for question in questions], weights),
                "questions": [
                    {
                        "id": question.id,
                        "question": question.text,
                        "kind": question.kind,
                        "expected": question.answer,
                        "weight": question.weight if weights else 1,
                        **panel.shown(n),
                        "found": answer.answer if answer else "",
                        "sentences": list(answer.sentences) if answer else [],
                    }
                    for n, (question, answer) in enumerate(zip(questions, shown_answers, strict=True))
                ],
            },
        )

    async def _votes(self, case: Case, judge: Judge, questions: Sequence[PackQuestion]) -> Votes[_CheckedAnswer]:
        """Return a judge's votes on the answers that the summary gives."""
        checked, trouble = await self._checked(judge, case, questions, whole_summary=False)
        # A draft may add to the answer that an earlier one gave.
        verdicts = {n: [comparison.verdict for _, comparison in answers] for n, answers in checked.items()}
        if incomplete := [n for n, of_answers in verdicts.items() if of_answers and "full" not in of_answers]:
            again = [questions[n] for n in incomplete]
            reread, more_trouble = await self._checked(judge, case, again, whole_summary=True)
            checked |= {incomplete[at]: answers for at, answers in reread.items()}
            trouble = trouble or more_trouble
        votes: dict[int, Vote[_CheckedAnswer]] = {}
        for n, summary_answers in sorted(checked.items()):
            by_comparison = {answer[1].verdict: answer for answer in reversed(summary_answers)}
            best: qa.Verdict = next((verdict for verdict in _VERDICTS if verdict in by_comparison), "none")
            if (verdict := _VERDICTS[best]) is None:
                continue
            verdict = ANSWERED if verdict == PARTLY and self.judging.formula == "paper" else verdict
            answer = by_comparison[best] if verdict != UNANSWERED else None
            votes[n] = Vote(verdict, VALUES[self.judging.formula][verdict], answer)
        return ItemResults(votes, trouble)

    async def _checked(
        self, judge: Judge, case: Case, questions: Sequence[PackQuestion], *, whole_summary: bool
    ) -> tuple[_Checked, str]:
        """Return the summary's answers to the questions that have a verdict, compared with the document's, and what
        went wrong. An answer in the document's words that its sentence has too needs no comparison."""
        texts, parts = [question.text for question in questions], case.reader.parts(case.statements)
        readings = (SummaryReader(judge, case, texts, part, whole_summary).answers() for part in parts)
        results = await in_parts(readings, len(texts), lambda answer: answer.answered)
        checked: _Checked = {n: [] for n in results.verdicts}
        open_answers: list[tuple[int, qa.SummaryAnswer]] = []
        for n, summary_answers in sorted(results.verdicts.items()):
            same: list[qa.SummaryAnswer] = []
            for answer in summary_answers:
                cited = [statement.sentence for statement in case.statements if statement.id in answer.sentences]
                answer_words = telling(answer.answer)
                is_cited = bool(answer_words) and answer_words <= telling(" ".join(cited))
                same += [answer] if is_cited and examiner.is_same(answer.answer, questions[n].answer) else []
            checked[n] += [(answer, _SAME) for answer in same]
            open_answers += [] if same else [(n, answer) for answer in summary_answers]
        pairs: list[qa.Pair] = []
        queries: list[EvidenceQuery] = []
        for question, answer in ((questions[n], answer) for n, answer in open_answers):
            fields = {"question": question.text, "document": question.answer, "summary": answer.answer}
            pairs.append(qa.Pair(id=0, **fields, sentence=cited_text(case.statements, question.text, answer)))
            place = question.evidence.span
            queries.append(EvidenceQuery(question.text, (question.answer,), (place,) if place else ()))
        compared = await examiner.compare_twice(judge, pairs, queries, case.reader, confirm=self.judging.second_look)
        for at, (n, answer) in enumerate(open_answers):
            checked[n].append((answer, compared.verdicts.get(at, _OPEN)))
        return checked, results.trouble or compared.trouble


def cited_text(statements: Sequence[qa.Statement], question: str, answer: qa.SummaryAnswer) -> str:
    """Return the sentences that an answer cites, with what they refer back to; those that have most of its words where
    there are many, and the nearest sentence where it cites none."""
    answer_words = telling(f"{question} {answer.answer}")
    cited = [statement for statement in statements if statement.id in answer.sentences]
    ranked = sorted(cited or statements, key=lambda statement: -len(answer_words & telling(statement.sentence)))
    chosen = ranked[: _MOST_CITED if cited else 1]
    meant = examiner.antecedents(statements)
    before = {sentence for statement in chosen for sentence in meant[statement.id][-examiner.LAST :]}
    texts = before | {statement.sentence for statement in chosen}
    return " ".join(dict.fromkeys(statement.sentence for statement in statements if statement.sentence in texts))


def _finding(case: Case, n: int, question: PackQuestion, panel: PanelVotes[_CheckedAnswer], weight: int) -> Finding:
    item = panel.items[n]
    finding = Finding(
        Coverage.name,
        UNANSWERED,
        "add",
        "The summary does not answer this question, and the document does.",
        question=question.text,
        expected=question.answer,
        evidence=question.evidence,
        said_by=item.said_by,
        value=item.value,
        weight=weight,
        counts=weight or 1,
    )
    if qa.sentence_in(question.text):
        explanation = "The summary lacks this key sentence of the document."
        return replace(finding, kind=KEY_SENTENCE_MISSING, question="", explanation=explanation)
    objection = item.objection
    if objection == UNANSWERED:
        return finding
    answers = panel.answers(n, objection)
    summary_answer, comparison = answers[0]
    if objection == PARTLY:
        missing = one_line(comparison.reason, _LONGEST_REASON)
        explanation = "The summary gives a part of the document's answer: add what is missing."
        return replace(finding, kind=PARTLY, explanation=explanation, found=summary_answer.answer, missing=missing)
    read = (
        comparison.described(_PLACE) if comparison.quoted else comparison.scope.description
        for _, comparison in answers
        if comparison.scope
    )
    cited = [case.statements[number - 1].sentence for number in summary_answer.sentences]
    words = telling(summary_answer.answer)
    return replace(
        finding,
        kind=CONTRADICTED,
        task="correct",
        explanation="The summary answers this question differently from the document.",
        sentence=max(cited, key=lambda sentence: len(words & telling(sentence)), default=""),
        found=summary_answer.answer,
        read=next(read, ""),
    )


def shares(
    items: Mapping[int, ItemVotes[Any]], groups: Sequence[str], weights: Sequence[int] = ()
) -> dict[str, dict[str, float | int | None]]:
    """Return the mean value of the questions per group, weighted if there are weights, and how many were judged."""
    by_group: dict[str, dict[int, ItemVotes[Any]]] = defaultdict(dict)
    for n, group in sorted(enumerate(groups), key=lambda item: item[1]):
        if n in items:
            by_group[group][n] = items[n]
    return {
        group: {"score": weighted_mean(of_group, weights), "judged": len(of_group)}
        for group, of_group in by_group.items()
    }


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


def _name_of(*texts: str) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:_NAME_LETTERS]


@dataclass(frozen=True, slots=True)
class SummaryReader:
    """Answers questions about a document from one summary, or a part of one. What an earlier summary said to a question
    stands while the sentences are there that said it, and its silence while there are no others."""

    judge: Judge
    case: Case
    questions: Sequence[str]
    statements: Sequence[qa.Statement]
    """The sentences of the part."""
    read_whole: bool
    """Whether an earlier answer stands only if all of these sentences were read for it."""

    async def answers(self) -> ItemResults[qa.SummaryAnswer]:
        """Return an answer to each question; the sentences are read for those that are not settled by what is known."""
        # A sentence is known by the ones that it refers back to as well.
        meant = examiner.antecedents(self.case.statements)
        names = {statement.id: _name_of(*meant[statement.id], statement.sentence) for statement in self.statements}
        ids = {name: number for number, name in reversed(names.items())}
        all_names = _name_of(*sorted(ids))

        def recall(number: int, text: str) -> qa.SummaryAnswer | None:
            stored = KnownAnswers.model_validate_json(text)
            standing = [answer for answer in stored.answers if ids.keys() >= set(answer.sentences)]
            from_all = [answer for answer in standing if answer.read == all_names]
            for source in from_all or ([] if self.read_whole else standing):
                sentences = [ids[name] for name in source.sentences]
                fields = {"answered": source.answered, "answer": source.answer, "sentences": sentences}
                return qa.SummaryAnswer(id=number + 1, **fields)
            is_silent = ids.keys() <= set(stored.silent)
            return qa.SummaryAnswer(id=number + 1, answered=False, answer="", sentences=[]) if is_silent else None

        def note(_number: int, answer: qa.SummaryAnswer) -> str:
            sentences = [names[id_] for id_ in dict.fromkeys(answer.sentences)] or list(ids)
            source = AnswerSource(answer=answer.answer, answered=answer.answered, sentences=sentences, read=all_names)
            known = KnownAnswers(answers=[source]) if answer.answered else KnownAnswers(silent=list(ids))
            return known.model_dump_json()

        items = [["standing", self.case.document.id, question] for question in self.questions]
        memory = Memory(items, recall, note, extends=True)
        return await self.judge.verdicts(qa.ANSWER_FROM_SUMMARY, qa.SummaryAnswer, [], self._asked, memory)

    async def _asked(self, numbers: Sequence[int]) -> ItemResults[qa.SummaryAnswer]:
        """Return the answers of the judge to some questions."""
        judge, reader, statements = self.judge, self.case.reader, self.statements
        asking = sum(reader.tokenizer.count(self.questions[n]) + _TAG_TOKENS for n in numbers)
        limit = judge.reply_room(examiner.FRAME_TOKENS + reader.tokens_of(statements) + asking, reader.window)
        text = " ".join(f"{statement.before} {statement.sentence}" for statement in statements)
        doubted: set[int] = set()

        async def ask(batch: Sequence[int], attempt: Attempt) -> Entries[qa.SummaryAnswer]:
            is_repeat = not doubted.isdisjoint(batch)
            items = [qa.QuestionItem(id=n + 1, question=self.questions[n]) for n in batch]
            fields = qa.AnswerFromSummaryInput(**examiner.summary_fields(statements), questions=items, again=is_repeat)
            asked = (batch, examiner.ANSWER, "doubted" if is_repeat else "answers", attempt, limit)
            reply = await judge.ask_items(qa.ANSWER_FROM_SUMMARY, fields, *asked)
            return reply, examiner.settled_answers(
                reply.value.answers,
                lambda: text,
                lambda answer: any(statement.id in answer.sentences for statement in statements),
                doubted,
                compared=True,
            )

        size = examiner.entries_per_request(limit, examiner.ANSWER.tokens(judge.wording))
        return await ask_all(in_batches(numbers, size), ask)
