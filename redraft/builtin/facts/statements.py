"""What a sentence states, as far as it can be read without understanding it: whom it names, and what is done."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from redraft.builtin.details import details
from redraft.builtin.verbs import AUXILIARIES, MODALS, is_participle, is_past, is_present, plain_form
from redraft.text.wording import Word, carries, is_negation, listed, words

_NOT_BEFORE_VERB = listed("the a an this that these those his her its their my our your of in on at from with for by")
# A remark on the subject, between commas or at the end.
_ASIDE = re.compile(r", (?:who|which|whose|where|without|after|before|as|though|although|because)\b[^,;.]*")
_POSSESSIVE = re.compile(r"['’]s?$")


class Name(NamedTuple):
    """A name in a sentence: as it is spelt, its words, where it stands, and the word before it."""

    spelt: str
    keys: frozenset[str]
    first: int
    last: int
    before: str
    sure: bool
    """Not so where it may be no name."""


class Verb(NamedTuple):
    """A verb: where it stands, and its plain form."""

    at: int
    plain: str


@dataclass(frozen=True)
class Statement:
    """A sentence, read."""

    text: str
    words: tuple[Word, ...]
    names: tuple[Name, ...]
    numbers: int
    """How many it has."""
    verb: Verb | None
    """The first that is not in a remark."""
    terms: frozenset[str]
    """Its telling words, with those of its names and numbers."""


@lru_cache(maxsize=4_096)
def read_statement(text: str) -> Statement:
    """Read a sentence."""
    found = words(text)
    known = details(text, found)
    taken = {at for one in known for at in range(one.first, one.last + 1)}
    names = [
        Name(
            " ".join(text[one.start : one.end].split()),
            frozenset(word.key for word in found[one.first : one.last + 1]),
            one.first,
            one.last,
            found[one.first - 1].key if one.first else "",
            one.sure,
        )
        for one in known
        if one.kind == "name"
    ]
    telling = {word.key for word in found if carries(word.key) and not is_negation(word.key)}
    numbers = sum(one.kind == "number" for one in known)
    return Statement(text, tuple(found), tuple(names), numbers, _verb(text, found, taken), frozenset(telling))


def _verb(text: str, found: Sequence[Word], taken: Collection[int]) -> Verb | None:
    asides = [aside.span() for aside in _ASIDE.finditer(text)]
    for at, word in enumerate(found):
        spelt, before = text[word.start : word.end], found[at - 1].key if at else ""
        remark = any(start <= word.start < end for start, end in asides)
        if at in taken or remark or not spelt.islower() or spelt in AUXILIARIES or before in _NOT_BEFORE_VERB:
            continue
        subject = text[found[at - 1].start : found[at - 1].end] if at - 1 in taken else ""
        named = subject[:1].isupper() and not _POSSESSIVE.search(subject)
        helped = before in MODALS and carries(word.key) and not is_negation(word.key)
        if (
            is_past(spelt)
            or (is_participle(spelt) and before in AUXILIARIES)
            or (is_present(spelt) and named)
            or helped
        ):
            return Verb(at, plain_form(spelt))
    return None
