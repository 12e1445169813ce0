"""Compares a sentence with a text: supported, contradicted, absent, or undecided.

The comparison is by words: a sentence that the text has literally or nearly so; the same with another name, number or
negation; or a name or figure that occurs nowhere in the text. A paraphrase cannot be decided by counting words and gets
no verdict.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Literal, NamedTuple

from redraft.builtin.references import TITLES, Detail, DetailKind, amounts, details
from redraft.text.sanitizer import one_line
from redraft.text.sentences import sentences
from redraft.text.word_keys import Word, carries, is_negation, listed, pairs, words

Verdict = Literal["borne out", "contradicted", "absent", "open"]
Wrong = Literal["name", "number", "negation"]

# The candidates examined closely: those that share most words, where adjacent pairs count more than two words.
_PLACES, _PAIR_WEIGHT = 5, 2.0
# If one of two sentences has the first share of the other's words in order, they are about the same thing; with the
# second they say the same, as people find in nine of ten cases.
_SAME, _SAID = 0.6, 0.9
# This many content words are never all absent from a related text.
_MIN_STRANGE = 3
# Names with this many initial letters in common may be the same.
_ALIKE_FROM = 3
_MIN_FIGURES = 2
# What a negation adds, as in "he saw" and "he did not see".
_HELPERS = listed(
    "do does did be is are was were have has had will would can could may might must should any all every some ever"
    " everybody everyone everything always somebody someone something anybody anyone anything"
)


@dataclass(frozen=True)
class SourceLine:
    """A sentence, the index of its text, and its words."""

    text: str
    of: int
    words: list[Word]

    @cached_property
    def keys(self) -> list[str]:
        """Return the keys of its words."""
        return [word.key for word in self.words]

    @cached_property
    def details(self) -> list[Detail]:
        """Return the names and numbers in it."""
        return details(self.text, self.words)


class Match(NamedTuple):
    """A line aligned with a sentence word by word; `steps` are `difflib` opcodes."""

    line: int
    steps: Sequence[tuple[str, int, int, int, int]]
    shared: int


class SentenceSupport(NamedTuple):
    """What a text says about a sentence."""

    verdict: Verdict
    line: int | None = None
    """The line closest to it."""
    wrong: Wrong | None = None
    own: str = ""
    """What the sentence has in place of the text's words."""
    its: str = ""

    @property
    def is_accused(self) -> bool:
        """Return whether the sentence is wrong."""
        return self.verdict in ("contradicted", "absent")


class SourceChecker:
    """An index of some texts, to compare sentences with. A lookup takes time proportional to the lines that share a
    word."""

    def __init__(self, texts: Sequence[str], *, whole: bool = False) -> None:
        """Read `texts`; with `whole`, each of them is one line."""
        said = [(at, text) for at, text in enumerate(texts)]
        if not whole:
            said = [(at, text[span.start : span.end]) for at, text in said for span in sentences(text)]
        self.lines = [SourceLine(text, at, found) for at, text in said if (found := words(text))]
        self.folded = "\n".join(texts).casefold()
        self._by_term: dict[str | tuple[str, str], list[int]] = defaultdict(list)
        for number, line in enumerate(self.lines):
            for term in _terms(line.keys):
                self._by_term[term].append(number)
        self.keys = [key for line in self.lines for key in line.keys]
        self._ends = list(accumulate(len(line.words) for line in self.lines))
        self._joined = f" {' '.join(self.keys)} "
        self.known = frozenset(self.keys)

    def find(self, sought: Sequence[str]) -> int | None:
        """Return the line that contains these words consecutively, or None."""
        at = self._joined.find(f" {' '.join(sought)} ")
        if at < 0 or not sought:
            return None
        return bisect_right(self._ends, self._joined.count(" ", 0, at))

    def places(self, sought: Sequence[str]) -> list[int]:
        """Return the lines that share most words with `sought`, best first."""
        votes: dict[int, float] = defaultdict(float)
        for term in _terms(sought):
            if holders := self._by_term.get(term):
                weight = math.log(1 + len(self.lines) / len(holders)) * (1 if isinstance(term, str) else _PAIR_WEIGHT)
                for number in holders:
                    votes[number] += weight
        return [number for number, _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))[:_PLACES]]

    def match(self, sought: Sequence[str]) -> Match | None:
        """Return the line with most words of `sought` in the same order and fewest differences."""
        best: Match | None = None
        for number in self.places(sought):
            steps = SequenceMatcher(None, sought, self.lines[number].keys, autojunk=False).get_opcodes()
            shared = sum(end - first for step, first, end, _, _ in steps if step == "equal")
            if best is None or (shared, -len(steps)) > (best.shared, -len(best.steps)):
                best = Match(number, steps, shared)
        return best

    def text_of(self, line: int | None) -> str:
        """Return a line that was found, or an empty string."""
        return "" if line is None else self.lines[line].text

    def check(self, sentence: str) -> SentenceSupport:
        """Return what the texts say about a sentence."""
        found = words(sentence)
        keys = [word.key for word in found]
        if (line := self.find(keys)) is not None:
            return SentenceSupport("borne out", line)
        known = [detail for detail in details(sentence, found) if detail.sure]
        laid = self.match(keys)
        if laid and laid.shared >= _SAME * len(keys) and (wrong := self._contradicted(sentence, keys, known, laid)):
            return wrong
        line = laid.line if laid else None
        if strange := self._strange(sentence, found, known):
            return SentenceSupport("absent", line, own=strange)
        return SentenceSupport("borne out" if laid and laid.shared >= _SAID * len(keys) else "open", line)

    def _contradicted(
        self, sentence: str, keys: Sequence[str], known: Sequence[Detail], laid: Match
    ) -> SentenceSupport | None:
        """Return how a line that otherwise says the same contradicts the sentence."""
        line = self.lines[laid.line]
        for here, there in _replaced(laid, len(keys)):
            for detail in known:
                if its := self._instead(detail, keys, here, line, there):
                    said = sentence[detail.start : detail.end]
                    return SentenceSupport("contradicted", laid.line, detail.kind, said, line.text[its.start : its.end])
        if _is_denied(keys, line.keys, laid):
            return SentenceSupport("contradicted", laid.line, "negation", sentence, line.text)
        return None

    def _instead(self, own: Detail, keys: Sequence[str], here: range, line: SourceLine, there: range) -> Detail | None:
        """Return the name or number that a line has in place of the sentence's, if nothing else there differs."""
        said = _within(own, keys, here)
        if not said or _says_more(keys, here, said):
            return None
        for its in line.details:
            instead = _within(its, line.keys, there)
            if not instead or its.kind != own.kind or _says_more(line.keys, there, instead):
                continue
            # "Mr. Crane" may be Matthias Crane but not Mrs. Crane.
            if TITLES.issuperset(said) == TITLES.issuperset(instead) and not self._may_be_one(own.kind, said, instead):
                return its
        return None

    def _may_be_one(self, kind: DetailKind, one: Sequence[str], other: Sequence[str]) -> bool:
        """Return whether two numbers are equal, or two names are alike or parts of one name, such as "Hester" and "Miss
        Vane"."""
        if set(one) & set(other) or (kind == "number" and amounts(one) == amounts(other)):
            return True
        if kind == "number":
            return False
        if any(list(short) == [key[0] for key in long] for short, long in ((one, other), (other, one))):  # "J. R."
            return True
        long = [key[:_ALIKE_FROM] for key in other if len(key) >= _ALIKE_FROM]
        if any(key[:_ALIKE_FROM] in long for key in one):
            return True
        first, second = set(one) - TITLES, set(other) - TITLES
        return any(first & name and second & name for name in map(set, self._names))

    @cached_property
    def _names(self) -> list[list[str]]:
        """Return the multi-word names in the texts."""
        return [
            line.keys[detail.words]
            for line in self.lines
            for detail in line.details
            if detail.kind == "name" and detail.last > detail.first
        ]

    def _strange(self, sentence: str, found: Sequence[Word], known: Sequence[Detail]) -> str:
        """Return a name or figure of the sentence that the texts lack; the whole sentence where they have none of its
        words."""
        telling = [word.key for word in found if carries(word.key) and not is_negation(word.key)]
        if len(telling) >= _MIN_STRANGE and not self.known.intersection(telling):
            return sentence
        for detail in known:
            for at in range(detail.first, detail.last + 1):
                spelt = sentence[found[at].start : found[at].end]
                if self._lacks_figure(found[at].key) if detail.kind == "number" else at and self._lacks_name(spelt):
                    return sentence[detail.start : detail.end]
        return ""

    def _lacks_figure(self, key: str) -> bool:
        """Return whether a number of at least two digits occurs nowhere, in digits, words or as part of another."""
        return key.isdigit() and len(key) >= _MIN_FIGURES and key not in self._figures

    def _lacks_name(self, spelt: str) -> bool:
        """Return whether no word starts like a name, so that it is not a different spelling."""
        start = spelt.casefold()[: max(_ALIKE_FROM, len(spelt) // 2)]
        return start not in self.folded and spelt.casefold() not in TITLES

    @cached_property
    def _figures(self) -> str:
        """Return the figures in the texts, including numbers written as words."""
        return f"{self.folded} {' '.join(amounts(self.keys))}"


@lru_cache(maxsize=4)
def checker_for(texts: tuple[str, ...], *, whole: bool = False) -> SourceChecker:
    """Return the comparison for some texts; cached, since one document is used repeatedly."""
    return SourceChecker(texts, whole=whole)


def reason(held: SentenceSupport) -> str:
    """Return the reason for a verdict as a sentence."""
    if held.wrong == "negation":
        return "One of the two denies what the other says."
    if held.verdict == "contradicted":
        return f"It says “{one_line(held.own)}”; the text says “{one_line(held.its)}”."
    if held.verdict == "absent":
        return f"“{one_line(held.own)}” is nowhere in the text."
    said = held.verdict == "borne out"
    return "The text says the same." if said else "If the text says this, it says it in other words."


def _replaced(laid: Match, length: int) -> Iterator[tuple[range, range]]:
    """Yield the words of the sentence that replace words of the line; at either end, no more than the sentence has.
    Leaving out the beginning or end of the line is not a difference."""
    for step, first, end, other_first, other_end in laid.steps:
        if step == "replace":
            size = max(end - first, 1)
            if end == length:
                other_end = min(other_end, other_first + size)
            elif first == 0:
                other_first = max(other_first, other_end - size)
            yield range(first, end), range(other_first, other_end)


def _within(detail: Detail, keys: Sequence[str], place: range) -> Sequence[str]:
    """Return the words of a name or number within a place."""
    return keys[max(place.start, detail.first) : min(place.stop, detail.last + 1)]


def _says_more(keys: Sequence[str], place: range, apart_from: Sequence[str]) -> bool:
    """Return whether there are more than function words besides, as where "Harry Kane" replaces "the striker"."""
    return any(carries(keys[at]) and keys[at] not in apart_from for at in place)


def _is_denied(keys: Sequence[str], there: Sequence[str], laid: Match) -> bool:
    """Return whether one of the two negates what the other says in the same words."""
    equal = [step for step in laid.steps if step[0] == "equal"]
    start, end = (equal[0][3], equal[-1][4]) if equal else (0, 0)
    if (sum(map(is_negation, keys)) - sum(map(is_negation, there[start:end]))) % 2 == 0:
        return False
    for step, first, last, other_first, other_last in laid.steps:
        sides = keys[first:last], there[other_first:other_last]
        turned = step != "equal" and any(map(is_negation, sides[0])) != any(map(is_negation, sides[1]))
        only = step == "replace" and any(len(side) == 1 and is_negation(side[0]) for side in sides)
        if turned and start <= other_first and other_last <= end and (only or not any(map(_tells, sides))):
            return True
    return False


def _tells(keys: Sequence[str]) -> bool:
    return any(carries(key) and not is_negation(key) and key not in _HELPERS for key in keys)


def _terms(keys: Sequence[str]) -> list[str | tuple[str, str]]:
    # In the order of the words: sums of weights depend on it, and with them the order of lines that are equally good.
    return list(dict.fromkeys((*pairs(keys), *(key for key in keys if carries(key)))))
