"""Merging with the source in view: which paragraphs of the document a summary of some of its chunks rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import zip_longest

import numpy as np

from redraft.domain import Document, Span
from redraft.text.languages import tongues_of
from redraft.text.retrieval import Ranker
from redraft.text.sentences import paragraphs, sentences
from redraft.text.tokens import Meter, Tokenizer

# A longer paragraph is shown in parts of so many tokens, that end with a sentence.
_LONGEST = 300
# As many of the paragraphs that are nearest to a sentence are looked at.
_NEAREST = 8
# What shares less than this part of what the nearest one shares has to do with other things.
_NEAR_ENOUGH = 0.5
# What stands between two paragraphs.
_BETWEEN = 2


class SourceParagraphs:
    """The paragraphs of one document, to be found by the summaries of its chunks."""

    def __init__(self, document: Document, tokenizer: Tokenizer) -> None:
        self._document, self._tokenizer = document, tokenizer

    def under(self, summaries: Sequence[tuple[str, Span]], room: int) -> list[list[Span]]:
        """For each of some summaries, with the place that it is of, the paragraphs there that it rests on, in the
        document's order: the nearest of each, then the next of each, as far as there is room for them."""
        chosen: list[list[Span]] = [[] for _ in summaries]
        for row in zip_longest(*(self._nearest(summary, within) for summary, within in summaries)):
            for own, place in zip(chosen, row, strict=True):
                if place is None:
                    continue
                needed = self._meter.tokens(*place) + _BETWEEN
                if needed <= room:
                    own.append(place)
                    room -= needed
        return [sorted(own) for own in chosen]

    def _nearest(self, summary: str, within: Span) -> list[Span]:
        """The paragraphs that a summary shares its rarest words with: the nearest to each of its sentences, then the
        second to each."""
        places = list(self._paragraphs(within))
        if not places:
            return []
        text = self._document.text
        read_by = [self._language(place) for place in places]
        ranker = Ranker([text[place.start : place.end] for place in places], read_by)
        orders = [self._order(ranker, summary[span.start : span.end]) for span in sentences(summary)]
        return [places[at] for at in dict.fromkeys(at for row in zip_longest(*orders) for at in row if at is not None)]

    def text(self, places: Sequence[Span]) -> str:
        """What stands at some places, one after another."""
        return "\n\n".join(self._document.text[place.start : place.end] for place in places)

    def _order(self, ranker: Ranker, sentence: str) -> list[int]:
        scores = ranker.scores(sentence)
        least = max(scores, default=0.0) * _NEAR_ENOUGH
        return [
            int(at) for at in np.argsort(-scores, kind="stable")[:_NEAREST] if scores[at] > 0 and scores[at] >= least
        ]

    def _language(self, place: Span) -> str:
        tongues = tongues_of(self._document)
        return next((one.language for one in tongues if place.start < one.span.end), tongues[-1].language)

    @cached_property
    def _meter(self) -> Meter:
        return self._tokenizer.measure(self._document.text)

    def _paragraphs(self, within: Span) -> Iterator[Span]:
        text = self._document.text[within.start : within.end]
        for one in paragraphs(text):
            stripped = text[one.start : one.end].strip()
            if not stripped:
                continue
            start = within.start + text.index(stripped, one.start)
            yield from self._parts(Span(start, start + len(stripped)))

    def _parts(self, paragraph: Span) -> Iterator[Span]:
        """The paragraph, or where it is long as many of its sentences at a time as make a paragraph."""
        if self._meter.tokens(*paragraph) <= _LONGEST:
            yield paragraph
            return
        begin = end = paragraph.start
        for one in sentences(self._document.text, paragraph):
            if end > begin and self._meter.tokens(begin, one.end) > _LONGEST:
                yield Span(begin, end)
                begin = one.start
            end = one.end
        if end > begin:
            yield Span(begin, end)
