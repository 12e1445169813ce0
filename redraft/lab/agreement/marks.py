"""Match the spans that people have marked in a summary to its sentences, as the BooookScore project counts them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

from redraft.evaluators.booookscore import sentences_of
from redraft.lab.agreement.annotations import (
    CLEAR,
    AnnotatedSentence,
    ConfusionVerdict,
    PlacedAnnotations,
    joined_verdict,
)
from redraft.prompts.qa import Statement

# Shorter words that occur in several places of a summary do not tell where a mark belongs.
_SHORTEST_AMBIGUOUS = 6


@dataclass(frozen=True, slots=True)
class _Place:
    """The sentences that a span overlaps, by index, and those that it may overlap if its words occur elsewhere too."""

    sentences: range
    unclear: frozenset[int]


class _Sentences:
    """The sentences of a summary as one text, in which spans are looked up."""

    def __init__(self, sentences: Sequence[str]) -> None:
        flat = [" ".join(sentence.split()) for sentence in sentences]
        self._text = " ".join(flat)
        self._ends: list[tuple[int, int]] = []
        at = 0
        for sentence in flat:
            self._ends.append((at, at + len(sentence)))
            at += len(sentence) + 1

    def place(self, span: str, *, last: bool = False) -> _Place | None:
        """Return the place of a span, the first or the last if there are several; None if it does not occur."""
        starts = [match.start() for match in re.finditer(re.escape(span), self._text)] if span else []
        found = self._over(starts[-1 if last else 0], span) if starts else []
        if not found:
            return None
        unclear: frozenset[int] = frozenset()
        if len(span.split()) < _SHORTEST_AMBIGUOUS and len(starts) > 1:
            unclear = frozenset(n for start in starts for n in self._over(start, span))
        return _Place(range(found[0], found[-1] + 1), unclear)

    def pair(self, mark: AnnotatedSentence) -> list[_Place]:
        """Return the places of a mark; of a pair of equal spans, the first and the last."""
        spans = (self.place(mark.sentence), self.place(mark.other, last=mark.other == mark.sentence))
        return [place for place in spans if place]

    def _over(self, first: int, span: str) -> list[int]:
        last = first + len(span)
        return [n for n, (start, end) in enumerate(self._ends) if start < last and end > first]


def marked(sentences: Sequence[str], marks: Sequence[AnnotatedSentence]) -> list[bool]:
    """Return which sentences are marked; a mark that may be on one of several is left out."""
    text = _Sentences(sentences)
    placed = (place for mark in marks for place in text.pair(mark))
    found = {n for place in placed if not place.unclear for n in place.sentences}
    return [n in found for n in range(len(sentences))]


def place_marks(marks: Sequence[AnnotatedSentence], statements: Sequence[Statement]) -> PlacedAnnotations:
    """Match marks to sentences, and count as the paper does (footnote 12): the sentences of one span are one sentence,
    and a pair of spans is one."""
    counted = sentences_of(statements)
    text = _Sentences([one.sentence for one in counted])
    joined: set[int] = set()
    singles: list[tuple[int, ConfusionVerdict]] = []
    others: list[ConfusionVerdict] = []
    touched: dict[int, ConfusionVerdict] = {}
    unclear: set[int] = set()
    lost = 0
    for mark in marks:
        verdict = mark.verdict or ConfusionVerdict(confusing=True)
        places = text.pair(mark)
        lost += not places
        for place in places:
            unclear |= place.unclear
            touched |= {n: joined_verdict(touched.get(n), verdict) or verdict for n in place.sentences}
        if not mark.other and places:
            joined |= {*places[0].sentences[1:]}
            singles.append((places[0].sentences[0], verdict))
        else:
            others.append(verdict)
    confusing = _by_unit(singles, joined)
    clear = max(0, len(counted) - len(joined) - len(confusing) - len(others))
    known = range(0 if lost else len(counted))
    verdicts = dict.fromkeys(known, CLEAR) | touched
    return PlacedAnnotations(
        said=(*confusing, *others, *repeat(CLEAR, clear)),
        unjudged=0,
        verdicts={counted[n].id: verdict for n, verdict in sorted(verdicts.items()) if n not in unclear},
        elsewhere=0,
        lost=lost,
        undecided=0,
        marks=tuple(mark.verdict for mark in marks if mark.verdict),
        unclear=len(unclear),
    )


def _by_unit(singles: Sequence[tuple[int, ConfusionVerdict]], joined: set[int]) -> list[ConfusionVerdict]:
    """Return one verdict for each marked sentence, of which several that one span covers are one."""
    units: dict[int, ConfusionVerdict] = {}
    for first, verdict in singles:
        at = first
        while at in joined:
            at -= 1
        units[at] = joined_verdict(units.get(at), verdict) or verdict
    return list(units.values())
