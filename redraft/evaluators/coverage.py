"""Coverage: the share of the document's questions that the summary answers (LongSumEval, Algorithm 1)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from typing_extensions import override

from redraft.agents.evidence import EvidenceQuery
from redraft.agents.examiner import AnswerComparison, Examiner, compare_twice
from redraft.agents.judge import Judge
from redraft.domain import Evaluation, Finding, PackQuestion
from redraft.evaluators.base import Case, Evaluator, conciseness, mean_evaluation, panel_verdicts
from redraft.evaluators.consensus import ItemVotes, JudgeVerdicts, PanelVerdicts, disputed_items, mean
from redraft.evaluators.reference.keyfacts import bin_of
from redraft.evaluators.similarity import is_same
from redraft.prompts.qa import (
    ANSWER_FROM_DOCUMENT,
    ANSWER_FROM_SUMMARY,
    ASK_DOCUMENT,
    COMPARE_ANSWERS,
    RANK_QUESTIONS,
    Pair,
    Statement,
    SummaryAnswer,
)
from redraft.settings import JudgeConfig
from redraft.text.units import are_quoted, indexed, units
from redraft.text.vectors import Encoder
from redraft.text.word_keys import telling

UNANSWERED, ANSWERED, CONTRADICTED = "unanswered", "answered", "contradicted"
_PLACE = "the place of the answer"
_SAME, _OPEN = AnswerComparison("agrees", ""), AnswerComparison("unclear", "")


class _CheckedAnswer(NamedTuple):
    """A judge's answer from the summary, and what was read of the document if it contradicts that."""

    given: SummaryAnswer
    read: str


_Answers = PanelVerdicts[_CheckedAnswer]


@dataclass(frozen=True, slots=True)
class Coverage(Evaluator):
    """Asks a summary the questions of the document's pack, or the `top_k` most important ones."""

    top_k: int | None = None
    second_look: bool = True
    """Whether more of the document is read before an answer counts as contradicting it."""
    name = "coverage"
    version = 7
    prompts = (ASK_DOCUMENT, RANK_QUESTIONS, ANSWER_FROM_SUMMARY, COMPARE_ANSWERS, ANSWER_FROM_DOCUMENT)
    aim = "content"
    needs = uses = "questions"

    @override
    def configured(self, judging: JudgeConfig, encoder: Encoder | None) -> Coverage:
        """Return the metric with the configured number of questions."""
        return replace(self, top_k=judging.top_k, second_look=judging.second_look)

    async def evaluate(self, case: Case) -> Evaluation:
        """Score the draft, and find what it does not answer or answers differently from the document."""
        if not case.statements:
            return self.not_applicable("the summary has no sentence")
        questions = case.yardstick.pack.questions[: self.top_k] if case.yardstick.pack else ()
        if case.yardstick.pack is None or not questions:
            return self.not_applicable("the document's pack has no questions")
        statements = await asyncio.to_thread(_with_quotations, case)
        case = replace(case, statements=statements)

        async def judged(judge: Judge, numbers: Sequence[int]) -> JudgeVerdicts[_CheckedAnswer]:
            return await _verdicts(judge, case, [questions[n] for n in numbers], confirm=self.second_look)

        panel = await panel_verdicts(case, len(questions), ANSWERED, judged)
        needed = _answering(panel)
        return mean_evaluation(
            self,
            panel,
            # The unanswered and wrongly answered questions: those with most votes first, then by importance.
            findings=[_finding(case, n, questions[n], panel) for n in disputed_items(panel.items, ANSWERED)],
            held=[statement.sentence for statement in case.statements if statement.id in needed],
            details={
                "conciseness": conciseness(case.statements, needed),
                "by_kind": shares(panel.items, [question.kind for question in questions]),
                "by_position": shares(panel.items, [bin_of(question.position) for question in questions]),
                "questions": [_shown(n, question, panel) for n, question in enumerate(questions)],
            },
        )


def _with_quotations(case: Case) -> tuple[Statement, ...]:
    """Return the sentences of the summary, each with whether it is nearly a quotation of the document."""
    found = are_quoted([units(statement.sentence) for statement in case.statements], _indexed(case.document.text))
    return tuple(
        statement.model_copy(update={"quoted": is_quoted})
        for statement, is_quoted in zip(case.statements, found, strict=True)
    )


_indexed = lru_cache(maxsize=2)(indexed)
"""Cached, since all drafts of a run use the index of the document."""


async def _verdicts(
    judge: Judge, case: Case, questions: Sequence[PackQuestion], *, confirm: bool
) -> JudgeVerdicts[_CheckedAnswer]:
    """Return a judge's verdicts: an answered question counts, right or wrong, as in the paper."""
    results = await Examiner(judge).answers_from_summary(
        case.statements, [question.text for question in questions], case.reader
    )
    compared_with, trouble = await _compared(judge, case, questions, results.verdicts, confirm=confirm)
    answers: dict[int, _CheckedAnswer] = {}
    by_item: dict[int, str] = {}
    for n, summary_answers in sorted(results.verdicts.items()):
        read = ""
        by_verdict: dict[str, list[SummaryAnswer]] = defaultdict(list)
        for at, answer in enumerate(summary_answers):
            comparison = compared_with.get((n, at), _SAME)
            by_verdict[comparison.verdict].append(answer)
            if comparison.verdict == "contradicts" and comparison.scope:
                read = comparison.described(_PLACE) if comparison.quoted else comparison.scope.description
        # Of several answers, one that agrees with the document suffices. An answer to something else is not an answer.
        sound, refuted = by_verdict["agrees"], by_verdict["contradicts"]
        if not sound and by_verdict["unclear"]:
            continue
        by_item[n] = ANSWERED if sound else CONTRADICTED if refuted else UNANSWERED
        if sound or refuted:
            own = [answer for answer in sound if is_same(answer.answer, questions[n].answer)]
            answers[n] = _CheckedAnswer((own or sound or refuted)[0], read)
    points = {n: float(verdict != UNANSWERED) for n, verdict in by_item.items()}
    return JudgeVerdicts(judge.name, by_item, points, results.trouble or trouble, answers=answers)


async def _compared(
    judge: Judge,
    case: Case,
    questions: Sequence[PackQuestion],
    given: Mapping[int, Sequence[SummaryAnswer]],
    *,
    confirm: bool,
) -> tuple[dict[tuple[int, int], AnswerComparison], str]:
    """Compare the answers that differ from the document's; returns the comparisons and what went wrong."""
    differing = [
        (n, at)
        for n, answers in sorted(given.items())
        for at in range(len(answers))
        # An answer identical to the document's cannot contradict it.
        if not any(is_same(answer.answer, questions[n].answer) for answer in answers)
    ]
    pairs = [
        Pair(id=0, question=questions[n].text, document=questions[n].answer, summary=given[n][at].answer)
        for n, at in differing
    ]
    queries = [_wanted(questions[n]) for n, _ in differing]
    results = await compare_twice(Examiner(judge), pairs, queries, case.reader, confirm=confirm)
    return {pair: results.verdicts.get(place, _OPEN) for place, pair in enumerate(differing)}, results.trouble


def _wanted(question: PackQuestion) -> EvidenceQuery:
    """Return the evidence query for an answer, whose place in the document is known."""
    span = question.evidence.span
    return EvidenceQuery(question.text, (question.answer,), (span,) if span else ())


def _finding(case: Case, n: int, question: PackQuestion, panel: _Answers) -> Finding:
    item = panel.items[n]
    finding = Finding(
        Coverage.name,
        UNANSWERED,
        "add",
        "The summary does not answer this question, and the document does.",
        question=question.text,
        expected=question.answer,
        evidence=question.evidence,
        said_by=item.said_against(ANSWERED),
        value=item.value,
    )
    if item.objection(ANSWERED) == UNANSWERED:
        return finding
    said_so = panel.answers(n, CONTRADICTED)
    answer = said_so[0].given
    return replace(
        finding,
        kind=CONTRADICTED,
        task="correct",
        explanation="The summary answers this question differently from the document.",
        sentence=wrong_sentence(case.statements, answer),
        found=answer.answer,
        read=next((checked_answer.read for checked_answer in said_so if checked_answer.read), ""),
    )


def wrong_sentence(statements: Sequence[Statement], answer: SummaryAnswer) -> str:
    """Return the sentence that has most of the answer's words among those the answer rests on."""
    known = {statement.id: statement.sentence for statement in statements}
    rests_on = [known[number] for number in answer.sentences if number in known]
    words = telling(answer.answer)
    return max(rests_on, key=lambda sentence: len(words & telling(sentence)), default="")


def _answering(panel: _Answers) -> set[int]:
    """Return the numbers of the sentences that answer questions."""
    answered = [n for n, item in panel.items.items() if item.verdict == ANSWERED]
    return {number for n in answered for answer in panel.answers(n) for number in answer.given.sentences}


def _shown(n: int, question: PackQuestion, panel: _Answers) -> dict[str, object]:
    answer = next(iter(panel.answers(n)), None)
    return {
        "id": question.id,
        "question": question.text,
        "kind": question.kind,
        "expected": question.answer,
        **panel.shown(n),
        "found": answer.given.answer if answer else "",
        "sentences": list(answer.given.sentences) if answer else [],
    }


def shares(items: Mapping[int, ItemVotes], groups: Sequence[str]) -> dict[str, dict[str, float | int | None]]:
    """Return the mean value of the questions per group, and how many were judged."""
    values: dict[str, list[float]] = defaultdict(list)
    for n, group in sorted(enumerate(groups), key=lambda item: item[1]):
        if n in items:
            values[group].append(items[n].value)
    return {group: {"score": mean(found), "judged": len(found)} for group, found in values.items()}
