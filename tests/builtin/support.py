"""Asking the extractive judge, as the evaluators do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rouge_score.rouge_scorer import RougeScorer

from redraft.builtin.consistency.checking import answer_from_document
from redraft.builtin.consistency.claims import ask_summary
from redraft.builtin.coverage.asking import ask_document
from redraft.builtin.coverage.covering import answer_from_summary, compare_answers
from redraft.prompts.judging import (
    UNANSWERABLE,
    AnswerFromDocumentGiven,
    AnswerFromSummaryGiven,
    AskDocumentGiven,
    Asked,
    AskSummaryGiven,
    CompareGiven,
    DocumentQuestion,
    Pair,
    Statement,
    SummaryAnswer,
)
from redraft.text.sentences import sentences
from tests.support import SAMPLE

THRESHOLD = 0.6
STORY = (
    "Hester Vane came to the island of Sarn on Monday, 3 March 1924, with a letter from Mr. Philip Dunne. The "
    "carrier Tobias Wren had driven the cart over the causeway since he was nineteen. Matthias Crane never stole "
    "the money. The ledger was hidden in the lighthouse because nobody looked there. In November 1901 the Long Bank "
    "broke and nineteen people drowned. Ruth Crane kept her father's notebook for twenty-two years. The Northern "
    "Alkali Company offered £18,500 for the saltworks. Mr. Harrow did not repay the loan until September."
)
_ROUGE = RougeScorer(["rouge1"], use_stemmer=True)


@dataclass(frozen=True)
class Verdict:
    """A question about a sentence, with both answers and how like they are."""

    sentence: int
    question: str
    summary: str
    document: str
    quote: str
    similarity: float


def split(text: str) -> list[str]:
    """The sentences of a text."""
    return [text[span.start : span.end] for span in sentences(text)]


def judge(passages: Sequence[str], summary: Sequence[str], at_most: int = 3) -> list[Verdict]:
    """All questions about the sentences of a summary, with the answers of both sides."""
    statements = [Statement(id=number, sentence=sentence) for number, sentence in enumerate(summary)]
    asked = ask_summary(AskSummaryGiven(summary=" ".join(summary), sentences=statements, at_most=at_most)).sentences
    questions = [(entry.id, question) for entry in asked for question in entry.questions]
    answers = answer_from_document(
        AnswerFromDocumentGiven(
            passages=list(passages),
            questions=[Asked(id=number, question=question.question) for number, (_, question) in enumerate(questions)],
        )
    ).answers
    return [
        Verdict(
            at,
            question.question,
            question.answer,
            answer.answer,
            answer.quote,
            _similar(question.answer, answer.answer),
        )
        for (at, question), answer in zip(questions, answers, strict=True)
    ]


def _similar(summary: str, document: str) -> float:
    if document == UNANSWERABLE:
        return 0.0
    return 1.0 if summary == document else float(_ROUGE.score(document, summary)["rouge1"].fmeasure)


def consistency(passages: Sequence[str], summary: Sequence[str]) -> float:
    """The score of Algorithm 1."""
    alike = [verdict.similarity for verdict in judge(passages, summary)]
    return sum(like for like in alike if like > THRESHOLD) / len(alike) if alike else 0.0


def found_in(passages: Sequence[str], summary: Sequence[str]) -> set[int]:
    """The sentences with a finding."""
    return {verdict.sentence for verdict in judge(passages, summary) if verdict.similarity <= THRESHOLD}


def pack_of(text: str, stretch: int = 6000, count: int = 3) -> list[DocumentQuestion]:
    """Questions about a document, stretch by stretch."""
    questions: list[DocumentQuestion] = []
    start = 0
    ends = [span.end for span in sentences(text)]
    for end in ends:
        if end - start >= stretch or end == ends[-1]:
            questions += ask_document(AskDocumentGiven(excerpt=text[start:end], count=count)).questions
            start = end
    return questions


def answers(pack: Sequence[DocumentQuestion], summary: Sequence[str], *, quoted: bool = True) -> list[SummaryAnswer]:
    """What a summary answers to the questions of a pack; its sentences are quotations where they are `quoted`."""
    return answer_from_summary(
        AnswerFromSummaryGiven(
            sentences=[
                Statement(id=number, sentence=sentence, quoted=quoted) for number, sentence in enumerate(summary)
            ],
            questions=[Asked(id=number, question=question.question) for number, question in enumerate(pack)],
        )
    ).answers


def coverage(pack: Sequence[DocumentQuestion], summary: Sequence[str]) -> float:
    """The share of the questions that a summary answers."""
    return sum(answer.answer != UNANSWERABLE for answer in answers(pack, summary)) / len(pack)


def contradicted(pairs: Sequence[tuple[str, str, str]]) -> list[bool]:
    """Whether the second answer to each question contradicts the first."""
    given = [Pair(id=n, question=asked, document=ours, summary=theirs) for n, (asked, ours, theirs) in enumerate(pairs)]
    return [one.verdict == "contradicts" for one in compare_answers(CompareGiven(pairs=given)).comparisons]


def sample() -> str:
    """The novella of the examples."""
    return SAMPLE.read_text("utf-8")
