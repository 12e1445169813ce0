"""Every prompt with a structured reply: its inputs, and a reply in the requested form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from redraft.prompts import coherence, factual, qa, revision, summarization
from redraft.prompts.book import PROMPTS
from redraft.prompts.contract import Prompt
from redraft.prompts.revision import Point
from redraft.prompts.tags import Tags

Json = dict[str, Any]
NAMES = ("Ann", "Ben", "Cleo", "Dora", "Egon", "Fay")
_NUMBERED = list(enumerate(NAMES, 1))
_TEXT = "They lit it."
_STATEMENTS = [qa.Statement(id=n, sentence=f"{name} lit the lamp.") for n, name in _NUMBERED]
_LINES = [qa.SummaryLine(id=statement.id, sentence=statement.sentence) for statement in _STATEMENTS]
_QUESTIONS = [qa.QuestionItem(id=n, question=f"What did {name} light?") for n, name in _NUMBERED]
_FACTS = [factual.Fact(id=n, fact=f"{name} lit the lamp.") for n, name in _NUMBERED]
_TREE = [
    {"fact": "Ann lit the lamp.", "branches": [{"fact": "It was dark.", "leaves": ["No moon was out."]}]},
    {"fact": "Ben put it out.", "branches": [{"fact": "It was late.", "leaves": []}]},
]


@dataclass(frozen=True)
class Case:
    """A prompt and a clean reply to it."""

    prompt: Prompt[Any, Any]
    given: BaseModel
    clean: Json

    @property
    def entries(self) -> str:
        """The list in which the reply judges items one by one; empty if it has none."""
        lists = [(name, entries) for name, entries in self.clean.items() if isinstance(entries, list)]
        name, entries = lists[0] if lists else ("", [])
        return name if entries and isinstance(entries[0], dict) and "id" in entries[0] else ""


def _ask(n: int) -> Json:
    return {"questions": [{"question": "Who lit it?", "answer": NAMES[n], "search": "lit the lamp", "importance": 3}]}


def _opinion(n: int) -> Json:
    return {"reason": f"{NAMES[n]} it is.", "verdict": "pass" if n % 2 else "fail"}


def _confusion(n: int) -> Json:
    confused = {"questions": [f"Who is {NAMES[n]}?"], "types": ["entity omission"]}
    return confused if n % 2 else {"questions": [], "types": ["no confusion"]}


def _choice(values: tuple[str, ...], name: str = "verdict", **more: str) -> Callable[[int], Json]:
    return lambda n: {"reason": f"{NAMES[n]} it is.", **more, name: values[n % len(values)]}


_VALIDATED = factual.ValidateFactsInput(
    excerpt=_TEXT, facts=[factual.TreeFact(level="root", **fact.model_dump()) for fact in _FACTS]
)
_FROM_SUMMARY = qa.AnswerFromSummaryInput(sentences=_LINES, questions=_QUESTIONS)
_ALIGNED = factual.AlignInput(sentences=_STATEMENTS, facts=_FACTS)


def _summary_answer(n: int) -> Json:
    place = Tags(_FROM_SUMMARY).tag("sentences", n + 1)
    return {"sentences": [place], "answered": True, "answer": f"{NAMES[n]}'s lamp"}


def _alignment(n: int) -> Json:
    stated = {"stated": "yes", "sentences": [Tags(_ALIGNED).tag("sentences", n + 1)]}
    return stated if n % 2 else {"stated": "no", "sentences": []}


# The inputs, the field with the items, the list of the reply, and its entry about an item by its place.
_BY_ITEM: dict[str, tuple[BaseModel, str, str, Callable[[int], Json]]] = {
    "answer_from_summary": (_FROM_SUMMARY, "questions", "answers", _summary_answer),
    "answer_from_document": (
        qa.AnswerFromDocumentInput(passages=[_TEXT], questions=_QUESTIONS),
        "questions",
        "answers",
        lambda n: {"quote": "lit it", "answered": True, "answer": f"the lamp of {NAMES[n]}"},
    ),
    "compare_answers": (
        qa.CompareInput(
            pairs=[qa.Pair(id=n, question=f"Who is {name}?", document=name, summary="Eve") for n, name in _NUMBERED]
        ),
        "pairs",
        "comparisons",
        _choice(("contradicts", "full")),
    ),
    "ask_summary": (qa.AskSummaryInput(sentences=_LINES, at_most=2), "sentences", "sentences", _ask),
    "facts_faithful": (_VALIDATED, "facts", "facts", lambda n: _opinion(n) | {"quote": "lit it"}),
    "facts_objective": (_VALIDATED, "facts", "facts", _opinion),
    "facts_significant": (_VALIDATED, "facts", "facts", _opinion),
    "align_facts": (_ALIGNED, "facts", "facts", _alignment),
    "split_facts": (
        factual.SplitFactsInput(sentences=_STATEMENTS),
        "sentences",
        "sentences",
        lambda n: {"facts": [f"{NAMES[n]} lit the lamp.", "It was dark."]},
    ),
    "verify_sentences": (
        factual.VerifyInput(passages=[_TEXT], sentences=_STATEMENTS),
        "sentences",
        "sentences",
        _choice(("none", "entity", "relation"), "category", quote="lit it"),
    ),
    "answer_questions": (
        qa.AnswerQuestionsInput(document=_TEXT, questions=_QUESTIONS),
        "questions",
        "answers",
        lambda n: {"answered": True, "answer": f"{NAMES[n]} did.", "reason": ""},
    ),
    "judge_answers": (
        qa.JudgeAnswersInput(
            answers=[
                qa.AnswerPair(id=n, question=f"Who is {name}?", reference=name, answer="Eve") for n, name in _NUMBERED
            ]
        ),
        "answers",
        "answers",
        _choice(("right", "wrong")),
    ),
    "find_confusion": (
        coherence.ConfusionInput(
            summary=_TEXT,
            sentences=[coherence.SummarySentence(id=n, sentence=f"{name} lit the lamp.") for n, name in _NUMBERED],
        ),
        "sentences",
        "sentences",
        _confusion,
    ),
    "rule_on_findings": (
        factual.RuleInput(document=_TEXT, points=[Point(id=n, sentence=f"{name} lit it.") for n, name in _NUMBERED]),
        "points",
        "points",
        _choice(("supported", "contradicted", "absent"), quote="lit it"),
    ),
}
_EXTRACTED = factual.ExcerptInput(excerpt=_TEXT)
_QUERIED = factual.QueryInput(
    excerpt=_TEXT,
    facts=[
        factual.FactWithLevel(id=1, level="root", fact="root of it"),
        factual.FactWithLevel(id=2, level="leaf", fact="leaf of it"),
    ],
)
_RANKED = qa.RankInput(
    candidates=[qa.Candidate(id=n, question=f"Who is {name}?", answer=name) for n, name in _NUMBERED]
)
_OUTLINED = summarization.OutlineInput(
    summaries=[summarization.PartSummary(id=n, summary=f"{name} lit it.") for n, name in _NUMBERED]
)
_DECIDED = revision.DecideInput(
    summary="x",
    scoreboard=[],
    findings=[Point(id=n, metric="coverage", task="add", problem=f"{name} is missing.") for n, name in _NUMBERED],
    tried=[],
    rounds_left=2,
    length=97,
    words=123,
    at_most=3,
)


def _tags(given: BaseModel, field: str, *numbers: int) -> list[str]:
    return [Tags(given).tag(field, number) for number in numbers]


_WHOLE: dict[str, tuple[BaseModel, Json]] = {
    "ask_document": (
        qa.AskDocumentInput(excerpt=_TEXT, count=6),
        {
            "questions": [
                {"question": f"Who is {name}?", "kind": "who", "answer": name, "quote": "lit it", "weight": 2}
                for name in NAMES
            ]
        },
    ),
    "rank_questions": (
        _RANKED,
        {
            "essential": _tags(_RANKED, "candidates", 3, 1),
            "important": _tags(_RANKED, "candidates", 2, 6),
            "minor": _tags(_RANKED, "candidates", 5, 4),
        },
    ),
    "ask_typed": (
        qa.AskTypedInput(excerpt=_TEXT, type="binary"),
        {"question": "Did they light it?", "answer": "yes", "reason": _TEXT},
    ),
    "write_answer": (
        qa.AnswerInput(document=_TEXT, question="Who lit it?", words=120),
        {
            "answered": True,
            "sentences": [
                {"quote": _TEXT, "sentence": "Ann and Ben lit the lamp."},
                {"quote": "It was dark.", "sentence": "They did so in the dark."},
            ],
            "missing": "",
        },
    ),
    "keyfacts_analytical": (_EXTRACTED, {"roots": _TREE}),
    "keyfacts_narrative": (_EXTRACTED, {"roots": _TREE}),
    "query_analytical": (_QUERIED, {"query": "Why was the lamp lit?"}),
    "query_narrative": (_QUERIED, {"query": "How was the lamp lit?"}),
    "find_stops": (
        coherence.FindStopsInput(summary=_TEXT),
        {
            "stops": [
                {"words": "They", "question": "Who are they?", "type": "entity omission"},
                {"words": "lit it", "question": "What did they light?", "type": "language"},
            ]
        },
    ),
    "choose_draft": (
        revision.ChooseInput(first="a", second="b"),
        {"reason": "It says more.", "clear": "first", "content": "second", "overall": "first"},
    ),
    "prefer_summary": (
        coherence.PreferInput(first="a", second="b"),
        {"reason": "It says more.", "detail": "first", "structure": "second", "logic": "tie", "overall": "first"},
    ),
    "outline": (
        _OUTLINED,
        {
            "kind": "narrative",
            "line": "Ann lights the lamp, and Ben puts it out.",
            "turning_points": ["Ann lights the lamp.", "Ben puts it out."],
            "cast": [{"name": "Ann", "phrase": "the keeper"}, {"name": "Ben", "phrase": "her brother"}],
            "central": _tags(_OUTLINED, "summaries", 2),
            "important": _tags(_OUTLINED, "summaries", 1),
            "unneeded": _tags(_OUTLINED, "summaries", 3),
        },
    ),
    "judge_chunk": (
        factual.ExcerptInput(excerpt="x"),
        {"major_facts": 12, "connections": 3, "explanation": "Few.", "validity": 2, "coherence": 4, "cross_content": 1},
    ),
    "decide": (
        _DECIDED,
        {"why": "It is first.", "mend": _tags(_DECIDED, "findings", 2, 4), "instruction": "", "stop": False},
    ),
}


def _listed(given: BaseModel, field: str, name: str, entry: Callable[[int], Json]) -> Json:
    return {name: [{"id": tag} | entry(at) for at, tag in enumerate(Tags(given).all(field))]}


CASES = {name: Case(PROMPTS[name], row[0], _listed(*row)) for name, row in _BY_ITEM.items()} | {
    name: Case(PROMPTS[name], given, clean) for name, (given, clean) in _WHOLE.items()
}
"""By name."""
