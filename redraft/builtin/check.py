"""The consistency check of the built-in model: names, numbers, dates and opposites, beside the share of word pairs that
a sentence has in common with a text."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

from redraft.builtin.prose import TITLES, Detail, amounts, details
from redraft.text.sentences import sentences
from redraft.text.word_keys import NEGATIONS, Word, carries, listed, words

# The lines examined closely: those that share most words, where adjacent pairs count more than two words.
_PLACES, _PAIR_WEIGHT = 5, 2.0
# A line that has this share of a sentence's words in order is about the same thing.
_SAME = 0.6
# This many content words are never all absent from a related text.
_MIN_STRANGE = 3
# Names with this many initial letters in common may be the same.
_ALIKE_FROM = 3
_MIN_FIGURES = 2
# What a negation adds, as in "he saw" and "he did not see".
_HELPERS = listed(
    "do does did be is are was were have had has will would can could may might must should any all every some ever"
    " everybody everyone everything always somebody someone something anybody anyone anything"
)
Term = str | tuple[str, str]
"""A word, or a pair of adjacent words."""
Step = tuple[str, int, int, int, int]
"""An opcode of `difflib`."""


@dataclass(frozen=True)
class Line:
    """A sentence of a text, and its words."""

    text: str
    words: list[Word]

    @cached_property
    def keys(self) -> list[str]:
        """Return the keys of its words."""
        return [word.key for word in self.words]

    @cached_property
    def details(self) -> list[Detail]:
        """Return the names and numbers in it."""
        return details(self.text, self.words)


class Checked(NamedTuple):
    """What a text says about a sentence, and what is wrong with the sentence, if anything."""

    share: float
    """The share of the sentence's word pairs that the text has."""
    nearest: str
    """The line of the text that is closest to the sentence."""
    fault: Literal["", "name", "number", "opposite", "absent"] = ""
    wording: str = ""
    """What is wrong in the sentence."""
    counterpart: str = ""
    """What the text has instead."""

    @property
    def reason(self) -> str:
        """The result in words."""
        return {
            "": f"The text has {self.share:.0%} of its word pairs.",
            "opposite": "One of the two denies what the other says.",
            "absent": f"“{self.wording}” is nowhere in the text.",
        }.get(self.fault, f"It says “{self.wording}”; the text says “{self.counterpart}”.")


class SourceText:
    """Some texts with an index of their words. A check takes time proportional to the lines that share a word."""

    def __init__(self, texts: Sequence[str]) -> None:
        split = [text[span.start : span.end] for text in texts for span in sentences(text)]
        self.lines = [Line(text, line_words) for text in split if (line_words := words(text))]
        self._folded = "\n".join(texts).casefold()
        self._by_term: dict[Term, list[int]] = defaultdict(list)
        for number, line in enumerate(self.lines):
            for term in _terms(line.keys):
                self._by_term[term].append(number)
        self._keys = [key for line in self.lines for key in line.keys]
        self._joined = f" {' '.join(self._keys)} "
        self._ends = list(accumulate(len(line.words) for line in self.lines))

    def find(self, keys: Sequence[str]) -> Line | None:
        """Return the line that contains these words consecutively, or None."""
        at = self._joined.find(f" {' '.join(keys)} ") if keys else -1
        return None if at < 0 else self.lines[bisect_right(self._ends, self._joined.count(" ", 0, at))]

    def rarities(self, terms: Iterable[Term]) -> dict[Term, float]:
        """Return how rare each word or pair of words is, of those that the texts have."""
        numbers = {term: len(self._by_term[term]) for term in terms if term in self._by_term}
        return {term: math.log(1 + len(self.lines) / number) for term, number in numbers.items()}

    def nearest(self, keys: Sequence[str]) -> list[Line]:
        """Return the lines that share most words with these, best first."""
        votes: dict[int, float] = defaultdict(float)
        for term, rarity in self.rarities(_terms(keys)).items():
            weight = rarity * (1 if isinstance(term, str) else _PAIR_WEIGHT)
            for number in self._by_term[term]:
                votes[number] += weight
        return [self.lines[number] for number, _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))][
            :_PLACES
        ]

    def check(self, text: str) -> Checked:
        """Return what the texts say about a sentence."""
        sentence = Line(text, words(text))
        if line := self.find(sentence.keys):
            return Checked(1.0, line.text)
        sentence_pairs = list(pairwise(sentence.keys))
        share = sum(pair in self._by_term for pair in sentence_pairs) / max(1, len(sentence_pairs))
        lines = self.nearest(sentence.keys)
        matchers = [(line, SequenceMatcher(None, sentence.keys, line.keys, autojunk=False)) for line in lines]
        aligned: list[tuple[Line, Sequence[Step]]] = [(line, matcher.get_opcodes()) for line, matcher in matchers]
        line, steps = max(aligned, key=lambda match: (_shared(match[1]), -len(match[1])), default=(None, []))
        checked = Checked(share, line.text if line else "")
        if line and _shared(steps) >= _SAME * len(sentence.keys):
            checked = self._compared(checked, sentence, line, steps)
        telling = [key for key in sentence.keys if carries(key) and key not in NEGATIONS]
        if not checked.fault and len(telling) >= _MIN_STRANGE and not any(key in self._by_term for key in telling):
            return checked._replace(fault="absent", wording=sentence.text)

        # A name or figure of the sentence that the texts lack.
        for detail in () if checked.fault else sentence.details:
            for at in range(detail.first, detail.last + 1):
                word = sentence.words[at]
                spelt = sentence.text[word.start : word.end].casefold()
                figure = word.key.isdigit() and len(word.key) >= _MIN_FIGURES and word.key not in self._figures
                # A word that starts like a name may be another spelling of it.
                start = spelt[: max(_ALIKE_FROM, len(spelt) // 2)]
                name = at > 0 and start not in self._folded and spelt not in TITLES
                if detail.sure and (figure if detail.kind == "number" else name):
                    return checked._replace(fault="absent", wording=sentence.text[detail.start : detail.end])
        return checked

    def _compared(self, checked: Checked, sentence: Line, line: Line, steps: Sequence[Step]) -> Checked:
        """Return how a line that otherwise says the same contradicts a sentence: by a name or number, or because one of
        the two negates what the other says in the same words."""
        for _, first, end, other_first, other_end in (step for step in steps if step[0] == "replace"):
            # At either end the line may say more than the sentence.
            size = max(end - first, 1)
            if end == len(sentence.keys):
                other_end = min(other_end, other_first + size)
            elif first == 0:
                other_first = max(other_first, other_end - size)
            place, other_place = range(first, end), range(other_first, other_end)
            for detail in (detail for detail in sentence.details if detail.sure):
                if replacement := self._find_replacement(detail, sentence.keys, place, line, other_place):
                    wording, counterpart = (
                        sentence.text[detail.start : detail.end],
                        line.text[replacement.start : replacement.end],
                    )
                    return checked._replace(fault=detail.kind, wording=wording, counterpart=counterpart)

        equal = [step for step in steps if step[0] == "equal"]
        start, stop = (equal[0][3], equal[-1][4]) if equal else (0, 0)
        is_even = sum(key in NEGATIONS for key in (*sentence.keys, *line.keys[start:stop])) % 2 == 0
        for kind, first, end, other_first, other_end in () if is_even else steps:
            sides = sentence.keys[first:end], line.keys[other_first:other_end]
            turned = kind != "equal" and NEGATIONS.isdisjoint(sides[0]) != NEGATIONS.isdisjoint(sides[1])
            only = kind == "replace" and any(len(side) == 1 and side[0] in NEGATIONS for side in sides)
            both = {key for side in sides for key in side if carries(key)}
            if turned and start <= other_first and other_end <= stop and (only or not both - NEGATIONS - _HELPERS):
                return checked._replace(fault="opposite", wording=sentence.text, counterpart=line.text)
        return checked

    def _find_replacement(
        self, detail: Detail, keys: Sequence[str], place: range, line: Line, line_place: range
    ) -> Detail | None:
        """Return the name or number that a line has in place of the sentence's, if nothing else there differs.

        Two numbers are the same if they are equal, and two names if they are alike or parts of one name, such as
        "Hester" and "Miss Vane"."""
        own_keys = _within(detail, keys, place)
        if not own_keys or _says_more(keys, place, own_keys):
            return None
        first = set(own_keys) - TITLES
        starts = {key[:_ALIKE_FROM] for key in own_keys}
        for candidate in line.details:
            line_keys = _within(candidate, line.keys, line_place)
            if not line_keys or candidate.kind != detail.kind or _says_more(line.keys, line_place, line_keys):
                continue
            is_same = not set(own_keys).isdisjoint(line_keys)
            if detail.kind == "number":
                is_same = is_same or amounts(own_keys) == amounts(line_keys)
            elif not is_same:
                second = set(line_keys) - TITLES
                initials, line_initials = ([key[0] for key in name] for name in (own_keys, line_keys))
                is_same = list(own_keys) == line_initials or list(line_keys) == initials  # "J. R."
                is_same = is_same or any(key[:_ALIKE_FROM] in starts for key in line_keys if len(key) >= _ALIKE_FROM)
                is_same = is_same or any(first & name and second & name for name in self._names)
            # "Mr. Crane" may be Matthias Crane but not Mrs. Crane.
            if not is_same and TITLES.issuperset(own_keys) == TITLES.issuperset(line_keys):
                return candidate
        return None

    @cached_property
    def _names(self) -> list[set[str]]:
        """Return the names of several words in the texts."""
        names = [(line, detail) for line in self.lines for detail in line.details if detail.last > detail.first]
        return [set(line.keys[detail.words]) for line, detail in names if detail.kind == "name"]

    @cached_property
    def _figures(self) -> str:
        """Return the figures in the texts, including numbers written as words."""
        return f"{self._folded} {' '.join(amounts(self._keys))}"


source_text = lru_cache(maxsize=4)(SourceText)
"""The index of some texts, given as a tuple; cached, since one document is used repeatedly."""


def _shared(steps: Sequence[Step]) -> int:
    return sum(end - first for kind, first, end, _, _ in steps if kind == "equal")


def _within(detail: Detail, keys: Sequence[str], place: range) -> Sequence[str]:
    """Return the words of a name or number within a place."""
    return keys[max(place.start, detail.first) : min(place.stop, detail.last + 1)]


def _says_more(keys: Sequence[str], place: range, apart_from: Sequence[str]) -> bool:
    """Return whether there are more than function words besides, as where "Harry Kane" replaces "the striker"."""
    return any(carries(keys[at]) and keys[at] not in apart_from for at in place)


def _terms(keys: Sequence[str]) -> list[Term]:
    # In the order of the words: sums of weights depend on it, and with them the order of lines that are equally good.
    return list(dict.fromkeys((*pairwise(keys), *(key for key in keys if carries(key)))))
