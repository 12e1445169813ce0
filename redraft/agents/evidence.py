"""What an agent reads of a document: evidence for its questions, and how much room the reply needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from pydantic import BaseModel

from redraft.domain import WHOLE, Document, Evidence, Span
from redraft.prompts.qa import Statement
from redraft.settings import LEVEL_RATIO, EvidenceName
from redraft.text.passages import Passages, joined
from redraft.text.quotes import locate
from redraft.text.retrieval import Windows
from redraft.text.sentences import sentences
from redraft.text.tokens import Tokenizer
from redraft.text.words import UNSPACED, count_words

# As much is looked at, in pieces from all parts of a document.
_PIECES, _PIECE = 10, 2_000
# Three of four sentences are no longer than that one.
_LONGER = 0.75
_SHORTEST, _LONGEST = 16, 240
# Where letters count as words, so many of them make one of another language.
_LETTERS_A_WORD = 2
_LETTER = re.compile(rf"[{UNSPACED}]")


@dataclass(frozen=True, slots=True)
class TokenRates:
    """How a document's language comes out in tokens."""

    per_word: float = 1 / LEVEL_RATIO
    """The tokens of a word."""
    sentence: int = 40
    """The tokens of a longer sentence."""


USUAL = TokenRates()
"""That of English, where nothing is known of a document."""


@dataclass(frozen=True, slots=True)
class EntryBudget:
    """One entry of a reply: the tokens of its frame, the words that are written for it, and the sentences copied."""

    frame: int
    words: int = 0
    sentences: int = 0

    def tokens(self, wording: TokenRates) -> int:
        """What it may need where words and sentences are like these."""
        return ceil(self.frame + self.words * wording.per_word + self.sentences * wording.sentence)


def wording_of(text: str, tokenizer: Tokenizer, per_word: float) -> TokenRates:
    """The wording of a document whose words take so many tokens."""
    step = max(_PIECE, len(text) // _PIECES)
    pieces = [text[at : at + _PIECE] for at in range(0, len(text), step)]
    found = [piece[span.start : span.end] for piece in pieces for span in _whole(piece)]
    counts = sorted(tokenizer.count(sentence) for sentence in found if count_words(sentence))
    words = sum(map(count_words, pieces))
    unspaced = 2 * sum(len(_LETTER.findall(piece)) for piece in pieces) > words
    longer = counts[int(_LONGER * (len(counts) - 1))] if counts else USUAL.sentence
    return TokenRates(per_word * (_LETTERS_A_WORD if unspaced else 1), min(_LONGEST, max(_SHORTEST, longer)))


def _whole(piece: str) -> list[Span]:
    """The sentences of a piece that is cut out of a text, without the first and the last, which may be cut through."""
    found = sentences(piece)
    return found[1:-1] if len(found) > 2 else found


# Beside the passages a prompt holds the questions, what is said around them, and the room for the reply.
_SHARE_OF_WINDOW = 0.5
# So much is left for items, the reply and what is said around them beside a document that is read whole.
_BESIDE_DOCUMENT = 1_600
_LONGEST_QUOTE = 600
# A question may quote the sentence that it is about, with a gap in it or with marks around what it asks for.
_QUOTED = re.compile(r"[“«„]([^”»“]{3,2000})[”»“]|\"([^\"]{3,2000})\"")
_GAP = re.compile(r"_{2,}|…|\.\.\.")
_NAMED = re.compile(r"\s*\[[^\]]{1,100}\]\s*")
_BEFORE_NAMED = 1
_UNMARKED = str.maketrans("", "", "[]")
# What is said around a sentence to number it.
_TAG_TOKENS = 16


@dataclass(frozen=True, slots=True)
class EvidenceQuery:
    """What is looked for in the document: a question or a sentence, and whatever helps to find its place."""

    text: str
    also: tuple[str, ...] = ()
    """The summary's answer, its sentence, and words that the document would use."""
    cited: tuple[Span, ...] = ()
    """Places that are read in any case: those that the document's pack cites for such a question."""

    @property
    def query(self) -> str:
        """All of it, to search with."""
        return " ".join((self.text, *self.also))


class Scope(BaseModel):
    """How much of the document was read for an item."""

    tokens: int
    passages: int | None = None
    """None where it was the whole document."""

    @property
    def said(self) -> str:
        """The same for people."""
        if self.passages is None:
            return f"{WHOLE} ({self.tokens:,} tokens)"
        return f"{self.passages:,} passage{'' if self.passages == 1 else 's'}"


class CitedPlace(BaseModel):
    """The words of the document that something rests on, as they are remembered, and where they stand."""

    evidence: str = ""
    start: int | None = None
    end: int | None = None
    scope: Scope | None = None
    """What was read for it; None where nobody says."""

    @property
    def place(self) -> tuple[int, int] | None:
        """From where to where they stand; None where nobody knows."""
        return None if self.start is None or self.end is None else (self.start, self.end)

    @property
    def read(self) -> str:
        """What was read for it, as a finding says it; empty where nobody knows."""
        return self.scope.said if self.scope else ""

    @property
    def cited(self) -> Evidence | None:
        """The same as a finding has it."""
        return Evidence(self.evidence, Span(*self.place) if self.place else None) if self.evidence else None


@dataclass(frozen=True, slots=True)
class EvidenceReader:
    """Finds what the document says about a question. `window` is how many tokens a prompt and its reply may have."""

    document: Document
    passages: Passages
    tokenizer: Tokenizer
    window: int
    document_tokens: int
    wording: TokenRates = USUAL
    """How the document's language comes out in tokens."""
    reading: EvidenceName = "auto"
    """How much of the document is read before something is said to be missing from it."""

    @property
    def name(self) -> str:
        """What the evidence depends on."""
        return f"{self.document.id} {self.passages.name} {self.windows.name} {self.window} {self.reading}"

    @property
    def is_long(self) -> bool:
        """Whether the document is searched before it is read: it leaves no room for items beside it, or shall be."""
        return self.reading == "retrieved" or not has_room(self.window, self.document_tokens)

    def key(self, item: EvidenceQuery, *, wide: bool = False) -> list[object]:
        """What is read for an item depends on: how it is searched for too, unless all of the document is read."""
        return [self.name, item.text, *([item.also, item.cited] if wide or self.is_long else [])]

    @property
    def windows(self) -> Windows:
        """What is read of a document that is not read whole."""
        return self.passages.windows

    @property
    def room(self) -> int:
        """The tokens of evidence that a prompt has room for."""
        return int(self.window * _SHARE_OF_WINDOW)

    def evidence(self, question: str, count: int, *, wide: bool = False) -> list[Span]:
        """The places nearest to a question, the best first: at most `count`, besides those that it quotes.

        A question that quotes the document is about that place, so no other is looked for unless `wide`.
        """
        named = self._named(question)
        if named and not wide:
            return named
        near = [passage.span for passage in self.passages.nearest(question, count)]
        return list(dict.fromkeys([*named, *near]))

    def wanted(self, item: EvidenceQuery, count: int, *, wide: bool = False) -> list[Span]:
        """The windows to read for an item: those that hold what it quotes or what is cited for it, then the nearest.

        One that quotes the document is about that place, so no other is looked for unless `wide`.
        """
        named = [window for place, _ in self._quoted(item.text) for window in self.windows.holding(place)]
        cited = [window for place in item.cited for window in self.windows.holding(place)]
        near = [] if named and not wide else self.windows.nearest(item.query, count)
        return list(dict.fromkeys([*named, *cited, *near]))

    def nearest(self, text: str, count: int, within: Span) -> list[Span]:
        """The places within a part of the document that are nearest to a text, the best first."""
        found = (passage.span for passage in self.passages.nearest(text, count, within))
        return [Span(max(span.start, within.start), min(span.end, within.end)) for span in found]

    def _named(self, question: str) -> list[Span]:
        """The passages that hold word for word what the question quotes: a search by rare terms may pass them over.

        Where a quote has a name in brackets, for which the document has a pronoun, those before it are there as well:
        they say whom it means.
        """
        found: list[Span] = []
        for place, named in self._quoted(question):
            near = self.passages.around(place, _BEFORE_NAMED) if named else self.passages.holding(place)
            found += [passage.span for passage in near if passage.span.start <= place.end]
        return found

    def _quoted(self, question: str) -> Iterator[tuple[Span, bool]]:
        """The places that a question quotes, and whether a quote has a name in brackets before it."""
        for found in _QUOTED.finditer(question):
            quote = "".join(found.groups(default=""))
            named = _NAMED.match(quote)
            piece = max(_GAP.split(quote[named.end() :] if named else quote), key=len)
            place = locate(self.document.text, piece.translate(_UNMARKED), []) if count_words(piece) > 1 else None
            if place:
                yield place, named is not None

    def joined(self, found: Sequence[Sequence[Span]]) -> list[Span]:
        """The evidence of several questions in the document's order, overlapping places joined."""
        return joined(span for spans in found for span in spans)

    def parts(self, statements: Sequence[Statement]) -> list[list[Statement]]:
        """The sentences of a summary in as many parts as it takes for each to fit into a prompt; mostly that is one."""
        parts: list[list[Statement]] = [[]]
        filled = 0
        for statement in statements:
            tokens = self.tokens_of([statement])
            if parts[-1] and filled + tokens > self.room:
                parts.append([])
                filled = 0
            # What a sentence points back to is the one before it in its part, if it is not the first.
            parts[-1].append(statement.model_copy(update={"before": ""}) if parts[-1] else statement)
            filled += tokens
        return parts

    def tokens_of(self, statements: Sequence[Statement]) -> int:
        """About as many tokens as some sentences of a summary take in a prompt."""
        texts = [text for one in statements for text in (one.before, one.sentence)]
        return sum(map(self.tokenizer.count, texts)) + _TAG_TOKENS * len(statements)

    def text(self, span: Span) -> str:
        """The document's words at a place."""
        return self.document.text[span.start : span.end]

    def quoted(self, quote: str, within: Sequence[Span]) -> Evidence:
        """The place that a model has quoted; where it cannot be found, nothing is claimed to stand anywhere."""
        span = locate(self.document.text, _cut(quote), within)
        return Evidence("") if span is None else self.place(span)

    def sentence(self, quote: str, within: Sequence[Span]) -> Evidence:
        """The whole sentences of which a model has quoted some words."""
        span = self.quoted(quote, within).span
        if span is None:
            return Evidence("")
        around = [passage.span for passage in self.passages.holding(span)] or [span]
        found = [
            one
            for one in sentences(self.document.text, Span(around[0].start, max(one.end for one in around)))
            if one.start < span.end and span.start < one.end
        ]
        return self.place(Span(found[0].start, found[-1].end) if found else span)

    def place(self, span: Span) -> Evidence:
        """The words at a place, the first of them where there are many."""
        span = Span(span.start, min(span.end, span.start + _LONGEST_QUOTE))
        return Evidence(self.text(span), span)


def has_room(window: int, read: int) -> bool:
    """Whether so many tokens of a document can be read at once: there is room for some eight items beside them."""
    return read + _BESIDE_DOCUMENT <= window


def _cut(quote: str) -> str:
    """A quote of a sensible length; it ends with a word."""
    return quote if len(quote) <= 2 * _LONGEST_QUOTE else quote[: 2 * _LONGEST_QUOTE].rpartition(" ")[0]


def shown(reader: EvidenceReader, spans: Sequence[Span]) -> dict[str, Any]:
    """The fields of a prompt that is given these places: the whole document is one text, and so called."""
    texts = [reader.text(span) for span in spans]
    return {"document": texts[0]} if texts == [reader.document.text] else {"passages": texts}
