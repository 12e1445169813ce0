"""A reader and writer of one language: it copies sentences and asks about how they go on, in that language's words.

It knows only what stands in a prompt. What it asks about a sentence is its beginning, and what it answers is the rest.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from redraft.text.sentences import sentences_in
from redraft.text.words import count_words
from tests.chatserver import ChatRequest, text_of
from tests.judges import QUESTION_LIMIT, Sheet, read_sheet, sentence_of

_FENCED = re.compile(r"<(\w+)(?: [^>]*)?>\n(.*?)\n</\1>", re.DOTALL)
_LIMIT = re.compile(r"(\d[\d,]*) (?:words|characters)")


def _shortened(sentence: str, limit: int) -> str:
    """As much of a sentence as there is room for."""
    while count_words(sentence) > limit:
        sentence = sentence.rpartition(" ")[0] or sentence[:-1]
    return f"{sentence.rstrip('.。,、 ')}{'。' if sentence[:1] > '⺀' else '.'}"


@dataclass(frozen=True)
class Reader:
    """One language: how it asks, and why it thinks that answers agree."""

    asks: str
    """With a place for the beginning of a sentence."""
    reason: str = "."

    def __call__(self, request: ChatRequest) -> str:
        structured = (
            request.body.get("response_format")
            or request.body.get("tools")
            or "JSON Schema" in text_of(request.messages[0])
        )
        if not structured:
            return self._written(text_of(request.messages[0]))
        sheet = read_sheet(request)
        return json.dumps(getattr(self, sheet.prompt)(sheet), ensure_ascii=False)

    def begins(self, sentence: str) -> tuple[str, str]:
        """A sentence in two parts: what is asked about, and what is answered."""
        words = sentence.split()
        if len(words) > 5:
            return " ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])
        return sentence[: len(sentence) // 2], sentence[len(sentence) // 2 :]

    def asked(self, sentence: str) -> dict[str, Any]:
        """The question about a sentence."""
        beginning, rest = self.begins(sentence)
        return {"question": self.asks.format(beginning), "kind": "what", "answer": rest}

    def _found(self, question: str, text: str) -> str:
        """The sentence of a text that a question is about; nothing where it has none."""
        sentences_told = sentences_in(text)
        return next((sentence for sentence in sentences_told if self.asked(sentence)["question"] == question), "")

    def _written(self, text: str) -> str:
        """As many whole sentences of the material as the limit has room for, the points of a revision first."""
        fenced = [(tag, body) for tag, body in _FENCED.findall(text)]
        # Tidying has no limit; and where not one sentence fits, a part of one is better than nothing.
        limit = int(([*_LIMIT.findall(text)] or ["10000"])[-1].replace(",", ""))
        evidence = re.findall(r"^evidence: (.+)$", text, re.MULTILINE)
        sources = [body for tag, body in fenced if tag in {"summary", "excerpt", "document"}] or [b for _, b in fenced]
        kept: list[str] = []
        for sentence in [*evidence, *(sentence for body in sources for sentence in sentences_in(body))]:
            if (
                sentence not in kept
                and not sentence.startswith("#")
                and count_words(" ".join([*kept, sentence])) <= limit
            ):
                kept.append(sentence)
        return " ".join(kept) or _shortened(
            next(sentence for body in sources for sentence in sentences_in(body)), limit
        )

    def ask_document(self, sheet: Sheet) -> Any:
        sentences_found = [sentence for sentence in sentences_in(sheet.shown) if not sentence.startswith("#")]
        wanted = sheet.limit(QUESTION_LIMIT)
        return {
            "questions": [
                {**self.asked(sentence), "quote": sentence, "weight": 2}
                for sentence in sentences_found[:: max(1, len(sentences_found) // wanted)]
            ][:wanted]
        }

    def outline(self, sheet: Sheet) -> Any:
        parts = sheet.items("summaries").values()
        told = sentences_in("\n\n".join(part["text"] for part in parts))
        return {"kind": "other", "line": told[0], "turning_points": told[1:3], "cast": [], "central": []}

    def prefer_summary(self, sheet: Sheet) -> Any:
        """The one that tells more."""
        first, second = (len(sentences_in(sheet.within(name))) for name in ("first", "second"))
        choice = "tie" if first == second else "first" if first > second else "second"
        aspects = dict.fromkeys(("detail", "structure", "logic", "overall"), choice)
        return {"reason": self.reason, **aspects}

    def choose_draft(self, sheet: Sheet) -> Any:
        """The draft that tells more."""
        first, second = (len(sentences_in(sheet.within(name))) for name in ("first", "second"))
        choice = "tie" if first == second else "first" if first > second else "second"
        return {"reason": self.reason, **dict.fromkeys(("clear", "content", "overall"), choice)}

    def find_stops(self, sheet: Sheet) -> Any:
        return {"stops": []}

    def rank_questions(self, sheet: Sheet) -> Any:
        return {"essential": [], "important": sheet.ids, "minor": []}

    def answer_from_summary(self, sheet: Sheet) -> Any:
        sentences_told = {n: sentence_of(item) for n, item in sheet.items("sentences").items()}
        answers = []
        for n, item in sheet.items("questions").items():
            where = [m for m, sentence in sentences_told.items() if self._found(item["text"], sentence)]
            answer = self.begins(sentences_told[where[0]])[1] if where else ""
            answers.append({"id": n, "answer": answer, "answered": bool(answer), "sentences": where})
        return {"answers": answers}

    def compare_answers(self, sheet: Sheet) -> Any:
        pairs = sheet.items("pairs").items()
        return {
            "comparisons": [
                {
                    "id": n,
                    "reason": self.reason,
                    "verdict": "full" if pair["document"] == pair["summary"] else "contradicts",
                }
                for n, pair in pairs
            ]
        }

    def ask_summary(self, sheet: Sheet) -> Any:
        return {
            "sentences": [
                {"id": n, "questions": [{**self.asked(sentence_of(item)), "importance": 3}]}
                for n, item in sheet.items("sentences").items()
            ]
        }

    def answer_from_document(self, sheet: Sheet) -> Any:
        text = sheet.shown
        answers = []
        for n, item in sheet.items("questions").items():
            sentence = self._found(item["text"], text)
            answer = self.begins(sentence)[1] if sentence else ""
            answers.append({"id": n, "answer": answer, "answered": bool(answer), "quote": sentence})
        return {"answers": answers}

    def _tree(self, sheet: Sheet) -> Any:
        sentences_found = [
            sentence for sentence in sentences_in(sheet.within("excerpt")) if not sentence.startswith("#")
        ]
        return {
            "roots": [
                {"fact": sentences_found[0], "branches": [{"fact": sentences_found[1], "leaves": sentences_found[2:4]}]}
            ]
        }

    keyfacts_analytical = keyfacts_narrative = _tree

    def _passed(self, sheet: Sheet) -> Any:
        return {
            "facts": [
                {"id": n, "reason": self.reason, "quote": item["text"], "verdict": "pass"}
                for n, item in sheet.items("facts").items()
            ]
        }

    facts_faithful = facts_objective = facts_significant = _passed

    def _query(self, sheet: Sheet) -> Any:
        return {"query": self.asks.format(next(iter(sheet.items("facts").values()))["fact"][:20])}

    query_analytical = query_narrative = _query

    def align_facts(self, sheet: Sheet) -> Any:
        sentences_told = {n: sentence_of(item) for n, item in sheet.items("sentences").items()}
        facts = {
            n: [m for m, sentence in sentences_told.items() if item["text"] in sentence]
            for n, item in sheet.items("facts").items()
        }
        return {"facts": [{"id": n, "stated": "yes" if at else "no", "sentences": at} for n, at in facts.items()]}

    def verify_sentences(self, sheet: Sheet) -> Any:
        return {
            "sentences": [
                {"id": n, "reason": self.reason, "quote": "", "category": "none"} for n in sheet.items("sentences")
            ]
        }

    def find_confusion(self, sheet: Sheet) -> Any:
        return {"sentences": [{"id": n, "questions": [], "types": ["no confusion"]} for n in sheet.items("sentences")]}
