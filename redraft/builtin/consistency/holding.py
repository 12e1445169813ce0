"""Holding a sentence against a text: borne out, contradicted, not there at all, or not to be told from its words.

What is seen is seen in words: a sentence that the text has, or has nearly so, with another name, number or negation in
its place; and a name or figure that the text does not have anywhere. What somebody says in words of their own may be
right or wrong, and nobody can tell by counting: of that nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Literal, NamedTuple

from redraft.builtin.cast import Cast, gender_of
from redraft.builtin.details import TITLES, Detail, amounts, details
from redraft.builtin.source import Match, Source, match
from redraft.prompts.judging import BORNE_OUT
from redraft.text.wording import Word, carries, is_negation, is_number, listed, words

Verdict = Literal["borne out", "in part", "contradicted", "absent", "open"]
Wrong = Literal["name", "number", "negation", "opposite"]

# Two sentences of which one has this share of the other's words, in order, speak of the same thing.
_SAME = 0.6
# A sentence is copied, be it in pieces, when this share of it stands in the text in runs of so many words.
_COPIED, _SHORTEST_COPY = 0.25, 3
# So many telling words are not all strange to a text that has to do with them.
_FEWEST_STRANGE = 3
# A name that is spelt nearly so is written wrong, and not another one.
_MISSPELT = 0.7
_ALIKE_FROM = 3
_FEWEST_FIGURES = 2
_DOTS = "…"
# How far before a pronoun those are named for whom it may stand.
_BACK = 3
_STAND_FOR_NAMES = listed("he she they his her their it its")
_OF_ONE = listed("he she his her")
_CAPITAL = re.compile(r"\b[^\W\d_][\w’'-]*")
_FIGURES = re.compile(r"\d+")
# What a negation brings with it, as in "he saw" and "he did not see".
_HELPERS = listed(
    "do does did be is are was were have has had will would can could may might must should any all every some ever"
    " everybody everyone everything always somebody someone something anybody anyone anything"
)
_OPPOSITES = (
    "he she,him her,his her,before after,with without,more less,most least,first last,always never,all none,up down,"
    "high low,higher lower,highest lowest,rise fall,increase decrease,buy sell,win lose,accept reject,agree refuse,"
    "allow forbid,open close,begin end,start stop,love hate,old young,early late,north south,east west,left right,"
    "husband wife,father mother,son daughter,brother sister,man woman,boy girl,large small,big small,good bad,"
    "true false,alive dead,guilty innocent,rich poor,strong weak,major minor,maximum minimum,above below,"
    "inside outside,future past,arrive leave,remember forget,lend borrow,hire dismiss,support oppose,find lose"
)


class Held(NamedTuple):
    """What a text has of a sentence."""

    verdict: Verdict
    line: int | None = None
    """The line that says most of it."""
    share: float = 0.0
    """Which share of its words stand there between the same neighbours."""
    there: str = ""
    """Those words, and dots for the others."""
    wrong: Wrong | None = None
    own: str = ""
    """What the sentence has in the place of what the text has."""
    its: str = ""


class Ground:
    """Some texts to hold sentences against."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.source = Source(texts)
        self._text = "\n".join(texts)

    def text_of(self, held: Held) -> str:
        """The line that was found, to the letter; nothing where none was."""
        return "" if held.line is None else self.source.text_of(held.line)

    def hold(self, sentence: str) -> Held:
        """What the texts have of a sentence."""
        found = words(sentence)
        keys = [word.key for word in found]
        if not keys:
            return Held("open")
        if (line := self.source.find(keys)) is not None:
            return Held("borne out", line, 1.0, sentence)
        known = [detail for detail in details(sentence, found) if detail.sure]
        if (line := self._by_pronoun(sentence, keys, known)) is not None:
            return Held("borne out", line, 1.0, sentence)
        places = self.source.places(keys)
        laid, tiling = match(self.source, keys, places), self.source.tile(keys, places)
        if laid and laid.shared >= _SAME * len(keys) and (wrong := self._contradicted(sentence, found, known, laid)):
            return wrong
        line = laid.line if laid else None
        if strange := self._strange(sentence, found, known):
            return Held("absent", line, own=strange)
        if tiling is None or tiling.copied(_SHORTEST_COPY) < _COPIED * len(keys):
            return Held("open", line)
        share = len(tiling.borne_out) / len(keys)
        verdict: Verdict = "borne out" if share >= BORNE_OUT else "in part"
        return Held(verdict, tiling.line, share, _dotted(sentence, found, tiling.borne_out))

    def _by_pronoun(self, sentence: str, keys: Sequence[str], known: Sequence[Detail]) -> int | None:
        """The line that has the sentence with a pronoun for the name at its beginning, if that is who is meant."""
        if not known or known[0].first or known[0].kind != "name" or known[0].last + 1 == len(keys):
            return None
        rest = known[0].last + 1
        line = self.source.find(keys[rest:])
        if line is None or self.source.lines[line].keys[0] not in _STAND_FOR_NAMES:
            return None
        name = sentence[known[0].start : known[0].end]
        return line if self._is_meant(name, set(keys[:rest]) - TITLES, line) else None

    def _is_meant(self, name: str, own: set[str], line: int) -> bool:
        """Whether the pronoun that a line begins with stands for a name: the nearest before it for which it can."""
        pronoun, gender = self.source.lines[line].keys[0], None
        if pronoun in _OF_ONE:
            gender = gender_of(pronoun)
            if self._cast.gender(name) not in (None, gender):
                return False
        left = _BACK
        for at in range(line - 1, -1, -1):
            near = self.source.lines[at]
            if near.text != self.source.lines[line].text or not left:
                return False
            if own.intersection(near.keys):
                return True
            if gender and any(one.gender == gender for one in self._cast.mentions(self.source.text_of(at))):
                return False
            # A sentence that goes on with the same "he" is no step further from whom it means.
            goes_on = gender and near.keys[0] in _OF_ONE and gender_of(near.keys[0]) == gender
            left -= not goes_on
        return False

    @cached_property
    def _cast(self) -> Cast:
        return Cast([self.source.text_of(at) for at in range(len(self.source.lines))])

    def _contradicted(self, sentence: str, found: Sequence[Word], known: Sequence[Detail], laid: Match) -> Held | None:
        """What a line that says the same has otherwise."""
        keys, there = [word.key for word in found], self.source.lines[laid.line].keys
        for first, end, other_first, other_end in _replaced(laid, len(keys)):
            here, beyond = keys[first:end], there[other_first:other_end]
            if instead := self._other_detail(known, laid.line, (first, end), (other_first, other_end), found):
                kind, own, its = instead
                return Held("contradicted", laid.line, wrong=kind, own=sentence[own.start : own.end], its=its)
            told, its_told = _telling(here), _telling(beyond)
            if len(told) == len(its_told) == 1 and frozenset((told[0], its_told[0])) in _opposites():
                own_word, its_word = found[first + here.index(told[0])], beyond.index(its_told[0]) + other_first
                word = self.source.words_of(laid.line)[its_word]
                its = self.source.text_of(laid.line)[word.start : word.end]
                own_text = sentence[own_word.start : own_word.end]
                return Held("contradicted", laid.line, wrong="opposite", own=own_text, its=its)
        if _is_denied(keys, there, laid):
            return Held("contradicted", laid.line, wrong="negation", own=sentence, its=self.source.text_of(laid.line))
        return None

    def _other_detail(
        self,
        known: Sequence[Detail],
        line: int,
        span: tuple[int, int],
        other: tuple[int, int],
        found: Sequence[Word],
    ) -> tuple[Literal["name", "number"], Detail, str] | None:
        """The name or number of the sentence that stands where the line has another, and nothing else differs there."""
        there, text = self.source.lines[line].keys, self.source.text_of(line)
        keys = [word.key for word in found]
        for detail in known:
            own = keys[max(span[0], detail.first) : min(span[1], detail.last + 1)]
            if not own or _says_more(keys[slice(*span)], own):
                continue
            for its in self.source.details_of(line):
                instead = there[max(other[0], its.first) : min(other[1], its.last + 1)]
                if detail.kind == "number" and amounts(own) == amounts(instead):
                    continue
                if not instead or its.kind != detail.kind or _says_more(there[slice(*other)], instead):
                    continue
                # "Mr. Crane" may be Matthias Crane, and is not Mrs. Crane.
                if TITLES.issuperset(own) != TITLES.issuperset(instead):
                    continue
                if not _alike(own, instead) and not (its.kind == "name" and self._may_be_one(own, instead)):
                    return detail.kind, detail, text[its.start : its.end]
        return None

    def _may_be_one(self, one: Sequence[str], other: Sequence[str]) -> bool:
        """Whether the texts have both in one name, as "Hester" and "Miss Vane", or one is the letters of the other."""
        if _is_short_for(one, other) or _is_short_for(other, one):
            return True
        first, second = set(one) - TITLES, set(other) - TITLES
        return any(first & name and second & name for name in map(set, self._names))

    @cached_property
    def _names(self) -> list[tuple[str, ...]]:
        """The names of more than one word in the texts."""
        lines = self.source.lines
        return [
            tuple(lines[at].keys[one.first : one.last + 1])
            for at in range(len(lines))
            for one in self.source.details_of(at)
            if one.kind == "name" and one.last > one.first
        ]

    def _strange(self, sentence: str, found: Sequence[Word], known: Sequence[Detail]) -> str:
        """A name or figure of the sentence that the texts do not have; all of it where they have no word of it."""
        telling = [word.key for word in found if carries(word.key) and not is_negation(word.key)]
        if len(telling) >= _FEWEST_STRANGE and not any(key in self.source for key in telling):
            return sentence
        for detail in known:
            own = [found[at] for at in range(detail.first, detail.last + 1)]
            if detail.kind == "number":
                if any(self._has_no_figure(word.key) for word in own):
                    return sentence[detail.start : detail.end]
            elif any(at and self._has_no_name(sentence, found[at]) for at in range(detail.first, detail.last + 1)):
                return sentence[detail.start : detail.end]
        return ""

    def _has_no_figure(self, key: str) -> bool:
        """Whether a number of at least two figures is nowhere, be it in words, nor is part of one."""
        if not key.isdigit() or len(key) < _FEWEST_FIGURES or key in self.source:
            return False
        return not any(key in known for known in self._figures)

    def _has_no_name(self, sentence: str, word: Word) -> bool:
        spelt = sentence[word.start : word.end].casefold()
        if word.key in self.source or word.key in TITLES or spelt in self._folded:
            return False
        if word.key in map(_initials, self._names):
            return False
        alike = [known for known in self._spelt if known[0] == spelt[0]]
        return not get_close_matches(spelt, alike, 1, _MISSPELT)

    @cached_property
    def _folded(self) -> str:
        return self._text.casefold()

    @cached_property
    def _spelt(self) -> frozenset[str]:
        return frozenset(_CAPITAL.findall(self._folded))

    @cached_property
    def _figures(self) -> frozenset[str]:
        """The figures in the texts, and those of their numbers in words."""
        keys = [word.key for line in self.source.lines for word in line.words]
        runs = (list(run) for numbers, run in groupby(keys, is_number) if numbers)
        return frozenset(_FIGURES.findall(self._text)).union(*map(amounts, runs))


@lru_cache(maxsize=4)
def ground_of(texts: tuple[str, ...]) -> Ground:
    """The texts read; those read last are kept, since one document is asked about again and again."""
    return Ground(texts)


def _dotted(sentence: str, found: Sequence[Word], held: Sequence[int]) -> str:
    """The sentence with dots for the words that are not borne out."""
    if len(held) == len(found):
        return sentence
    pieces: list[str] = [] if held and held[0] == 0 else [_DOTS]
    first = 0
    for at in range(1, len(held) + 1):
        if at == len(held) or held[at] != held[at - 1] + 1:
            pieces += [sentence[found[held[first]].start : found[held[at - 1]].end], _DOTS]
            first = at
    return " ".join(pieces[:-1] if held and held[-1] == len(found) - 1 else pieces)


def _replaced(laid: Match, length: int) -> Iterator[tuple[int, int, int, int]]:
    """Which words of the sentence stand where the line has which others; at either end, as many as the sentence has.

    A sentence that leaves out how the line begins or goes on says nothing else for that.
    """
    for step, first, end, other_first, other_end in laid.steps:
        if step == "replace":
            size = max(end - first, 1)
            if end == length:
                other_end = min(other_end, other_first + size)
            elif first == 0:
                other_first = max(other_first, other_end - size)
            yield first, end, other_first, other_end


def _is_denied(keys: Sequence[str], there: Sequence[str], laid: Match) -> bool:
    """Whether one of the two says "not" where the other, in the same words, does not."""
    equal = [step for step in laid.steps if step[0] == "equal"]
    if not equal:
        return False
    start, end = equal[0][3], equal[-1][4]
    odd = (sum(map(is_negation, keys)) - sum(map(is_negation, there[start:end]))) % 2
    if not odd:
        return False
    for step, first, last, other_first, other_last in laid.steps:
        here, beyond = keys[first:last], there[other_first:other_last]
        turned = any(map(is_negation, here)) != any(map(is_negation, beyond))
        within = start <= other_first and other_last <= end
        only = step == "replace" and any(len(side) == 1 and is_negation(side[0]) for side in (here, beyond))
        if step != "equal" and turned and within and (only or not (_telling(here) or _telling(beyond))):
            return True
    return False


def _telling(keys: Sequence[str]) -> list[str]:
    return [
        key for key in keys if (carries(key) or key in _pronouns()) and not is_negation(key) and key not in _HELPERS
    ]


def _says_more(keys: Sequence[str], apart_from: Sequence[str]) -> bool:
    """Whether there is more than little words besides, as where "Harry Kane" stands for "the English striker"."""
    return any(carries(key) for key in keys if key not in apart_from)


def _alike(own: Sequence[str], its: Sequence[str]) -> bool:
    """Whether two names or numbers may be one, as "Sam" and "Samuel" are."""
    return any(
        here == there or (here.isalpha() and there.isalpha() and here[:_ALIKE_FROM] == there[:_ALIKE_FROM])
        for here in own
        for there in its
        if here == there or min(len(here), len(there)) >= _ALIKE_FROM
    )


def _is_short_for(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one is made of the first letters of the other, as EU is of European Union, and J. R. of Josiah Rudd."""
    letters = len(one) == 1 or all(len(key) == 1 for key in one)
    return len(other) > 1 and letters and "".join(one) == _initials(other)


def _initials(name: Sequence[str]) -> str:
    return "".join(key[0] for key in name if carries(key))


@lru_cache(maxsize=1)
def _opposites() -> frozenset[frozenset[str]]:
    return frozenset(frozenset(word.key for word in words(pair)) for pair in _OPPOSITES.split(","))


@lru_cache(maxsize=1)
def _pronouns() -> frozenset[str]:
    return frozenset(key for pair in _opposites() for key in pair if not carries(key))
