"""Where the sentences of a text come from: the places in its parents that say what they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from redraft.document import Span
from redraft.text.embeddings import Embeddings, Encoder
from redraft.text.languages import language_of, tongues_beside
from redraft.text.origins.index import Numbers, indexed, telling
from redraft.text.origins.links import MOST, Link, Method, Traced
from redraft.text.sentences import sentences
from redraft.text.wording import keys

Scores = npt.NDArray[np.float64]

# Both were set on that half of the texts of benchmarks/lineage.py on which its figures are not taken: there 95 of 100
# planted inventions stay below, and three of 1,000 sentences that are copied, reworded or fused.
FLOOR = 0.23
"""A sentence of which less than this is borne out anywhere comes from nowhere."""
FLOOR_EMBEDDED = 0.28
"""The same where meanings are compared as well."""
# A further place is named where it adds so much.
_ADDS = 0.1
# What stands in the sentences around a place counts for less, the farther away the less.
_AROUND = (1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.2, 0.1)
_GAP = len(_AROUND)
# Of sentences that are equally near to what is said, the one that says it is the place.
_ITSELF = 0.2
# Some sentence among many has as much in common with anything as the logarithm of their number; so many times over.
_CHANCE = 2.0
# How much a like meaning counts beside the same words.
_MEANING = 0.5
_QUOTATIONS = 2
_MOST_WORDS = 100


class Sought(NamedTuple):
    """A sentence as it is looked for: what each of its telling words is worth, and how near each place is to each."""

    worth: Scores
    near: Scores
    against: Scores
    """At each place what all of these are worth together, and what anything has in common with it by chance."""
    alike: Scores | None = None
    """How like in meaning each place is, where meanings are compared."""

    def said(self, left: Scores) -> Scores:
        """How much of the sentence every place bears out, where of each word so much is `left`."""
        found: Scores = (self.worth * left) @ self.near / self.against
        return found

    def borne_out(self, left: Scores) -> Scores:
        """The same with the meaning, of which as large a share is left as of the words."""
        if self.alike is None:
            return self.said(left)
        worth = float(self.worth.sum())
        share = float(self.worth @ left) / worth if worth else 1.0
        found: Scores = (self.said(left) + _MEANING * share * self.alike) / (1 + _MEANING)
        return found


class _Keys(NamedTuple):
    """The words of a text, as they are compared with others in a language."""

    language: str
    keys: list[str]


class _Part(NamedTuple):
    """What is looked for in the places of one language."""

    worth: Scores
    near: Scores
    chance: float
    there: slice | npt.NDArray[np.bool_]


class Origins:
    """Some texts, and where in them the sentences of their children come from.

    An encoder is asked for all sentences of one parent at a time, in order, so that it may keep what it has found for
    them. Tracing takes time in proportion to the sentences of the child times those of the parents that share a word.
    """

    def __init__(self, parents: Sequence[str], encoder: Encoder | None = None) -> None:
        tongues = tongues_beside(parents)
        self.indexes = [indexed(parent, its) for parent, its in zip(parents, tongues, strict=True)]
        self._languages = tuple(dict.fromkeys(one.language for its in tongues for one in its)) or (language_of(""),)
        """Those of the parents, by which a child is read: a partial summary may be too short to show one."""
        self._encoder = encoder
        self._starts = np.cumsum([0, *(len(index) + _GAP for index in self.indexes)])
        """Where the sentences of each parent begin, if all are in one row. What is near to one is in the same text."""
        self._count = sum(map(len, self.indexes))
        self._read_by = self._places_by_language() if len(self._languages) > 1 else {}
        """By language the places that are read by it, where there are several."""
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
        """The words of a text, as they are compared with places in each of the languages; nothing where it has none."""
        found = [_Keys(language, keys(text, language)) for language in self._languages]
        return found if any(one.keys for one in found) else []

    def trace(self, child: str) -> tuple[Traced, ...]:
        """Every sentence of a text that has words, in order, with the places that it comes from."""
        spans = sentences(child)
        read = [(span, found) for span in spans if (found := self._keys(child[span.start : span.end]))]
        like = self._alike([child[span.start : span.end] for span, _ in read])
        return tuple(self._traced(span, found, alike) for (span, found), alike in zip(read, like, strict=True))

    def sought(self, sentence: str) -> Sought | None:
        """A sentence, or a question, as it is looked for; None where nothing can be found of it."""
        told = _telling([_Keys(language, keys(sentence, language)) for language in self._languages])
        if not self._count or not (any(one.keys for one in told) or (self._encoder and sentence.strip())):
            return None
        return self._sought(told, self._alike([sentence])[0])

    def candidates(self, sentence: str, most: int) -> tuple[Link, ...]:
        """The places that are likeliest to say what a sentence says, also below the floor, for whoever can read."""
        sought = self.sought(sentence)
        if sought is None:
            return ()
        said = sought.borne_out(np.ones(len(sought.worth)))
        # Between two texts there is a gap, in which nothing stands.
        there = np.concatenate(
            [np.arange(start, start + len(index)) for start, index in zip(self._starts, self.indexes, strict=False)]
        )
        best = there[np.argsort(-said[there], kind="stable")[:most]]
        return tuple(self._link(int(at), float(said[at]), "words") for at in best if said[at] > 0)

    def between(self, before: Link | None, after: Link | None, most: int, longest: int) -> tuple[Link, ...]:
        """Up to so many places evenly spread between two others of one text, for what shares no word with any.

        Without the one before, or the one behind, they are those next to the other. No place has more characters than
        `longest`, unless a sentence has.
        """
        beside = after or before
        if beside is None or (before and after and before.text != after.text):
            return ()
        index = self.indexes[beside.text]
        first = index.at(before.span.end) if before else None
        end = index.at(after.span.start) if after else None
        reach = most * _GAP
        lower = first if first is not None else max(0, (end or 0) - reach)
        upper = end if end is not None else min(len(index), lower + reach)
        if lower >= upper:
            return ()
        cuts = np.linspace(lower, upper, min(most, upper - lower) + 1).astype(int)
        spans = [index.stretch(int(a), int(b), longest) for a, b in pairwise(cuts)]
        return tuple(Link(beside.text, span, 0.0, "words") for span in spans)

    def _alike(self, texts: Sequence[str]) -> list[Scores] | list[None]:
        """How like in meaning every place is to each of some texts; nothing where meanings are not compared."""
        if self._embedded is None or self._encoder is None or not texts:
            return [None] * len(texts)
        return list(np.maximum(self._encoder.encode(texts) @ self._embedded.T, 0.0).astype(np.float64))

    def _traced(self, span: Span, words: Sequence[_Keys], alike: Scores | None) -> Traced:
        quoted = self._quoted(words)
        if quoted:
            return Traced(span, quoted[:1], float(len(quoted) == 1))
        told = _telling(words)
        if not any(one.keys for one in told) or not self._count:
            return Traced(span)
        sought = self._sought(told, alike)
        everything = np.ones(len(sought.worth))
        said, whole = sought.said(everything), sought.borne_out(everything)
        floor = FLOOR if alike is None else FLOOR_EMBEDDED
        best = int(np.argmax(whole))
        if whole[best] < floor:
            return Traced(span, (), float(1 - whole[best] / floor))
        method: Method = "words" if said[best] >= FLOOR or alike is None else "embedding"
        links = (
            self._link(best, float(whole[best]), method),
            *(self._link(at, float(whole[at]), "words") for at in self._further(sought, best)),
        )
        return Traced(span, links, self._margin(whole, best))

    def _quoted(self, words: Sequence[_Keys]) -> tuple[Link, ...]:
        """Where the sentence stands as it is; more than one place where it may come from either."""
        found = (
            Link(text, place, 1.0, "quotation")
            for text, index in enumerate(self.indexes)
            for said in dict.fromkeys(tuple(one.keys) for one in words)
            for place in index.quotations(said, _QUOTATIONS)
        )
        return tuple(dict.fromkeys(found))[:_QUOTATIONS]

    def _sought(self, words: Sequence[_Keys], alike: Scores | None) -> Sought:
        """What is told is looked for in each language, at the places that are read by it."""
        parts = [self._sought_in(one) for one in words]
        against = np.ones(int(self._starts[-1]))
        for part in parts:
            against[part.there] = part.worth.sum() + part.chance or 1.0
        return Sought(
            np.concatenate([one.worth for one in parts]), np.vstack([one.near for one in parts]), against, alike
        )

    def _sought_in(self, words: _Keys) -> _Part:
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
        # Of endless sentences the rarest words tell where they come from.
        held = sorted(held, key=len)[:_MOST_WORDS]
        near = np.zeros((len(held), int(self._starts[-1])))
        for row, places in zip(near, held, strict=True):
            self._spread(row, places)
        if there is not None:
            near[:, ~there] = 0.0
        worth = np.array([log((count + 1) / (len(places) + 0.5)) for places in held])
        return _Part(worth, near, _CHANCE * log(count), slice(None) if there is None else there)

    def _spread(self, row: Scores, held: Numbers) -> None:
        for distance in range(len(_AROUND) - 1, -1, -1):
            weight = (1 - _ITSELF) * _AROUND[distance] + _ITSELF * (distance == 0)
            # Behind the last sentence is a gap, and before the first that of the row's end.
            for beside in (held + distance, held - distance):
                row[beside] = np.maximum(row[beside], weight)
        for start in self._starts[1:]:
            row[start - _GAP : start] = 0.0

    def _further(self, sought: Sought, first: int) -> Iterator[int]:
        """The places that say of the sentence what those before them do not."""
        left = np.ones(len(sought.worth))
        at = first
        for _ in range(MOST - 1):
            left = np.minimum(left, 1 - sought.near[:, at])
            gains = sought.said(left)
            at = int(np.argmax(gains))
            if gains[at] < _ADDS:
                return
            yield at

    def _link(self, at: int, weight: float, method: Method) -> Link:
        text = int(np.searchsorted(self._starts, at, side="right")) - 1
        return Link(text, self.indexes[text].spans[at - int(self._starts[text])], min(1.0, weight), method)

    def _margin(self, whole: Scores, best: int) -> float:
        """By how much of it the best place is better than any that is not beside it."""
        others = max(whole[: max(0, best - _GAP)].max(initial=0.0), whole[best + _GAP + 1 :].max(initial=0.0))
        return float(1 - others / whole[best]) if whole[best] > 0 else 0.0


def _telling(words: Sequence[_Keys]) -> list[_Keys]:
    """Those that say something by themselves, in each language."""
    return [_Keys(one.language, telling(one.keys, one.language)) for one in words]
