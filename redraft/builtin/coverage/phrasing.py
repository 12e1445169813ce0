"""Putting what a sentence says as questions that are short, in good English, and understood without the sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from redraft.builtin.coverage.clauses import TIME, Clause, clauses_of, lowered, take_apart
from redraft.builtin.coverage.describing import descriptions, is_role
from redraft.builtin.coverage.phrases import Phrase, phrases
from redraft.builtin.verbs import BE, DYING, EVENTS, GESTURES, HAPPENS, INTRANSITIVE, MODALS
from redraft.builtin.wording import is_number, keys, listed
from redraft.prompts.judging import Kind

_MOST_WORDS = 14
_SHORTEST_REASON = 2
_OPENS_TIME = listed("on in at by during after before since until")
_IS_THE = re.compile(r"\b[Tt]he $")
# What stands for something that a question does not say; "his" and "her" may stand for whom it names.
_POINTS = re.compile(
    r"\b(?:he|him|it|its|they|them|their|theirs|hers|this|that|these|those|there|here|I|me|my|we|us|our|you|your|such|same"
    r"|other|others|another|one|so|else|latter|former|every\w*|nobody|nothing|each|half|none|someone|something|somebody)\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:his|her|himself|herself|she)\b", re.IGNORECASE)
# "Her" as an object, and not before what is hers.
_HER = re.compile(
    r"\bher(?=\?| (?:to|in|on|at|by|for|from|with|into|of|about|over|through|down|up|out|back|away|that)\b)"
)
_NO_QUESTION = re.compile(r"[\"“”«»()\[\]?…*_]|\.\.|--")
_COUNTED = re.compile(
    r"^(?P<number>[\w,-]+)(?: (?:hundred|thousand|million|billion))*"
    r" (?P<noun>[a-z][\w -]*s|people|men|women|children)\b"
)
_MONEY = re.compile(r"^[£$€]\s?[\d,.]+(?: \w+)?$")
_LONG = re.compile(
    r"^for (?P<time>(?:about |nearly |almost |over |more than )?[\w-]+(?: and a half)?"
    r" (?:years|months|weeks|days|hours|minutes))$"
)
_DYING_OF_PEOPLE = DYING - listed("sink break crash burn explode collapse")
_PRONOUNS = listed("him her it them me us you himself herself itself themselves hers mine this that these those there")
_STATES = listed("have be own wear contain hold keep mean need seem appear cost owe")


class Asking(NamedTuple):
    """A question about a clause, with its answer."""

    question: str
    kind: Kind
    answer: str


def questions_about(sentence: str, is_person: Callable[[str], bool]) -> Iterator[Asking]:
    """The questions that can be asked about the clauses of a sentence, and who is who in it."""
    for found in descriptions(sentence):
        if is_person(found.name):
            yield Asking(f"Who is {found.name}?", "who", found.text)
        elif _IS_THE.search(sentence[: sentence.find(found.name)]):
            yield Asking(f"What is the {found.name}?", "what", found.text)
    for clause in clauses_of(sentence):
        if _NO_QUESTION.search(clause.subject + clause.rest) or _POINTS.search(clause.subject):
            continue
        pieces = list(phrases(clause))
        asked = (
            *_of_opening(clause, pieces),
            *_of_pieces(clause, pieces, is_person),
            *_of_subject(clause, pieces, is_person),
            *_of_fate(clause, is_person),
        )
        yield from (one for one in asked if _stands_alone(one.question, clause))


def _of_pieces(clause: Clause, pieces: Sequence[Phrase], is_person: Callable[[str], bool]) -> Iterator[Asking]:
    """Questions for what follows the verb."""
    for at, piece in enumerate(pieces):
        if piece.text.lower() in _PRONOUNS:
            continue
        others = [other for place, other in enumerate(pieces) if place != at and other.kind not in ("why", "what")]
        timeless = [other for other in others if other.kind != "when"]
        before = [other for other in pieces[:at] if other.kind not in ("why", "what")]
        if long := _LONG.match(piece.text):
            yield Asking(_put("How long", clause, timeless), "how", long.group("time"))
        elif piece.kind in ("why", "how"):
            kind: Kind = "why" if piece.kind == "why" else "how"
            yield Asking(_put(kind.capitalize(), clause, timeless), kind, piece.text)
        elif piece.kind == "when":
            yield Asking(_put("When", clause, before), "when", piece.text)
        elif piece.kind == "where" and _tells_where(clause, before) and not is_person(piece.text.partition(" ")[2]):
            yield Asking(_put("Where", clause, before), "where", piece.text)
        elif piece.kind == "what":
            yield from _of_clause(clause, piece, before)
        elif piece.kind == "object":
            yield from _of_object(clause, piece, timeless or others, is_person)


def _tells_where(clause: Clause, before: Sequence[Phrase]) -> bool:
    """Whether the place is one worth asking for, and the first that is named."""
    if clause.plain in GESTURES or "where" in {one.kind for one in before}:
        return False
    return not before if clause.verb in BE else clause.plain not in _STATES


def _of_opening(clause: Clause, pieces: Sequence[Phrase]) -> Iterator[Asking]:
    """Questions for what stands before the subject: when it was, or why."""
    first = clause.opening.partition(" ")[0].lower()
    said = [piece for piece in pieces if piece.kind not in ("why", "what", "when")]
    if first in ("because", "to") and len(clause.opening.split()) > _SHORTEST_REASON:
        yield Asking(_put("Why", clause, said), "why", clause.opening)
    elif first in _OPENS_TIME and TIME.search(clause.opening):
        yield Asking(_put("When", clause, said), "when", clause.opening)


def _of_clause(clause: Clause, piece: Phrase, before: Sequence[Phrase]) -> Iterator[Asking]:
    """What somebody decided to do; what somebody found out about something."""
    if piece.text.startswith("to "):
        yield Asking(_put("What", clause, before, "to do"), "what", piece.text)
    elif (inner := take_apart(piece.text.removeprefix("that ").strip())) and not _POINTS.search(inner.subject):
        yield Asking(_put("What", clause, before, f"about {lowered(inner.subject)}"), "what", piece.text)


def _of_object(
    clause: Clause, piece: Phrase, others: Sequence[Phrase], is_person: Callable[[str], bool]
) -> Iterator[Asking]:
    """Questions for whom or what something is done to, and for how many or how much of it."""
    if clause.verb in BE or not clause.active or clause.plain in INTRANSITIVE:
        return
    counted = _COUNTED.match(piece.text)
    if counted and is_number(keys(counted.group("number"))[-1]):
        noun = piece.text[counted.start("noun") :]
        yield Asking(_put(f"How many {noun}", clause, others), "how", counted.group())
    elif _MONEY.match(piece.text):
        yield Asking(_put("How much", clause, others), "how", piece.text)
    elif (others or clause.plain in EVENTS) and clause.plain not in _STATES:
        if is_person(piece.text):
            yield Asking(_put("Whom", clause, others), "who", piece.text)
        else:
            yield Asking(_put("What", clause, others), "what", piece.text)


def _of_subject(clause: Clause, pieces: Sequence[Phrase], is_person: Callable[[str], bool]) -> Iterator[Asking]:
    """The question for who or what did it."""
    if clause.verb in BE and (clause.rest[:1].isupper() or clause.subject.endswith(" name")):
        return
    if clause.subject.split()[0].lower() in ("his", "her", "their", "its", "my", "our"):
        return
    telling = [piece for piece in pieces if piece.kind not in ("why", "when")]
    rest = _fitting(telling or [piece for piece in pieces if piece.kind == "when"], _MOST_WORDS - 3)
    predicate = " ".join([*clause.helpers, clause.verb, rest]).strip()
    if len(predicate.split()) < 3:
        return
    kind: Kind = "who" if is_person(clause.subject) or is_role(clause.subject) else "what"
    yield Asking(f"{kind.capitalize()} {predicate}?", kind, clause.subject)


def _of_fate(clause: Clause, is_person: Callable[[str], bool]) -> Iterator[Asking]:
    """The question for what became of somebody or something."""
    happens = clause.plain in (_DYING_OF_PEOPLE if is_person(clause.subject) else DYING)
    if not set(clause.helpers) & MODALS and (happens or (clause.plain in HAPPENS and not clause.active)):
        yield Asking(f"What happened to {lowered(clause.subject)}?", "what", clause.predicate)


def _put(opening: str, clause: Clause, pieces: Sequence[Phrase], ending: str = "") -> str:
    rest = _fitting(pieces, _MOST_WORDS - len(clause.subject.split()) - len(opening.split()) - 2)
    return f"{clause.asked_with(opening, ' '.join(part for part in (rest, ending) if part))}?"


def _fitting(pieces: Sequence[Phrase], most: int) -> str:
    """As many of the pieces, from the first on, as have room; the first in any case."""
    taken: list[str] = []
    for piece in pieces:
        if taken and sum(len(text.split()) for text in taken) + len(piece.text.split()) > most:
            break
        taken.append(piece.text)
    return " ".join(taken)


def _stands_alone(question: str, clause: Clause) -> bool:
    """Whether all that a question speaks of is named in it."""
    if _POINTS.search(question) or _HER.search(question):
        return False
    named = clause.subject[:1].isupper() and clause.subject.split()[0].lower() not in ("the", "his", "her")
    return not _OWN.search(question) or (named and clause.subject in question)
