"""Maps the sentences of a text to the places in its parents that say the same, and measures how these are spread."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from math import exp, lgamma, log
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from redraft.document import Span
from redraft.text.languages import LanguageSpan, language_of, language_spans_beside
from redraft.text.sentences import sentences
from redraft.text.vectors import Embeddings, Encoder
from redraft.text.word_keys import Word, carries, has_unspaced, keys, words

Method = Literal["quotation", "words", "embedding", "judge"]
"""What a link is based on: the same words in order, the same telling words, a similar meaning, a model's reply, or a
judge's quote."""

MAX_PLACES = 3
"""The most places that a sentence is traced to."""


@dataclass(frozen=True, slots=True)
class Link:
    """A place that a sentence comes from."""

    text: int
    """The index of the parent."""
    span: Span
    """The sentences there, or the quoted words."""
    weight: float
    """The share of the sentence that this place and better ones support, from 0 to 1."""
    method: Method


@dataclass(frozen=True, slots=True)
class SentenceOrigin:
    """A sentence of a text, and where it comes from."""

    span: Span
    """The sentence's span in its own text."""
    links: tuple[Link, ...] = ()
    """The best first, at most three; empty if no parent supports it, so that it counts as invented."""
    margin: float = 0.0
    """The lead of the best place over the others, or how far below the floor the sentence is, from 0 to 1."""


def links_to_json(found: Sequence[SentenceOrigin]) -> str:
    """Return origins in their stored form."""
    return json.dumps(
        [
            [*origin.span, origin.margin, [[link.text, *link.span, link.weight, link.method] for link in origin.links]]
            for origin in found
        ]
    )


def links_from_json(kept: str) -> tuple[SentenceOrigin, ...]:
    """Return origins from their stored form."""
    return tuple(
        SentenceOrigin(
            Span(start, end),
            tuple(Link(text, Span(first, last), weight, method) for text, first, last, weight, method in links),
            margin,
        )
        for start, end, margin, links in json.loads(kept)
    )


Numbers = npt.NDArray[np.int64]

# A draft is traced to its pieces and to the document, and each piece to its own parents.
_KEPT = 32
# Fewer words in sequence are not a quotation, unless they are a whole sentence.
_QUOTED = 4
# A longer sentence without a full stop is divided into places of this many words.
_LONGEST, _CUT = 120, 60


class Index:
    """The sentences of one text that have words, by the keys of these; built in linear time."""

    def __init__(self, text: str, language_spans: Sequence[LanguageSpan]) -> None:
        self._text = text
        split = [(language, sentences(text, span, language)) for span, language in language_spans]
        # Sentences are processed one by one, as in a search, since context changes how words are split.
        self.sentences = [span for _, spans in split for span in spans]
        """All sentences of the text, with or without words."""
        by_language = [
            (each, [place for span in spans for place in _places(text, span, each)]) for each, spans in split
        ]
        read = [place for _, places in by_language for place in places]
        self.languages = [language for language, places in by_language for _ in places]
        """The language of each sentence with words."""
        keys = [[word.key for word in place.words] for place in read]
        flat = [key for some in keys for key in some]
        begins = np.repeat([place.begin for place in read], list(map(len, keys))).astype(np.int64)
        words_at = chain.from_iterable((word.start, word.end) for place in read for word in place.words)
        self._words = np.fromiter(words_at, dtype=np.int64, count=2 * len(flat)).reshape(-1, 2) + begins[:, None]
        self._joined = f" {' '.join(flat)} "
        lengths = np.fromiter(map(len, flat), dtype=np.int64, count=len(flat)) + 1
        self._begin = np.cumsum(lengths) - lengths
        """The offset of each word in the joined words, counted from the space before it."""
        self.spans: list[Span] = [place.span for place in read]
        """The sentences with words; overlong ones in pieces."""
        self._firsts = np.cumsum([0, *map(len, keys)])
        """The first word of each sentence, and the end of the last."""
        self._numbers: dict[str, int] = {}
        self._ordered, self._starts = self._postings(list(map(terms, keys)) if has_unspaced(text) else keys)

    def __len__(self) -> int:
        return len(self.spans)

    def _postings(self, held: Sequence[Sequence[str]]) -> tuple[Numbers, Numbers]:
        """Return the postings of all terms, and where those of each begin."""
        count, numbers = max(1, len(self.spans)), self._numbers
        each = (numbers.setdefault(one, len(numbers)) for some in held for one in some)
        flat = np.fromiter(each, dtype=np.int64)
        lines = np.repeat(np.arange(len(self.spans)), [len(some) for some in held])
        ofs, ordered = np.divmod(np.unique(flat * count + lines), count)
        return ordered, np.searchsorted(ofs, np.arange(len(numbers) + 1))

    @property
    def texts(self) -> list[str]:
        """Return the original texts of the sentences."""
        return [self._text[span.start : span.end] for span in self.spans]

    def at(self, place: int) -> int:
        """Return the first sentence that ends after an offset."""
        return bisect_right(self.spans, place, key=lambda span: span.end)

    def stretch(self, first: int, after: int, longest: int) -> Span:
        """Return the sentences from the first on, before `end`, with at most this many characters."""
        start, end = self.spans[first]
        for span in self.spans[first + 1 : after]:
            if span.end - start > longest:
                break
            end = span.end
        return Span(start, end)

    def holding(self, term: str) -> Numbers:
        """Return the sentences that have a term, in order."""
        number = self._numbers.get(term)
        return self._ordered[:0] if number is None else self._ordered[self._starts[number] : self._starts[number + 1]]

    def quotations(self, sought: Sequence[str], most: int) -> list[Span]:
        """Return up to this many places where these words occur in sequence."""
        spans: list[Span] = []
        wanted = f" {' '.join(sought)} "
        at = self._joined.find(wanted) if sought else -1
        while at >= 0 and len(spans) < most:
            first = int(np.searchsorted(self._begin, at))
            end = first + len(sought)
            if len(sought) >= _QUOTED or self._is_sentence(first, end):
                spans.append(Span(int(self._words[first, 0]), int(self._words[end - 1, 1])))
            at = self._joined.find(wanted, at + 1)
        return spans

    def _is_sentence(self, first: int, end: int) -> bool:
        line = int(np.searchsorted(self._firsts, first))
        return line < len(self) and self._firsts[line] == first and self._firsts[line + 1] == end


class _SentencePlace(NamedTuple):
    """A sentence, or a piece of one; its words, and their base offset."""

    span: Span
    words: list[Word]
    begin: int


def _places(text: str, span: Span, language: str) -> Iterator[_SentencePlace]:
    """Yield a sentence with words; an overlong one in pieces."""
    found = words(text[span.start : span.end], language)
    if len(found) <= _LONGEST:
        yield from [_SentencePlace(span, found, span.start)] if found else []
        return
    for first in range(0, len(found), _CUT):
        piece = found[first : first + _CUT]
        yield _SentencePlace(Span(span.start + piece[0].start, span.start + piece[-1].end), piece, span.start)


def terms(keys: Sequence[str]) -> list[str]:
    """Return the search terms of a sentence; in scripts without spaces also pairs of letters."""
    together = (one + other for one, other in pairwise(keys) if len(one) == len(other) == 1)
    return [*keys, *(pair for pair in together if has_unspaced(pair[0]) and has_unspaced(pair[1]))]


def telling(keys: Sequence[str], language: str) -> list[str]:
    """Return a sentence's distinct telling terms."""
    return [one for one in dict.fromkeys(terms(keys)) if carries(one, language)]


@lru_cache(maxsize=_KEPT)
def indexed(text: str, language_spans: tuple[LanguageSpan, ...]) -> Index:
    """Return the index of a text; recent ones are cached."""
    return Index(text, language_spans)


Scores = npt.NDArray[np.float64]

# Fitted on one half of benchmarks/lineage.py, and evaluated on the other: 95 of 100 planted inventions stay below, and
# three of 1,000 copied, reworded or fused sentences.
MIN_SUPPORT = 0.23
"""The least support of a sentence that comes from somewhere."""
MIN_SUPPORT_EMBEDDED = 0.28
"""The least support if meanings are compared as well."""
# The least support that a further place adds.
_ADDS = 0.1
# The decay of words in neighbouring sentences.
_AROUND = (1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.2, 0.1)
_GAP = len(_AROUND)
# Of sentences equally near to the content, the one that contains it is preferred.
_ITSELF = 0.2
# The chance match grows with the logarithm of the number of sentences, times this.
_CHANCE = 2.0
# The weight of similar meaning relative to shared words.
_MEANING = 0.5
_QUOTATIONS = 2
_MAX_WORDS = 100


class SentenceMatch(NamedTuple):
    """The match of a sentence with every place: the weight of each telling word, and how well each place supports each
    word."""

    worth: Scores
    near: Scores
    against: Scores
    """For each place the total weight, plus what matches by chance."""
    alike: Scores | None = None
    """The similarity in meaning of each place, if meanings are compared."""

    def support(self, left: Scores) -> Scores:
        """Return how much of the sentence each place supports; `left` is the share of each word that is still open."""
        found: Scores = (self.worth * left) @ self.near / self.against
        return found

    def support_with_meaning(self, left: Scores) -> Scores:
        """Return the support including meaning, weighted by the share of words still open."""
        if self.alike is None:
            return self.support(left)
        worth = float(self.worth.sum())
        share = float(self.worth @ left) / worth if worth else 1.0
        found: Scores = (self.support(left) + _MEANING * share * self.alike) / (1 + _MEANING)
        return found


class _Keys(NamedTuple):
    """The words of a text in the form in which they are compared in a language."""

    language: str
    keys: list[str]


class _LanguageMatch(NamedTuple):
    """A match with the places of one language."""

    worth: Scores
    near: Scores
    chance: float
    there: slice | npt.NDArray[np.bool_]


class OriginTracer:
    """Traces sentences to places in some texts.

    An encoder gets all sentences of one parent at a time, in order, so that it can cache them. The time is proportional
    to the sentences times those that share a word.
    """

    def __init__(self, parents: Sequence[str], encoder: Encoder | None = None) -> None:
        language_spans = language_spans_beside(parents)
        self.indexes = [indexed(parent, its) for parent, its in zip(parents, language_spans, strict=True)]
        self._languages = tuple(dict.fromkeys(span.language for its in language_spans for span in its)) or (
            language_of(""),
        )
        """The parents' languages, in which the text is processed, since a short one may not show its own."""
        self._encoder = encoder
        self._starts = np.cumsum([0, *(len(index) + _GAP for index in self.indexes)])
        """The first sentence of each parent, with the sentences of all in one row."""
        self._count = sum(map(len, self.indexes))
        self._read_by = self._places_by_language() if len(self._languages) > 1 else {}
        """The places of each language, if there are several."""
        self._embedded = self._rows(encoder) if encoder and self._count else None

    def _rows(self, encoder: Encoder) -> Embeddings:
        found = [encoder.encode(index.texts) for index in self.indexes]
        width = max(rows.shape[1] for rows in found)
        made = np.zeros((int(self._starts[-1]), width), dtype=np.float32)
        for start, rows in zip(self._starts, found, strict=False):
            if len(rows):
                made[start : start + len(rows)] = rows
        return made

    def _places_by_language(self) -> dict[str, npt.NDArray[np.bool_]]:
        found = {language: np.zeros(int(self._starts[-1]), dtype=np.bool_) for language in self._languages}
        for start, index in zip(self._starts, self.indexes, strict=False):
            for at, language in enumerate(index.languages):
                found[language][start + at] = True
        return found

    def _keys(self, text: str) -> list[_Keys]:
        """Return the keys of a text in each language; empty if it has no words."""
        found = [_Keys(language, keys(text, language)) for language in self._languages]
        return found if any(one.keys for one in found) else []

    def trace(self, child: str) -> tuple[SentenceOrigin, ...]:
        """Return each sentence of a text that has words, in order, with its origins."""
        spans = sentences(child)
        read = [(span, found) for span in spans if (found := self._keys(child[span.start : span.end]))]
        like = self._alike([child[span.start : span.end] for span, _ in read])
        return tuple(self._traced(span, found, alike) for (span, found), alike in zip(read, like, strict=True))

    def _alike(self, texts: Sequence[str]) -> list[Scores] | list[None]:
        """Return the similarities in meaning of every place with some texts; empty without an encoder."""
        if self._embedded is None or self._encoder is None or not texts:
            return [None] * len(texts)
        return list(np.maximum(self._encoder.encode(texts) @ self._embedded.T, 0.0).astype(np.float64))

    def _traced(self, span: Span, words: Sequence[_Keys], alike: Scores | None) -> SentenceOrigin:
        quoted = self._quoted(words)
        if quoted:
            return SentenceOrigin(span, quoted[:1], float(len(quoted) == 1))
        told = _telling(words)
        if not any(one.keys for one in told) or not self._count:
            return SentenceOrigin(span)
        sought = self._sought(told, alike)
        everything = np.ones(len(sought.worth))
        said, whole = sought.support(everything), sought.support_with_meaning(everything)
        floor = MIN_SUPPORT if alike is None else MIN_SUPPORT_EMBEDDED
        best = int(np.argmax(whole))
        if whole[best] < floor:
            return SentenceOrigin(span, (), float(1 - whole[best] / floor))
        method: Method = "words" if said[best] >= MIN_SUPPORT or alike is None else "embedding"
        links = (
            self._link(best, float(whole[best]), method),
            *(self._link(at, float(whole[at]), "words") for at in self._further(sought, best)),
        )
        return SentenceOrigin(span, links, self._margin(whole, best))

    def _quoted(self, words: Sequence[_Keys]) -> tuple[Link, ...]:
        """Return the places where the sentence is quoted."""
        found = (
            Link(text, place, 1.0, "quotation")
            for text, index in enumerate(self.indexes)
            for said in dict.fromkeys(tuple(word.keys) for word in words)
            for place in index.quotations(said, _QUOTATIONS)
        )
        return tuple(dict.fromkeys(found))[:_QUOTATIONS]

    def _sought(self, words: Sequence[_Keys], alike: Scores | None) -> SentenceMatch:
        """Return the match of a sentence in each language."""
        parts = [self._sought_in(word) for word in words]
        against = np.ones(int(self._starts[-1]))
        for part in parts:
            against[part.there] = part.worth.sum() + part.chance or 1.0
        return SentenceMatch(
            np.concatenate([match.worth for match in parts]), np.vstack([match.near for match in parts]), against, alike
        )

    def _sought_in(self, words: _Keys) -> _LanguageMatch:
        there = self._read_by.get(words.language)
        count = self._count if there is None else max(1, int(there.sum()))
        held = [
            np.concatenate(
                [index.holding(word) + start for index, start in zip(self.indexes, self._starts, strict=False)]
            )
            for word in words.keys
        ]
        if there is not None:
            held = [places[there[places]] for places in held]
        # For overlong sentences the rarest words suffice.
        held = sorted(held, key=len)[:_MAX_WORDS]
        near = np.zeros((len(held), int(self._starts[-1])))
        for row, places in zip(near, held, strict=True):
            self._spread(row, places)
        if there is not None:
            near[:, ~there] = 0.0
        worth = np.array([log((count + 1) / (len(places) + 0.5)) for places in held])
        return _LanguageMatch(worth, near, _CHANCE * log(count), slice(None) if there is None else there)

    def _spread(self, row: Scores, held: Numbers) -> None:
        for distance in range(len(_AROUND) - 1, -1, -1):
            weight = (1 - _ITSELF) * _AROUND[distance] + _ITSELF * (distance == 0)
            # The neighbours of the first and last sentence are empty places.
            for beside in (held + distance, held - distance):
                row[beside] = np.maximum(row[beside], weight)
        for start in self._starts[1:]:
            row[start - _GAP : start] = 0.0

    def _further(self, sought: SentenceMatch, first: int) -> Iterator[int]:
        """Return the places that support what those before them do not."""
        left = np.ones(len(sought.worth))
        at = first
        for _ in range(MAX_PLACES - 1):
            left = np.minimum(left, 1 - sought.near[:, at])
            gains = sought.support(left)
            at = int(np.argmax(gains))
            if gains[at] < _ADDS:
                return
            yield at

    def _link(self, at: int, weight: float, method: Method) -> Link:
        text = int(np.searchsorted(self._starts, at, side="right")) - 1
        return Link(text, self.indexes[text].spans[at - int(self._starts[text])], min(1.0, weight), method)

    def _margin(self, whole: Scores, best: int) -> float:
        """Return the lead of the best place over those not adjacent to it."""
        others = max(whole[: max(0, best - _GAP)].max(initial=0.0), whole[best + _GAP + 1 :].max(initial=0.0))
        return float(1 - others / whole[best]) if whole[best] > 0 else 0.0


def _telling(words: Sequence[_Keys]) -> list[_Keys]:
    return [_Keys(word.language, telling(word.keys, word.language)) for word in words]


POINTS = 50
"""The number of evenly spread points of the density."""
# The least bandwidth: a sentence is also about its surroundings.
_NARROWEST = 0.02


class OriginMass(NamedTuple):
    """The share of a text that comes from a place, given by its middle, from 0 to 1."""

    at: float
    share: float


def masses(traced: Sequence[SentenceOrigin], length: int) -> list[OriginMass]:
    """Return the places of the traced sentences; each sentence counts one, divided among its places."""
    return [
        OriginMass(
            (link.span.start + link.span.end) / 2 / length, link.weight / sum(other.weight for other in origin.links)
        )
        for origin in traced
        for link in origin.links
    ]


def shares(found: Sequence[OriginMass], parts: Sequence[tuple[float, float]]) -> list[float]:
    """Return the share of the traced content that comes from each part, given by begin and end, from 0 to 1."""
    whole = sum(mass.share for mass in found) or 1.0
    return [sum(mass.share for mass in found if start <= mass.at < end) / whole for start, end in parts]


def bins(count: int) -> list[tuple[float, float]]:
    """Return this many parts of equal length."""
    return [(at / count, (at + 1) / count) for at in range(count)]


def parts_of(spans: Sequence[Span], length: int) -> list[tuple[float, float]]:
    """Return spans of a document as parts of it."""
    return [(span.start / length, span.end / length) for span in spans]


def spread(found: Sequence[OriginMass], parts: int) -> float | None:
    """Return the entropy over this many equal parts, relative to an even spread; None for fewer than two."""
    if parts < 2:
        return None
    told = [share for share in shares(found, bins(parts)) if share > 0]
    return min(1.0, max(0.0, -sum(share * log(share) for share in told) / log(parts)))


def spread_by_chance(sentences: int, parts: int) -> float | None:
    """Return the mean spread of this many sentences from random places."""
    if parts < 2:
        return None
    one, other = log(1 / parts), log(1 - 1 / parts)
    ways = (lgamma(sentences + 1) - lgamma(many + 1) - lgamma(sentences - many + 1) for many in range(1, sentences + 1))
    held = sum(
        exp(way + many * one + (sentences - many) * other) * many * log(many) for many, way in enumerate(ways, 1)
    )
    return (log(sentences) - parts * held / sentences) / log(parts)


def density(found: Sequence[OriginMass]) -> list[float]:
    """Return the density along the document, 1 being the mean: a kernel estimate with Scott's bandwidth, reflected at
    the ends."""
    if not found:
        return []
    at, share = np.array(found).T
    share = share / share.sum()
    middle = float(share @ at)
    deviation = float(np.sqrt(share @ (at - middle) ** 2))
    width = max(_NARROWEST, deviation * len(found) ** -0.2)
    points = (np.arange(POINTS) + 0.5) / POINTS
    curve = np.zeros(POINTS)
    for mirrored in (at, -at, 2 - at):
        curve += np.exp(-(((points[:, None] - mirrored[None, :]) / width) ** 2) / 2) @ share
    heights: list[float] = (curve / curve.mean()).tolist()
    return heights
