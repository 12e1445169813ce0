"""What a sentence states, as far as it can be read without understanding it: who, what, how many, and to whom."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from redraft.builtin.details import TITLES, Detail, details
from redraft.builtin.facts.meanings import (
    group_of,
    is_known,
    is_light,
    is_particle,
    is_past,
    is_verb,
    receives,
    root,
    sense,
    senses_of,
)
from redraft.builtin.wording import DAYS, MONTHS, Word, carries, is_negation, is_number, listed, words

_AUXILIARIES = listed("be is are was were been being am have has had do does did will would can could may might must")
_RELATIVES = listed("who which that")
_MODALS = listed("do does did will would can could may might must should")
_BE = listed("be is are was were been being get got")
_NOT_BEFORE_VERB = listed("the a an this that these those his her its their my our your of in on at from with for by")
_PLACING = listed("in at on near by of from with for under over behind beside off through across along to into")
_TOWARDS = listed("to into for")
_HE, _SHE = listed("he him his himself"), listed("she her hers herself")
_PRONOUNS = _HE | _SHE | listed("they them their theirs")
_SUBJECTS = listed("he she they it")
_NO_VERBS = listed("need seed feed weed deed reed speed indeed hundred breed naked wicked sacred kindred")
# Words that deny what follows them, as "failed to pay".
_DENYING = "fail refuse decline neglect"
# Capitals that a sentence begins with, which are no names.
_OPENERS = (
    "later soon early eventually today yesterday tomorrow nearly sometimes long year day week month winter summer"
    " spring autumn next another half people men women according despite following unlike old young new work"
)
_CLAUSE_SEAM = re.compile(
    r"; |, (?:and|but|while|whereas|then|yet|although|though) (?:then |later |also |she |he |they )?"
    r"| (?:and|but) (?:then |later |also )?(?=[a-z]+ )"
)
# A remark on the subject, between commas or at the end.
_ASIDE = re.compile(r", (?:who|which|whose|where|without|after|before|as|though|although|because)\b[^,;.]*")
_FEWEST_IN_CLAUSE = 3
# What is longer is a text without full stops, not a sentence.
_LONGEST_PARTED = 1_200
_DENIED_REACH = 3
# A title is told by its share of capitals.
_PADDING = ", as it is told again and again by one and all in the end of it all and so on as it were at long last"


@cache
def _padded() -> list[Word]:
    return words(_PADDING)


_LONGEST_FIGURE = 12
_SHORTEST_PAST = 4


class Name(NamedTuple):
    """A name in a sentence: its words, where it stands, and the word before it."""

    keys: frozenset[str]
    first: int
    last: int
    before: str
    sure: bool = True
    """Not so where it may be no name, or where a pronoun may mean another."""
    implied: bool = False
    """A pronoun stands there instead."""

    def may_be(self, other: Name) -> bool:
        """Whether the two can be one: "Crane" and "Matthias Crane", but not "Ruth Crane" and "Matthias Crane"."""
        own, its = self.keys - TITLES, other.keys - TITLES
        return bool(own & its) and (own <= its or its <= own)


class Number(NamedTuple):
    """A number or date: its words, where it stands, and what it is a number of."""

    keys: frozenset[str]
    first: int
    last: int
    unit: str
    before: str


class Verb(NamedTuple):
    """A verb: where it stands, its base form, and whether its subject is what something is done to."""

    at: int
    sense: str
    passive: bool
    main: bool
    """Not so in a remark on the subject."""
    definite: bool
    """Not so where another word makes it mean something else, or it means little."""


class Roles(NamedTuple):
    """Who does something, and to whom or with whom."""

    agent: Name | None
    other: Name | None


@dataclass(frozen=True)
class Statement:
    """A sentence or clause, read."""

    text: str
    words: tuple[Word, ...]
    senses: tuple[str, ...]
    names: tuple[Name, ...]
    numbers: tuple[Number, ...]
    verbs: tuple[Verb, ...]
    telling: tuple[int, ...]
    """Where its words stand that say something and are no names, numbers or negations."""
    denied: frozenset[int]
    """Where words stand that a negation is shortly before."""
    subject: Name | None = field(default=None)
    """Whom a pronoun at its beginning stands for."""

    @cached_property
    def roots(self) -> frozenset[str]:
        """The roots of all its words."""
        return frozenset(map(root, self.senses))

    def has(self, word: str) -> bool:
        """Whether it has the word, or another that says the same."""
        return root(word) in self.roots or not self._meanings.isdisjoint(group_of(word))

    @cached_property
    def _meanings(self) -> frozenset[str]:
        return frozenset(self.senses)

    @cached_property
    def plain(self) -> frozenset[str]:
        """The keys of all its words."""
        return frozenset(word.key for word in self.words)

    @cached_property
    def terms(self) -> frozenset[str]:
        """All its telling words, with those of its names and numbers."""
        named = {key for name in self.names for key in name.keys}
        numbered = {key for number in self.numbers for key in number.keys}
        return frozenset(named | numbered | {self.senses[at] for at in self.telling})

    def without_names(self, common: Collection[str]) -> Statement:
        """The statement, a capital at its very beginning taken for no name where the word is a `common` one."""
        first = self.names[0] if self.names else None
        if first is None or first.last > 0 or first.implied or not all(key in common for key in first.keys):
            return self
        return replace(self, names=self.names[1:])

    def roles(self, verb: Verb) -> Roles:
        """Who does what the verb says, and to whom. The giver of a thing is its agent, whoever the subject is."""
        subject = next(
            (name for name in self.names if name.last < verb.at and name.before not in _PLACING), None
        ) or next((name for name in self.names if name.implied and name.first <= verb.at), None)
        behind = [name for name in self.names if name.first > verb.at]
        if verb.passive:
            by = next((name for name in behind if name.before == "by"), None)
            to = next((name for name in behind if name.before in _TOWARDS), None)
            return Roles(by, subject or to)
        giver = next((name for name in behind if name.before == "from"), None)
        if giver and receives(verb.sense):
            return Roles(giver, subject)
        met = next((name for name in behind if name.before in _TOWARDS or name.before not in _PLACING), None)
        return Roles(subject, met)


@lru_cache(maxsize=4_096)
def read_statement(text: str, subject: Name | None = None) -> Statement:
    """Read a sentence; `subject` is whom a pronoun in it stands for."""
    found = words(text)
    senses = [sense(word.key) for word in found]
    names: list[Name] = []
    numbers: list[Number] = []
    taken: set[int] = set()
    for detail in _details(text, found):
        keys = [found[at].key for at in range(detail.first, detail.last + 1)]
        before = found[detail.first - 1].key if detail.first else ""
        if detail.kind == "number":
            value = _value(keys, text[detail.start : detail.end])
            numbers.append(Number(value, detail.first, detail.last, _unit(found, detail.last), before))
        elif detail.first == 0 and detail.last == 0 and senses[0] in senses_of(_OPENERS):
            continue
        else:
            names.append(Name(frozenset(keys), detail.first, detail.last, before, detail.sure))
        taken.update(range(detail.first, detail.last + 1))
    verbs = tuple(_verbs(text, found, senses, taken))
    if subject is not None and (at := _open_place(found, names, verbs)) is not None:
        names.append(Name(subject.keys, at, at, "", subject.sure, implied=True))
        names.sort(key=lambda name: name.first)
    telling = tuple(
        at
        for at, word in enumerate(found)
        if at not in taken
        and carries(word.key)
        and not is_negation(word.key)
        and word.key not in _PRONOUNS
        and not is_number(word.key)
    )
    return Statement(
        text, tuple(found), tuple(senses), tuple(names), tuple(numbers), verbs, telling, _denied(senses, found), subject
    )


def _details(text: str, found: Sequence[Word]) -> list[Detail]:
    """The names and numbers. A short sentence may have little else, and is no title for that, if it has a verb."""
    small = [at for at, word in enumerate(found) if text[word.start].islower()]
    if not any(_is_verb(text, found, at, ()) for at in small):
        return details(text, found)
    behind = [Word(word.key, word.start + len(text), word.end + len(text)) for word in _padded()]
    return [one for one in details(text + _PADDING, [*found, *behind]) if one.end <= len(text)]


def _open_place(found: Sequence[Word], names: Sequence[Name], verbs: Sequence[Verb]) -> int | None:
    """Where a pronoun stands for somebody named elsewhere, or a verb has no subject at all; None where neither does."""
    if found and (found[0].key in _AUXILIARIES or (verbs and verbs[0].at == 0)):
        return 0
    own = next((name.first for name in names if name.before not in _PLACING), len(found))
    end = min(own, verbs[0].at if verbs else len(found))
    return next((at for at, word in enumerate(found[:end]) if word.key in _PRONOUNS), None)


_HUNDREDS = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_THOUSANDS = re.compile(r"(?<=\d), ?(?=\d{3}(?!\d))")


def _value(keys: Sequence[str], text: str) -> frozenset[str]:
    """The figures and words of a number or date, "twenty-two" and "1,500" as one figure each."""
    if _THOUSANDS.search(text):
        keys = [word.key for word in words(_THOUSANDS.sub("", text))]
    values: list[str] = []
    pending: int | None = None
    for key in keys:
        if pending is not None and key in _HUNDREDS:
            pending *= _HUNDREDS[key]
        elif pending is not None and key.isdigit() and len(key) < 4 and _adds(pending, int(key)):
            pending += int(key)
        else:
            values += [] if pending is None else [str(pending)]
            pending = int(key) if key.isdigit() and len(key) < _LONGEST_FIGURE else None
            values += [key] if pending is None else []
    values += [] if pending is None else [str(pending)]
    return frozenset(values)


def _adds(whole: int, part: int) -> bool:
    return (20 <= whole < 100 and whole % 10 == 0 and part < 10) or (whole >= 100 and whole % 100 == 0 and part < 100)


def _unit(found: Sequence[Word], last: int) -> str:
    """What a number counts: the next telling word; of a date, that it is one."""
    own = found[last].key
    if own in MONTHS | DAYS or (own.isdigit() and len(own) == 4):
        return "date"
    return next((sense(word.key) for word in found[last + 1 : last + 3] if carries(word.key)), "")


def _denied(senses: Sequence[str], found: Sequence[Word]) -> frozenset[int]:
    denied: set[int] = set()
    for at, word in enumerate(found):
        following = found[at + 1].key if at + 1 < len(found) else ""
        if (is_negation(word.key) and word.key != "without") or (
            senses[at] in senses_of(_DENYING) and following == "to"
        ):
            telling = [near for near in range(at + 1, len(found)) if carries(found[near].key)]
            denied.update(near for near in telling[:1] if near - at <= _DENIED_REACH + 1)
    return frozenset(denied)


def _verbs(text: str, found: Sequence[Word], senses: Sequence[str], taken: set[int]) -> Iterator[Verb]:
    asides = [aside.span() for aside in _ASIDE.finditer(text)]
    for at, word in enumerate(found):
        before = found[at - 1].key if at else ""
        if (
            at in taken
            or not _is_verb(text, found, at, taken)
            or before in _NOT_BEFORE_VERB
            or word.key in _AUXILIARIES
        ):
            continue
        passive = _is_passive(text, found, at, taken)
        following = found[at + 1].key if at + 1 < len(found) else ""
        phrasal = is_particle(following) and following not in ("by", "to")
        main = not any(start <= word.start < end for start, end in asides)
        yield Verb(at, senses[at], passive, main, is_known(senses[at]) and not phrasal and not is_light(senses[at]))


def _is_verb(text: str, found: Sequence[Word], at: int, taken: Container[int]) -> bool:
    """Whether the word is a verb, by its form, or by what stands before it where its form may be that of a noun."""
    word = found[at]
    surface = text[word.start : word.end]
    if is_past(word.key):
        return True
    if surface.endswith("ed"):
        return len(surface) >= _SHORTEST_PAST and surface.islower() and surface not in _NO_VERBS
    before = [one.key for one in found[max(0, at - 2) : at]]
    if (before and before[-1] in _MODALS) or (len(before) > 1 and before[0] in _MODALS and is_negation(before[1])):
        return carries(word.key) and not is_negation(word.key)
    if surface.endswith("s") and at - 1 in taken:
        return is_verb(sense(word.key)) or _goes_on(text, found, at)
    if not is_verb(sense(word.key)):
        return False
    if surface.endswith("s"):
        return bool(before) and before[-1] in _SUBJECTS
    return bool(before) and (before[-1] in _AUXILIARIES or before[-1] == "to" or is_negation(before[-1]))


def _is_passive(text: str, found: Sequence[Word], at: int, taken: Container[int]) -> bool:
    """Whether a form of "be" stands shortly before the verb, and no other subject between."""
    if text[found[at].start : found[at].end].endswith("ing"):
        return False
    for near in range(at - 1, max(-1, at - 4), -1):
        if near in taken or found[near].key in _RELATIVES:
            return False
        if found[near].key in _AUXILIARIES:
            return found[near].key in _BE
    return False


def _goes_on(text: str, found: Sequence[Word], at: int) -> bool:
    """Whether what follows is what follows a verb: an object, or a phrase of place."""
    following = found[at + 1] if at + 1 < len(found) else None
    return following is not None and (following.key in _NOT_BEFORE_VERB | {"to"} or text[following.start].isupper())


def gender(statement: Statement) -> str:
    """ "he" or "she" where that is the subject of the sentence, by its first words; nothing else."""
    for word in statement.words[:4]:
        if word.key in ("he", "she"):
            return word.key
        if carries(word.key) and not is_number(word.key):
            return ""
    return ""


def points(statement: Statement) -> bool:
    """Whether there is a pronoun in it for somebody or something."""
    return any(word.key in _PRONOUNS for word in statement.words)


def leading_name(statement: Statement) -> Name | None:
    """The name that the sentence is about: the first that is no place, else the first; sure if it is the only one."""
    firm = [name for name in statement.names if name.sure or name.implied]
    leading = next((name for name in firm if name.before not in _PLACING), firm[0] if firm else None)
    return leading._replace(sure=all(name.may_be(leading) for name in firm)) if leading else None


def clauses(text: str) -> list[str]:
    """The parts of a sentence that could each stand alone, with a verb each; the sentence itself where it has one."""
    if len(text) > _LONGEST_PARTED:
        return [text]
    parts: list[str] = []
    start = 0
    for seam in _CLAUSE_SEAM.finditer(text):
        before, behind = text[start : seam.start()], text[seam.end() :]
        if _stands(before) and _stands(behind) and _begins_clause(behind, seam.group()):
            parts.append(before)
            start = seam.end()
    parts.append(text[start:])
    return parts


def _stands(text: str) -> bool:
    statement = read_statement(text)
    return len(statement.telling) + len(statement.names) >= _FEWEST_IN_CLAUSE - 1 and bool(
        statement.verbs or any(word.key in _AUXILIARIES for word in statement.words)
    )


def _begins_clause(behind: str, seam: str) -> bool:
    """Whether a new clause begins there, and not only another noun of a list."""
    if seam.startswith((";", ",")):
        return True
    found = words(behind)
    return bool(found) and (_is_verb(behind, found, 0, ()) or found[0].key in _AUXILIARIES | _SUBJECTS)
