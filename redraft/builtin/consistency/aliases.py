"""Whether two names may be one person's: "J. R. Harrow", "Josiah Rudd Harrow", "Mr. Harrow" and "Harrow"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from redraft.builtin.details import TITLES
from redraft.builtin.wording import carries

Name = tuple[str, ...]
"""The keys of the words of a name, its title among them."""

# Of a name cut short, as Sam for Samuel, so much is left at least.
_SHORTEST = 3


def may_be_one(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two names, by themselves, leave it open that they are the same one's.

    They have to share a word that is more than an initial, and not each to have one that the other has nothing for:
    "Edgar Harrow" and "Josiah Harrow" are two, "Miss Vane" and "Hester Vane" may be one.
    """
    free = list(own_words(other))
    left = False
    shared = False
    for word in own_words(one):
        found = next((there for there in free if _fits(word, there)), None)
        if found is None:
            left = True
        else:
            free.remove(found)
            shared = shared or word == found or min(len(word), len(found)) >= _SHORTEST
    return shared and not (left and free)


def own_words(name: Sequence[str]) -> Sequence[str]:
    """The words of a name without titles and little words; all of it where there is nothing else."""
    return [word for word in name if word not in TITLES and carries(word)] or name


class Names:
    """The names in some texts, from which it can be learnt who goes by which."""

    def __init__(self, names: Iterable[Name]) -> None:
        known = set(names)
        self._full = sorted(name for name in known if len(own_words(name)) > 1)
        self._by_word: dict[str, list[Name]] = defaultdict(list)
        self._by_title: dict[tuple[str, str], set[Name]] = defaultdict(set)
        for name in self._full:
            own = tuple(own_words(name))
            for word in own:
                self._by_word[word[:_SHORTEST]].append(own)
            for title in TITLES.intersection(name):
                self._by_title[title, own[-1]].add(own)
        self._bearers: dict[Name, frozenset[Name]] = {}

    def same(self, one: Name, other: Name) -> bool:
        """Whether they may be one: "Hester" and "Miss Vane" may where somebody is called Miss Hester Vane."""
        first, second = self._who(one), self._who(other)
        return not first.isdisjoint(second) if first and second else may_be_one(one, other)

    def _who(self, name: Name) -> frozenset[Name]:
        """The full names of those whom a name may be."""
        if name not in self._bearers:
            own = own_words(name)
            near = {full for word in own for full in self._by_word.get(word[:_SHORTEST], ())}
            found = {full for full in near if may_be_one(own, full)}
            titled = {full for title in TITLES.intersection(name) for full in self._by_title.get((title, own[-1]), ())}
            # Where a title and a surname are somebody's by a full name, they are nobody else's.
            if len(own) == 1 and titled:
                found = {full for full in found if any(may_be_one(full, other) for other in titled)}
            self._bearers[name] = frozenset(found)
        return self._bearers[name]


def _fits(word: str, there: str) -> bool:
    short, long = sorted((word, there), key=len)
    return word == there or (
        (len(short) == 1 or len(short) >= _SHORTEST) and short.isalpha() and long.startswith(short)
    )
