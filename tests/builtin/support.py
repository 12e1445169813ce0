"""Asking the extractive judge, as the evaluators do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.builtin.questions import (
    answer_from_document,
    answer_from_summary,
    ask_document,
    ask_summary,
    compare_answers,
)
from redraft.evaluators.similarity import is_same
from redraft.prompts.contract import UNSURE
from redraft.prompts.qa import (
    AnswerFromDocumentInput,
    AnswerFromSummaryInput,
    AskDocumentInput,
    AskSummaryInput,
    CompareInput,
    DocumentAnswer,
    DocumentQuestion,
    Pair,
    QuestionItem,
    SummaryAnswer,
    SummaryLine,
)
from redraft.text.sentences import sentences
from tests.support import SAMPLE

STORY = (
    "Hester Vane came to the island of Sarn on Monday, 3 March 1924, with a letter from Mr. Philip Dunne. The "
    "carrier Tobias Wren had driven the cart over the causeway since he was nineteen. Matthias Crane never stole "
    "the money. The ledger was hidden in the lighthouse because nobody looked there. In November 1901 the Long Bank "
    "broke and nineteen people drowned. Ruth Crane kept her father's notebook for twenty-two years. The Northern "
    "Alkali Company offered £18,500 for the saltworks. Mr. Harrow did not repay the loan until September."
)


UNANSWERABLE, UNDECIDED = "there is no answer", "have no verdict"


def said(one: DocumentAnswer | SummaryAnswer) -> str:
    """An answer, that there is none, or that the judge cannot tell."""
    return UNDECIDED if one.answered == UNSURE else one.answer if one.answered else UNANSWERABLE


@dataclass(frozen=True)
class Verdict:
    """A question about a sentence, with both answers, and how much of it the document has where it has nothing else."""

    sentence: int
    question: str
    summary: str
    document: str
    quote: str
    share: float | None


def split(text: str) -> list[str]:
    """The sentences of a text."""
    return [text[span.start : span.end] for span in sentences(text)]


def judge(passages: Sequence[str], summary: Sequence[str]) -> list[Verdict]:
    """All questions about the sentences of a summary, with the answers of both sides."""
    told = [SummaryLine(id=number, sentence=sentence) for number, sentence in enumerate(summary)]
    asked = ask_summary(AskSummaryInput(sentences=told, at_most=3)).sentences
    questions = [(entry.id, question) for entry in asked for question in entry.questions]
    answers = answer_from_document(
        AnswerFromDocumentInput(
            passages=list(passages),
            questions=[
                QuestionItem(id=number, question=question.question) for number, (_, question) in enumerate(questions)
            ],
        )
    ).answers
    return [
        Verdict(
            at,
            question.question,
            question.answer,
            said(answer),
            answer.quote,
            1.0 if is_same(question.answer, answer.answer) else None,
        )
        for (at, question), answer in zip(questions, answers, strict=True)
    ]


def consistency(passages: Sequence[str], summary: Sequence[str]) -> float | None:
    """What the sentences come to on which there is a verdict; None where there is on less than half of them."""
    verdicts = judge(passages, summary)
    told = [verdict.share or 0.0 for verdict in verdicts if verdict.document != UNDECIDED]
    return sum(told) / len(told) if told and 2 * len(told) >= len(verdicts) else None


def found_in(passages: Sequence[str], summary: Sequence[str]) -> set[int]:
    """The sentences with a finding."""
    verdicts = judge(passages, summary)
    return {one.sentence for one in verdicts if one.share is None and one.document != UNDECIDED}


def open_in(passages: Sequence[str], summary: Sequence[str]) -> set[int]:
    """The sentences of which the judge cannot tell."""
    return {one.sentence for one in judge(passages, summary) if one.document == UNDECIDED}


def pack_of(text: str, stretch: int = 6000, count: int = 3) -> list[DocumentQuestion]:
    """Questions about a document, stretch by stretch."""
    questions: list[DocumentQuestion] = []
    start = 0
    ends = [span.end for span in sentences(text)]
    for end in ends:
        if end - start >= stretch or end == ends[-1]:
            questions += ask_document(AskDocumentInput(excerpt=text[start:end], count=count)).questions
            start = end
    return questions


def answers(pack: Sequence[DocumentQuestion], summary: Sequence[str], *, quoted: bool = True) -> list[SummaryAnswer]:
    """What a summary answers to the questions of a pack; its sentences are quotations where they are `quoted`."""
    return answer_from_summary(
        AnswerFromSummaryInput(
            sentences=[
                SummaryLine(id=number, sentence=sentence, quoted=quoted) for number, sentence in enumerate(summary)
            ],
            questions=[QuestionItem(id=number, question=question.question) for number, question in enumerate(pack)],
        )
    ).answers


def coverage(pack: Sequence[DocumentQuestion], summary: Sequence[str]) -> float:
    """The share of the questions that a summary answers."""
    return sum(said(answer) != UNANSWERABLE for answer in answers(pack, summary)) / len(pack)


def contradicted(pairs: Sequence[tuple[str, str, str]]) -> list[bool]:
    """Whether the second answer to each question contradicts the first."""
    given = [Pair(id=n, question=asked, document=ours, summary=theirs) for n, (asked, ours, theirs) in enumerate(pairs)]
    return [one.verdict == "contradicts" for one in compare_answers(CompareInput(pairs=given)).comparisons]


def sample() -> str:
    """The novella of the examples."""
    return SAMPLE.read_text("utf-8")
