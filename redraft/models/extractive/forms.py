"""The questions that the extractive judge writes, and what it reads out of a question, its own or another's.

A question about a sentence of a summary quotes the sentence, so that the place in the document can be found again and
nothing that the document says word for word is ever taken for something else.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from redraft.models.extractive.details import Detail, DetailKind, details
from redraft.models.extractive.wording import Word, keys, words
from redraft.prompts.judging import Kind

GAP = "____"

_WHOLE = "Which part of this is true: “{}”?"
_PART = "What should stand in the brackets: “{}”?"
_CLOZE = {"name": "Which name fills the gap: “{}”?", "number": "Which number fills the gap: “{}”?"}

_QUOTED = re.compile(r"“(.*)”", re.DOTALL)
_ASKS_FOR_WHOLE = re.compile(r"Which part of this is true: “")
_ASKS_FOR_PART = re.compile(r"What should stand in the brackets: “([^\[\]]*)\[([^\[\]]+)\]([^\[\]]*)”", re.DOTALL)
_ASKS_FOR_GAP = re.compile(r"_{2,}")
_SAYS_NUMBER = re.compile(r"\b(?:number|figure|year|date|how many|how much|how old)\b", re.IGNORECASE)
_OPENING = re.compile(
    r"\W*(?P<asks>who(?:m|se)?|what|when|where|why|how many|how much|how long|how old|how|which)\b"
    r"(?P<frame> (?:was|is) it that)?(?P<helper> (?:did|does|do)\b)?",
    re.IGNORECASE,
)


class Claim(NamedTuple):
    """A sentence, and which of its words, [`first`, `end`), are asked about."""

    text: str
    words: list[Word]
    first: int
    end: int

    def cut(self, first: int, end: int) -> str:
        """The words [`first`, `end`) as they stand in the sentence; all of it with the marks at its end."""
        if (first, end) == (0, len(self.words)):
            return self.text
        return self.text[self.words[first].start : self.words[end - 1].end]

    @property
    def asked(self) -> str:
        """The part asked about."""
        return self.cut(self.first, self.end)


class Sought(NamedTuple):
    """What a question says, and what it asks for."""

    keys: list[str]
    gap: int | None
    """Before which of `keys` the answer belongs, where that can be told."""
    asks: Kind
    wants: DetailKind | None
    names: frozenset[str]
    """Those of `keys` that are names."""


def ask_whether(claim: Claim) -> str:
    """The question whether a part of a sentence, or all of it, is as the sentence has it."""
    if claim.asked == claim.text:
        return _WHOLE.format(claim.text)
    start, end = claim.words[claim.first].start, claim.words[claim.end - 1].end
    before, within, behind = map(_unbracketed, (claim.text[:start], claim.text[start:end], claim.text[end:]))
    return _PART.format(f"{before}[{within}]{behind}")


def ask_for_gap(sentence: str, detail: Detail) -> str:
    """The question which name or number has been left out of `sentence`."""
    return _CLOZE[detail.kind].format(sentence[: detail.start] + GAP + sentence[detail.end :])


def read_claim(question: str) -> Claim | None:
    """The claim that a question of this module asks about; None for any other question."""
    if part := _ASKS_FOR_PART.match(question):
        text = "".join(part.groups())
        found = words(text)
        start, end = len(part.group(1)), len(part.group(1)) + len(part.group(2))
        inside = [at for at, word in enumerate(found) if start <= word.start and word.end <= end]
        return Claim(text, found, inside[0], inside[-1] + 1) if inside else None
    if _ASKS_FOR_WHOLE.match(question) and (quoted := _QUOTED.search(question)):
        found = words(quoted.group(1))
        return Claim(quoted.group(1), found, 0, len(found)) if found else None
    return None


def read_question(question: str) -> Sought:
    """What any question says and asks for, as far as it can be told without understanding it."""
    names = frozenset(
        key
        for detail in details(question, words(question))
        if detail.kind == "name"
        for key in keys(question[detail.start : detail.end])
    )
    if gap := _ASKS_FOR_GAP.search(question):
        quoted = _QUOTED.search(question)
        start, end = quoted.span(1) if quoted and quoted.start() < gap.start() < quoted.end() else (0, len(question))
        left, right = keys(question[start : gap.start()]), keys(question[gap.end() : end])
        number = bool(_SAYS_NUMBER.search(question[:start]))
        kind: Kind = "how" if number else "who"
        return Sought(left + right, len(left), kind, "number" if number else "name", names)
    opening = _OPENING.match(question)
    if opening is None:
        return Sought(keys(question), None, "what", None, names)
    asks = opening.group("asks").lower()
    subject = not opening.group("frame") and not opening.group("helper") and asks in ("who", "what")
    wants: DetailKind | None = "number" if _SAYS_NUMBER.search(question) else "name" if asks == "who" else None
    return Sought(keys(question[opening.end() :]), 0 if subject else None, _kind(asks), wants, names)


def _kind(asks: str) -> Kind:
    kinds: dict[str, Kind] = {"when": "when", "where": "where", "why": "why"}
    if asks.startswith("who"):
        return "who"
    return kinds.get(asks, "how" if asks.startswith("how") else "what")


def _unbracketed(text: str) -> str:
    return text.replace("[", "(").replace("]", ")")
