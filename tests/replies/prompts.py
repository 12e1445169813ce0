"""Every prompt that is replied to in a structure: what it is given, and a reply in the form that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from redraft.domain import Level
from redraft.prompts import coherence, factual, qa, revision, summarization
from redraft.prompts.book import PROMPTS
from redraft.prompts.contract import Prompt
from redraft.prompts.factual import SplitFactsInput
from redraft.prompts.revision import Point
from redraft.prompts.tags import Tags

Json = dict[str, Any]
NAMES = ("Ann", "Ben", "Cleo", "Dora", "Egon", "Fay")
_STATEMENTS = [qa.Statement(id=n, sentence=f"{name} lit the lamp.") for n, name in enumerate(NAMES, 1)]
_TOLD = [qa.SummaryLine(id=one.id, sentence=one.sentence) for one in _STATEMENTS]
_ASKED = [qa.QuestionItem(id=n, question=f"What did {name} light?") for n, name in enumerate(NAMES, 1)]
_FACTS = [factual.Fact(id=n, fact=f"{name} lit the lamp.") for n, name in enumerate(NAMES, 1)]
_GROWN = [factual.TreeFact(level="root", **one.model_dump()) for one in _FACTS]
_TREE = [
    {"fact": "Ann lit the lamp.", "branches": [{"fact": "It was dark.", "leaves": ["No moon was out."]}]},
    {"fact": "Ben put it out.", "branches": [{"fact": "It was late.", "leaves": []}]},
]
_QUESTION = {"question": "Who lit it?", "answer": "Ann", "search": "lit the lamp", "importance": 3}


@dataclass(frozen=True)
class Case:
    """A prompt and a clean reply to it."""

    prompt: Prompt[Any, Any]
    given: BaseModel
    clean: Json

    @property
    def entries(self) -> str:
        """The list in which the reply speaks of the items one by one; nothing where it does not."""
        ((name, said),) = [(name, said) for name, said in self.clean.items() if isinstance(said, list)][:1] or [
            ("", "")
        ]
        return name if said and isinstance(said[0], dict) and "id" in said[0] else ""

    def verdicts(self, value: BaseModel) -> dict[int, list[Json]]:
        """What a reply says of each item, by its number."""
        found: dict[int, list[Json]] = {}
        for one in getattr(value, self.entries):
            found.setdefault(one.id, []).append(one.model_dump())
        return found


def _listed(field: str, given: BaseModel, name: str, entry: Callable[[int], Json]) -> Json:
    tags = Tags(given)
    return {name: [{"id": tags.tag(field, n)} | entry(n - 1) for n in range(1, len(NAMES) + 1)]}


def _cases() -> dict[str, Case]:
    from_summary = qa.AnswerFromSummaryInput(sentences=_TOLD, questions=_ASKED)
    from_document = qa.AnswerFromDocumentInput(passages=["They lit it."], questions=_ASKED)
    pairs = [qa.Pair(id=n, question=f"Who is {one}?", document=one, summary="Eve") for n, one in enumerate(NAMES, 1)]
    compare = qa.CompareInput(pairs=pairs)
    asked = qa.AnswerQuestionsInput(document="They lit it.", questions=_ASKED)
    given_answers = qa.JudgeAnswersInput(
        answers=[
            qa.AnswerPair(id=n, question=f"Who is {one}?", reference=one, answer="Eve")
            for n, one in enumerate(NAMES, 1)
        ]
    )
    ask = qa.AskSummaryInput(sentences=_TOLD, at_most=2)
    candidates = [qa.Candidate(id=n, question=f"Who is {one}?", answer=one) for n, one in enumerate(NAMES, 1)]
    rank = qa.RankInput(candidates=candidates)
    vet = factual.ValidateFactsInput(excerpt="They lit it.", facts=_GROWN)
    align = factual.AlignInput(sentences=_STATEMENTS, facts=_FACTS)
    verify = factual.VerifyInput(passages=["They lit it."], sentences=_STATEMENTS)
    accused = [Point(id=n, sentence=f"{one} lit the lamp.") for n, one in enumerate(NAMES, 1)]
    rule = factual.RuleInput(document="They lit it.", points=accused)
    split = SplitFactsInput(sentences=_STATEMENTS)
    sentences = [coherence.SummarySentence(id=n, sentence=f"{one} lit the lamp.") for n, one in enumerate(NAMES, 1)]
    confusion = coherence.ConfusionInput(summary="They lit it.", sentences=sentences)
    levels: Sequence[Level] = ("root", "branch", "leaf")
    facts = [factual.FactWithLevel(id=n, level=level, fact=f"{level} of it") for n, level in enumerate(levels, 1)]
    query = factual.QueryInput(excerpt="They lit it.", facts=facts)
    options = [
        Point(id=n, metric="coverage", task="add", problem=f"{one} is missing.") for n, one in enumerate(NAMES, 1)
    ]
    decide = revision.DecideInput(
        summary="x",
        scoreboard=[],
        findings=options,
        tried=[],
        rounds_left=2,
        length=97,
        words=123,
        at_most=3,
    )
    parts = [summarization.PartSummary(id=n, summary=f"{one} lit it.") for n, one in enumerate(NAMES, 1)]
    outline = summarization.OutlineInput(summaries=parts)
    at, found = Tags(from_summary), Tags(decide)
    opinion = lambda n: {"reason": f"{NAMES[n]} it is.", "verdict": "pass" if n % 2 else "fail"}  # noqa: E731
    said: dict[str, tuple[BaseModel, Json]] = {
        "answer_from_summary": (
            from_summary,
            _listed(
                "questions",
                from_summary,
                "answers",
                lambda n: {"sentences": [at.tag("sentences", n + 1)], "answered": True, "answer": f"{NAMES[n]}'s lamp"},
            ),
        ),
        "answer_from_document": (
            from_document,
            _listed(
                "questions",
                from_document,
                "answers",
                lambda n: {"quote": "lit it", "answered": True, "answer": f"the lamp of {NAMES[n]}"},
            ),
        ),
        "compare_answers": (
            compare,
            _listed(
                "pairs",
                compare,
                "comparisons",
                lambda n: {"reason": f"{NAMES[n]} it is.", "verdict": "full" if n % 2 else "contradicts"},
            ),
        ),
        "ask_summary": (
            ask,
            _listed("sentences", ask, "sentences", lambda n: {"questions": [_QUESTION | {"answer": NAMES[n]}]}),
        ),
        "ask_document": (
            qa.AskDocumentInput(excerpt="They lit it.", count=6),
            {
                "questions": [
                    {"question": f"Who is {one}?", "kind": "who", "answer": one, "quote": "lit it", "weight": 2}
                    for one in NAMES
                ]
            },
        ),
        "rank_questions": (
            rank,
            {
                name: [Tags(rank).tag("candidates", n) for n in numbers]
                for name, numbers in (("essential", (3, 1)), ("important", (2, 6)), ("minor", (5, 4)))
            },
        ),
        "facts_faithful": (vet, _listed("facts", vet, "facts", lambda n: opinion(n) | {"quote": "lit it"})),
        "facts_objective": (vet, _listed("facts", vet, "facts", opinion)),
        "facts_significant": (vet, _listed("facts", vet, "facts", opinion)),
        "align_facts": (
            align,
            _listed(
                "facts",
                align,
                "facts",
                lambda n: (
                    {"stated": "yes", "sentences": [Tags(align).tag("sentences", n + 1)]}
                    if n % 2
                    else {"stated": "no", "sentences": []}
                ),
            ),
        ),
        "split_facts": (
            split,
            _listed(
                "sentences", split, "sentences", lambda n: {"facts": [f"{NAMES[n]} lit the lamp.", "It was dark."]}
            ),
        ),
        "verify_sentences": (
            verify,
            _listed(
                "sentences",
                verify,
                "sentences",
                lambda n: {
                    "reason": f"{NAMES[n]} it is.",
                    "quote": "lit it",
                    "category": ("none", "entity", "relation")[n % 3],
                },
            ),
        ),
        "ask_typed": (
            qa.AskTypedInput(excerpt="They lit it.", type="binary"),
            {"question": "Did they light it?", "answer": "yes", "reason": "They lit it."},
        ),
        "answer_questions": (
            asked,
            _listed(
                "questions", asked, "answers", lambda n: {"answered": True, "answer": f"{NAMES[n]} did.", "reason": ""}
            ),
        ),
        "judge_answers": (
            given_answers,
            _listed(
                "answers",
                given_answers,
                "answers",
                lambda n: {"reason": f"{NAMES[n]} it is.", "verdict": ("right", "wrong")[n % 2]},
            ),
        ),
        "write_answer": (
            qa.AnswerInput(document="They lit it.", question="Who lit it?", words=120),
            {
                "answered": True,
                "sentences": [
                    {"quote": "They lit it.", "sentence": "Ann and Ben lit the lamp."},
                    {"quote": "It was dark.", "sentence": "They did so in the dark."},
                ],
                "missing": "",
            },
        ),
        "find_confusion": (
            confusion,
            _listed(
                "sentences",
                confusion,
                "sentences",
                lambda n: (
                    {"questions": [f"Who is {NAMES[n]}?"], "types": ["entity omission"]}
                    if n % 2
                    else {"questions": [], "types": ["no confusion"]}
                ),
            ),
        ),
        "keyfacts_analytical": (factual.ExtractFactsInput(excerpt="They lit it."), {"roots": _TREE}),
        "keyfacts_narrative": (factual.ExtractFactsInput(excerpt="They lit it."), {"roots": _TREE}),
        "query_analytical": (query, {"query": "Why was the lamp lit?"}),
        "query_narrative": (query, {"query": "How was the lamp lit?"}),
        "find_stops": (
            coherence.FindStopsInput(summary="They lit it."),
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
        "rule_on_findings": (
            rule,
            _listed(
                "points",
                rule,
                "points",
                lambda n: {
                    "reason": f"{NAMES[n]} it is.",
                    "quote": "lit it",
                    "verdict": ("supported", "contradicted", "absent")[n % 3],
                },
            ),
        ),
        "outline": (
            outline,
            {
                "kind": "narrative",
                "line": "Ann lights the lamp, and Ben puts it out.",
                "turning_points": ["Ann lights the lamp.", "Ben puts it out."],
                "cast": [{"name": "Ann", "phrase": "the keeper"}, {"name": "Ben", "phrase": "her brother"}],
                "central": [Tags(outline).tag("summaries", 2)],
                "important": [Tags(outline).tag("summaries", 1)],
                "unneeded": [Tags(outline).tag("summaries", 3)],
            },
        ),
        "judge_chunk": (
            factual.JudgeChunkInput(excerpt="x"),
            {
                "major_facts": 12,
                "connections": 3,
                "explanation": "Few.",
                "validity": 2,
                "coherence": 4,
                "cross_content": 1,
            },
        ),
        "decide": (
            decide,
            {
                "why": "It is first.",
                "mend": [found.tag("findings", n) for n in (2, 4)],
                "instruction": "",
                "stop": False,
            },
        ),
    }
    return {name: Case(PROMPTS[name], given, clean) for name, (given, clean) in said.items()}


CASES = _cases()
"""By name."""
