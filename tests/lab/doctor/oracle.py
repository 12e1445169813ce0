"""A judge who knows the doctor's texts by heart, and says what it should.

Every sentence states a fact by number: a sentence of the document its own, whatever is planted in its place the same,
rightly or wrongly.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from redraft.evaluators.base import statements_of
from redraft.lab.doctor.controls import HALVES, RIGHT, SHUFFLED, WORDINGS, faulty_probe, load_texts, probes
from redraft.llm.base import FunctionModel, Line, Request
from redraft.llm.replies import read_value
from redraft.prompts.book import PromptBook
from tests.judges import QUESTION_LIMIT, Json, Sheet, sentence_of

TEXTS = load_texts()
DOCUMENT = [statement.sentence for statement in statements_of(TEXTS["document"])]
ORDER = statements_of(TEXTS["order"])[-1].sentence
# Questions about the document with the order in it have numbers from here on.
_ORDERED = 1000
_BOOK = PromptBook()
Fact = tuple[int, bool]
"""The number of a fact, and whether it is stated rightly."""


def _facts() -> dict[str, Fact]:
    """Return the fact that each sentence states, for all that state one."""
    facts: dict[str, Fact] = {sentence: (n, True) for n, sentence in enumerate(DOCUMENT)}
    pairs = TEXTS["pairs"]
    places = {
        at: facts[sentence][0]
        for half in HALVES
        for at, (kind, sentence) in enumerate(probes()[faulty_probe("copied", half)].sentences)
        if kind == RIGHT
    }
    assert len(places) == len(pairs)
    for wording in WORDINGS:
        for half in HALVES:
            for at, (kind, sentence) in enumerate(probes()[faulty_probe(wording, half)].sentences):
                # What is invented states nothing that is in the document.
                facts[sentence] = (places[at], kind == RIGHT) if at in places else (500 + half, False)
    # Each of the summary's sentences stands for one of the document, whichever.
    facts |= {sentence: (2 * n, True) for n, sentence in enumerate(TEXTS["summary"])}
    facts |= {statement.sentence: (600 + n, True) for n, statement in enumerate(statements_of(TEXTS["other"]))}
    changed = [sentence for sentences in TEXTS["kept"].values() for sentence in sentences]
    return facts | {sentence: (n, True) for n, sentence in enumerate(changed)}


FACTS = _facts()


def _answer(fact: Fact) -> str:
    number, right = fact
    return f"{'so' if right else 'otherwise'} {number}"


def _known(number: int, passages: str) -> str:
    return _answer((number, True)) if number < len(DOCUMENT) and DOCUMENT[number] in passages else ""


def _number(text: str) -> int:
    return int(text.rpartition(" ")[2].rstrip("?"))


def _question(number: int) -> str:
    return f"What of the matter {number}?"


class Oracle:
    """Says what it should; or, with a fault, does not mind in which order sentences are."""

    def __init__(self, fault: str = "") -> None:
        assert fault in ("", SHUFFLED)
        self.fault = fault

    def __call__(self, sheet: Sheet) -> Json:
        reply: Json = getattr(self, sheet.prompt)(sheet)
        return reply

    def ask_summary(self, sheet: Sheet) -> Json:
        facts = {n: FACTS.get(sentence_of(item)) for n, item in sheet.items("sentences").items()}
        questions = {
            n: [{"question": _question(fact[0]), "kind": "what", "answer": _answer(fact), "importance": 3}]
            for n, fact in facts.items()
            if fact
        }
        return {"sentences": [{"id": n, "questions": questions.get(n, [])} for n in facts]}

    def answer_from_document(self, sheet: Sheet) -> Json:
        numbers = {n: _number(item["text"]) for n, item in sheet.items("questions").items()}
        answers = {n: _known(number, sheet.shown) for n, number in numbers.items()}
        # An answer that no word of the document is quoted for is not believed.
        quotes = {n: DOCUMENT[numbers[n]] if answer else "" for n, answer in answers.items()}
        return {
            "answers": [
                {"id": n, "quote": quotes[n], "answered": bool(answer), "answer": answer}
                for n, answer in answers.items()
            ]
        }

    def compare_answers(self, sheet: Sheet) -> Json:
        verdicts = {
            n: "full" if pair["document"] == pair["summary"] else "contradicts"
            for n, pair in sheet.items("pairs").items()
        }
        return {"comparisons": [{"id": n, "reason": "", "verdict": verdict} for n, verdict in verdicts.items()]}

    def verify_sentences(self, sheet: Sheet) -> Json:
        entries = []
        for n, item in sheet.items("sentences").items():
            fact = FACTS.get(sentence_of(item))
            right = fact is not None and _answer(fact) == _known(fact[0], sheet.shown)
            wrong = "entity" if fact is not None and fact[0] < len(DOCUMENT) else "out_of_article"
            entries.append({"id": n, "reason": "", "quote": "", "category": "none" if right else wrong})
        return {"sentences": entries}

    def ask_document(self, sheet: Sheet) -> Json:
        more = _ORDERED if ORDER in sheet.shown else 0
        questions = [
            {"question": _question(n + more), "kind": "what", "answer": _answer((n, True)), "quote": text, "weight": 2}
            for n, text in enumerate(DOCUMENT)
            if text in sheet.shown
        ]
        return {"questions": questions[: sheet.limit(QUESTION_LIMIT)]}

    def answer_from_summary(self, sheet: Sheet) -> Json:
        answers = []
        for n, item in sheet.items("questions").items():
            number = _number(item["text"]) % _ORDERED
            where = self._stating(number, sheet)
            answer = _answer((number, True)) if where else ""
            answers.append({"id": n, "sentences": where, "answered": bool(where), "answer": answer})
        return {"answers": answers}

    def align_facts(self, sheet: Sheet) -> Json:
        facts = {n: sentence_of(item).removesuffix(" (noted)") for n, item in sheet.items("facts").items()}
        where = {n: self._stating(DOCUMENT.index(fact), sheet) for n, fact in facts.items()}
        return {"facts": [{"id": n, "stated": "yes" if at else "no", "sentences": at} for n, at in where.items()]}

    def _stating(self, number: int, sheet: Sheet) -> list[str]:
        """Return the sentences of the summary that state a fact."""
        sentences = sheet.items("sentences").items()
        return [n for n, item in sentences if FACTS.get(sentence_of(item)) == (number, True)]

    def keyfacts_analytical(self, sheet: Sheet) -> Json:
        excerpt = sheet.within("excerpt")
        noted = " (noted)" if ORDER in excerpt else ""
        facts = [f"{sentence}{noted}" for sentence in DOCUMENT if sentence in excerpt]
        return {"roots": [{"fact": facts[0], "branches": [{"fact": facts[1], "leaves": facts[2:]}]}]}

    keyfacts_narrative = keyfacts_analytical

    def facts_faithful(self, sheet: Sheet) -> Json:
        return {"facts": [{"id": n, "reason": "", "quote": "", "verdict": "pass"} for n in sheet.ids]}

    def facts_objective(self, sheet: Sheet) -> Json:
        return {"facts": [{"id": n, "reason": "", "verdict": "pass"} for n in sheet.ids]}

    facts_significant = facts_objective

    def query_analytical(self, sheet: Sheet) -> Json:
        return {"query": "What came of the bridge?"}

    query_narrative = query_analytical

    def find_confusion(self, sheet: Sheet) -> Json:
        entries = []
        for n, item in sheet.items("sentences").items():
            confuses = self._confuses(sentence_of(item), sheet.within("summary"))
            types = ["language" if confuses else "no confusion"]
            entries.append({"id": n, "questions": ["What is that?"] if confuses else [], "types": types})
        return {"sentences": entries}

    def _confuses(self, sentence: str, summary: str) -> bool:
        """Return whether a sentence comes before what it takes for known."""
        if self.fault == SHUFFLED or sentence not in TEXTS["summary"]:
            return False
        at = TEXTS["summary"].index(sentence)
        return at > 0 and summary.find(TEXTS["summary"][at - 1]) > summary.find(sentence)

    @property
    def model(self) -> FunctionModel:
        """The oracle as a model without a wire."""

        def answer(request: Request[Any, Any]) -> Line:
            sheet = Sheet(request.prompt.name, _BOOK.render(request.prompt, request.given))
            shape = request.prompt.returns
            assert issubclass(shape, BaseModel)
            value: Line = read_value(json.dumps(self(sheet)), shape, request.given)
            return value

        return FunctionModel(answer, "oracle")
