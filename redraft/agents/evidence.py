"""Evidence: the places of the document that a question is answered from, and those that an answer quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from redraft.agents.room import USUAL, Wording
from redraft.domain import Document, Evidence, Span
from redraft.prompts.judging import Statement
from redraft.text.passages import Passages, joined
from redraft.text.quotes import locate
from redraft.text.sentences import sentences
from redraft.text.tokens import Tokenizer
from redraft.text.words import count_words

# Beside the passages a prompt holds the questions, what is said around them, and the room for the reply.
_SHARE_OF_WINDOW = 0.5
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
class Wanted:
    """What is looked for in the document: a question or a sentence, and whatever helps to find its place."""

    text: str
    also: tuple[str, ...] = ()
    """The summary's answer, its sentence, and words that the document would use."""
    cited: tuple[Span, ...] = ()
    """Places that are read in any case: those that the document's pack cites for such a question."""


class Scope(BaseModel):
    """How much of the document was read for an item."""

    tokens: int
    passages: int | None = None
    """None where it was the whole document."""

    @property
    def said(self) -> str:
        """The same for people."""
        if self.passages is None:
            return f"the whole document ({self.tokens:,} tokens)"
        return f"{self.passages:,} passage{'' if self.passages == 1 else 's'}"


class Placed(BaseModel):
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
    def cited(self) -> Evidence | None:
        """The same as a finding has it."""
        return Evidence(self.evidence, Span(*self.place) if self.place else None) if self.evidence else None


@dataclass(frozen=True, slots=True)
class EvidenceDesk:
    """Finds what the document says about a question. `window` is how many tokens a prompt and its reply may have."""

    document: Document
    passages: Passages
    tokenizer: Tokenizer
    window: int
    document_tokens: int
    wording: Wording = USUAL
    """How the document's language comes out in tokens."""

    @property
    def name(self) -> str:
        """What the evidence depends on."""
        return f"{self.document.id} {self.passages.name} {self.window}"

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

    def nearest(self, text: str, count: int, within: Span) -> list[Span]:
        """The places within a part of the document that are nearest to a text, the best first."""
        found = (passage.span for passage in self.passages.nearest(text, count, within))
        return [Span(max(span.start, within.start), min(span.end, within.end)) for span in found]

    def _named(self, question: str) -> list[Span]:
        """The passages that hold word for word what the question quotes: a search by rare terms may pass them over.

        Where a quote has a name in brackets, for which the document has a pronoun, those before it are there as well:
        they say whom it means.
        """
        quotes = ("".join(found.groups(default="")) for found in _QUOTED.finditer(question))
        found: list[Span] = []
        for quote in quotes:
            named = _NAMED.match(quote)
            piece = max(_GAP.split(quote[named.end() :] if named else quote), key=len)
            place = locate(self.document.text, piece.translate(_UNMARKED), []) if count_words(piece) > 1 else None
            if place:
                near = self.passages.around(place, _BEFORE_NAMED) if named else self.passages.holding(place)
                found += [passage.span for passage in near if passage.span.start <= place.end]
        return found

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


def _cut(quote: str) -> str:
    """A quote of a sensible length; it ends with a word."""
    return quote if len(quote) <= 2 * _LONGEST_QUOTE else quote[: 2 * _LONGEST_QUOTE].rpartition(" ")[0]
