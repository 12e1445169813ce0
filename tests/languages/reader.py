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
from tests.judges import QUESTION_LIMIT, Item, Json, Sheet, by_item, read_sheet, sentence_of

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

    def _written(self, text: str) -> str:
        """As many whole sentences of the material as the limit has room for, or a part of one."""
        limit = int(([*_LIMIT.findall(text)] or ["10000"])[-1].replace(",", ""))
        sources = [body for tag, body in _FENCED.findall(text) if tag in {"summary", "excerpt", "document"}]
        sentences = [sentence for body in sources for sentence in sentences_in(body) if not sentence.startswith("#")]
        kept: list[str] = []
        for sentence in sentences:
            if sentence not in kept and count_words(" ".join([*kept, sentence])) <= limit:
                kept.append(sentence)
        return " ".join(kept) or _shortened(sentences[0], limit)

    def outline(self, sheet: Sheet) -> Any:
        parts = sheet.items("summaries").values()
        told = sentences_in("\n\n".join(part["text"] for part in parts))
        return {"kind": "other", "line": told[0], "turning_points": told[1:3], "cast": [], "central": []}

    def rank_questions(self, sheet: Sheet) -> Any:
        return {"essential": [], "important": sheet.ids, "minor": []}

    def begins(self, sentence: str) -> tuple[str, str]:
        """A sentence in two parts: what is asked about, and what is answered."""
        words = sentence.split()
        half = len(sentence) // 2 if len(words) <= 5 else len(" ".join(words[: len(words) // 2]))
        return sentence[:half].strip(), sentence[half:].strip()

    def question(self, sentence: str) -> Json:
        """The question about a sentence."""
        beginning, rest = self.begins(sentence)
        return {"question": self.asks.format(beginning), "kind": "what", "answer": rest}

    def source(self, question: Item, text: str) -> str:
        """The sentence of a text that a question is about; nothing where it has none."""
        every = (sentence for sentence in sentences_in(text))
        return next((sentence for sentence in every if self.question(sentence)["question"] == question["text"]), "")

    def ask_document(self, sheet: Sheet) -> Any:
        every = [sentence for sentence in sentences_in(sheet.shown) if not sentence.startswith("#")]
        count = sheet.limit(QUESTION_LIMIT)
        sentences = every[:: max(1, len(every) // count)][:count]
        return {"questions": [{**self.question(text), "quote": text, "weight": 2} for text in sentences]}

    @by_item("answers", "questions")
    def answer_from_summary(self, sheet: Sheet, question: Item) -> Json:
        sentences = {n: sentence_of(item) for n, item in sheet.items("sentences").items()}
        places = [n for n, sentence in sentences.items() if self.source(question, sentence)]
        answer = self.begins(sentences[places[0]])[1] if places else ""
        return {"answer": answer, "answered": bool(answer), "sentences": places}

    @by_item("comparisons", "pairs")
    def compare_answers(self, sheet: Sheet, pair: Item) -> Json:
        return {"reason": self.reason, "verdict": "full" if pair["document"] == pair["summary"] else "contradicts"}

    @by_item("sentences", "sentences")
    def ask_summary(self, sheet: Sheet, sentence: Item) -> Json:
        return {"questions": [{**self.question(sentence_of(sentence)), "importance": 3}]}

    @by_item("answers", "questions")
    def answer_from_document(self, sheet: Sheet, question: Item) -> Json:
        sentence = self.source(question, sheet.shown)
        answer = self.begins(sentence)[1] if sentence else ""
        return {"answer": answer, "answered": bool(answer), "quote": sentence}

    @by_item("sentences", "sentences")
    def verify_sentences(self, sheet: Sheet, sentence: Item) -> Json:
        return {"reason": self.reason, "quote": "", "category": "none"}
