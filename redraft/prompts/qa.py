"""The prompts for judging by question answering, and typed questions."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from redraft.domain import QuestionWord
from redraft.prompts.contract import (
    INTERNAL,
    OMITTABLE,
    SKIP_INVALID,
    UNSURE,
    WORDED,
    AliasNames,
    Answers,
    Aside,
    AskedWhere,
    Context,
    Excerpt,
    Fence,
    ItemTags,
    Label,
    Language,
    MaxItems,
    OutlineText,
    Passages,
    Prompt,
    PromptInput,
    ReplyModel,
    Sentences,
    Text,
    Unsure,
    Whole,
    WholeDocument,
    WholeText,
    is_denied,
)
from redraft.prompts.tags import LISTED, ONLY_KNOWN, ItemRef, TaggedItem

_YES = frozenset(("true", "yes", "y", "1", "answered", "answerable", "ja", "oui", "sí", "si", "sim", "да", "是"))
_NO = frozenset(("false", "no", "n", "0", "none", "unanswered", "unanswerable", "nein", "non", "não", "нет", "否"))


def _answered(value: object) -> object:
    """Return whether there is an answer, in any wording; None where that is not said in known words."""
    if isinstance(value, bool) or value == UNSURE:
        return value
    answer = str(value).casefold().strip(" .\"'*") if isinstance(value, str | int) else ""
    return True if answer in _YES else False if answer in _NO else None


Answered = Annotated[
    bool | Unsure | None,
    BeforeValidator(_answered),
    WithJsonSchema({"type": "boolean"}),
    OMITTABLE,
    AliasNames("is answered", "answerable", "has answer"),
]
"""Whether a text holds the answer to a question; None where a reply leaves that out."""

QuestionKind = Annotated[QuestionWord, Label(QuestionWord, otherwise="what")]
Verdict = Literal["full", "part", "none", "contradicts", "unclear"]
Quote = Annotated[Aside, AliasNames("evidence", "citation", "quotation", "excerpt", "passage", "quoted text", "source")]
"""The words of a text that support a statement."""
Reason = Annotated[
    Aside, AliasNames("explanation", "rationale", "justification", "reasoning", "why", "comment", "thought")
]
"""The reason for a statement."""


class Reasoned(ReplyModel):
    """What is said of an item, and first of all why."""

    id: int
    reason: Reason


IDS = AliasNames("tag", "question id", "pair id", "sentence id", "fact id", "item id", "identifier", "qid")
"""What models call the id of an item."""
LABELS = ("label", "judgement", "judgment", "decision", "conclusion", "result", "status", "assessment")
"""What models call a verdict."""
SentenceNames = Annotated[
    list[Annotated[int, ItemRef("sentences")]],
    LISTED,
    ONLY_KNOWN,
    OMITTABLE,
    AliasNames("sentence ids", "ids", "sentence"),
]
"""The sentences of a summary that support a statement."""
Importance = Annotated[Whole, AfterValidator(lambda value: min(5, max(1, value)))]


class Statement(TaggedItem):
    """A sentence of a summary; `before` is what it refers back to, if anything."""

    before: str = ""
    sentence: str


class SummaryLine(TaggedItem):
    """A sentence of a summary among the others."""

    sentence: str


class QuestionItem(TaggedItem):
    """A question to be answered."""

    question: str


class DocumentView(PromptInput):
    """What a prompt shows of a document, before all else: the whole of it, or some passages. Prompts with the whole
    document begin with the same words, so that providers can cache them."""

    document: WholeText = None
    passages: Passages = Field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """Return all texts that are shown."""
        return self.passages if self.document is None else [self.document]


SummaryLines = Annotated[list[SummaryLine], Fence("summary", "the sentences of the summary", "lines")]
"""The sentences of a summary in order, or of a part of it."""
QuestionItems = Annotated[list[QuestionItem], Fence("questions", "the questions to answer", "lines")]


class Pair(TaggedItem):
    """Two answers to one question, from the document and from the summary; and the sentences of the summary that its
    answer cites, with what they refer back to. They are empty where the question was asked about a sentence."""

    question: str
    document: str
    summary: str
    sentence: str = ""


class Candidate(TaggedItem):
    """A question that may become part of a document's pack."""

    question: str
    answer: str


KEY_SENTENCE = "Key sentence: "
"""Begins what a pack has in place of a question, of a judge that asks none: a sentence that a summary needs."""


def sentence_in(question: str) -> str:
    """Return the key sentence in place of a question; empty for a question."""
    return question.removeprefix(KEY_SENTENCE) if question.startswith(KEY_SENTENCE) else ""


class AskDocumentInput(PromptInput):
    """The whole document, or an excerpt of it, to ask about, and how many questions: up to `count`, or as in
    LongSumEval from `at_least` up to that."""

    document: WholeText = None
    excerpt: Annotated[str | None, Fence("excerpt", "the part of the document to read")] = None
    count: int
    at_least: int | None = None
    outline: OutlineText = None


QuestionWeight = Annotated[
    Whole,
    BeforeValidator(lambda value: 1 if value is None else value),
    AfterValidator(lambda value: min(3, max(1, value))),
    OMITTABLE,
    AliasNames("importance", "priority"),
]
"""How much a summary needs the answer to a question, from 1 to 3."""


class DocumentQuestion(ReplyModel):
    """A question with its answer, the words of the text that hold it, and how much a summary needs it."""

    question: Text
    kind: Annotated[QuestionKind, OMITTABLE]
    answer: Aside
    quote: Quote
    weight: QuestionWeight


class DocumentQuestions(ReplyModel):
    """The most important question first."""

    questions: Annotated[list[DocumentQuestion], SKIP_INVALID, MaxItems("count")]


class RankInput(PromptInput):
    """Questions from different parts of one document."""

    candidates: Annotated[list[Candidate], Fence("question", "the questions to rank")]
    outline: OutlineText = None


CandidateNames = Annotated[list[Annotated[int, ItemRef("candidates")]], LISTED, ONLY_KNOWN]


class Ranking(ReplyModel):
    """The tags of the questions by how much a summary of the whole document needs their answers."""

    essential: CandidateNames
    important: CandidateNames
    minor: CandidateNames

    @property
    def weights(self) -> dict[int, int]:
        """Return the weights of the questions by number."""
        return dict.fromkeys(self.minor, 1) | dict.fromkeys(self.important, 2) | dict.fromkeys(self.essential, 3)


class AnswerFromSummaryInput(PromptInput):
    """Questions about a document, to be answered from a summary alone; `again` those whose answers are doubted. Where
    only a part of the summary is shown, the context is what its first sentence refers back to."""

    context: Context = ""
    sentences: SummaryLines
    questions: QuestionItems
    again: bool = False


class SummaryAnswer(ReplyModel):
    """The tags of the sentences that an answer rests on, whether there is one, and what it is."""

    id: Annotated[int, ItemRef("questions"), IDS]
    sentences: SentenceNames
    answered: Answered
    answer: Aside


SummaryAnswers = Answers[SummaryAnswer]


class CompareInput(PromptInput):
    """Pairs of answers to compare."""

    pairs: Annotated[list[Pair], Fence("pair", "the answers to compare")]


class Comparison(Reasoned):
    """How much of the document's answer the summary's gives, or that it contradicts it, or that it cannot be told; and
    why, which names what is missing of a part."""

    id: Annotated[int, ItemRef("pairs"), IDS]
    verdict: Annotated[Verdict, Label(Verdict, "verdict", names=LABELS)]


class Comparisons(ReplyModel):
    """One verdict for each pair."""

    comparisons: list[Comparison]


class AskSummaryInput(PromptInput):
    """A summary, or a part of it, to ask about: about all its sentences, or `only` some. Where only a part is shown,
    the context is what its first sentence refers back to. `searched` says that the document is searched for answers."""

    context: Context = ""
    sentences: SummaryLines
    only: Annotated[list[int], ItemTags("sentences")] = Field(default_factory=list)
    at_most: int
    searched: bool = False


class SummaryQuestion(ReplyModel):
    """A question about one fact, the answer that the sentence gives, how much hangs on it, from 1 to 5, and where the
    document is searched, words that it may use of it."""

    question: Annotated[Text, WORDED]
    answer: Annotated[Text, WORDED]
    search: Annotated[Aside, AskedWhere("searched"), AliasNames("search words", "keywords", "terms")]
    importance: Importance


class SentenceQuestions(ReplyModel):
    """The questions about one sentence; none where it claims nothing."""

    listed_as = "SummaryQuestions"
    id: Annotated[int, ItemRef("sentences"), IDS]
    questions: Annotated[list[SummaryQuestion], MaxItems("at_most")]


SummaryQuestions = Sentences[SentenceQuestions]


class AnswerFromDocumentInput(DocumentView):
    """Questions to be answered from a document alone; `again` those whose answers are doubted."""

    questions: QuestionItems
    again: bool = False


Share = Annotated[float | None, INTERNAL, SkipJsonSchema(), Field(exclude_if=lambda share: share is None)]
"""How much of a claim's wording the document has, of a judge that compares words."""


class DocumentAnswer(ReplyModel):
    """The words of the document that an answer rests on, whether there is one, and what it is."""

    id: Annotated[int, ItemRef("questions"), IDS]
    quote: Quote
    answered: Answered
    answer: Aside
    share: Share = None


DocumentAnswers = Answers[DocumentAnswer]


class AnswerInput(DocumentView):
    """A reader's question about a document, with what was asked and answered before; `again` where the quotes of a
    first answer were not in it."""

    earlier: Annotated[list[str], Fence("earlier")] = Field(default_factory=list)
    question: Annotated[str, Fence("question", "the question to answer")]
    words: int
    language: Language = None
    again: bool = False


class AnswerSentence(ReplyModel):
    """A sentence of an answer, and the words of the document that it rests on."""

    quote: Quote
    sentence: Annotated[Text, AliasNames("answer", "text", "statement")]


class WrittenAnswer(ReplyModel):
    """Whether the document answers the question, and the answer."""

    answered: Answered
    sentences: Annotated[list[AnswerSentence], SKIP_INVALID, MaxItems(40)]
    missing: Aside = ""


ASK_DOCUMENT = Prompt(
    "ask_document", AskDocumentInput, DocumentQuestions, "pack: ask about what matters in a stretch of the document"
)
RANK_QUESTIONS = Prompt("rank_questions", RankInput, Ranking, "pack: rank questions from all parts of the document")
ANSWER_FROM_SUMMARY = Prompt(
    "answer_from_summary",
    AnswerFromSummaryInput,
    SummaryAnswers,
    "coverage: answer the document's questions from the summary",
)
COMPARE_ANSWERS = Prompt(
    "compare_answers",
    CompareInput,
    Comparisons,
    "coverage and consistency: does the summary's answer say what the document's does?",
)
ASK_SUMMARY = Prompt(
    "ask_summary", AskSummaryInput, SummaryQuestions, "consistency: ask about what each sentence claims"
)
ANSWER_FROM_DOCUMENT = Prompt(
    "answer_from_document",
    AnswerFromDocumentInput,
    DocumentAnswers,
    "consistency: answer the summary's questions from the document",
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


QuestionType = Literal["abstractive", "extractive", "binary", "unanswerable"]
"""What a typed question takes: combining information, finding words, saying yes or no, or noticing that the document
has no answer."""
Correctness = Literal["right", "wrong"]
# "Yes" and "no" in the languages that models answer in.
_YES_OF_TYPED = frozenset(("yes", "ja", "oui", "sí", "si", "sim", "да", "是", "是的", "はい"))
_NO_OF_TYPED = frozenset(("no", "nein", "non", "não", "нет", "不", "不是", "否", "いいえ"))
_FIRST_WORD = re.compile(r"[^\w]*(\w+)")


def yes_or_no(answer: str) -> Literal["yes", "no"] | None:
    """Return whether an answer begins with yes or no; None where it begins with neither."""
    match = None if is_denied(answer, "yes") else _FIRST_WORD.match(answer.casefold())
    word = match.group(1) if match else ""
    return "yes" if word in _YES_OF_TYPED else "no" if word in _NO_OF_TYPED else None


class AskTypedInput(PromptInput):
    """A paragraph, the text before it, the wanted type of question, and a summary of the document, if any."""

    summary: Annotated[str, Fence("summary")] = ""
    context: Context = ""
    excerpt: Excerpt
    type: QuestionType


class TypedReply(ReplyModel):
    """A question with its answer, and why that is the answer; no question where none of the type can be asked."""

    # A reply without a question has to say so explicitly.
    question: Annotated[Text, BeforeValidator(lambda value: "" if value is None else value)]
    answer: Aside
    reason: Reason


class AnswerQuestionsInput(PromptInput):
    """A document, as far as it is to be read, and questions to be answered from it."""

    document: WholeDocument
    questions: QuestionItems


class GivenAnswer(ReplyModel):
    """Whether there is an answer, and what it is; and where it is yes or no, why."""

    id: Annotated[int, ItemRef("questions"), IDS]
    answered: Answered
    answer: Aside
    reason: Reason


GivenAnswers = Answers[GivenAnswer]


class AnswerPair(TaggedItem):
    """A question with its reference answer, and the answer that is to be judged."""

    question: str
    reference: str
    answer: str


class JudgeAnswersInput(PromptInput):
    """Answers to judge."""

    answers: Annotated[list[AnswerPair], Fence("pair", "the answers to judge")]


class AnswerVerdict(Reasoned):
    """Whether an answer says what the reference says, and why."""

    id: Annotated[int, ItemRef("answers"), IDS]
    verdict: Annotated[Correctness | Unsure, Label(Correctness, "correctness", names=LABELS)]


AnswerVerdicts = Answers[AnswerVerdict]


ASK_TYPED = Prompt(
    "ask_typed", AskTypedInput, TypedReply, "typed questions: ask one question of a type about a paragraph"
)
ANSWER_QUESTIONS = Prompt(
    "answer_questions", AnswerQuestionsInput, GivenAnswers, "typed questions: answer from the beginning of a document"
)
JUDGE_ANSWERS = Prompt(
    "judge_answers", JudgeAnswersInput, AnswerVerdicts, "typed questions: does an answer say what the reference says?"
)
WRITE_ANSWER = Prompt(
    "write_answer", AnswerInput, WrittenAnswer, "ask: answer a reader's question from the document, with quotes"
)
