"""The text that the sentences of a summary come from: which of them may stand elsewhere, and how central they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import fsum, log
from typing import NamedTuple

import numpy as np

from redraft.builtin.cast import Cast
from redraft.builtin.composing import centrality, standing_alone
from redraft.builtin.pointing import pointers
from redraft.builtin.prose import LAST_RESORT, Sentence, finish, plain, read
from redraft.text.languages import is_foreign, language_of
from redraft.text.sentences import ends_sentence, sentences
from redraft.text.vectors import Indices, SentenceVectors, Weights
from redraft.text.wording import carries, keys, pairs

# With a smaller share of its telling words no sentence is about the same thing.
_ALIKE = 0.4
# Who is named within so many sentences of another is in one scene with it.
_SCENE = 15


class Placed(NamedTuple):
    """A sentence of a text: its number there, if it has one; as it may stand elsewhere; and as it stands there."""

    at: int | None
    text: str
    was: str


class Origin:
    """Some texts, read once. Sentences are known by the keys of their words, however they are marked and spaced."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._known = _read(tuple(texts), language_of("\n".join(texts)))
        self.lines, self.cast = self._known.lines, self._known.cast

    @property
    def language(self) -> str:
        """Which the texts are in."""
        return self._known.language

    def alone(self) -> Iterator[tuple[int, Sentence]]:
        """The sentences that may stand elsewhere by themselves, as they may stand there, each behind its number."""
        for at, one in enumerate(self._known.alone):
            if one.standing > LAST_RESORT and self._known.needs[at] < 0:
                yield at, one

    def find(self, sentence: str) -> int | None:
        """Where a sentence stands."""
        return self._known.numbers.get(tuple(keys(sentence, self.language)))

    def position(self, sentence: str) -> int:
        """Where a sentence stands, or the one that is most like it; behind all where none is."""
        found = self.find(sentence)
        if found is None:
            found = self.nearest(sentence, at_least=0.0)
        return len(self.lines) if found is None else found

    def nearest(self, sentence: str, at_least: float = _ALIKE) -> int | None:
        """The sentence about the same thing; None where there is none."""
        if not self.lines:
            return None
        likeness = self._known.vectors.similarity_to(sentence)
        best = int(np.argmax(likeness))
        language = self.language
        told = {key for key in keys(sentence, language) if carries(key, language)}
        share = len(told.intersection(keys(self.lines[best].text, language))) / (len(told) or 1)
        return best if likeness[best] and share >= at_least else None

    def worth_of(self, at: int | None) -> float:
        """How central a sentence is."""
        return float(self._known.worth[at]) if at is not None and at < len(self.lines) else 0.0

    def points(self, sentence: str) -> bool:
        """Whether a sentence needs the one before it."""
        return not is_foreign(self.language) and bool(pointers(sentence, self.cast))

    def is_near(self, name: str, at: int) -> bool:
        """Whether somebody is named near a sentence, by whichever part of the name."""
        scene = " ".join(one.text for one in self.lines[max(0, at - _SCENE) : at + _SCENE + 1])
        return any(part in scene for part in name.split())

    def recurrent(self, text: str) -> float:
        """How much a text has of what is said again and again: the logarithms of how often each pair of words is."""
        often = self._known.pairs
        return fsum(log(often[pair]) for pair in set(pairs(keys(text, self.language))) if pair in often)

    def group(self, at: int) -> list[Placed]:
        """A sentence behind those that it needs; nothing where it would lose its meaning."""
        alone, needs = self._known.alone, self._known.needs
        if alone[at].standing <= LAST_RESORT:
            return []
        numbers = [at]
        while needs[numbers[0]] >= 0:
            numbers.insert(0, int(needs[numbers[0]]))
        return [Placed(n, alone[n].text, self.lines[n].text) for n in numbers]

    def quoted(self, evidence: str) -> list[list[Placed]]:
        """The sentences of a quotation that may stand elsewhere, each behind those that it needs."""
        found: list[list[Placed]] = []
        other: Origin | None = None
        for span in sentences(evidence):
            text = plain(evidence[span.start : span.end])
            # A heading, or the rest of a line, is nothing to put into a summary.
            if not ends_sentence(text) or text[:1].islower():
                continue
            at = self.find(text)
            if at is not None:
                found.append(self.group(at))
                continue
            other = other or Origin([evidence])
            at = other.find(finish(text, self.language))
            group = other.group(at) if at is not None else []
            found.append([one._replace(at=None) for one in group])
        return [group for group in found if group]


class _Known(NamedTuple):
    """What is known of some texts."""

    lines: list[Sentence]
    alone: list[Sentence]
    """The same as they may stand elsewhere."""
    needs: Indices
    """The sentence that each has to stand behind, or -1."""
    vectors: SentenceVectors
    worth: Weights
    cast: Cast
    pairs: Counter[tuple[str, str]]
    """How often each pair of neighbouring words is there of which one says something by itself."""
    numbers: dict[tuple[str, ...], int]
    language: str


@lru_cache(maxsize=4)
def _read(texts: tuple[str, ...], language: str) -> _Known:
    """What is known of some texts. It is kept, as a draft is revised round by round."""
    lines = read(texts, language)
    alone, needs = standing_alone(lines, language)
    vectors = SentenceVectors([one.text for one in alone])
    worth = centrality(vectors, alone) if alone else np.zeros(0)
    said = [tuple(keys(one.text, language)) for one in lines]
    numbers = {own: at for at, own in reversed(list(enumerate(said)))}
    for at, one in enumerate(alone):
        numbers.setdefault(tuple(keys(one.text, language)), at)
    often = Counter(pair for own in said for pair in pairs(own) if any(carries(key, language) for key in pair))
    cast = Cast([one.text for one in lines if not one.spoken])
    return _Known(lines, alone, needs, vectors, worth, cast, often, numbers, language)
