"""The questions that the extractive judge writes, and what it reads out of a question, its own or another's.

A question about a sentence of a summary quotes the sentence, so that the place in the document can be found again and
nothing that the document says word for word is ever taken for something else.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from redraft.builtin.details import Detail, DetailKind, details
from redraft.prompts.judging import Kind
from redraft.text.wording import keys, words

GAP = "____"

_WHOLE = "Is this so: “{}”?"
_CLOZE = {"name": "Which name fills the gap: “{}”?", "number": "Which number fills the gap: “{}”?"}

_QUOTED = re.compile(r"“(.*)”", re.DOTALL)
_ASKS_FOR_WHOLE = re.compile(r"Is this so: “(.*)”\?", re.DOTALL)
_ASKS_FOR_GAP = re.compile(r"_{2,}")
_SAYS_NUMBER = re.compile(r"\b(?:number|figure|year|date|how many|how much|how long|how old)\b", re.IGNORECASE)
_OPENING = re.compile(
    r"\W*(?P<asks>who(?:m|se)?|what|when|where|why|how many|how much|how long|how old|how|which)\b"
    r"(?P<frame> (?:was|is) it that)?(?P<helper> (?:did|does|do|would|could|should|will|can|must)\b)?",
    re.IGNORECASE,
)
# Who somebody is, what became of somebody, and what two have to do with each other: words do not tell.
_ASKS_TOO_MUCH = re.compile(
    r"\W*(?:[Ww](?:ho|hat) (?:is|was|are|were) (?:the )?[A-Z][\w.’'-]*(?: [A-Z][\w.’'-]*)*"
    r"|[Ww]hat (?:happened|happens|became|becomes) (?:to|of) [^?]+"
    r"|[Ww]hat (?:did|does|do) [^?]+? have to do with [^?]+)\?\W*$"
)

Form = Literal["gap", "unread", "doer", "count", "open"]


class Sought(NamedTuple):
    """What a question says, and what it asks for."""

    keys: list[str]
    gap: int | None
    """Before which of `keys` the answer belongs, where a gap shows that."""
    asks: Kind
    form: Form
    """How it asks: for what fills a gap, who did it, how many; or so that no words tell."""
    wants: DetailKind | None
    people: tuple[frozenset[str], ...]
    """The names in the question, each with its keys."""

    @property
    def names(self) -> frozenset[str]:
        """Those of `keys` that are in names."""
        return frozenset().union(*self.people)


def ask_whether(sentence: str) -> str:
    """The question whether all of a sentence is so."""
    return _WHOLE.format(sentence)


def ask_for_gap(sentence: str, detail: Detail) -> str:
    """The question which name or number has been left out of `sentence`."""
    return _CLOZE[detail.kind].format(sentence[: detail.start] + GAP + sentence[detail.end :])


def read_claim(question: str) -> str:
    """The sentence that is asked about as a whole; nothing for any other question."""
    return quoted.group(1) if (quoted := _ASKS_FOR_WHOLE.fullmatch(question)) else ""


def read_question(question: str) -> Sought:
    """What any question says and asks for, as far as it can be told without understanding it."""
    found = [detail for detail in details(question, words(question)) if detail.kind == "name"]
    people = tuple(frozenset(keys(question[detail.start : detail.end])) for detail in found)
    if gap := _ASKS_FOR_GAP.search(question):
        quoted = _QUOTED.search(question)
        start, end = quoted.span(1) if quoted and quoted.start() < gap.start() < quoted.end() else (0, len(question))
        left, right = keys(question[start : gap.start()]), keys(question[gap.end() : end])
        number = bool(_SAYS_NUMBER.search(question[:start]))
        kind: Kind = "how" if number else "who"
        return Sought(left + right, len(left), kind, "gap", "number" if number else "name", people)
    if _ASKS_TOO_MUCH.match(question):
        return Sought(keys(question), None, "what", "unread", None, people)
    opening = _OPENING.match(question)
    if opening is None:
        return Sought(keys(question), None, "what", "open", None, people)
    asks = opening.group("asks").lower()
    said = keys(question[opening.end() :])
    if _SAYS_NUMBER.search(question[: opening.end()]):
        return Sought(said, None, "how", "count" if asks == "how many" else "open", "number", people)
    doer = not opening.group("frame") and not opening.group("helper") and asks in ("who", "what", "which")
    return Sought(said, None, _kind(asks), "doer" if doer else "open", None, people)


def _kind(asks: str) -> Kind:
    kinds: dict[str, Kind] = {"when": "when", "where": "where", "why": "why"}
    others: Kind = "who" if asks.startswith("who") else "how" if asks.startswith("how") else "what"
    return kinds.get(asks, others)
