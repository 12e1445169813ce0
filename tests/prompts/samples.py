"""What the tests of the prompts share: a sample of what each prompt is given, and a look at what it becomes."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from redraft.domain import Task
from redraft.prompts import coherence, factual, qa, revision, summarization
from redraft.prompts.book import PROMPTS, SETS, PromptBook
from redraft.prompts.revision import Point
from redraft.prompts.tags import TaggedItem, Tags

_DARK, _YEAR = "The lamp went out.", "It was 1924."
_PASSAGES = [_DARK, _YEAR]
_PART = {"words": 120, "place": "The Keeper\npart 2 of 3"}
_MERGED: dict[str, Any] = {"words": 120, "outline": "Line: she came."}
_QUESTIONS = [qa.QuestionItem(id=7, question="Who came?"), qa.QuestionItem(id=3, question="Who left?")]
_STATEMENTS = [
    qa.Statement(id=7, before="Hester came.", sentence="She sat down."),
    qa.Statement(id=3, before="Ann came.", sentence="Then she left."),
]
_VALIDATED = factual.ValidateFactsInput(
    excerpt=_DARK,
    facts=[
        factual.TreeFact(id=7, level="root", fact="Hester came."),
        factual.TreeFact(id=3, level="leaf", fact="Ann left."),
    ],
)
_QUERIED = factual.QueryInput(
    excerpt=_DARK,
    facts=[
        factual.FactWithLevel(id=7, level="root", fact="Hester came."),
        factual.FactWithLevel(id=3, level="branch", fact="Ann left."),
    ],
)
_FIRST: dict[str, Any] = {"id": 7, "sentence": "Hester came at noon.", "question": "Who came?", "says": "Hester."}
_SECOND: dict[str, Any] = {"id": 3, "sentence": "It was late.", "question": "When was it?", "says": "Late."}
_CORRECTED = {"task": "correct", "answer": "Ann.", "why": "It was not Hester.", "evidence": "Ann came in."}
_ADDED = {"task": "add", "answer": "1924.", "why": "It was earlier.", "evidence": _YEAR}
_REVISED: dict[str, Any] = {
    "summary": "Hester came.",
    "points": [
        Point(instruction="Say who came.", **_FIRST, **_CORRECTED),
        Point(instruction="Say when.", **_SECOND, **_ADDED),
    ],
    "document": "Ann came in. It was 1924.",
    "passages": ["Ann came in.", _YEAR],
    "outline": "A story of Ann.",
    "tasks": list(get_args(Task)),
    "words": 120,
    "query": "Who is Ann?",
}
_DECIDED = [
    Point(metric="coverage", problem="It says otherwise.", **_FIRST, **_CORRECTED),
    Point(metric="coverage", problem="It does not say when.", **_SECOND, **_ADDED),
]
GIVEN: dict[str, BaseModel] = {
    "summarize_chunk": summarization.ChunkInput(excerpt=_DARK, before=_YEAR, **_PART),
    "merge": summarization.MergeInput(summaries=["Hester came.", "Hester left."], **_MERGED),
    "merge_onward": summarization.MergeOnwardInput(context=_YEAR, summaries=["Hester came.", "She left."], **_MERGED),
    "begin": summarization.BeginInput(excerpt=_DARK, **_PART),
    "update": summarization.UpdateInput(excerpt=_DARK, summary=_YEAR, **_PART),
    "compress": summarization.CompressInput(summary=_YEAR, current_words=180, words=120),
    "tidy": summarization.TidyInput(summary="In this excerpt it was 1924."),
    "summarize_whole": summarization.WholeInput(document=_DARK, words=120),
    "outline": summarization.OutlineInput(
        summaries=[
            summarization.PartSummary(id=1, summary="Hester came."),
            summarization.PartSummary(id=2, summary="Hester left."),
        ]
    ),
    "ask_document": qa.AskDocumentInput(excerpt=_DARK, count=6, outline="Line: she came."),
    "rank_questions": qa.RankInput(
        candidates=[
            qa.Candidate(id=7, question="Who came?", answer="Hester."),
            qa.Candidate(id=3, question="Who left?", answer="Ann."),
        ],
        outline="Line: she came.",
    ),
    "answer_from_summary": qa.AnswerFromSummaryInput(
        context="It was dark.",
        sentences=[qa.SummaryLine(id=1, sentence="Hester came."), qa.SummaryLine(id=2, sentence="It rained.")],
        questions=_QUESTIONS,
    ),
    "compare_answers": qa.CompareInput(
        pairs=[
            qa.Pair(id=7, question="Who came?", document="Hester.", summary="Ann."),
            qa.Pair(id=3, question="Who left?", document="Nobody.", summary="No one."),
        ]
    ),
    "ask_summary": qa.AskSummaryInput(
        context="Hester came.",
        sentences=[qa.SummaryLine(id=7, sentence="She sat down."), qa.SummaryLine(id=3, sentence="Ann came.")],
        at_most=4,
    ),
    "answer_from_document": qa.AnswerFromDocumentInput(passages=_PASSAGES, questions=_QUESTIONS),
    "criticize": revision.CriticizeInput(summary="Hester came.", document="Ann came in."),
    "revise": revision.ReviseInput(**_REVISED),
    "edit": revision.EditInput(
        **_REVISED,
        parts=["Ann walks.", "Ann comes in."],
        stops=["Who is Ann?", "Why noon?"],
        must_know=[
            revision.MustKnow(
                weight=3, draft="in part", question="Who came?", answer="Ann.", lacks="Why.", quote="Ann"
            ),
            revision.MustKnow(weight=1, draft="not at all", question="When?", answer="1924."),
        ],
        may_go=["It rained.", _DARK],
        keep=["Name the year.", "Name the place."],
    ),
    "choose_draft": revision.ChooseInput(
        must_know=[
            revision.MustKnow(weight=3, question="Who came?", answer="Ann."),
            revision.MustKnow(weight=1, question="When?", answer="1924."),
        ],
        errors=["Hester came at noon.", "It rained."],
        query="Who is Ann?",
        first="Ann came in.",
        second="Hester came.",
    ),
    "rule_on_findings": factual.RuleInput(
        passages=_PASSAGES,
        points=[
            Point(judged="Ann.", against="Ann came in.", **_FIRST),
            Point(judged="Nothing.", against=_YEAR, **_SECOND),
        ],
        contested=True,
    ),
    "decide": revision.DecideInput(
        summary="Hester came.",
        scoreboard=[
            "coverage: 0.5000, goal: 0.8, met: no",
            "names: 1.0000, goal: 1, met: yes",
        ],
        findings=_DECIDED,
        tried=["Revision 1 was refused.", "Revision 2 was taken."],
        rounds_left=2,
        length=97,
        words=123,
        at_most=6,
    ),
    **dict.fromkeys(("keyfacts_analytical", "keyfacts_narrative"), factual.ExcerptInput(excerpt=_DARK)),
    **dict.fromkeys(("facts_faithful", "facts_objective", "facts_significant"), _VALIDATED),
    **dict.fromkeys(("query_analytical", "query_narrative"), _QUERIED),
    "align_facts": factual.AlignInput(
        sentences=_STATEMENTS, facts=[factual.Fact(id=7, fact="Hester sat down."), factual.Fact(id=3, fact="Ann left.")]
    ),
    "verify_sentences": factual.VerifyInput(passages=_PASSAGES, sentences=_STATEMENTS),
    "judge_chunk": factual.ExcerptInput(excerpt=_DARK),
    "find_confusion": coherence.ConfusionInput(
        summary="It was 1924. Hester came.",
        sentences=[
            coherence.SummarySentence(id=7, place="1 of 2", sentence="Hester sat down."),
            coherence.SummarySentence(id=3, place="2 of 2", sentence="Ann left."),
        ],
    ),
    "split_facts": factual.SplitFactsInput(sentences=_STATEMENTS),
    "ask_typed": qa.AskTypedInput(context=_YEAR, excerpt=_DARK, type="binary"),
    "answer_questions": qa.AnswerQuestionsInput(document=_DARK, questions=_QUESTIONS),
    "judge_answers": qa.JudgeAnswersInput(
        answers=[
            qa.AnswerPair(id=7, question="Who came?", reference="Hester.", answer="Ann."),
            qa.AnswerPair(id=3, question="Who left?", reference="Nobody.", answer="No one."),
        ]
    ),
    "write_answer": qa.AnswerInput(
        passages=_PASSAGES, earlier=["Question: Who came?\nAnswer: Hester."], question="Who put it out?", words=120
    ),
    "find_stops": coherence.FindStopsInput(
        context=_YEAR, summary="Hester came.", goes_on=True, query="Why did she come?"
    ),
    "prefer_summary": coherence.PreferInput(document=_DARK, first="Hester put it out.", second=_YEAR),
}
TAGS = (
    "attempt", "before", "context", "document", "earlier", "errors", "excerpt", "fact", "finding", "first", "keep",
    "may-go", "must-know", "outline", "pair", "part", "passage", "passages", "place", "point", "question",
    "questions", "scores", "second", "sentence", "stops", "summary",
)  # fmt: skip
"""Every tag around a text from outside."""

EVERY = pytest.mark.parametrize("name", sorted(PROMPTS))
BOTH = pytest.mark.parametrize("book", [PromptBook(name) for name in SETS], ids=SETS)

_BLOCK = re.compile(rf'<({"|".join(TAGS)})(?: (?:n|id)="(\w+)")?>\n(.*?)\n?</\1>', re.DOTALL)


_LINE = re.compile(r"(?:([bcdfghjkmnpqrtvwx]{4,}): )?(.*)")


def rendered(book: PromptBook, name: str, **changed: Any) -> str:
    return book.render(PROMPTS[name], GIVEN[name].model_copy(update=changed))


def blocks(text: str, tag: str) -> list[tuple[str, list[str]]]:
    """The id or the number of each fenced block, where it has one, and its lines."""
    return [(name, body.splitlines()) for block_tag, name, body in _BLOCK.findall(text) if block_tag == tag]


def names(text: str, tag: str) -> list[str]:
    """The ids or numbers of the fenced blocks."""
    return [name for name, _ in blocks(text, tag)]


def told_in(text: str, tag: str) -> list[tuple[str, str]]:
    """The lines of the block that has one item a line, each as its id, if any, and its text."""
    ((_, lines),) = blocks(text, tag)
    return [match.groups(default="") for line in lines if (match := _LINE.match(line))]


def named_in(inputs: BaseModel, field: str) -> list[str]:
    """The names of a field's items in the prompt."""
    tags, entries = Tags(inputs), [entry for entry in getattr(inputs, field) if isinstance(entry, BaseModel)]
    return [tags.tag(field, entry.id) if isinstance(entry, TaggedItem) else str(entry.id) for entry in entries]


def outside(text: str) -> str:
    """The prompt's own words, without anything that is fenced."""
    return _BLOCK.sub(r"<\1>", text)


def items(inputs: BaseModel) -> dict[str, list[BaseModel]]:
    """The fields that hold items in fences of their own."""
    fields = {
        name: getattr(inputs, name)
        for name, info in type(inputs).model_fields.items()
        if not any(getattr(mark, "shared", None) == "lines" for mark in info.metadata)
    }
    return {
        name: value
        for name, value in fields.items()
        if isinstance(value, list) and value and isinstance(value[0], BaseModel) and "id" in type(value[0]).model_fields
    }


CHOICES = ("kind", "task", "tasks", "type")
"""The fields that hold a choice, and no text from outside."""


def with_text(value: Any, text: str) -> Any:
    """The inputs with `text` after every text from outside."""
    if isinstance(value, BaseModel):
        fields = {name: getattr(value, name) for name in type(value).model_fields if name not in CHOICES}
        return value.model_copy(update={name: with_text(field, text) for name, field in fields.items()})
    if isinstance(value, list):
        return [with_text(entry, text) for entry in value]
    return f"{value}{text}" if isinstance(value, str) and value else value
