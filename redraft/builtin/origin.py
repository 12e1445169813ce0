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
from redraft.text.vectors import SentenceVectors
from redraft.text.wording import carries, keys, pairs, telling

# With a smaller share of its telling words no sentence is about the same thing.
_ALIKE = 0.4


class Placed(NamedTuple):
    """A sentence of a text: its number there, if it has one; as it may stand elsewhere; and as it stands there."""

    at: int | None
    text: str
    was: str


class Origin:
    """Some texts, read once. Sentences are known by the keys of their words, however they are marked and spaced."""

    def __init__(self, texts: Sequence[str], language: str) -> None:
        self.language = language
        self.lines = read(texts, language)
        self.cast = Cast([one.text for one in self.lines if not one.spoken])
        # The same sentences as they may stand elsewhere.
        self._alone = standing_alone(self.lines, language)
        self._vectors = SentenceVectors([one.text for one in self._alone])
        self._worth = centrality(self._vectors, self._alone) if self._alone else np.zeros(0)
        said = [tuple(keys(one.text, language)) for one in self.lines]
        self._numbers = {own: at for at, own in reversed(list(enumerate(said)))}
        for at, one in enumerate(self._alone):
            self._numbers.setdefault(tuple(keys(one.text, language)), at)
        # How often each pair of neighbouring words is there of which one says something by itself.
        self._often = Counter(
            pair for own in said for pair in pairs(own) if any(carries(key, language) for key in pair)
        )

    def alone(self) -> Iterator[tuple[int, Sentence]]:
        """The sentences that may stand elsewhere by themselves, as they may stand there, each behind its number."""
        for at, one in enumerate(self._alone):
            if one.standing > LAST_RESORT:
                yield at, one

    def find(self, sentence: str) -> int | None:
        """Where a sentence stands."""
        return self._numbers.get(tuple(keys(sentence, self.language)))

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
        likeness = self._vectors.similarity_to(sentence)
        best = int(np.argmax(likeness))
        told = telling(sentence, self.language)
        share = len(told.intersection(keys(self.lines[best].text, self.language))) / (len(told) or 1)
        return best if likeness[best] and share >= at_least else None

    def is_parted(self, before: int, at: int) -> bool:
        """Whether a heading stands between two sentences, neither of them the first of all."""
        return before >= 0 and any(one.standing <= LAST_RESORT for one in self.lines[before + 1 : at])

    def worth_of(self, at: int | None) -> float:
        """How central a sentence is."""
        return float(self._worth[at]) if at is not None and at < len(self.lines) else 0.0

    def points(self, sentence: str) -> bool:
        """Whether a sentence needs the one before it."""
        return not is_foreign(self.language) and bool(pointers(sentence, self.cast))

    def recurrent(self, text: str) -> float:
        """How much a text has of what is said again and again: the logarithms of how often each pair of words is."""
        said = set(pairs(keys(text, self.language)))
        return fsum(log(self._often[pair]) for pair in said if pair in self._often)

    def placed(self, at: int) -> Placed | None:
        """A sentence as it may stand elsewhere; None where it would lose its meaning."""
        known = self._alone[at].standing > LAST_RESORT
        return Placed(at, self._alone[at].text, self.lines[at].text) if known else None

    def quoted(self, evidence: str) -> Iterator[Placed]:
        """The sentences of a quotation that may stand elsewhere."""
        for span in sentences(evidence):
            text = plain(evidence[span.start : span.end])
            # A heading, or the rest of a line, is nothing to put into a summary.
            if not ends_sentence(text) or text[:1].islower():
                continue
            if (at := self.find(text)) is not None:
                found = self.placed(at)
            else:
                other = origin_of([evidence])
                at = other.find(finish(text, self.language))
                found = other.placed(at) if at is not None else None
                found = found and found._replace(at=None)
            if found:
                yield found


def origin_of(texts: Sequence[str]) -> Origin:
    """What is known of some texts. It is kept, as a draft is revised round by round."""
    return _read(tuple(texts), language_of("\n".join(texts)))


_read = lru_cache(maxsize=4)(Origin)
