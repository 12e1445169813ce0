"""What a sentence says in reply to a question, once it is known that the sentence speaks of what is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import lru_cache
from typing import NamedTuple

from redraft.builtin.concepts import LIGHT, concept, concepts, weight
from redraft.builtin.coverage.clauses import TIME, take_apart
from redraft.builtin.coverage.describing import described
from redraft.builtin.coverage.relating import said_of
from redraft.builtin.details import Detail
from redraft.builtin.forms import Sought
from redraft.builtin.verbs import (
    BE,
    DYING,
    HAPPENS,
    HAVE_INFINITIVE,
    KNOWN,
    MAKE_OTHERS,
    is_present,
    plain_form,
)
from redraft.builtin.wording import Word, is_negation, keys, listed


class Place(NamedTuple):
    """A line that may hold an answer: its words, its names and numbers, and those of the line before it."""

    text: str
    of: list[Word]
    details: list[Detail]
    before: str
    """The name that a pronoun at its beginning stands for, where that can be told."""


_TO_END = r"[^.;!?:]*"
_REASONS = (
    re.compile(
        rf"\b(?:because|so that|in order to|for fear|owing to|due to|as a result of|thanks to|so as to)\b{_TO_END}",
        re.I,
    ),
    re.compile(rf"(?:^|(?<=, ))(?:since|as|after)\b{_TO_END}|\b(?:since|as) (?:he|she|it|they|the)\b{_TO_END}", re.I),
    re.compile(
        rf"\b(?:to (?!be\b)[a-z]+|for \w+ing|out of|in the hope|hoping|fearing|believing|knowing|wanting)\b{_TO_END}"
    ),
)
_FEWEST_IN_REASON = 3
_LED_TO = re.compile(
    r"^(?P<cause>.{12,}?),? (?:so|which is why|causing|forcing|leading|prompting|making) (?P<effect>.{6,})$"
)
_BEFORE_INFINITIVE = listed(
    "able about ready likely unable going used have has had having ought seem seems seemed appear appears appeared"
    " how what where when whether told asked ordered allowed made afraid willing unwilling close due next first"
    " last order is was be supposed time way chance attempt right reason need ability desire plan opportunity power"
    " nothing something one enough too"
)
_TIMES = re.compile(
    r"\b(?:on|in|at|by|during|before|after|since|until|when|while|once|as soon as)\b[^,.;:!?]*"
    r"|\b(?:that|the next|one|the same|every|last|next)"
    r" (?:day|night|morning|evening|afternoon|week|month|year|winter|summer|spring|autumn)\b",
    re.IGNORECASE,
)
_DATE = re.compile(rf"(?:{TIME.pattern})(?: \d+)*", re.IGNORECASE)
_CLAUSE_OF_TIME = re.compile(r"(?:when|while|once|as soon|before|after|until|since)\b", re.IGNORECASE)
_TO_PLACE = (
    r"on|in|at|to|from|into|onto|inside|outside|near|under|behind|aboard|through|across|toward|towards|over|beside"
    r"|against|around|along|above|below|beyond|upon|between|among"
)
_PLACES = re.compile(
    rf"\b(?:{_TO_PLACE}|out of)\b"
    rf"(?: (?!(?:{_TO_PLACE}|where|who|which|and|but|when|while|because|with|for|by)\b)[^\s,.;:!?]+)+",
    re.IGNORECASE,
)
# "To" before a verb leads to no place.
_TO_DO = re.compile(r"(?:to|in order to) (?!(?:the|a|an|his|her|their|its|my|our|this|that|some|another|one)\b)[a-z]")
_MEANS = re.compile(r"\b(?:by|through|using|via|with)\b[^,.;:!?]*|(?:^|(?<=, ))\w+ing\b[^,.;:!?]*", re.IGNORECASE)
_SPAN = re.compile(
    r"\b(?:[\w-]+ (?:and a half )?)(?:years?|months?|weeks?|days?|nights?|hours?|minutes?|centur(?:y|ies)|decades?)\b",
    re.IGNORECASE,
)
_AGENT = re.compile(r"\bby (?P<who>(?:(?:the|an?|his|her|their) )?[\w’'-]+(?: (?:[A-Z][\w’'-]+|of|the)){0,4})")
_PRONOUN_OPENS = re.compile(r"(?:He|She|It|They)\b")
_PRONOUNS = listed("he she they it")
_HELPERS = BE | listed("had have has not almost nearly also then later finally")
_NEAR_VERB = 4
_JUST_BEFORE = 2
_COUNTED_WITHIN = 6
_TELLING_INSTEAD, _NEAR_OTHERS = 2, 6
_LONGEST_SUBJECT, _LONGEST_ANSWER = 8, 30
_TO_DO_NEXT = re.compile(r"(?: [\w’'-]+){0,3}? (to [a-z]+\b[^.;!?:]*)")
_CLAUSE_MARK = re.compile(
    r"[,;:.!?—–()\"“”]|\b(?:and|but|because|when|while|that|which|who|where|as|after|before|if)\b"
)


def reply(place: Place, sought: Sought, terms: Set[str]) -> str:
    """What the line answers; nothing where it has nothing of the kind asked for. `terms` are those of the question."""
    if sought.form == "identity":
        opening = _PRONOUN_OPENS.match(place.text)
        named = f"{place.before}{place.text[opening.end() :]}" if opening and place.before else place.text
        return described(place.text, sought.names) or described(named, sought.names)
    if sought.form == "fate":
        return _fate(place, terms)
    if sought.form == "relation":
        return _relation(place, sought)
    if sought.form == "doer":
        return _doer(place, sought, terms)
    if sought.wants == "number":
        return _number(place, sought)
    if sought.form == "span":
        return _fresh(_SPAN.finditer(place.text), terms)
    ways = {"why": _reason, "when": _time, "where": _place, "how": _means}
    if not _does_so(place, sought):
        return ""
    return ways[sought.asks](place, terms) if sought.asks in ways else _rest(place, sought, terms)


def _is_new(text: str, terms: Set[str]) -> bool:
    """Whether a phrase says something that the question does not say, and little of what it says."""
    said = [key for key in keys(text) if weight(key)]
    fresh = [key for key in said if concept(key) not in terms]
    return bool(fresh) and len(fresh) >= len(said) - len(fresh)


def _fresh(found: Iterator[re.Match[str]], terms: Set[str]) -> str:
    return next((text for one in found if _is_new(text := _short(one.group()), terms)), "")


def _short(text: str) -> str:
    return " ".join(text.strip(" ,").split(" ")[:_LONGEST_ANSWER])


def _reason(place: Place, terms: Set[str]) -> str:
    for pattern in _REASONS:
        for found in pattern.finditer(place.text):
            text = _short(found.group())
            if _is_new(text, terms) and len(text.split()) >= _FEWEST_IN_REASON and _is_purpose(place.text, found):
                return text
    led = _LED_TO.match(place.text)
    if led and terms & concepts(led.group("effect")) and _is_new(led.group("cause"), terms):
        return _short(led.group("cause"))
    return ""


def _is_purpose(text: str, found: re.Match[str]) -> bool:
    """Whether an infinitive says what something is done for, and does not just complete the verb before it."""
    opening = found.group().split()
    if opening[0].lower() != "to":
        return True
    before = text[: found.start()].split()[-1:]
    if not before or opening[1] in ("the", "a", "an", "his", "her", "their", "its", "him", "them", "it", "be"):
        return False
    word = before[0].lower()
    return word not in _BEFORE_INFINITIVE and not {plain_form(word), word.removesuffix("s")} & (
        HAVE_INFINITIVE | MAKE_OTHERS
    )


def _time(place: Place, terms: Set[str]) -> str:
    for one in _TIMES.finditer(place.text):
        ends = [found.end() for found in _DATE.finditer(one.group())]
        text = _short(one.group() if _CLAUSE_OF_TIME.match(one.group()) else one.group()[: max(ends, default=0)])
        if text and _is_new(text, terms):
            return text
    return _fresh(_DATE.finditer(place.text), terms) or ", ".join(_numbers(place, terms))


def _place(place: Place, terms: Set[str]) -> str:
    told = (one for one in _PLACES.finditer(place.text) if not TIME.search(one.group()))
    return _fresh((one for one in told if not _TO_DO.match(one.group())), terms)


def _means(place: Place, terms: Set[str]) -> str:
    return _fresh(_MEANS.finditer(place.text), terms)


def _numbers(place: Place, terms: Set[str]) -> list[str]:
    return [
        place.text[detail.start : detail.end]
        for detail in place.details
        if detail.kind == "number" and not {word.key for word in place.of[detail.first : detail.last + 1]} & terms
    ]


def _does_so(place: Place, sought: Sought) -> bool:
    """Whether the line has the verb of the question, or two of the other telling words that it has."""
    there = {concept(word.key) for word in place.of}
    wanted = _verb_of(sought)
    heavy = {concept(key) for key in sought.keys if weight(key) > LIGHT and key not in sought.names}
    if wanted and wanted not in there:
        return len(heavy & there) >= _TELLING_INSTEAD
    verb = _verb_at(place, sought)
    before = {word.key for word in place.of[:verb]}
    if any(is_negation(word.key) for word in place.of[max(0, (verb or 0) - _JUST_BEFORE) : verb]):
        return False
    return not sought.people or bool(before & (sought.people[0] | _PRONOUNS))


def _number(place: Place, sought: Sought) -> str:
    """The number just before what is counted, or the first that the question has not."""
    known = set(sought.keys)
    counted = next((concept(key) for key in sought.keys if weight(key)), "") if sought.form == "count" else ""
    best: tuple[int, str] | None = None
    for detail in place.details:
        if detail.kind == "number" and not {word.key for word in place.of[detail.first : detail.last + 1]} & known:
            behind = [concept(word.key) for word in place.of[detail.last + 1 : detail.last + _COUNTED_WITHIN]]
            far = behind.index(counted) if counted in behind else 0
            if (counted in behind or not counted) and (best is None or far < best[0]):
                best = far, place.text[detail.start : detail.end]
    return best[1] if best else ""


def _fate(place: Place, terms: Set[str]) -> str:
    """What somebody or something is said to have done to it, or to have come to."""
    for about, word in enumerate(place.of):
        if concept(word.key) not in terms:
            continue
        for at in range(max(0, about - _NEAR_VERB), min(len(place.of), about + _NEAR_VERB + 1)):
            if not _is_one_of(place.of[at].key, HAPPENS):
                continue
            first = at
            while first and place.of[first - 1].key in _HELPERS:
                first -= 1
            passive = any(word.key in BE for word in place.of[first:at])
            if about < first and (passive or _is_one_of(place.of[at].key, DYING)):
                return _clause_from(place, first)
            if at < about and not passive:
                return place.text.strip(" .")
    return ""


def _relation(place: Place, sought: Sought) -> str:
    """What the one of the two is said to do with the other; a pronoun may stand for the one."""
    one, other = ({concept(key) for key in name} for name in sought.people)
    return said_of(place.text, one, other) or said_of(place.text, _PRONOUNS if place.before else one, other)


def _clause_from(place: Place, first: int) -> str:
    end = _CLAUSE_MARK.search(place.text, place.of[min(first + 2, len(place.of) - 1)].end)
    return place.text[place.of[first].start : end.start() if end else len(place.text)].strip(" .")


@lru_cache(maxsize=20_000)
def _is_one_of(key: str, verbs: frozenset[str]) -> bool:
    return concept(key) in _meant(verbs)


@lru_cache(maxsize=8)
def _meant(verbs: frozenset[str]) -> frozenset[str]:
    return frozenset(concept(one) for verb in verbs for one in keys(verb))


def _doer(place: Place, sought: Sought, terms: Set[str]) -> str:
    """Who or what does what the question says."""
    said = [concept(key) for key in sought.keys if weight(key) and key not in sought.names]
    verb = said[0] if said else ""
    clause = take_apart(place.text)
    if clause and verb and verb in concepts(clause.verb) and _is_new(clause.subject, terms):
        return clause.subject
    at = _verb_at(place, sought)
    if at is None:
        heavy = [n for n, word in enumerate(place.of) if concept(word.key) in said and weight(word.key) > LIGHT]
        near = [n for n in heavy if n - heavy[0] <= _NEAR_OTHERS]
        if len({concept(place.of[n].key) for n in near}) < _TELLING_INSTEAD:
            return ""
        at = heavy[0]
    if agent := next((one.group("who") for one in _AGENT.finditer(place.text) if _is_new(one.group("who"), terms)), ""):
        return agent
    just_before = {word.key for word in place.of[max(0, at - _JUST_BEFORE) : at]}
    if just_before & _PRONOUNS and place.before and not set(keys(place.before)) & sought.names:
        return place.before
    named = [one for one in place.details if one.kind == "name" and one.last < at and not _holds(place, one, sought)]
    if sought.asks == "who" and named:
        return place.text[named[-1].start : named[-1].end]
    return _noun_before(place, at, terms)


def _holds(place: Place, detail: Detail, sought: Sought) -> bool:
    return bool({word.key for word in place.of[detail.first : detail.last + 1]} & set(sought.keys))


def _noun_before(place: Place, at: int, terms: Set[str]) -> str:
    """The words before the verb, back to where the clause begins."""
    if not 0 < at < len(place.of):
        return ""
    before = place.text[: place.of[at].start]
    marks = [found.end() for found in _CLAUSE_MARK.finditer(before)]
    text = before[marks[-1] if marks else 0 :].strip()
    new = _is_new(text, terms) and text.split()[0].lower() not in _PRONOUNS
    said = any(is_present(word) or plain_form(word) in KNOWN for word in text.split()[1:])
    return text if new and not said and len(text.split()) <= _LONGEST_SUBJECT else ""


def _rest(place: Place, sought: Sought, terms: Set[str]) -> str:
    """What a line says behind the verb of the question, or else between its other words."""
    verb = _verb_at(place, sought)
    behind = place.text[place.of[verb].end :] if verb is not None else ""
    if sought.keys[-2:] == ["to", "do"]:
        found = _TO_DO_NEXT.match(behind)
        return _short(found.group(1)) if found else ""
    of = place.of
    stretches: list[tuple[int, int]] = []
    first = 0
    for at in range(len(of) + 1):
        if at == len(of) or concept(of[at].key) in terms:
            stretches.append((first, at))
            first = at + 1
    told = [(a, b) for a, b in stretches if any(weight(word.key) > 0 for word in of[a:b])]
    after = [(a, b) for a, b in told if verb is not None and a > verb]
    best = (
        after[0]
        if after
        else max(told, key=lambda one: sum(weight(word.key) for word in of[slice(*one)]), default=None)
    )
    return _short(place.text[of[best[0]].start : of[best[1] - 1].end]) if best else ""


def _verb_of(sought: Sought) -> str:
    """The verb of a question: behind "who" the first telling word, else the first verb behind the subject."""
    said = [key for key in sought.keys if weight(key) and key not in sought.names]
    if sought.form != "doer" and sought.keys[0] in ("the", "a", "an"):
        said = said[1:] or said
    known = [] if sought.form == "doer" else [key for key in said if _is_one_of(key, KNOWN)]
    return concept((known or said)[0]) if said else ""


def _verb_at(place: Place, sought: Sought) -> int | None:
    """Where the line has the verb of the question."""
    verb = _verb_of(sought)
    return next((at for at, word in enumerate(place.of) if concept(word.key) == verb), None)
