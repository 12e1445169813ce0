"""The questions that the extractive judge writes, and what it reads out of a question, its own or another's.

A question about a sentence of a summary quotes the sentence, so that the place in the document can be found again and
nothing that the document says word for word is ever taken for something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from redraft.models.extractive.details import Detail, DetailKind
from redraft.models.extractive.wording import Word, words
from redraft.prompts.judging import Kind

GAP = "____"

_STATEMENT = "Which part of this is true: “{}”?"
_BRACKETS = {
    "name": ("Which name belongs in the brackets: “{}”?", "Which names belong in the brackets: “{}”?"),
    "number": ("Which number belongs in the brackets: “{}”?", "Which numbers belong in the brackets: “{}”?"),
}
_CLOZE = {"name": "Which name fills the gap: “{}”?", "number": "Which number fills the gap: “{}”?"}

_QUOTED = re.compile(r"“(.*)”", re.DOTALL)
_ASKS_FOR_PART = re.compile(r"Which part of this is true: “")
_ASKS_FOR_BRACKETS = re.compile(r"Which (name|number)s? belongs? in the brackets: “")
_ASKS_FOR_GAP = re.compile(r"_{2,}")
_SAYS_NUMBER = re.compile(r"\b(?:number|figure|year|date|how many|how much|how old)\b", re.IGNORECASE)
_BRACKETED = re.compile(r"\[([^\[\]]*)\]")
_OPENING = re.compile(
    r"\W*(?P<asks>who(?:m|se)?|what|when|where|why|how many|how much|how long|how old|how|which)\b"
    r"(?P<frame> (?:was|is) it that)?(?P<helper> (?:did|does|do)\b)?",
    re.IGNORECASE,
)


class Claim(NamedTuple):
    """A sentence whose truth is asked for, or one with some of its names or numbers marked."""

    text: str
    words: list[Word]
    kind: DetailKind | None
    marked: list[tuple[int, int]]
    """Which words the marks enclose, as [first, end)."""


class Sought(NamedTuple):
    """What a question says, and what it asks for."""

    keys: list[str]
    gap: int | None
    """Before which of `keys` the answer belongs, where that can be told."""
    asks: Kind
    wants: DetailKind | None


def ask_for_part(sentence: str) -> str:
    """The question what of `sentence` is true."""
    return _STATEMENT.format(sentence)


def ask_for_marked(sentence: str, marked: Sequence[Detail]) -> str:
    """The question whether the names, or the numbers, of `sentence` are right."""
    pieces, end = [], 0
    for detail in marked:
        pieces += [_unbracketed(sentence[end : detail.start]), "[", sentence[detail.start : detail.end], "]"]
        end = detail.end
    marked_text = "".join([*pieces, _unbracketed(sentence[end:])])
    return _BRACKETS[marked[0].kind][len(marked) > 1].format(marked_text)


def ask_for_gap(sentence: str, detail: Detail) -> str:
    """The question which name or number has been left out of `sentence`."""
    return _CLOZE[detail.kind].format(sentence[: detail.start] + GAP + sentence[detail.end :])


def read_claim(question: str) -> Claim | None:
    """The claim that a question of this module quotes; None for any other question."""
    quoted = _QUOTED.search(question)
    if quoted is None:
        return None
    text = quoted.group(1)
    if _ASKS_FOR_PART.match(question):
        return Claim(text, words(text), None, [])
    if asks := _ASKS_FOR_BRACKETS.match(question):
        found = words(text)
        spans = [mark.span(1) for mark in _BRACKETED.finditer(text)]
        kind: DetailKind = "name" if asks.group(1) == "name" else "number"
        return Claim(text, found, kind, [span for span in (_within(found, *span) for span in spans) if span])
    return None


def read_question(question: str) -> Sought:
    """What any question says and asks for, as far as it can be told without understanding it."""
    if gap := _ASKS_FOR_GAP.search(question):
        quoted = _QUOTED.search(question)
        start, end = quoted.span(1) if quoted and quoted.start() < gap.start() < quoted.end() else (0, len(question))
        left = [word.key for word in words(question[start : gap.start()])]
        right = [word.key for word in words(question[gap.end() : end])]
        number = bool(_SAYS_NUMBER.search(question[:start]))
        return Sought(left + right, len(left), "how" if number else "who", "number" if number else "name")
    opening = _OPENING.match(question)
    if opening is None:
        return Sought([word.key for word in words(question)], None, "what", None)
    asks = opening.group("asks").lower()
    subject = not opening.group("frame") and not opening.group("helper") and asks in ("who", "what")
    keys = [word.key for word in words(question[opening.end() :])]
    number = bool(_SAYS_NUMBER.search(question))
    return Sought(keys, 0 if subject else None, _kind(asks), "number" if number else "name" if asks == "who" else None)


def _kind(asks: str) -> Kind:
    kinds: dict[str, Kind] = {"when": "when", "where": "where", "why": "why"}
    if asks.startswith("who"):
        return "who"
    return kinds.get(asks, "how" if asks.startswith("how") else "what")


def _unbracketed(text: str) -> str:
    return text.replace("[", "(").replace("]", ")")


def _within(of: Sequence[Word], start: int, end: int) -> tuple[int, int] | None:
    inside = [at for at, word in enumerate(of) if word.start >= start and word.end <= end]
    return (inside[0], inside[-1] + 1) if inside else None
