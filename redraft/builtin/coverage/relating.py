"""Who has to do with what in a story: the people and things that it speaks of together again and again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import permutations
from typing import NamedTuple

from redraft.builtin.concepts import concept, weight
from redraft.builtin.details import details
from redraft.builtin.verbs import is_past, is_present
from redraft.builtin.wording import Word, keys, words

# "The ledger was", "the Long Bank": a thing is one that is spoken of as known, and no adjective before another word.
_THING = re.compile(
    r"\b[Tt]he (?P<thing>(?:[A-Z][\w’'-]*[a-z](?: (?=[A-Z]))?)+|[a-z]{3,}(?:-[a-z]+)?)"
    r"(?=[,.;:!?)\"”]|['’]s?\b| (?:of|to|in|on|at|by|for|from|with|into|upon|and|or|but|that|which|who|where|when|was"
    r"|were|is|are|had|has|would|could|will|did|as|up|out|down|again|before|behind|through|over|under|until|while|if)\b)"
)
_MOST_PEOPLE, _MOST_THINGS = 8, 24
_FEWEST_MENTIONS, _FEWEST_TOGETHER = 3, 3


_FARTHEST = 14
_OWNS = re.compile(r"\w['’](?:s\b|$| )")
_APART = re.compile(r"[;:—.!?\"“”]")


def said_of(text: str, one: Set[str], other: Set[str]) -> str:
    """What a sentence says that `one` does with `other`, both given by what their words stand for.

    The two may not just be named side by side: something is said between them.
    """
    of = words(text)
    told = [concept(word.key) for word in of]
    for last in (at for at, key in enumerate(told) if key in other):
        for first in range(last - 1, max(-1, last - _FARTHEST), -1):
            named = told[first] in one and not _OWNS.search(text, of[first].start, of[first].end + 2)
            if not named or (first and told[first - 1] == "what"):
                continue
            between = of[first + 1 : last]
            verb = any(weight(word.key) and _may_be_verb(text, word) for word in between)
            if verb and not _APART.search(text[of[first].end : of[last].start]):
                mark = _APART.search(text, of[last].end)
                return text[of[first].start : mark.start() if mark else len(text)].strip(" ,.")
    return ""


def _may_be_verb(text: str, word: Word) -> bool:
    surface = text[word.start : word.end]
    return is_past(surface) or is_present(surface) or surface.endswith("ing")


class Pair(NamedTuple):
    """Two that a text speaks of together: as a question names them, in how many sentences, and which of them."""

    one: str
    other: str
    sentences: tuple[int, ...]


class _Known(NamedTuple):
    """Somebody or something, as a question names it, and the sentences that speak of it."""

    name: str
    sentences: frozenset[int]


def related(sentences: Sequence[str], people: frozenset[str]) -> Iterator[Pair]:
    """The pairs of people, and of people and things, that enough of the sentences speak of together."""
    persons = _persons(sentences, people)
    things = _things(sentences, people)
    for one, other in (*permutations(persons, 2), *((person, thing) for person in persons for thing in things)):
        both = one.sentences & other.sentences
        if len(both) >= _FEWEST_TOGETHER:
            yield Pair(one.name, other.name, tuple(sorted(both)))


def _persons(sentences: Sequence[str], people: frozenset[str]) -> list[_Known]:
    """The people spoken of most, each under the longest name that is in common use."""
    names: Counter[str] = Counter()
    where: dict[str, set[int]] = {}
    for number, sentence in enumerate(sentences):
        found = words(sentence)
        for detail in details(sentence, found):
            own = [word.key for word in found[detail.first : detail.last + 1]]
            if detail.kind == "name" and people.intersection(own) and (detail.sure or detail.start > 0):
                names[sentence[detail.start : detail.end]] += 1
                for key in people.intersection(own):
                    where.setdefault(key, set()).add(number)
    chosen: list[_Known] = []
    taken: set[str] = set()
    by_length = sorted(names, key=lambda name: (-len(name.split()), -names[name], name))
    for name in by_length:
        whose = people.intersection(keys(name))
        if names[name] >= _FEWEST_MENTIONS - 1 and whose and not whose & taken:
            taken |= whose
            first = min(whose, key=lambda key: (keys(name).index(key), key))
            chosen.append(_Known(name, frozenset(where[first])))
    chosen = [known for known in chosen if len(known.sentences) >= _FEWEST_MENTIONS]
    return sorted(chosen, key=lambda known: (-len(known.sentences), known.name))[:_MOST_PEOPLE]


def _things(sentences: Sequence[str], people: frozenset[str]) -> list[_Known]:
    """The things spoken of most."""
    forms: dict[str, Counter[str]] = {}
    for sentence in sentences:
        for found in _THING.finditer(sentence):
            own = keys(found.group("thing"))
            if own and weight(own[-1]) == 1.0 and not people.intersection(own):
                forms.setdefault(concept(own[-1]), Counter())[found.group("thing")] += 1
    told = [frozenset(concept(word.key) for word in words(sentence)) for sentence in sentences]
    known: list[_Known] = []
    for one, named in forms.items():
        if named.total() >= _FEWEST_MENTIONS:
            best = max(named, key=lambda form: (named[form], form))
            known.append(_Known(f"the {best}", frozenset(n for n, there in enumerate(told) if one in there)))
    return sorted(known, key=lambda one: (-len(one.sentences), one.name))[:_MOST_THINGS]
