"""The part of a document that an agent reads: evidence for its questions, and the room that the reply needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise, zip_longest
from math import ceil
from typing import Any

from pydantic import BaseModel

from redraft.document import merge_spans
from redraft.domain import WHOLE, Document, Evidence, Span
from redraft.prompts.qa import Statement
from redraft.settings import LEVEL_RATIO, EvidenceName
from redraft.text.languages import language_key, language_of
from redraft.text.quotes import locate, source_of
from redraft.text.retrieval import Passages, Windows
from redraft.text.sentences import sentences
from redraft.text.tokens import Tokenizer
from redraft.text.vectors import terms
from redraft.text.words import UNSPACED, count_words, has_words

# The text is sampled in this many pieces of this many characters.
_PIECES, _PIECE = 10, 2_000
# The quantile of sentence lengths that counts as a longer sentence.
_LONGER = 0.75
_SHORTEST, _LONGEST = 16, 240
# Replies may take more tokens for a word than the document does.
_SLACK = 1.15
# Letters per word of a script without spaces.
_LETTERS_A_WORD = 2
_LETTER = re.compile(rf"[{UNSPACED}]")


@dataclass(frozen=True, slots=True)
class TokenRates:
    """How many tokens a document's language takes."""

    per_word: float = 1 / LEVEL_RATIO
    """Tokens per word."""
    sentence: int = 40
    """Tokens of a longer sentence."""


USUAL = TokenRates()
"""The rates of English, used if nothing is known of a document."""


@dataclass(frozen=True, slots=True)
class EntryBudget:
    """What one entry of a reply needs: the tokens of its frame, the words written for it, and the sentences copied."""

    frame: int
    words: int = 0
    sentences: int = 0

    def tokens(self, wording: TokenRates) -> int:
        """Return the tokens that an entry may need at these rates."""
        return ceil(self.frame + self.words * wording.per_word + self.sentences * wording.sentence)


@lru_cache(maxsize=4)
def wording_of(text: str, tokenizer: Tokenizer) -> TokenRates:
    """Return the token rates of a document, by samples of its text. Cached, since each step of a run needs them."""
    step = max(_PIECE, len(text) // _PIECES)
    pieces = [text[at : at + _PIECE] for at in range(0, len(text), step)]
    counts: list[int] = []
    for piece in pieces:
        spans = sentences(piece)
        # The first and the last sentence of a piece may be cut.
        texts = [piece[span.start : span.end] for span in (spans[1:-1] if len(spans) > 2 else spans)]
        counts += [tokenizer.count(text) for text in texts if has_words(text)]
    counts.sort()
    words = sum(map(count_words, pieces))
    unspaced = 2 * sum(len(_LETTER.findall(piece)) for piece in pieces) > words
    per_word = max(USUAL.per_word, _SLACK * sum(map(tokenizer.count, pieces)) / max(1, words))
    longer = counts[int(_LONGER * (len(counts) - 1))] if counts else USUAL.sentence
    return TokenRates(per_word * (_LETTERS_A_WORD if unspaced else 1), min(_LONGEST, max(_SHORTEST, longer)))


@lru_cache(maxsize=4)
def tokens_in(text: str, tokenizer: Tokenizer) -> int:
    """Return the tokens of a document. Cached like its rates."""
    return tokenizer.count(text)


# The share of the window that evidence may take.
_SHARE_OF_WINDOW = 0.5
# Tokens left for items and reply next to a document that is read whole.
_BESIDE_DOCUMENT = 1_600
GAP = 300
"""Places with fewer characters between them are shown as one."""
_LONGEST_QUOTE = 600
# How many sentences before and after a quote are looked at for the rest of an answer.
_SENTENCES_BESIDE = 3
# A question may quote the sentence that it is about.
_QUOTED = re.compile(r"[“«„]([^”»“]{3,2000})[”»“]|\"([^\"]{3,2000})\"")
_GAP = re.compile(r"_{2,}|…|\.\.\.")
# Tokens that number a sentence.
_TAG_TOKENS = 16


@dataclass(frozen=True, slots=True)
class EvidenceQuery:
    """A search in the document: a question or a sentence, with words that help to find its place."""

    text: str
    also: tuple[str, ...] = ()
    """The summary's answer, its sentence, and words that the document would use."""
    cited: tuple[Span, ...] = ()
    """Places that are always read: those that the document's pack cites."""
    glanced: bool = False
    """Whether its answer so far is from passages alone, which a second look at a document that fits reads whole."""

    @property
    def query(self) -> str:
        """Return all of it as a search query."""
        return " ".join((self.text, *self.also))


class Scope(BaseModel):
    """How much of the document was read for an item."""

    tokens: int
    passages: int | None = None
    """None if it was the whole document."""

    @property
    def description(self) -> str:
        """Return a description of the scope."""
        if self.passages is None:
            return f"{WHOLE} ({self.tokens:,} tokens)"
        return f"{self.passages:,} passage{'' if self.passages == 1 else 's'}"


class CitedPlace(BaseModel):
    """The document's words that a verdict relies on, as stored, with their span."""

    evidence: str = ""
    start: int | None = None
    end: int | None = None
    scope: Scope | None = None
    """The part of the document read for it; None if unknown."""

    @staticmethod
    def fields_of(evidence: Evidence) -> dict[str, Any]:
        """Return the fields that hold some evidence."""
        start, end = evidence.span or (None, None)
        return {"evidence": evidence.text, "start": start, "end": end}

    @property
    def place(self) -> tuple[int, int] | None:
        """Return the start and end; None if unknown."""
        return None if self.start is None or self.end is None else (self.start, self.end)

    @property
    def is_from_whole(self) -> bool:
        """Return whether the whole document was read for it."""
        return self.scope is not None and self.scope.passages is None

    @property
    def is_glanced(self) -> bool:
        """Return whether passages alone were read for it."""
        return self.scope is not None and self.scope.passages is not None

    @property
    def scope_text(self) -> str:
        """Return a description of what was read; empty if unknown."""
        return self.scope.description if self.scope else ""

    @property
    def as_evidence(self) -> Evidence | None:
        """Return the place as evidence of a finding."""
        return Evidence(self.evidence, Span(*self.place) if self.place else None) if self.evidence else None


@dataclass(frozen=True, slots=True)
class EvidenceReader:
    """Finds what the document says about a question; `window` is the token limit of a prompt and its reply."""

    document: Document
    passages: Passages
    tokenizer: Tokenizer
    window: int
    document_tokens: int
    wording: TokenRates = USUAL
    reading: EvidenceName = "auto"
    """How much of the document is read before a statement counts as missing from it."""

    @property
    def name(self) -> str:
        """Return what the evidence depends on, as part of a cache key; of a document that is read whole, no window."""
        if not self.is_searched:
            return f"{language_key(self.document)} {self.reading}"
        return f"{self.document.id} {self.passages.name} {self.windows.name} {self.window} {self.reading}"

    @property
    def is_searched(self) -> bool:
        """Return whether the document is searched rather than read whole."""
        return self.reading == "retrieved" or not has_room(self.window, self.document_tokens)

    def key(self, item: EvidenceQuery, *, wide: bool = False) -> list[object]:
        """Return the part of a cache key that covers what is read for an item."""
        return [self.name, item.text, *([item.also, item.cited] if wide or self.is_searched else [])]

    @property
    def windows(self) -> Windows:
        """Return the windows of the document that are searched."""
        return self.passages.windows

    @property
    def room(self) -> int:
        """Return the tokens of evidence that fit a prompt."""
        return int(self.window * _SHARE_OF_WINDOW)

    def evidence(self, question: str, count: int, *, wide: bool = False) -> list[Span]:
        """Return the places nearest to a question, best first: at most `count`, plus those it quotes. Quoted places
        suffice unless `wide`."""
        spans = [passage.span for place in self._quoted(question) for passage in self.passages.holding(place)]
        if spans and not wide:
            return spans
        near = [passage.span for passage in self.passages.nearest(question, count)]
        return list(dict.fromkeys([*spans, *near]))

    def wanted(self, item: EvidenceQuery, count: int, *, wide: bool = False) -> list[Span]:
        """Return the windows to read for an item: quoted and cited places, then the nearest; quoted places suffice
        unless `wide`."""
        spans = [window for place in self._quoted(item.text) for window in self.windows.holding(place)]
        cited = [window for place in item.cited for window in self.windows.holding(place)]
        near = [] if spans and not wide else self.windows.nearest(item.query, count)
        return list(dict.fromkeys([*spans, *cited, *near]))

    def nearest(self, text: str, count: int, within: Span) -> list[Span]:
        """Return the places within a part of the document that are nearest to a text, best first."""
        spans = (passage.span for passage in self.passages.nearest(text, count, within))
        return [Span(max(span.start, within.start), min(span.end, within.end)) for span in spans]

    def _quoted(self, question: str) -> Iterator[Span]:
        """Yield the places that a question quotes."""
        for match in _QUOTED.finditer(question):
            piece = max(_GAP.split("".join(match.groups(default=""))), key=len)
            place = locate(self.document.text, piece) if count_words(piece) > 1 else None
            if place:
                yield place

    def joined(self, places: Sequence[Sequence[Span]]) -> list[Span]:
        """Return the evidence of several questions in document order; places that overlap, or have little text between
        them, are joined: a sentence left out would leave the next one without its subject."""
        merged = merge_spans(span for spans in places for span in spans)
        return merge_spans(chain(merged, (Span(a.end, b.start) for a, b in pairwise(merged) if b.start - a.end < GAP)))

    def parts(self, statements: Sequence[Statement], room: int | None = None) -> list[list[Statement]]:
        """Return the sentences of a summary in parts that each fit a prompt, or have at most `room` tokens."""
        room = self.room if room is None else room
        parts: list[list[Statement]] = [[]]
        filled = 0
        for statement in statements:
            tokens = self.tokens_of([statement])
            if parts[-1] and filled + tokens > room:
                parts.append([])
                filled = 0
            # A sentence refers back to the one before it, unless it is the first of its part.
            parts[-1].append(statement.model_copy(update={"before": ""}) if parts[-1] else statement)
            filled += tokens
        return parts

    def tokens_of(self, statements: Sequence[Statement]) -> int:
        """Return roughly how many tokens some sentences take in a prompt."""
        texts = [text for statement in statements for text in (statement.before, statement.sentence)]
        return sum(map(self.tokenizer.count, texts)) + _TAG_TOKENS * len(statements)

    def text(self, span: Span) -> str:
        """Return the document's text at a span."""
        return self.document.text[span.start : span.end]

    def quoted(self, quote: str, within: Sequence[Span]) -> Evidence:
        """Return the place that a model quoted; empty if not found."""
        # A long quote is cut at a word.
        quote = quote if len(quote) <= 2 * _LONGEST_QUOTE else quote[: 2 * _LONGEST_QUOTE].rpartition(" ")[0]
        span = source_of(self.document.text, quote, within)
        return Evidence("") if span is None else self.place(span)

    def sentence(self, quote: str, within: Sequence[Span]) -> Evidence:
        """Return the whole sentences around words that a model quoted."""
        span = self.quoted(quote, within).span
        return Evidence("") if span is None else self.sentences_at(span)

    def sentences_at(self, span: Span) -> Evidence:
        """Return the whole sentences around a place."""
        around = [passage.span for passage in self.passages.holding(span)] or [span]
        spans = [
            sentence
            for sentence in sentences(self.document.text, Span(around[0].start, max(place.end for place in around)))
            if sentence.overlaps(span)
        ]
        return self.place(Span(spans[0].start, spans[-1].end) if spans else span)

    def widened(self, evidence: Evidence, answer: str) -> Evidence:
        """Return evidence extended by neighboring sentences that contain more of the answer's words."""
        span = evidence.span
        language = language_of(answer)
        missing = set(terms(answer, language)) - set(terms(evidence.text, language))
        if span is None or not missing:
            return evidence
        around = [passage.span for passage in self.passages.around(span, 1)]
        spans = sentences(self.document.text, Span(around[0].start, around[-1].end)) if around else []
        touching = [sentence for sentence in spans if sentence.overlaps(span)]
        before = [sentence for sentence in reversed(spans) if sentence.end <= span.start][:_SENTENCES_BESIDE]
        after = [sentence for sentence in spans if sentence.start >= span.end][:_SENTENCES_BESIDE]
        for sentence in (*touching, *chain.from_iterable(zip_longest(after, before))):
            wider = span if sentence is None else Span(min(sentence.start, span.start), max(sentence.end, span.end))
            new_terms = missing & set(terms(self.text(wider), language))
            if new_terms and wider.end - wider.start <= _LONGEST_QUOTE:
                span, missing = wider, missing - new_terms
        return Evidence(self.text(span), span)

    def place(self, span: Span) -> Evidence:
        """Return the text at a place, shortened if it is long."""
        span = Span(span.start, min(span.end, span.start + _LONGEST_QUOTE))
        return Evidence(self.text(span), span)


def has_room(window: int, read: int) -> bool:
    """Return whether a text of `read` tokens fits a window with a few items."""
    return read + _BESIDE_DOCUMENT <= window


def document_fields(reader: EvidenceReader, spans: Sequence[Span]) -> dict[str, Any]:
    """Return the prompt fields for some places: the whole document, or passages."""
    texts = [reader.text(span) for span in spans]
    return {"document": texts[0]} if texts == [reader.document.text] else {"passages": texts}
