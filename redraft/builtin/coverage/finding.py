"""Answering a question from a text: the sentence that says what the question says, and what it says besides.

Words are compared, and those that stand for much the same; nothing is understood. So an answer is found where a
text has nearly all telling words of the question together, as one has that the question was made from, or its copy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import NamedTuple

from redraft.builtin.consistency.families import family
from redraft.builtin.details import Detail, DetailKind
from redraft.builtin.forms import Sought
from redraft.builtin.lexicon import PERSONAL
from redraft.builtin.source import Source
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.judging import Kind
from redraft.text.wording import Word, carries, is_negation, is_number, keys, words

# A sentence answers a question when it has this share of what the question says beside the names.
_SUPPORT = 0.65
# A word of the sentence before counts less than one of its own.
_FROM_BEFORE = 0.4
_LONGEST_ANSWER = 30
_CLOSE = 3
_JUST_BEFORE = 2
_COUNTED_WITHIN = 6
_LONGEST_SUBJECT = 8

_TO_END = r"[^.;!?:]*"
_SAYS: dict[Kind, re.Pattern[str]] = {
    "why": re.compile(
        rf"\b(?:because|so that|in order to|for fear|owing to|due to|as a result of|in the hope|since|to (?!be\b)[a-z]+"
        rf"|for \w+ing)\b{_TO_END}"
    ),
    "when": re.compile(
        r"\b(?:on|in|at|by|during|before|after|since|until|when|while|once|as soon as)\b[^,.;:!?]*(?:, \d[\w ]*)*"
        r"|\b(?:that|the next|one|the same|every|last|next) (?:day|night|morning|evening|week|month|year)",
        re.IGNORECASE,
    ),
    "where": re.compile(
        r"\b(?:in|at|to|into|onto|on|from|inside|outside|near|under|behind|aboard|through|across|toward|over|beside"
        r"|beneath|against|around|along|above|below|beyond|upon|between|among|out of)\b[^,.;:!?]*",
        re.IGNORECASE,
    ),
    "how": re.compile(r"\b(?:by|through|using|via|with)\b[^,.;:!?]*"),
}
_AGENT = re.compile(r"\bby (?P<who>(?:(?:the|an?) )?[\w’'-]+(?: [A-Z][\w’'-]*)*)")
_CLAUSE = re.compile(r"[,;:.!?—–()\"“”]|\b(?:and|but|because|when|while|that|which|who|where|as|after|before|if)\b")


class Found(NamedTuple):
    """An answer and the lines that it rests on, the one that matters most first."""

    answer: str
    lines: list[int]
    is_whole: bool
    """Whether its line says all that the question says."""


class _Place(NamedTuple):
    """A line that may hold an answer, its words, and its names and numbers."""

    text: str
    of: list[Word]
    details: list[Detail]

    def fresh(self, known: Set[str], kind: DetailKind) -> list[Detail]:
        """The names or numbers that are not among what is `known`."""
        return [
            one
            for one in self.details
            if one.kind == kind and known.isdisjoint(word.key for word in self.of[one.first : one.last + 1])
        ]

    def cut(self, one: Detail) -> str:
        return self.text[one.start : one.end]


def look_up(source: Source, sought: Sought) -> Found | None:
    """The answer to a question; None where no line says enough of what the question says, or nothing besides."""
    best: tuple[float, Found] | None = None
    for number in source.places([*sought.keys, *sought.names]) if sought.form != "unread" else ():
        if _has_other_numbers(source, sought, number):
            continue
        support, lines = _support(source, sought, number)
        if support < _SUPPORT or (best is not None and support <= best[0]):
            continue
        if answer := _reply(_place(source, number), sought):
            best = support, Found(" ".join(answer.split(" ")[:_LONGEST_ANSWER]), lines, support >= 1.0)
    return best[1] if best else None


def silence(sought: Sought) -> bool | Unsure:
    """What is replied where there is no answer: that there is none, if that can be told of such a question."""
    return UNSURE if sought.form == "unread" else False


def _has_other_numbers(source: Source, sought: Sought, number: int) -> bool:
    """Whether a line has other numbers than the question, and so tells of another year, station or item of a list."""
    asked, own = {key for key in sought.keys if is_number(key)}, set(source.lines[number].keys)
    others = _place(source, number).fresh(asked, "number")
    return not asked <= own and len(others) > (sought.wants == "number")


def _place(source: Source, number: int) -> _Place:
    return _Place(source.text_of(number), source.words_of(number), source.details_of(number))


def _support(source: Source, sought: Sought, number: int) -> tuple[float, list[int]]:
    """The share of what is asked that a line says, the one before it helping; and the lines that it takes."""
    wanted = {family(key) for key in sought.keys if carries(key) and key not in sought.names}
    own = {family(key) for key in source.lines[number].keys}
    before = {family(key) for key in source.lines[number - 1].keys} if number else set()
    lines = [number]
    pointing = PERSONAL.search(source.text_of(number))
    for name in sought.people:
        meant = {family(key) for key in name if len(key) > 1} or set(map(family, name))
        if meant & own:
            continue
        if not (pointing and meant & before):
            return 0.0, []
        lines = [number, number - 1]
    said: float = len(wanted & own)
    if (helped := len(wanted & before - own)) and said < _SUPPORT * len(wanted):
        said, lines = said + _FROM_BEFORE * helped, [number, number - 1]
    return (said / len(wanted) if wanted else 1.0), lines


def _reply(place: _Place, sought: Sought) -> str:
    """What the line answers; nothing where it has nothing of the kind asked for."""
    known = {family(key) for key in sought.keys}
    if sought.gap is not None:
        return _filler(place, sought)
    if _is_denied(place, known):
        return ""
    if sought.form == "doer":
        return _doer(place, sought, known)
    if sought.wants == "number":
        return _number(place, sought)
    if sought.asks in _SAYS:
        return _first(_SAYS[sought.asks].finditer(place.text), known)
    return _rest(place, known)


def _is_denied(place: _Place, known: Set[str]) -> bool:
    """Whether a negation that the question has not stands before one of its words."""
    denials = [at for at, word in enumerate(place.of) if is_negation(word.key) and family(word.key) not in known]
    return any(
        family(word.key) in known and carries(word.key)
        for at in denials
        for word in place.of[at + 1 : at + 1 + _JUST_BEFORE]
    )


def _is_new(text: str, known: Set[str]) -> bool:
    """Whether a phrase says something that the question does not say, and little of what it says."""
    said = [family(key) in known for key in keys(text) if carries(key)]
    return bool(said) and 2 * sum(said) <= len(said)


def _first(found: Iterator[re.Match[str]], known: Set[str]) -> str:
    """The first of some phrases that says something new, up to what the question says itself."""
    for one in found:
        text = one.group()
        told = [word.start for word in words(text)[1:] if carries(word.key) and family(word.key) in known]
        text = text[: min(told, default=len(text))].strip(" ,.")
        if any(carries(key) for key in keys(text)) and len(text.split()) > 1:
            return text.removesuffix(" the").removesuffix(" a").removesuffix(" an")
    return ""


def _filler(place: _Place, sought: Sought) -> str:
    """The name or number that stands where the question has its gap."""
    assert sought.gap is not None
    left, right = sought.keys[max(0, sought.gap - _CLOSE) : sought.gap], sought.keys[sought.gap : sought.gap + _CLOSE]
    best, most = "", 0
    for one in place.fresh(set(), sought.wants or "name"):
        before = [word.key for word in place.of[max(0, one.first - _CLOSE) : one.first]]
        behind = [word.key for word in place.of[one.last + 1 : one.last + 1 + _CLOSE]]
        shared = len(set(left) & set(before)) + len(set(right) & set(behind))
        if shared > most:
            best, most = place.cut(one), shared
    return best


def _number(place: _Place, sought: Sought) -> str:
    """The number just before what is counted, or the first that the question has not."""
    counted = next((family(key) for key in sought.keys if carries(key)), "") if sought.form == "count" else ""
    for one in place.fresh(set(sought.keys), "number"):
        behind = [family(word.key) for word in place.of[one.last + 1 : one.last + _COUNTED_WITHIN]]
        if not counted or counted in behind:
            return place.cut(one)
    return ""


def _doer(place: _Place, sought: Sought, known: Set[str]) -> str:
    """Who or what does what the question says: what stands before that."""
    at = next((n for n, word in enumerate(place.of) if carries(word.key) and family(word.key) in known), None)
    if at is None:
        return ""
    if (agent := _AGENT.search(place.text, place.of[at].end)) and _is_new(agent.group("who"), known):
        return agent.group("who")
    named = [one for one in place.fresh(set(sought.keys), "name") if one.last < at]
    if sought.asks == "who" and named:
        return place.cut(named[-1])
    before = place.text[: place.of[at].start]
    marks = [one.end() for one in _CLAUSE.finditer(before)]
    text = before[marks[-1] if marks else 0 :].strip(" ,")
    short = 0 < len(text.split()) <= _LONGEST_SUBJECT
    return text if short and _is_new(text, known) and not PERSONAL.match(text) else ""


def _rest(place: _Place, known: Set[str]) -> str:
    """The longest stretch of a line that the question has not."""
    of, stretches, first = place.of, [(0, 0)], 0
    for at in range(len(of) + 1):
        if at == len(of) or (family(of[at].key) in known and carries(of[at].key)):
            stretches.append((first, at))
            first = at + 1
    best = max(stretches, key=lambda one: sum(carries(word.key) for word in of[slice(*one)]))
    said = any(carries(word.key) for word in of[slice(*best)])
    return place.text[of[best[0]].start : of[best[1] - 1].end] if said else ""
