"""The map from the sentences of a text to the places in its parents that say what they say."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from math import log
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from redraft.document import Span
from redraft.text.languages import LanguageSpan, language_of, tongues_beside
from redraft.text.sentences import sentences
from redraft.text.vectors import Embeddings, Encoder
from redraft.text.word_keys import Word, carries, has_unspaced, keys, words

Method = Literal["quotation", "words", "embedding", "model", "judge"]
"""What a link rests on: the same words in the same order, the same telling words, a like meaning, a model's word, or a
quote by which a judge has borne the sentence out."""

MOST = 3
"""How many places a sentence is traced to at most."""


@dataclass(frozen=True, slots=True)
class Link:
    """A place that a sentence comes from."""

    text: int
    """Which of the parents."""
    span: Span
    """The sentences there, or the words that are quoted."""
    weight: float
    """How much of what the sentence says stands at this place and those of the better links, from 0 to 1."""
    method: Method


@dataclass(frozen=True, slots=True)
class SentenceOrigin:
    """A sentence of a text, and where it comes from."""

    span: Span
    """The sentence, in its own text."""
    links: tuple[Link, ...] = ()
    """The best first, at most three. None are above the floor where no parent says so: the sentence was invented."""
    margin: float = 0.0
    """How much better the best place is than any other, or how far below the floor the sentence is, from 0 to 1."""


def links_written(found: Sequence[SentenceOrigin]) -> str:
    """What was traced, as it is kept."""
    return json.dumps(
        [
            [*one.span, one.margin, [[link.text, *link.span, link.weight, link.method] for link in one.links]]
            for one in found
        ]
    )


def links_read(kept: str) -> tuple[SentenceOrigin, ...]:
    """The same again."""
    return tuple(
        SentenceOrigin(
            Span(start, end),
            tuple(Link(text, Span(first, last), weight, method) for text, first, last, weight, method in links),
            margin,
        )
        for start, end, margin, links in json.loads(kept)
    )


Numbers = npt.NDArray[np.int64]

# A draft is traced to its pieces and to the document, and each piece to what was under it.
_KEPT = 32
# Fewer words one behind the other are no quotation, unless they are a whole sentence there.
_QUOTED = 4
# What has more words without a full stop is no sentence that anybody would be led to: it is as many places as there are
# so many words in it.
_LONGEST, _CUT = 120, 60


class Index:
    """The sentences of one text that have words, by the keys of these. It takes time linear in the text to make."""

    def __init__(self, text: str, tongues: Sequence[LanguageSpan]) -> None:
        self._text = text
        split = [(language, sentences(text, span, language)) for span, language in tongues]
        # Sentence by sentence, as those that are looked for are read: what stands before a word may make another of it.
        self.sentences = [span for _, spans in split for span in spans]
        """All sentences of the text, whatever stands in them."""
        by_language = [(each, [one for span in spans for one in _places(text, span, each)]) for each, spans in split]
        read = [one for _, places in by_language for one in places]
        self.languages = [language for language, places in by_language for _ in places]
        """By which language each of those is read that have words."""
        keys = [[word.key for word in one.words] for one in read]
        flat = [key for some in keys for key in some]
        begins = np.repeat([one.begin for one in read], list(map(len, keys))).astype(np.int64)
        words_at = chain.from_iterable((word.start, word.end) for one in read for word in one.words)
        self._words = np.fromiter(words_at, dtype=np.int64, count=2 * len(flat)).reshape(-1, 2) + begins[:, None]
        self._joined = f" {' '.join(flat)} "
        lengths = np.fromiter(map(len, flat), dtype=np.int64, count=len(flat)) + 1
        self._begin = np.cumsum(lengths) - lengths
        """Where each word begins among the joined ones, counted from the space before it."""
        self.spans: list[Span] = [one.span for one in read]
        """The sentences that have words; one that is endless, in pieces."""
        self._firsts = np.cumsum([0, *map(len, keys)])
        """The first word of each, and where the last ends."""
        self._numbers: dict[str, int] = {}
        self._ordered, self._starts = self._postings(list(map(terms, keys)) if has_unspaced(text) else keys)

    def __len__(self) -> int:
        return len(self.spans)

    def _postings(self, held: Sequence[Sequence[str]]) -> tuple[Numbers, Numbers]:
        """For one term after the other the sentences that have it; and where those of each begin."""
        count, numbers = max(1, len(self.spans)), self._numbers
        each = (numbers.setdefault(one, len(numbers)) for some in held for one in some)
        flat = np.fromiter(each, dtype=np.int64)
        lines = np.repeat(np.arange(len(self.spans)), [len(some) for some in held])
        ofs, ordered = np.divmod(np.unique(flat * count + lines), count)
        return ordered, np.searchsorted(ofs, np.arange(len(numbers) + 1))

    @property
    def texts(self) -> list[str]:
        """The sentences to the letter."""
        return [self._text[span.start : span.end] for span in self.spans]

    def at(self, place: int) -> int:
        """The first sentence that ends behind a place of the text."""
        return bisect_right(self.spans, place, key=lambda span: span.end)

    def stretch(self, first: int, after: int, longest: int) -> Span:
        """The sentences from the first on, before another and as long as they have no more characters together."""
        start, end = self.spans[first]
        for span in self.spans[first + 1 : after]:
            if span.end - start > longest:
                break
            end = span.end
        return Span(start, end)

    def holding(self, term: str) -> Numbers:
        """The sentences that have a term, in order."""
        number = self._numbers.get(term)
        return self._ordered[:0] if number is None else self._ordered[self._starts[number] : self._starts[number + 1]]

    def quotations(self, sought: Sequence[str], most: int) -> list[Span]:
        """Up to so many places where these words stand one behind the other: all of a sentence, or enough words."""
        found: list[Span] = []
        wanted = f" {' '.join(sought)} "
        at = self._joined.find(wanted) if sought else -1
        while at >= 0 and len(found) < most:
            first = int(np.searchsorted(self._begin, at))
            end = first + len(sought)
            if len(sought) >= _QUOTED or self._is_sentence(first, end):
                found.append(Span(int(self._words[first, 0]), int(self._words[end - 1, 1])))
            at = self._joined.find(wanted, at + 1)
        return found

    def _is_sentence(self, first: int, end: int) -> bool:
        line = int(np.searchsorted(self._firsts, first))
        return line < len(self) and self._firsts[line] == first and self._firsts[line + 1] == end


class _Place(NamedTuple):
    """A sentence, or a piece of one; its words, and from where on these are counted."""

    span: Span
    words: list[Word]
    begin: int


def _places(text: str, span: Span, language: str) -> Iterator[_Place]:
    """A sentence that has words; one that is endless, in pieces."""
    found = words(text[span.start : span.end], language)
    if len(found) <= _LONGEST:
        yield from [_Place(span, found, span.start)] if found else []
        return
    for first in range(0, len(found), _CUT):
        piece = found[first : first + _CUT]
        yield _Place(Span(span.start + piece[0].start, span.start + piece[-1].end), piece, span.start)


def terms(keys: Sequence[str]) -> list[str]:
    """The words by which a sentence is found; of a script without spaces, pairs of neighbouring letters as well."""
    together = (one + other for one, other in pairwise(keys) if len(one) == len(other) == 1)
    return [*keys, *(pair for pair in together if has_unspaced(pair[0]) and has_unspaced(pair[1]))]


def telling(keys: Sequence[str], language: str) -> list[str]:
    """Those of a sentence's terms, each once, that say something by themselves."""
    return [one for one in dict.fromkeys(terms(keys)) if carries(one, language)]


@lru_cache(maxsize=_KEPT)
def indexed(text: str, tongues: tuple[LanguageSpan, ...]) -> Index:
    """The index of a text, by the words of the language of each part of it. Those used last are kept."""
    return Index(text, tongues)


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


class SentenceMatch(NamedTuple):
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

    def trace(self, child: str) -> tuple[SentenceOrigin, ...]:
        """Every sentence of a text that has words, in order, with the places that it comes from."""
        spans = sentences(child)
        read = [(span, found) for span in spans if (found := self._keys(child[span.start : span.end]))]
        like = self._alike([child[span.start : span.end] for span, _ in read])
        return tuple(self._traced(span, found, alike) for (span, found), alike in zip(read, like, strict=True))

    def sought(self, sentence: str) -> SentenceMatch | None:
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

    def _traced(self, span: Span, words: Sequence[_Keys], alike: Scores | None) -> SentenceOrigin:
        quoted = self._quoted(words)
        if quoted:
            return SentenceOrigin(span, quoted[:1], float(len(quoted) == 1))
        told = _telling(words)
        if not any(one.keys for one in told) or not self._count:
            return SentenceOrigin(span)
        sought = self._sought(told, alike)
        everything = np.ones(len(sought.worth))
        said, whole = sought.said(everything), sought.borne_out(everything)
        manager = FLOOR if alike is None else FLOOR_EMBEDDED
        best = int(np.argmax(whole))
        if whole[best] < manager:
            return SentenceOrigin(span, (), float(1 - whole[best] / manager))
        method: Method = "words" if said[best] >= FLOOR or alike is None else "embedding"
        links = (
            self._link(best, float(whole[best]), method),
            *(self._link(at, float(whole[at]), "words") for at in self._further(sought, best)),
        )
        return SentenceOrigin(span, links, self._margin(whole, best))

    def _quoted(self, words: Sequence[_Keys]) -> tuple[Link, ...]:
        """Where the sentence stands as it is; more than one place where it may come from either."""
        found = (
            Link(text, place, 1.0, "quotation")
            for text, index in enumerate(self.indexes)
            for said in dict.fromkeys(tuple(one.keys) for one in words)
            for place in index.quotations(said, _QUOTATIONS)
        )
        return tuple(dict.fromkeys(found))[:_QUOTATIONS]

    def _sought(self, words: Sequence[_Keys], alike: Scores | None) -> SentenceMatch:
        """What is told is looked for in each language, at the places that are read by it."""
        parts = [self._sought_in(one) for one in words]
        against = np.ones(int(self._starts[-1]))
        for part in parts:
            against[part.there] = part.worth.sum() + part.chance or 1.0
        return SentenceMatch(
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

    def _further(self, sought: SentenceMatch, first: int) -> Iterator[int]:
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
