"""The prompts that judge a summary: asking questions, answering them from one text or another, comparing answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator

from redraft.prompts.contract import Excerpt, Fence, GivenModel, Prompt, ReplyModel, SummaryText, Whole, lenient
from redraft.prompts.tags import ONLY_KNOWN, Item, Names

UNANSWERABLE = "UNANSWERABLE"
"""What a reply says where a text does not hold the answer. It is an answer; silence is none."""

Kind = Literal["what", "when", "where", "who", "how", "why"]
QuestionKind = Annotated[Kind, BeforeValidator(lenient(Kind, "what"))]
Verdict = Literal["agrees", "contradicts"]
Importance = Annotated[Whole, AfterValidator(lambda value: min(5, max(1, value)))]


class Statement(Item):
    """A sentence of a summary; `before` is what it points back to, where it does."""

    before: str = ""
    sentence: str


class Asked(Item):
    """A question to be answered."""

    question: str


class Pair(Item):
    """Two answers to one question, from the document and from the summary."""

    question: str
    document: str
    summary: str


class Candidate(Item):
    """A question that may become part of a document's pack."""

    question: str
    answer: str


class AskDocumentGiven(GivenModel):
    """A stretch of a document to ask about, and how many questions: `count`, or from `at_least` up to that."""

    excerpt: Excerpt
    count: int
    at_least: int | None = None


class DocumentQuestion(ReplyModel):
    """A question with its answer, and the words of the excerpt that hold it."""

    question: str
    kind: QuestionKind
    answer: str
    quote: str


class DocumentQuestions(ReplyModel):
    """The most important question first."""

    questions: list[DocumentQuestion]


class RankGiven(GivenModel):
    """Questions from different parts of one document."""

    candidates: Annotated[list[Candidate], Fence("question")]


class Ranking(ReplyModel):
    """The tags of the questions, the most important first."""

    order: Annotated[list[Annotated[int, Names("candidates")]], ONLY_KNOWN]


class AnswerFromSummaryGiven(GivenModel):
    """Questions about a document, to be answered from a summary alone."""

    sentences: Annotated[list[Statement], Fence("sentence")]
    questions: Annotated[list[Asked], Fence("q")]


class SummaryAnswer(ReplyModel):
    """An answer, or UNANSWERABLE, and the tags of the sentences that it rests on."""

    id: Annotated[int, Names("questions")]
    answer: str
    sentences: Annotated[list[Annotated[int, Names("sentences")]], ONLY_KNOWN]


class SummaryAnswers(ReplyModel):
    """One answer for each question."""

    answers: list[SummaryAnswer]


class CompareGiven(GivenModel):
    """Pairs of answers to compare."""

    pairs: Annotated[list[Pair], Fence("pair")]


class Comparison(ReplyModel):
    """Whether the summary's answer contradicts the document's, and why."""

    id: Annotated[int, Names("pairs")]
    reason: str
    verdict: Annotated[Verdict, BeforeValidator(lenient(Verdict, None))]


class Comparisons(ReplyModel):
    """One verdict for each pair."""

    comparisons: list[Comparison]


class AskSummaryGiven(GivenModel):
    """Sentences to ask about, and the summary that they are from: all of it, or as much as there is room for."""

    summary: SummaryText
    sentences: Annotated[list[Statement], Fence("sentence")]
    at_most: int


class SummaryQuestion(ReplyModel):
    """A question about one claim, the answer that the sentence gives, and how much hangs on it, from 1 to 5."""

    question: str
    kind: QuestionKind
    answer: str
    importance: Importance


class SentenceQuestions(ReplyModel):
    """The questions about one sentence; none where it claims nothing."""

    id: Annotated[int, Names("sentences")]
    questions: list[SummaryQuestion]


class SummaryQuestions(ReplyModel):
    """One entry for each sentence."""

    sentences: list[SentenceQuestions]


class AnswerFromDocumentGiven(GivenModel):
    """Questions to be answered from passages of the document alone."""

    passages: Annotated[list[str], Fence("passage")]
    questions: Annotated[list[Asked], Fence("q")]


class DocumentAnswer(ReplyModel):
    """An answer, or UNANSWERABLE, and the words of the passages that hold it."""

    id: Annotated[int, Names("questions")]
    answer: str
    quote: str


class DocumentAnswers(ReplyModel):
    """One answer for each question."""

    answers: list[DocumentAnswer]


ASK_DOCUMENT = Prompt(
    "ask_document",
    AskDocumentGiven,
    DocumentQuestions,
    "pack: ask about what matters in a stretch of the document",
    0.0,
)
RANK_QUESTIONS = Prompt(
    "rank_questions", RankGiven, Ranking, "pack: rank questions from all parts of the document", 0.0
)
ANSWER_FROM_SUMMARY = Prompt(
    "answer_from_summary",
    AnswerFromSummaryGiven,
    SummaryAnswers,
    "coverage: answer the document's questions from the summary",
    0.0,
)
COMPARE_ANSWERS = Prompt(
    "compare_answers", CompareGiven, Comparisons, "coverage: does the summary's answer contradict the document's?", 0.0
)
ASK_SUMMARY = Prompt(
    "ask_summary", AskSummaryGiven, SummaryQuestions, "consistency: ask about what each sentence claims", 0.0
)
ANSWER_FROM_DOCUMENT = Prompt(
    "answer_from_document",
    AnswerFromDocumentGiven,
    DocumentAnswers,
    "consistency: answer the summary's questions from the document",
    0.0,
)

JUDGING: tuple[Prompt[Any, Any], ...] = (
    ASK_DOCUMENT,
    RANK_QUESTIONS,
    ANSWER_FROM_SUMMARY,
    COMPARE_ANSWERS,
    ASK_SUMMARY,
    ANSWER_FROM_DOCUMENT,
)
"""The prompts that judge a draft by questions and answers."""
