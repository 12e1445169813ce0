"""Retrieval: windows of a document ranked for a query by BM25, or by meaning, and passages related to a question."""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import islice, pairwise
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from redraft.document import Document, Span
from redraft.lazy import pattern
from redraft.text.chunks import overlapping, pieces, windows
from redraft.text.languages import language_spans_of, undetected_language
from redraft.text.origins import indexed
from redraft.text.tokens import Meter, Tokenizer
from redraft.text.vectors import Embeddings, Encoder, stop_words
from redraft.text.words import UNSPACED, has_unspaced, stemmer

WINDOW = 400
"""The usual most tokens of a window."""
OVERLAP = WINDOW // 2
"""The number of tokens that a window shares with the one before it."""
# The constant of reciprocal rank fusion (Cormack and others, 2009).
_RRF = 60
_TERM = pattern(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")


class DocumentSearch:
    """The parts of one document and a search in them; they are cut and indexed once, at the first search."""

    sizes: ClassVar[tuple[int, int]]
    """The token counts that determine where the document is cut."""
    telling: ClassVar[bool] = False
    """Whether stop words of a query do not count."""
    shared: ClassVar[bool] = False
    """Whether of parts that each contain a whole place the first is taken, which more places have in common."""

    def __init__(self, document: Document, tokenizer: Tokenizer, encoder: Encoder | None = None) -> None:
        self._document = document
        self._tokenizer = tokenizer
        self._encoder = encoder

    @property
    def name(self) -> str:
        """Return what the parts and their ranking depend on, as part of a cache key."""
        by = f"bm25 and {self._encoder.weights}" if self._encoder else "bm25"
        in_language = f" in {language}" if (language := undetected_language(self._document)) else ""
        return f"{by} {self.sizes[0]}-{self.sizes[1]} {self._tokenizer.name}{in_language}"

    @cached_property
    def spans(self) -> list[Span]:
        """Return all parts in document order."""
        raise NotImplementedError

    def nearest(self, query: str, count: int, within: Span | None = None) -> list[Span]:
        """Return up to `count` parts most related to a query, the best first, and none outside `within`."""
        if not query.strip() or not self.spans:
            return []
        scores = self._index.scores(query, telling=self.telling)
        order = [int(at) for at in np.argsort(-scores, kind="stable") if scores[at] > 0]
        if self._encoder is not None:
            near = self._embedded @ self._encoder.encode([query])[0]
            by_meaning = [int(at) for at in np.argsort(-near, kind="stable") if near[at] > 0]
            # One ranking of both, by reciprocal rank fusion; ties keep their order.
            fused: defaultdict[int, float] = defaultdict(float)
            for ranking in (order, by_meaning):
                for place, at in enumerate(ranking, 1):
                    fused[at] += 1 / (_RRF + place)
            order = sorted(fused, key=lambda at: (-fused[at], at))
        inside = (self.spans[at] for at in order if within is None or self.spans[at].overlaps(within))
        return list(islice(inside, max(0, count)))

    def around(self, place: Span, neighbours: int = 0) -> list[Span]:
        """Return the fewest parts that together contain a place, and this many on either side."""
        starts, ends = (partial(bisect_left, self.spans, key=itemgetter(at)) for at in (0, 1))
        end = max(place.end, place.start + 1)
        first = starts(place.start + 1) - 1
        first = min(first, ends(end)) if self.shared else first
        last = max(first, min(ends(end), starts(end) - 1))
        return self.spans[max(0, first - neighbours) : last + neighbours + 1]

    @cached_property
    def _meter(self) -> Meter:
        return self._tokenizer.measure(self._document.text)

    @cached_property
    def _sentences(self) -> list[Span]:
        return indexed(self._document.text, language_spans_of(self._document)).sentences

    @cached_property
    def _index(self) -> Ranker:
        language_spans = language_spans_of(self._document)
        ends = [language_span.span.end for language_span in language_spans]
        last = len(language_spans) - 1
        read_by = [language_spans[min(last, bisect_right(ends, span.start))].language for span in self.spans]
        return Ranker([self._document.text[span.start : span.end] for span in self.spans], read_by)

    @cached_property
    def _embedded(self) -> Embeddings:
        assert self._encoder is not None
        return self._encoder.encode([self._document.text[span.start : span.end] for span in self.spans])


class Windows(DocumentSearch):
    """The windows of one document, which judges read."""

    sizes = (WINDOW, OVERLAP)
    shared = True

    @cached_property
    def spans(self) -> list[Span]:
        """Return all windows in document order."""
        return [span for block in self._blocks(WINDOW) for span in overlapping(block, self._meter, WINDOW, OVERLAP)]

    def parts(self, room: int, within: Span | None = None) -> list[Span]:
        """Return a document, or a place in it, in parts of at most `room` tokens that cover it.

        They overlap by half a window, so that any place of up to that size is entirely in one part.
        """
        place = within or Span(0, len(self._document.text))
        if self._meter.tokens(*place) <= room:
            return [place]
        overlap = min(OVERLAP, room // 4)
        starts = [piece.start for block in self._blocks(max(1, min(overlap, room // 2))) for piece in block]
        bounds = [place.start, *(at for at in starts if place.start < at < place.end), place.end]
        return list(overlapping([Span(*pair) for pair in pairwise(bounds)], self._meter, room, overlap))

    def _blocks(self, longest: int) -> Iterator[list[Span]]:
        """Yield the sentences of each document, those longer than `longest` tokens in pieces."""
        text, meter = self._document.text, self._meter
        bounds = frozenset(mark.start for mark in self._document.members)
        for block in _blocks(self._sentences, sorted(bounds), bounds):
            yield [piece for sentence in block for piece in pieces(text, sentence, meter, longest, longest)]


class Ranker:
    """Ranks texts, each in its language, for a query by BM25."""

    def __init__(self, texts: Sequence[str], read_by: Sequence[str]) -> None:
        from bm25s import BM25

        # On import it asks for its debugging messages, which an application would see in its own log.
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        self._languages = tuple(dict.fromkeys(read_by))
        self._count = len(texts)
        terms_of_texts = [terms(text, language) for text, language in zip(texts, read_by, strict=True)]
        self._terms = {term for text_terms in terms_of_texts for term in text_terms}
        self._ranker: Any = BM25(backend="numpy")
        if self._terms:
            self._ranker.index(terms_of_texts, show_progress=False)

    def scores(self, query: str, *, telling: bool = False) -> npt.NDArray[np.float32]:
        """Return each text's score for a query; with `telling`, stop words do not count."""
        query_terms = [
            term
            for language in self._languages
            for term in terms(query, language, telling=telling)
            if term in self._terms
        ]
        if not query_terms:
            return np.zeros(self._count, dtype=np.float32)
        scores: npt.NDArray[np.float32] = self._ranker.get_scores(query_terms)
        return scores


def terms(text: str, language: str, *, telling: bool = False) -> list[str]:
    """Return the stems of a text's words, with `telling` without stop words; in scripts without spaces the pairs of
    letters."""
    stem, stopped = stemmer(language), stop_words(language) if telling else frozenset()
    stems: list[str] = []
    for word in _TERM.findall(text.casefold()):
        if has_unspaced(word):
            stems += [first + second for first, second in pairwise(word)] or [word]
        elif word not in stopped:
            stems.append(stem(word))
    return stems


PASSAGE = 120
"""The usual most tokens of a passage."""
LONGEST = 240
"""A single sentence that exceeds a window is one passage up to this many tokens, and is cut beyond them."""


class Passages(DocumentSearch):
    """The passages of one document, which people and editors read: windows of consecutive whole sentences, short and
    within a section, overlapping by a sentence. They are cut at the first search, in linear time."""

    sizes = (PASSAGE, LONGEST)
    telling = True

    @cached_property
    def windows(self) -> Windows:
        """Return the larger windows of the same document, which judges read."""
        return Windows(self._document, self._tokenizer, self._encoder)

    @cached_property
    def spans(self) -> list[Span]:
        """Return all passages in document order."""
        bounds = frozenset(mark.start for mark in self._document.members)
        starts = sorted({*(section.span.start for section in self._document.sections), *bounds})
        spans: list[Span] = []
        for block in _blocks(self._sentences, starts, bounds):

            def following(_: int, after: int, block: list[Span] = block) -> int:
                """The next one begins with the last sentence of the one before, if it fits."""
                fits = self._meter.tokens(block[after - 1].start, block[after].end) <= PASSAGE
                return after - 1 if fits else after

            for window in windows(block, self._meter, PASSAGE, following):
                spans += pieces(self._document.text, window, self._meter, LONGEST, PASSAGE)
        return spans


def _blocks(sentences: list[Span], section_starts: list[int], bounds: frozenset[int]) -> Iterator[list[Span]]:
    """Yield groups of sentences that may share a passage: those of one section, with headings joined to the text after
    them, within a document's `bounds`."""
    block: list[Span] = []
    passed, after_heading = 0, False
    for sentence in sentences:
        first = passed
        while passed < len(section_starts) and section_starts[passed] <= sentence.start:
            passed += 1
        opens = passed > first
        if opens and block and (not after_heading or not bounds.isdisjoint(section_starts[first:passed])):
            yield block
            block = []
        block.append(sentence)
        after_heading = opens
    if block:
        yield block
