"""Maps the sentences of a text to the places in its parents that say the same, and measures how these are spread."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import exp, lgamma, log
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from redraft.document import Span
from redraft.text.languages import LanguageSpan, language_of, language_spans_beside
from redraft.text.sentences import sentences
from redraft.text.vectors import Embeddings, Encoder
from redraft.text.word_keys import carries, keys, words
from redraft.text.words import has_unspaced

Method = Literal["quotation", "words", "embedding", "judge"]
"""What a link is based on: the same words in order, the same telling words, a similar meaning, a model's reply, or a
judge's quote."""

MAX_PLACES = 3
"""The most places that a sentence is traced to."""


class Link(NamedTuple):
    """A place that a sentence comes from."""

    text: int
    """The index of the parent."""
    span: Span
    """The sentences there, or the quoted words."""
    weight: float
    """The share of the sentence that this place and better ones support, from 0 to 1."""
    method: Method


class SentenceOrigin(NamedTuple):
    """A sentence of a text, and where it comes from."""

    span: Span
    """The sentence's span in its own text."""
    links: tuple[Link, ...] = ()
    """The best first, at most three; empty if no parent supports it, so that it counts as invented."""
    margin: float = 0.0
    """The lead of the best place over the others, or how far below the floor the sentence is, from 0 to 1."""


# A draft is traced to its pieces and to the document, and each piece to its own parents.
_KEPT = 32
# Fewer words in sequence are not a quotation, unless they are a whole sentence.
_QUOTED = 4
# A longer sentence without a full stop is divided into places of this many words.
_LONGEST, _CUT = 120, 60


class Index:
    """The sentences of one text that have words, by the keys of these; built in linear time."""

    def __init__(self, text: str, language_spans: Sequence[LanguageSpan]) -> None:
        self.sentences: list[Span] = []
        """All sentences of the text, with or without words."""
        self.spans: list[Span] = []
        """The sentences with words; overlong ones in pieces."""
        self.languages: list[str] = []
        """The language of each sentence with words."""
        self.postings: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
        """The sentences that have each term, in order."""
        self._starts, self._ends = array("q"), array("q")
        """Where each word starts and ends."""
        self._firsts = array("q", [0])
        """The first word of each sentence, and the end of the last."""
        keys: list[str] = []
        search_terms = terms if has_unspaced(text) else list
        for span, language in language_spans:
            # Sentences are processed one by one, as in a search, since context changes how words are split.
            for sentence in sentences(text, span, language):
                self.sentences.append(sentence)
                every = words(text[sentence.start : sentence.end], language)
                size = _CUT if len(every) > _LONGEST else _LONGEST
                for piece in (every[first : first + size] for first in range(0, len(every), size)):
                    cut = Span(sentence.start + piece[0].start, sentence.start + piece[-1].end)
                    place = sentence if size == _LONGEST else cut
                    piece_keys = [word.key for word in piece]
                    for term in dict.fromkeys(search_terms(piece_keys)):
                        self.postings[term].append(len(self.spans))
                    keys += piece_keys
                    self._starts.extend(sentence.start + word.start for word in piece)
                    self._ends.extend(sentence.start + word.end for word in piece)
                    self._firsts.append(len(keys))
                    self.spans.append(place)
                    self.languages.append(language)
        self._joined = f" {' '.join(keys)} "
        lengths = np.fromiter(map(len, keys), dtype=np.int64, count=len(keys)) + 1
        self._begin = np.cumsum(lengths) - lengths
        """The offset of each word in the joined words, counted from the space before it."""

    def quotations(self, sought: Sequence[str], limit: int) -> list[Span]:
        """Return up to this many places where these words occur in sequence."""
        spans: list[Span] = []
        phrase = f" {' '.join(sought)} "
        at = self._joined.find(phrase) if sought else -1
        while at >= 0 and len(spans) < limit:
            first = int(np.searchsorted(self._begin, at))
            end = first + len(sought)
            line = bisect_left(self._firsts, first)
            is_sentence = line < len(self.spans) and self._firsts[line] == first and self._firsts[line + 1] == end
            if len(sought) >= _QUOTED or is_sentence:
                spans.append(Span(self._starts[first], self._ends[end - 1]))
            at = self._joined.find(phrase, at + 1)
        return spans


def terms(keys: Sequence[str]) -> list[str]:
    """Return the search terms of a sentence; in scripts without spaces also pairs of letters."""
    together = (first + second for first, second in pairwise(keys) if len(first) == len(second) == 1)
    return [*keys, *(pair for pair in together if has_unspaced(pair[0]) and has_unspaced(pair[1]))]


indexed = lru_cache(maxsize=_KEPT)(Index)
"""Returns the index of a text in its language spans, given as a tuple; recent ones are cached."""

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


_Words = Mapping[str, Sequence[str]]
"""The words of a sentence by language, in the form in which they are compared in it."""


class OriginTracer:
    """Traces sentences to places in some texts.

    An encoder gets all sentences of one parent at a time, in order, so that it can cache them. The time is proportional
    to the sentences times those that share a word.
    """

    def __init__(self, parents: Sequence[str], encoder: Encoder | None = None) -> None:
        by_parent = language_spans_beside(parents)
        self.indexes = [indexed(parent, spans) for parent, spans in zip(parents, by_parent, strict=True)]
        languages = dict.fromkeys(span.language for spans in by_parent for span in spans)
        self._languages = tuple(languages) or (language_of(""),)
        """The parents' languages, in which the text is processed, since a short one may not show its own."""
        self._encoder = encoder
        self._starts = np.cumsum([0, *(len(index.spans) + _GAP for index in self.indexes)])
        """The first sentence of each parent, with the sentences of all in one row."""
        self._size = int(self._starts[-1])
        self._count = sum(len(index.spans) for index in self.indexes)
        self._places: dict[str, npt.NDArray[np.bool_]] = {}
        """The places of each language, if there are several."""
        for language in self._languages if len(self._languages) > 1 else ():
            self._places[language] = np.zeros(self._size, dtype=np.bool_)
            for start, index in zip(self._starts, self.indexes, strict=False):
                self._places[language][start : start + len(index.spans)] = [
                    name == language for name in index.languages
                ]
        self._embedded: Embeddings | None = None
        if encoder and self._count:
            by_parent_rows = [
                encoder.encode([parent[span.start : span.end] for span in index.spans])
                for parent, index in zip(parents, self.indexes, strict=True)
            ]
            width = max(part.shape[1] for part in by_parent_rows)
            self._embedded = np.zeros((self._size, width), dtype=np.float32)
            for start, part in zip(self._starts, by_parent_rows, strict=False):
                if len(part):
                    self._embedded[start : start + len(part)] = part

    def trace(self, child: str) -> tuple[SentenceOrigin, ...]:
        """Return each sentence of a text that has words, in order, with its origins."""
        words_of: dict[Span, _Words] = {}
        for span in sentences(child):
            by_language = {language: keys(child[span.start : span.end], language) for language in self._languages}
            if any(by_language.values()):
                words_of[span] = by_language
        similarities: Sequence[Scores | None] = [None] * len(words_of)
        if self._embedded is not None and self._encoder is not None and words_of:
            rows = self._encoder.encode([child[span.start : span.end] for span in words_of])
            similarities = list(np.maximum(rows @ self._embedded.T, 0.0).astype(np.float64))
        spans = zip(words_of.items(), similarities, strict=True)
        return tuple(self._traced(span, words, alike) for (span, words), alike in spans)

    def _traced(self, span: Span, words: _Words, alike: Scores | None) -> SentenceOrigin:
        # The places where the sentence is quoted.
        quotations = (
            Link(text, place, 1.0, "quotation")
            for text, index in enumerate(self.indexes)
            for phrase in dict.fromkeys(map(tuple, words.values()))
            for place in index.quotations(phrase, _QUOTATIONS)
        )
        if quoted := list(dict.fromkeys(quotations))[:_QUOTATIONS]:
            return SentenceOrigin(span, (quoted[0],), float(len(quoted) == 1))
        telling = {
            language: [term for term in dict.fromkeys(terms(every)) if carries(term, language)]
            for language, every in words.items()
        }
        if not any(telling.values()) or not self._count:
            return SentenceOrigin(span)

        worth, near, against = self._match(telling)
        by_words: Scores = worth @ near / against
        support, floor = by_words, MIN_SUPPORT
        if alike is not None:
            support, floor = (by_words + _MEANING * alike) / (1 + _MEANING), MIN_SUPPORT_EMBEDDED
        best = int(np.argmax(support))
        if support[best] < floor:
            return SentenceOrigin(span, (), float(1 - support[best] / floor))
        method: Method = "words" if by_words[best] >= MIN_SUPPORT or alike is None else "embedding"
        places: list[tuple[int, float, Method]] = [(best, float(support[best]), method)]
        # Further places support what those before them do not.
        open_shares = np.ones(len(worth))
        for _ in range(MAX_PLACES - 1):
            open_shares = np.minimum(open_shares, 1 - near[:, places[-1][0]])
            gains = (worth * open_shares) @ near / against
            at = int(np.argmax(gains))
            if gains[at] < _ADDS:
                break
            places.append((at, float(support[at]), "words"))
        texts = [int(np.searchsorted(self._starts, at, side="right")) - 1 for at, _, _ in places]
        links = tuple(
            Link(text, self.indexes[text].spans[at - int(self._starts[text])], min(1.0, weight), method)
            for text, (at, weight, method) in zip(texts, places, strict=True)
        )
        # The lead of the best place is that over those not adjacent to it.
        rivals = max(support[: max(0, best - _GAP)].max(initial=0.0), support[best + _GAP + 1 :].max(initial=0.0))
        return SentenceOrigin(span, links, float(1 - rivals / support[best]) if support[best] > 0 else 0.0)

    def _match(self, words: _Words) -> tuple[Scores, Scores, Scores]:
        """Return the match of a sentence, in each language with the places of that language: the weight of each telling
        word, how well each place supports each, and for each place the total weight, plus what matches by chance."""
        worths: list[Scores] = []
        nears: list[Scores] = []
        against = np.ones(self._size)
        parents = list(zip(self.indexes, self._starts, strict=False))
        for language, telling_keys in words.items():
            of_language = self._places.get(language, np.ones(self._size, dtype=np.bool_))
            count = max(1, int(of_language.sum())) if self._places else self._count
            by_key = (
                np.concatenate([np.array(index.postings.get(key, ()), np.int64) + start for index, start in parents])
                for key in telling_keys
            )
            # For overlong sentences the rarest words suffice.
            postings = sorted((places[of_language[places]] for places in by_key), key=len)[:_MAX_WORDS]
            near = np.zeros((len(postings), self._size))
            for row, places in zip(near, postings, strict=True):
                for distance in range(len(_AROUND) - 1, -1, -1):
                    weight = (1 - _ITSELF) * _AROUND[distance] + _ITSELF * (distance == 0)
                    # The neighbours of the first and last sentence are empty places.
                    for neighbours in (places + distance, places - distance):
                        row[neighbours] = np.maximum(row[neighbours], weight)
                for start in self._starts[1:]:
                    row[start - _GAP : start] = 0.0
            near[:, ~of_language] = 0.0
            nears.append(near)
            worths.append(np.array([log((count + 1) / (len(places) + 0.5)) for places in postings]))
            against[of_language] = worths[-1].sum() + _CHANCE * log(count) or 1.0
        return np.concatenate(worths), np.vstack(nears), against


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
            (link.span.start + link.span.end) / 2 / length, link.weight / sum(place.weight for place in origin.links)
        )
        for origin in traced
        for link in origin.links
    ]


def shares(origin_masses: Sequence[OriginMass], parts: int | Sequence[tuple[float, float]]) -> list[float]:
    """Return the share of the traced content that comes from each part, given by begin and end, from 0 to 1, or from
    each of so many equal parts."""
    if isinstance(parts, int):
        parts = [(at / parts, (at + 1) / parts) for at in range(parts)]
    total = sum(mass.share for mass in origin_masses) or 1.0
    return [sum(mass.share for mass in origin_masses if start <= mass.at < end) / total for start, end in parts]


def spread(origin_masses: Sequence[OriginMass], parts: int) -> float | None:
    """Return the entropy over this many equal parts, relative to an even spread; None for fewer than two."""
    if parts < 2:
        return None
    filled = [share for share in shares(origin_masses, parts) if share > 0]
    return min(1.0, max(0.0, -sum(share * log(share) for share in filled) / log(parts)))


def spread_by_chance(sentences: int, parts: int) -> float | None:
    """Return the mean spread of this many sentences from random places."""
    if parts < 2:
        return None
    log_share, log_rest = log(1 / parts), log(1 - 1 / parts)
    ways = (lgamma(sentences + 1) - lgamma(many + 1) - lgamma(sentences - many + 1) for many in range(1, sentences + 1))
    expected = sum(
        exp(way + many * log_share + (sentences - many) * log_rest) * many * log(many)
        for many, way in enumerate(ways, 1)
    )
    return (log(sentences) - parts * expected / sentences) / log(parts)


def density(origin_masses: Sequence[OriginMass]) -> list[float]:
    """Return the density along the document, 1 being the mean: a kernel estimate with Scott's bandwidth, reflected at
    the ends."""
    if not origin_masses:
        return []
    at, share = np.array(origin_masses).T
    share = share / share.sum()
    middle = float(share @ at)
    deviation = float(np.sqrt(share @ (at - middle) ** 2))
    width = max(_NARROWEST, deviation * len(origin_masses) ** -0.2)
    points = (np.arange(POINTS) + 0.5) / POINTS
    curve = np.zeros(POINTS)
    for mirrored in (at, -at, 2 - at):
        curve += np.exp(-(((points[:, None] - mirrored[None, :]) / width) ** 2) / 2) @ share
    heights: list[float] = (curve / curve.mean()).tolist()
    return heights


@dataclass(frozen=True, slots=True, eq=False)
class DerivedText:
    """A text that was written from `parents`, in the order of the `OriginTracer` that traced it."""

    traced: tuple[SentenceOrigin, ...]
    parents: tuple[DerivedText | int, ...]
    """Other derived texts, and excerpts of the document, each given by the offset at which it begins."""


@dataclass(frozen=True, slots=True)
class OriginPlace:
    """A place of the document that a sentence comes from, and the links that lead there."""

    span: Span
    weight: float
    """The least weight along the way."""
    way: tuple[Link, ...]
    """The links from the sentence down to the document."""


@dataclass(frozen=True, slots=True)
class ComposedOrigin:
    """A sentence, and the places of the document that it comes from through the intermediate texts."""

    span: Span
    places: tuple[OriginPlace, ...]
    """The best first, at most three."""
    lost: tuple[Link, ...] = ()
    """The links to the text in which the content first appeared, if no place is found."""


def compose(text: DerivedText) -> tuple[ComposedOrigin, ...]:
    """Return the sentences of a text with their places in the document."""
    # By identity.
    composed: dict[int, tuple[ComposedOrigin, ...]] = {}
    waiting = [text]
    # A running summary has hundreds of ancestors, too many for recursion.
    while waiting:
        below = [
            derived_text
            for derived_text in waiting[-1].parents
            if isinstance(derived_text, DerivedText) and id(derived_text) not in composed
        ]
        if below:
            waiting += below
        else:
            derived = waiting.pop()
            composed[id(derived)] = tuple(_followed(origin, derived.parents, composed) for origin in derived.traced)
    return composed[id(text)]


Drift = Literal["", "elsewhere", "nowhere", "bypassed"]
"""How a sentence's place differs from its composed one: not at all; the document has it `elsewhere`; the chain leads to
the document, which has it `nowhere`; or only the document has it, and not the intermediate texts."""


def drift(composed: ComposedOrigin, direct: SentenceOrigin, near: int = 0) -> Drift:
    """Return how the direct map of a sentence differs from the composed one; places at most `near` characters apart are
    the same."""
    if not composed.places:
        return "bypassed" if direct.links else ""
    if not direct.links:
        return "nowhere"
    met = any(
        place.span.start <= link.span.end + near and link.span.start <= place.span.end + near
        for place in composed.places
        for link in direct.links
    )
    return "" if met else "elsewhere"


def _followed(
    traced: SentenceOrigin, parents: Sequence[DerivedText | int], composed: Mapping[int, Sequence[ComposedOrigin]]
) -> ComposedOrigin:
    """Return a sentence with its places in the document, by way of its parents, which are composed."""
    ways: list[list[OriginPlace]] = []
    lost: tuple[Link, ...] = ()
    for link in traced.links:
        parent = parents[link.text]
        if isinstance(parent, int):
            span = Span(link.span.start + parent, link.span.end + parent)
            ways.append([OriginPlace(span, link.weight, (link,))])
            continue
        below = [origin for origin in composed[id(parent)] if origin.span.overlaps(link.span)]
        places = [
            OriginPlace(place.span, min(link.weight, place.weight), (link, *place.way))
            for origin in below
            for place in origin.places
        ]
        ways.append(sorted(places, key=lambda place: -place.weight))
        if not places and not lost:
            lost = (link, *next((origin.lost for origin in below if origin.lost), ()))

    # The best place through each parent, and then the second best.
    best: dict[Span, OriginPlace] = {}
    for rank in range(MAX_PLACES):
        for place in sorted((way[rank] for way in ways if rank < len(way)), key=lambda place: -place.weight):
            if place.span not in best or best[place.span].weight < place.weight:
                best[place.span] = place
    return ComposedOrigin(traced.span, tuple(best.values())[:MAX_PLACES], () if best else lost)
