"""Putting what a sentence says as questions that are short, in good English, and understood without the sentence.

Only clauses that begin with a subject that is not hard to tell are asked about: of the others nothing is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from redraft.builtin.cast import NO_NAMES
from redraft.builtin.verbs import (
    AUXILIARIES,
    BE,
    INTRANSITIVE,
    is_participle,
    is_past,
    is_present,
    plain_form,
)
from redraft.prompts.judging import Kind
from redraft.text.wording import DAYS, MONTHS, listed

_TIME = (
    r"(?:[a-z\d, ]*\b)?(?:" + "|".join(sorted((MONTHS - {"may", "march"}) | DAYS)) + r"|\d+ (?:May|March)|\d{4}|noon"
    r"|midnight|dawn|dusk|(?:day|night|morning|evening|afternoon|week|month|year|hour|minute|winter|spring|summer|autumn|century)s?)\b[^,;:]*?"
)  # fmt: skip
_OPENING = re.compile(
    rf"(?i:(?P<when>(?:on|in|at|by|during|after|before|since|until) {_TIME}(?:, \d[\w ]*)*)"
    r"|(?P<why>because [^,;:]+|to [a-z][^,;:]{6,})|[a-z]+ly|then|and|but|so|at last|finally|meanwhile)"
    r",? (?=[A-Z]|the |an? )"
)
_NAME = (
    r"(?:(?:Mr|Mrs|Ms|Dr|St|Prof|Capt|Col|Lt)\. )?[A-Z][\w’'-]*"
    r"(?:(?: of| the| de| van| von)* (?:[A-Z]\. )?[A-Z][\w’'-]*)*"
)
_SUBJECT = re.compile(
    rf"(?P<subject>(?:(?:The|the|A|a|An|an) (?:[\w’'-]+ ){{0,3}}?[\w’'-]+"
    rf"(?: of (?:the |his |her )?[\w’'-]+(?: {_NAME})?)?)"
    rf"|{_NAME}(?: and {_NAME})?)(?P<aside>, [^,;:\"“”—]{{3,90}},)? (?P<predicate>[a-z].*)"
)
_ADVERB = re.compile(
    r"(?:[a-z]+ly|never|also|then|now|still|just|once|again|finally|even|soon|only|already|always|later)$"
)
_ENDS = re.compile(
    r"[;:—–!?\"“”()]|, | (?:who|which|whose|whom|what|how|why|whether|than|when|while|as|if|although|though|where"
    r"|until|till|unless|whereas) |(?<=.)(?<! so) that (?:he|she|they|it|the|an?|[A-Z][a-z]+) "
)
_JOINS = re.compile(
    r" (?:and|but|or) (?:(?:then|so|he|she|it|they|there|[a-z]+ly) |(?:(?:the |[A-Z])[\w’' -]*? )?(?P<verb>[a-z]+))"
)
_PIECES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("why", re.compile(r"\b(?:because|so that|in order to|for fear of|owing to|due to|in the hope of)\b.*")),
    ("when", re.compile(rf"\b(?:on|in|at|by|during|after|before|since|until|for) {_TIME}$", re.IGNORECASE)),
    (
        "where",
        re.compile(
            r"\b(?:in|at|to|into|from|near|inside|aboard|behind|beneath|under|across) (?:the|an?|[A-Z])[^,;:]*?"
            r"(?= to [a-z]+ (?!of)|$)"
        ),
    ),
)
_OBJECT = re.compile(
    r"(?P<object>(?:(?:the|an?|his|her|two|three|four|five|six|seven|eight|nine|ten)\b|[A-Z£$€\d])[^,;:]*?)"
    r"(?P<rest> (?:from|to|in|into|at|on|for|with|about|of the|upon|against) .*)?$"
)
_POINTS = re.compile(
    r"\b(?:he|him|it|its|they|them|their|this|that|these|those|there|here|I|me|my|we|us|our|you|your|such|same|others?"
    r"|another|one|so|nobody|nothing|each|none|someone|something|somebody|himself|herself|not|never)\b",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[,;:\"“”()—…*_]")
_OWN = re.compile(r"\b(?:his|her|she)\b")
_SAYS = listed("say tell ask reply answer cry think feel look seem appear have be nod smile shrug turn glance stare")
_ARTICLE = re.compile(r"(?:the|an?) ", re.IGNORECASE)
_TOO_SHORT, _MOST_WORDS, _LONGEST_SUBJECT = 3, 18, 8


class Asking(NamedTuple):
    """A question about a clause, with its answer."""

    question: str
    kind: Kind
    answer: str


class _Clause(NamedTuple):
    """Who or what does something; the auxiliaries and the verb; what follows up to the end of the clause."""

    subject: str
    helpers: tuple[str, ...]
    verb: str
    rest: str

    def asked(self, opening: str, rest: str) -> str:
        """The clause as a question that begins with `opening` and ends with `rest`."""
        subject = _lowered(self.subject)
        if self.helpers and self.helpers != ("had",):
            said = [self.helpers[0], subject, *self.helpers[1:], self.verb]
        elif not self.helpers and self.verb in BE:
            said = [self.verb, subject]
        else:
            said = ["does" if is_present(self.verb) else "did", subject, plain_form(self.verb)]
        return " ".join(part for part in (opening, *said, rest.strip()) if part) + "?"


def questions_about(sentence: str, is_person: Callable[[str], bool]) -> Iterator[Asking]:
    """The questions that can be asked about a sentence that can be understood by itself."""
    opening = _OPENING.match(sentence)
    text = sentence[opening.end() :] if opening else sentence
    clause = _clause(text)
    if clause is None or _POINTS.search(clause.subject) or clause.subject.split()[0] in NO_NAMES - {"The"}:
        return
    asked = [*_of_rest(clause, is_person), *_of_subject(clause, is_person)]
    said = next((rest for kind, piece, rest in _pieces(clause) if kind == "when"), clause.rest)
    if opening and opening.group("when"):
        asked.append(Asking(clause.asked("When", said), "when", opening.group("when")))
    elif opening and opening.group("why"):
        asked.append(Asking(clause.asked("Why", said), "why", opening.group("why")))
    yield from (one for one in asked if _is_good(one, clause))


def _clause(text: str) -> _Clause | None:
    """The clause that a text begins with; None where its subject or its verb is hard to tell."""
    found = _SUBJECT.match(text)
    while found:
        clause = _with_verb(found.group("subject"), found.group("predicate"))
        if clause:
            return clause
        # One more word of a longer subject.
        space = text.find(" ", found.end("subject") + 1)
        before, behind = text[:space], text[space + 1 : space + 2]
        too_long = before.count(" ") > _LONGEST_SUBJECT or found.group("aside") or _MARKS.search(before)
        if space < 0 or too_long or not _ARTICLE.match(text) or not behind.islower():
            return None
        found = re.match(rf"(?P<subject>.{{{space}}})(?P<aside>, )? (?P<predicate>[a-z].*)", text)
    return None


def _with_verb(subject: str, predicate: str) -> _Clause | None:
    words = predicate.rstrip(".!?").split(" ")
    helpers: list[str] = []
    for at, word in enumerate(words):
        bare = word.rstrip(",;:")
        if bare in AUXILIARIES and bare != "being" and at + 1 < len(words):
            helpers.append(bare)
        elif _ADVERB.match(bare) and at + 1 < len(words):
            continue
        elif helpers and (
            is_participle(bare) or bare.endswith("ing") or (set(helpers[:1]) - BE - {"had", "has", "have"})
        ):
            return _Clause(subject, tuple(helpers), bare, _rest(words[at:]))
        elif helpers:
            if helpers[-1] in ("was", "were", "is", "are", "had", "has"):
                return _Clause(subject, tuple(helpers[:-1]), helpers[-1], _rest(["", *words[at:]]))
            return None
        elif is_past(bare) or (is_present(bare) and subject[:1].isupper() and not _ARTICLE.match(subject)):
            return _Clause(subject, (), bare, _rest(words[at:]))
        else:
            return None
    return None


def _rest(words: list[str]) -> str:
    """What follows the first of some words, up to the end of the clause."""
    if words[0][-1:] in (",", ";", ":"):
        return ""
    text = f" {' '.join(words[1:])}"
    ends = [found.start() for found in _ENDS.finditer(text)]
    for found in _JOINS.finditer(text):
        verb = found.group("verb")
        if verb is None or is_past(verb) or verb in AUXILIARIES:
            ends.append(found.start())
    return text[: min(ends, default=len(text))].strip(" ,")


def _pieces(clause: _Clause) -> Iterator[tuple[Kind, str, str]]:
    """What follows a verb says why, when and where: the piece, and what is left without it."""
    for kind, pattern in _PIECES:
        if found := pattern.search(clause.rest):
            yield kind, found.group(), clause.rest[: found.start()].strip()


def _of_rest(clause: _Clause, is_person: Callable[[str], bool]) -> Iterator[Asking]:
    """Questions for what stands behind the verb."""
    plain = plain_form(clause.verb)
    for kind, piece, left in _pieces(clause):
        if kind != "where" or (plain not in _SAYS and (left or plain in INTRANSITIVE or clause.helpers)):
            yield Asking(clause.asked(kind.capitalize(), left), kind, piece)
    active = not set(clause.helpers) & BE or clause.verb.endswith("ing")
    if not active or clause.verb in BE or plain in INTRANSITIVE | _SAYS or not (found := _OBJECT.match(clause.rest)):
        return
    thing, rest = found.group("object"), found.group("rest") or ""
    whom = is_person(thing)
    yield Asking(clause.asked("Whom" if whom else "What", rest), "who" if whom else "what", thing)


def _lowered(subject: str) -> str:
    return subject[0].lower() + subject[1:] if _ARTICLE.match(subject) else subject


def _of_subject(clause: _Clause, is_person: Callable[[str], bool]) -> Iterator[Asking]:
    """The question for who or what did it."""
    predicate = " ".join([*clause.helpers, clause.verb, clause.rest]).strip()
    short = _TOO_SHORT + (clause.verb in BE)
    if len(predicate.split()) >= short and plain_form(clause.verb) not in _SAYS:
        kind: Kind = "who" if is_person(clause.subject) else "what"
        yield Asking(f"{kind.capitalize()} {predicate}?", kind, clause.subject)


def _is_good(one: Asking, clause: _Clause) -> bool:
    """Whether all that a question speaks of is named in it, and there is enough of that."""
    inside = one.question.rstrip("?")
    if _POINTS.search(inside) or _MARKS.search(inside) or not _TOO_SHORT <= len(inside.split()) <= _MOST_WORDS:
        return False
    return bool(one.answer.strip()) and (not _OWN.search(inside) or _lowered(clause.subject) in inside)
