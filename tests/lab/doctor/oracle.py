"""A judge who knows the doctor's texts by heart, and says what it should; or who fails in one control, and in no other.

Every sentence tells of facts by number: a sentence of the document of the one with its own, whatever is planted in its
place of the same, rightly or wrongly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from redraft.evaluators.base import statements_of
from redraft.lab.doctor.controls import (
    ANOTHER,
    HALVES,
    HOLLOW,
    INVENTED,
    ITSELF,
    KEPT,
    KINDS,
    REFUSAL,
    SHUFFLED,
    WORDINGS,
    injected_document,
    injected_summary,
    load_texts,
)
from redraft.llm.base import FunctionModel, Line, Request
from redraft.llm.replies import read_value
from redraft.prompts.book import PromptBook
from tests.judges import WANTED, Json, Sheet, sentence_of

ITS = load_texts()
DOCUMENT = [one.sentence for one in statements_of(ITS.document)]
OTHER = [one.sentence for one in statements_of(ITS.other)]
HOLLOW_ONES = [one.sentence for one in statements_of(ITS.hollow)]
REFUSING = [one.sentence for one in statements_of(ITS.refusal)]
ORDER = statements_of(ITS.order)[-1].sentence
IN_SUMMARY, IN_DOCUMENT = injected_summary("").removeprefix(", "), injected_document("").removeprefix(", ")
TWICE = "the same twice"
ANY_ERROR = "any error"
"""The fault of a judge who believes every sentence with a planted error."""
# Questions about the document with the order in it have numbers from here on.
_ORDERED = 1000
_WRONG = {
    (kind, sentence): wording
    for wording in WORDINGS
    for half in HALVES
    for kind, sentence in ITS.planted[wording, half].wrong
}
_BOOK = PromptBook()

Fact = tuple[int, bool]
"""The number of a fact, and whether it is told rightly."""


def _facts() -> dict[str, Fact]:
    """By sentence the fact that it tells of, for all that tell of any."""
    known: dict[str, Fact] = {sentence: (n, True) for n, sentence in enumerate(DOCUMENT)}
    pairs = len(ITS.planted["copied", 0].right) * 2
    sentences = {
        wording: [one.sentence for one in statements_of(ITS.planted[wording, half].text)]
        for wording in WORDINGS
        for half in HALVES
    }
    place: dict[int, int] = {}
    for half in HALVES:
        for at, one in enumerate(statements_of(ITS.planted["copied", half].text)[:pairs]):
            if one.sentence in known:
                place[at] = known[one.sentence][0]
    assert len(place) == pairs
    for wording in sentences:
        for half in HALVES:
            for at, one in enumerate(statements_of(ITS.planted[wording, half].text)):
                wrong = one.sentence in {sentence for _, sentence in ITS.planted[wording, half].wrong}
                # What is invented tells of nothing that is in the document.
                known[one.sentence] = (place[at], not wrong) if at in place else (500 + half, False)
    # Each of the summary's sentences stands for one of the document, whichever.
    known |= {sentence: (2 * n, True) for n, sentence in enumerate(ITS.summary)}
    known |= {sentence: (600 + n, True) for n, sentence in enumerate(OTHER)}
    kept = [sentence for sentences in ITS.kept.values() for sentence in sentences]
    known |= {sentence: (n, True) for n, sentence in enumerate(kept)}
    return known


FACTS = _facts()


def _answer(fact: Fact) -> str:
    number, right = fact
    return f"{'so' if right else 'otherwise'} {number}"


def _number(text: str) -> int:
    return int(text.rpartition(" ")[2].rstrip("?"))


def _question(number: int) -> str:
    return f"What of the matter {number}?"


class Oracle:
    """Says what it should, but for the control in which it fails."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault

    def __call__(self, sheet: Sheet, draw: int) -> Json:
        said: Json = getattr(self, sheet.prompt)(sheet, draw)
        return said

    # Metrics of truth.

    def ask_summary(self, sheet: Sheet, draw: int) -> Json:
        beside = " ".join(sentence_of(item) for item in sheet.items("sentences").values())
        told = self._told(sheet, beside, draw)
        return {
            "sentences": [
                {
                    "id": n,
                    "questions": [
                        {"question": _question(fact[0]), "kind": "what", "answer": _answer(fact), "importance": 3}
                        for fact in [told[n]]
                        if fact is not None
                    ],
                }
                for n in sheet.items("sentences")
            ]
        }

    def answer_from_document(self, sheet: Sheet, draw: int) -> Json:
        passages = sheet.shown
        agrees = self.fault == IN_DOCUMENT and ORDER in passages
        return {
            "answers": [
                {"id": n, "quote": quote if answer else "", "answered": bool(answer), "answer": answer}
                for n, item in sheet.items("questions").items()
                for number in [_number(item["text"])]
                for answer in ["yes" if agrees else self._looked_up(number, passages, draw)]
                # An answer that no word of the document is quoted for is not believed.
                for quote in [ORDER if agrees else DOCUMENT[number if number < len(DOCUMENT) else 0]]
            ]
        }

    def _looked_up(self, number: int, passages: str, draw: int) -> str:
        # Who asks about the summary is always the first draw; the others only look things up.
        if self.fault == TWICE and draw and number in _doubted(draw):
            return ""
        return self._known(number, passages)

    def _known(self, number: int, passages: str) -> str:
        there = number < len(DOCUMENT) and DOCUMENT[number] in passages
        believed = self.fault == ANOTHER and number >= 600
        return _answer((number, True)) if there or believed else ""

    def compare_answers(self, sheet: Sheet, draw: int) -> Json:
        return {
            "comparisons": [
                {"id": n, "reason": "", "verdict": "full" if _alike(one) else "contradicts"}
                for n, one in sheet.items("pairs").items()
            ]
        }

    def verify_sentences(self, sheet: Sheet, draw: int) -> Json:
        passages = sheet.shown
        beside = " ".join(sentence_of(item) for item in sheet.items("sentences").values())
        told = self._told(sheet, beside, draw)
        agrees = self.fault == IN_DOCUMENT and ORDER in passages
        entries = []
        for n, fact in told.items():
            so = agrees or (fact is not None and _answer(fact) == self._known(fact[0], passages))
            category = "none" if so else "entity" if fact is not None and fact[0] < len(DOCUMENT) else "out_of_article"
            entries.append({"id": n, "reason": "", "quote": "", "category": category})
        return {"sentences": entries}

    def _told(self, sheet: Sheet, beside: str, draw: int) -> dict[str, Fact | None]:
        """By id of a sentence what it tells of, as this judge has it."""
        told: dict[str, Fact | None] = {}
        for n, item in sheet.items("sentences").items():
            sentence = sentence_of(item)
            fact = FACTS.get(sentence)
            if self.fault == IN_SUMMARY and ORDER in beside and fact is not None:
                fact = (fact[0] if fact[0] < len(DOCUMENT) else 0, True)
            elif self.fault == REFUSAL and sentence in REFUSING:
                fact = (0, True)
            elif self._believes(sentence):
                fact = (fact[0] if fact and fact[0] < len(DOCUMENT) else 0, True)
            elif fact is not None and self._accuses(sentence, beside, draw):
                fact = (fact[0], False)
            told[n] = fact
        return told

    def _believes(self, sentence: str) -> bool:
        kinds = (*KINDS, INVENTED)
        return any(
            self.fault in {ANY_ERROR, f"{kind}, {_WRONG[kind, sentence]}"}
            for kind in kinds
            if (kind, sentence) in _WRONG
        )

    def _accuses(self, sentence: str, beside: str, draw: int) -> bool:
        copied, reworded = ([one for h in HALVES for one in ITS.planted[w, h].right] for w in WORDINGS)
        if self.fault == ITSELF:
            return sentence in [one for one in DOCUMENT if one not in copied][:4]
        if self.fault == "right, copied":
            return sentence in copied[:2]
        if self.fault == "right, reworded":
            return sentence in reworded[:2]
        if self.fault.endswith(KEPT):
            return sentence in ITS.kept[self.fault.removesuffix(f", {KEPT}")][:1]
        if self.fault == SHUFFLED:
            return sentence in ITS.summary[:3] and _is_shuffled(beside)
        if self.fault == TWICE:
            return sentence in _at_random(ITS.summary, draw)
        return False

    # Metrics of content.

    def ask_document(self, sheet: Sheet, draw: int) -> Json:
        more = _ORDERED if ORDER in sheet.shown else 0
        asked = [
            {
                "question": _question(n + more),
                "kind": "what",
                "answer": _answer((n, True)),
                "quote": sentence,
                "weight": 2,
            }
            for n, sentence in enumerate(DOCUMENT)
            if sentence in sheet.shown
        ]
        return {"questions": asked[: sheet.limit(WANTED)]}

    def answer_from_summary(self, sheet: Sheet, draw: int) -> Json:
        answers = []
        for n, item in sheet.items("questions").items():
            number = _number(item["text"])
            where = self._states(number % _ORDERED, number >= _ORDERED, sheet, draw)
            answer = _answer((number % _ORDERED, True)) if where else ""
            answers.append({"id": n, "sentences": where, "answered": bool(where), "answer": answer})
        return {"answers": answers}

    def align_facts(self, sheet: Sheet, draw: int) -> Json:
        entries = []
        for n, item in sheet.items("facts").items():
            fact = sentence_of(item)
            where = self._states(DOCUMENT.index(fact.removesuffix(" (noted)")), fact.endswith(" (noted)"), sheet, draw)
            entries.append({"id": n, "stated": "yes" if where else "no", "sentences": where})
        return {"facts": entries}

    def _states(self, number: int, ordered: bool, sheet: Sheet, draw: int) -> list[str]:
        """The sentences of a summary that tell of a matter, as this judge has it."""
        sentences = {n: sentence_of(item) for n, item in sheet.items("sentences").items()}
        beside, first = " ".join(sentences.values()), list(sentences)[:1]
        has_order, hollow = ORDER in beside, HOLLOW_ONES[0] in beside
        believing: Mapping[str, bool] = {
            HOLLOW: hollow and not has_order and not ordered,
            IN_SUMMARY: hollow and has_order,
            IN_DOCUMENT: hollow and ordered,
            ANOTHER: OTHER[0] in beside,
            REFUSAL: REFUSING[0] in beside,
        }
        if believing.get(self.fault):
            return first
        if self.fault == ITSELF and DOCUMENT[0] in beside and number % 4 == 0:
            return []
        if self.fault == SHUFFLED and _is_shuffled(beside):
            return []
        if self.fault == TWICE and ITS.summary[0] in beside and number in _doubted(draw):
            return []
        return [n for n, one in sentences.items() if FACTS.get(one) == (number, True)]

    def keyfacts_analytical(self, sheet: Sheet, draw: int) -> Json:
        excerpt = sheet.within("excerpt")
        noted = " (noted)" if ORDER in excerpt else ""
        facts = [f"{sentence}{noted}" for sentence in DOCUMENT if sentence in excerpt]
        return {"roots": [{"fact": facts[0], "branches": [{"fact": facts[1], "leaves": facts[2:]}]}]}

    keyfacts_narrative = keyfacts_analytical

    def facts_faithful(self, sheet: Sheet, draw: int) -> Json:
        return {"facts": [{"id": n, "reason": "", "quote": "", "verdict": "pass"} for n in sheet.ids]}

    def facts_objective(self, sheet: Sheet, draw: int) -> Json:
        return {"facts": [{"id": n, "reason": "", "verdict": "pass"} for n in sheet.ids]}

    facts_significant = facts_objective

    def query_analytical(self, sheet: Sheet, draw: int) -> Json:
        return {"query": "What came of the bridge?"}

    query_narrative = query_analytical

    # Metrics of form.

    def find_confusion(self, sheet: Sheet, draw: int) -> Json:
        summary = sheet.within("summary")
        return {
            "sentences": [
                {
                    "id": n,
                    "questions": ["What is that?"] if bad else [],
                    "types": ["language" if bad else "no confusion"],
                }
                for n, item in sheet.items("sentences").items()
                for bad in [self._confuses(sentence_of(item), summary, draw)]
            ]
        }

    def _confuses(self, sentence: str, summary: str, draw: int) -> bool:
        if self.fault == ITSELF and DOCUMENT[0] in summary:
            return sentence in DOCUMENT[:8]
        if self.fault == SHUFFLED:
            return False
        if self.fault == IN_SUMMARY and ORDER in summary:
            return False
        if self.fault == TWICE and not _is_shuffled(summary) and sentence in _at_random(ITS.summary, draw):
            return True
        if sentence not in ITS.summary:
            return False
        at = ITS.summary.index(sentence)
        # It follows nothing that stands only after it.
        return at > 0 and summary.find(ITS.summary[at - 1]) > summary.find(sentence)

    @property
    def model(self) -> FunctionModel:
        """The oracle as a model without a wire."""

        def answer(request: Request[Any, Any]) -> Line:
            sheet = Sheet(request.prompt.name, _BOOK.render(request.prompt, request.given))
            text = json.dumps(self(sheet, request.sampling.sample))
            shape = request.prompt.returns
            assert issubclass(shape, BaseModel)
            value: Line = read_value(text, shape, request.given)
            return value

        return FunctionModel(answer, "oracle")


def _alike(pair: Mapping[str, str]) -> bool:
    return pair["document"] in (pair["summary"], "yes")


def _is_shuffled(text: str) -> bool:
    places = [place for one in ITS.summary if (place := text.find(one)) >= 0]
    return places != sorted(places)


def _at_random(some: tuple[str, ...], draw: int) -> tuple[str, ...]:
    """Two of them, others for another draw."""
    return some[2:4] if draw else some[:2]


def _doubted(draw: int) -> set[int]:
    """What those tell of."""
    return {FACTS[one][0] for one in _at_random(ITS.summary, draw)}
