"""A text to find support in: its sentences, indexed by the words and the pairs of neighbouring words that they hold."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from redraft.builtin.details import Detail, details
from redraft.text.sentences import sentences
from redraft.text.wording import Word, carries, pairs, words

# The places looked at closely: those that share most with what is sought.
_PLACES = 5
# A pair of neighbours says more than its two words do.
_PAIR_WEIGHT = 2.0
_SHORTEST_RUN = 2


class Line(NamedTuple):
    """A sentence: which text it is in and where, and its words."""

    text: int
    start: int
    end: int
    words: tuple[Word, ...]

    @property
    def keys(self) -> list[str]:
        """The keys of its words."""
        return [word.key for word in self.words]


class Tiling(NamedTuple):
    """What is sought as the lines from `line` on have it."""

    line: int
    runs: list[range]
    """Words of what is sought that stand there one behind the other, as they do in it."""
    borne_out: list[int]
    """The words that stand there between the same neighbours."""

    def copied(self, shortest: int) -> int:
        """How many words are in runs of at least `shortest`."""
        return sum(len(run) for run in self.runs if len(run) >= shortest)


class Source:
    """Some texts and what is in them. Looking something up costs time in proportion to the lines that share a word."""

    def __init__(self, texts: Sequence[str], *, whole: bool = False) -> None:
        """Read `texts`; with `whole`, each of them is one line."""
        self.texts = texts
        self.lines: list[Line] = []
        for number, text in enumerate(texts):
            self._read(number, text, whole)
        self._by_term: dict[str | tuple[str, str], list[int]] = defaultdict(list)
        for number, line in enumerate(self.lines):
            for term in _terms(line.keys):
                self._by_term[term].append(number)
        self._flat = [word.key for line in self.lines for word in line.words]
        self._joined = f" {' '.join(self._flat)} "
        self._known = frozenset(self._flat)
        self._details: dict[int, list[Detail]] = {}

    def _read(self, number: int, text: str, whole: bool) -> None:
        found = words(text)
        spans = [(0, len(text))] if whole else [(span.start, span.end) for span in sentences(text)]
        at = 0
        for start, end in spans:
            first = at
            while at < len(found) and found[at].start < end:
                at += 1
            if at > first:
                self.lines.append(Line(number, start, end, tuple(found[first:at])))

    def __contains__(self, key: object) -> bool:
        return key in self._known

    def text_of(self, line: int) -> str:
        """The line to the letter."""
        found = self.lines[line]
        return self.texts[found.text][found.start : found.end]

    def words_of(self, line: int) -> list[Word]:
        """The words of the line, as they stand in the line itself."""
        found = self.lines[line]
        return [Word(word.key, word.start - found.start, word.end - found.start) for word in found.words]

    def details_of(self, line: int) -> list[Detail]:
        """The names and numbers in the line, as they stand in the line itself."""
        if line not in self._details:
            self._details[line] = details(self.text_of(line), self.words_of(line))
        return self._details[line]

    def find(self, sought: Sequence[str]) -> int | None:
        """The line in which these words, one behind the other, begin; None where the texts do not have them so."""
        at = self._joined.find(f" {' '.join(sought)} ")
        if at < 0 or not sought:
            return None
        passed = self._joined.count(" ", 0, at)
        for number, line in enumerate(self.lines):
            passed -= len(line.words)
            if passed < 0:
                return number
        return None

    def places(self, sought: Sequence[str]) -> list[int]:
        """The lines that share most with `sought`, best first."""
        votes: dict[int, float] = defaultdict(float)
        for term in _terms(sought):
            if holders := self._by_term.get(term):
                weight = math.log(1 + len(self.lines) / len(holders)) * (1 if isinstance(term, str) else _PAIR_WEIGHT)
                for number in holders:
                    votes[number] += weight
        return [number for number, _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))[:_PLACES]]

    def tile(self, sought: Sequence[str], places: Iterable[int]) -> Tiling | None:
        """`sought` laid out with the longest runs of words that two neighbouring lines have, at the best place."""
        starts = sorted({start for number in places for start in (number - 1, number) if start >= 0})
        best: Tiling | None = None
        for start in starts:
            runs = _runs(sought, [word.key for line in self.lines[start : start + 2] for word in line.words])
            tiling = Tiling(start, runs, _interior(runs, len(sought)))
            if best is None or len(tiling.borne_out) > len(best.borne_out):
                best = tiling
        return best


def _terms(keys: Sequence[str]) -> set[str | tuple[str, str]]:
    return {*pairs(keys), *(key for key in keys if carries(key))}


def _runs(sought: Sequence[str], there: Sequence[str]) -> list[range]:
    shortest = min(_SHORTEST_RUN, len(sought))
    blocks = SequenceMatcher(None, sought, there, autojunk=False).get_matching_blocks()
    return [range(one.a, one.a + one.size) for one in blocks if one.size >= max(1, shortest)]


def _interior(runs: Sequence[range], length: int) -> list[int]:
    """The words that have the same neighbours there as here; the first and last of all have only one to have."""
    return [at for run in runs for at in range(run.start + (run.start > 0), run.stop - (run.stop < length))]


class Match(NamedTuple):
    """A line laid beside what is sought, word by word; `steps` as `difflib` gives them."""

    line: int
    steps: Sequence[tuple[str, int, int, int, int]]
    shared: int


def match(source: Source, sought: Sequence[str], places: Iterable[int]) -> Match | None:
    """The line among `places` that has most of `sought`, in its order and with the fewest differences."""
    best: Match | None = None
    for number in places:
        steps = SequenceMatcher(None, sought, source.lines[number].keys, autojunk=False).get_opcodes()
        shared = sum(end - first for step, first, end, _, _ in steps if step == "equal")
        if best is None or (shared, -len(steps)) > (best.shared, -len(best.steps)):
            best = Match(number, steps, shared)
    return best
