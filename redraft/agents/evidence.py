"""The part of a document that an agent reads for its questions: the whole document if it fits, else the nearest
passages, then each part once. Of a document that fits, the nearest passages are enough for a few new items beside
others that have their verdicts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, groupby, pairwise, zip_longest
from math import ceil
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from redraft.agents.judge import Attempt, Entries, ItemResults, ask_all, gather_all, joined
from redraft.document import merge_spans
from redraft.domain import WHOLE, Document, Evidence, Span
from redraft.prompts.qa import Statement
from redraft.settings import EvidenceName
from redraft.text.languages import language_key, language_of
from redraft.text.quotes import locate, source_of
from redraft.text.retrieval import WINDOW, DocumentSearch, Passages
from redraft.text.sentences import sentences
from redraft.text.tokens import Tokenizer
from redraft.text.vectors import terms
from redraft.text.words import count_words, words_key


@lru_cache(maxsize=4)
def tokens_in(text: str, tokenizer: Tokenizer) -> int:
    """Return the tokens of a document. Cached like its rates."""
    return tokenizer.count(text)


# The share of the window that evidence may take.
_SHARE_OF_WINDOW = 0.5
BESIDE_DOCUMENT = 1_600
"""Tokens left for items and reply next to a document that is read whole."""
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
    """A verdict as stored, with the document's words that it relies on."""

    evidence: Evidence | None = None
    scope: Scope | None = None
    """The part of the document read for it; None if unknown."""

    @property
    def place(self) -> Span | None:
        """Return the place of the words; None if unknown."""
        return self.evidence.span if self.evidence else None

    @property
    def is_from_whole(self) -> bool:
        """Return whether the whole document was read for it."""
        return self.scope is not None and self.scope.passages is None


@dataclass(frozen=True, slots=True)
class EvidenceReader:
    """Finds what the document says about a question; `window` is the token limit of a prompt and its reply."""

    document: Document
    passages: Passages
    tokenizer: Tokenizer
    window: int
    document_tokens: int
    reading: EvidenceName = "auto"
    """How much of the document is read before a statement counts as missing from it."""

    @property
    def name(self) -> str:
        """Return what the evidence depends on, as part of a cache key; of a document that is read whole, no window."""
        if not self.is_searched:
            return f"{language_key(self.document)} {self.reading}"
        return f"{self.document.id} {self.passages.name} {self.passages.windows.name} {self.window} {self.reading}"

    @property
    def is_searched(self) -> bool:
        """Return whether the document is searched rather than read whole."""
        return self.reading == "retrieved" or self.document_tokens + BESIDE_DOCUMENT > self.window

    def key(self, item: EvidenceQuery, *, wide: bool = False) -> list[object]:
        """Return the part of a cache key that covers what is read for an item."""
        return [self.name, item.text, *([item.also, item.cited] if wide or self.is_searched else [])]

    @property
    def room(self) -> int:
        """Return the tokens of evidence that fit a prompt."""
        return int(self.window * _SHARE_OF_WINDOW)

    def wanted(
        self, item: EvidenceQuery, count: int, *, wide: bool = False, among: DocumentSearch | None = None
    ) -> list[Span]:
        """Return the places to read for an item: those quoted and cited, then the `count` nearest, which quoted ones
        make needless unless `wide`. They are windows of the text, or `among` other passages."""
        search = among or self.passages.windows
        quoted = [passage for place in self._quoted(item.text) for passage in search.around(place)]
        cited = [passage for place in item.cited for passage in search.around(place)]
        near = [] if quoted and not wide else search.nearest(" ".join((item.text, *item.also)), count)
        return list(dict.fromkeys([*quoted, *cited, *near]))

    def nearest(self, text: str, count: int, within: Span) -> list[Span]:
        """Return the places within a part of the document that are nearest to a text, best first."""
        spans = self.passages.nearest(text, count, within)
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

    def fitting(self, groups: Iterable[Sequence[Span]], room: float) -> list[Span]:
        """Return the groups of places that fit into so many tokens together, in document order; earlier ones first."""
        spans: list[Span] = []
        for group in groups:
            wider = self.joined([spans, group])
            if sum(self.tokenizer.count(self.text(span)) for span in wider) <= room:
                spans = wider
        return spans

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

    def fields(self, spans: Sequence[Span]) -> dict[str, Any]:
        """Return the prompt fields for some places: the whole document, or passages."""
        texts = [self.text(span) for span in spans]
        return {"document": texts[0]} if texts == [self.document.text] else {"passages": texts}

    def quoted(self, quote: str, within: Sequence[Span]) -> Evidence | None:
        """Return the place that a model quoted; None if not found."""
        # A long quote is cut at a word.
        quote = quote if len(quote) <= 2 * _LONGEST_QUOTE else quote[: 2 * _LONGEST_QUOTE].rpartition(" ")[0]
        span = source_of(self.document.text, quote, within)
        return None if span is None else self.place(span)

    def sentence(self, quote: str, within: Sequence[Span]) -> Evidence | None:
        """Return the whole sentences around words that a model quoted; None if not found."""
        quoted = self.quoted(quote, within)
        return self.sentences_at(quoted.span) if quoted and quoted.span else None

    def sentences_at(self, span: Span) -> Evidence:
        """Return the whole sentences around a place."""
        around = self.passages.around(span) or [span]
        within = Span(around[0].start, max(place.end for place in around))
        spans = [sentence for sentence in sentences(self.document.text, within) if sentence.overlaps(span)]
        return self.place(Span(spans[0].start, spans[-1].end) if spans else span)

    def widened(self, evidence: Evidence, answer: str) -> Evidence:
        """Return evidence extended by neighboring sentences that contain more of the answer's words."""
        span = evidence.span
        language = language_of(answer)
        missing = set(terms(answer, language)) - set(terms(evidence.text, language))
        if span is None or not missing:
            return evidence
        around = self.passages.around(span, 1)
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


NEAR = 4
"""How many windows are read for each item at first."""
FAR = 12
"""How many windows are read if the first ones do not mention it and no more of the document is read."""
# The fewest windows for a doubted answer, at most `FAR`, and the largest share of the document that those of all
# items together take beyond that.
_MIN_CLOSER_ITEMS = 2
_SHARE_CLOSER = 0.25
# New items are looked up in passages of a document that fits if these have less than this share of its tokens. That is
# no dearer than reading it whole, even if it has to be read after all every other time.
_SHARE_NEAR = 0.5
# The largest share of the window that items and their reply take next to a part of the document.
_SHARE_OF_ITEMS = 0.4
# Tokens of the prompt and reply schema, and of the number of an item or passage.
_FRAME_TOKENS = 480
_AROUND = 16


@dataclass(frozen=True, slots=True)
class EvidenceBatch:
    """Items that are asked about together, and the places of the document to read for them, in order."""

    numbers: Sequence[int]
    spans: Sequence[Span]
    windows: int | None = None
    """The number of windows; None if they are all there is to read."""
    wide: bool = False
    """Whether this is a wider look."""


Verdict = TypeVar("Verdict", bound=CitedPlace)

_LEFT_OPEN = "the passages that were read do not settle it, and the reading limit was reached"
# Fields in which equal verdicts may differ.
_BESIDES = {"evidence", "scope", "reason"}


@dataclass(frozen=True, slots=True)
class EvidenceSearch(Generic[Verdict]):
    """Searches the document for verdicts on items that take `each` tokens of a reply, reading more if the first places
    do not settle them. Shared places are read once."""

    reader: EvidenceReader
    items: Sequence[EvidenceQuery]
    each: int
    near: int
    """How many items are asked about at once with chosen windows."""
    far: int
    """How many items are asked about at once with the whole document, a part of it, or more windows."""
    ask: Callable[[EvidenceBatch, Attempt], Awaitable[Entries[Verdict]]]
    silent: Callable[[Verdict], bool]
    """Returns whether more must be read before a verdict counts."""
    objects: Callable[[Verdict], bool] = lambda _: False
    """Returns whether a silent verdict relies on words of the document and is kept if nothing better is found."""
    unsure: Callable[[Verdict], bool] = lambda _: False
    """Returns whether a silent verdict means that the judge cannot tell."""
    within: Span | None = None
    """The part of the document to read; None for all of it."""
    _counted: dict[Span, int] = field(default_factory=dict)

    async def verdicts(self, numbers: Sequence[int]) -> ItemResults[Verdict]:
        """Return the verdicts on some of the items."""
        if not numbers:
            return ItemResults()
        reader = self.reader
        fits = self.within is not None or not reader.is_searched
        # The first search indexes the document, so it runs in a thread.
        first = await asyncio.to_thread(self.glances if fits else self.nearest, numbers)
        if fits and not first:
            return await self._in_all(numbers, {})
        near = await self._read(first, wide=False)
        whole_read = {n for look in first if look.windows is None for n in look.numbers}
        # Items without any window were not asked about.
        unread = set(numbers).difference(n for look in first for n in look.numbers if look.spans)
        silent = {n for n, verdict in near.verdicts.items() if self.silent(verdict) and n not in whole_read}
        open_ = sorted(unread | silent)
        if not open_:
            return near
        if fits:
            # One reading is for all: a contradiction that passages show would be the next one.
            open_ = list(numbers)
        settled = {n: verdict for n, verdict in near.verdicts.items() if n not in open_}
        open_verdicts = {n: near.verdicts[n] for n in open_ if n in near.verdicts}
        if reader.reading != "retrieved":
            more = await self._in_all(open_, open_verdicts)
            return ItemResults(settled | more.verdicts, near.trouble or more.trouble)
        far = await self._read(await asyncio.to_thread(self.nearest, open_, FAR, wide=True), wide=True)
        # Silence of passages alone is no verdict.
        wider: dict[int, Verdict] = {}
        for verdicts in (open_verdicts, far.verdicts):
            wider |= {
                n: verdict
                for n, verdict in verdicts.items()
                if verdict.is_from_whole or not self.silent(verdict) or self.objects(verdict)
            }
        trouble = far.trouble or (_LEFT_OPEN if len(wider) < len(open_) else "")
        return ItemResults(settled | wider, near.trouble or trouble)

    async def second_look(self, numbers: Sequence[int]) -> ItemResults[Verdict]:
        """Return the verdicts on doubted items: from newly chosen windows, or from all if that is requested, or fits
        and was not read before."""
        reader = self.reader
        unread = set() if reader.is_searched else {n for n in numbers if self.items[n].glanced}
        entire = [n for n in numbers if reader.reading == "whole" or n in unread]
        if whole_batches := await asyncio.to_thread(self.whole, entire):
            numbers = [n for n in numbers if n not in entire]
        closer = await asyncio.to_thread(self.closer, numbers)
        return joined([await self._read(whole_batches, wide=True), await self._read(closer, wide=True)])

    async def _in_all(self, numbers: Sequence[int], earlier: Mapping[int, Verdict]) -> ItemResults[Verdict]:
        """Return the verdicts after reading all of the document: at once if it fits, else each part for each item."""
        if whole_batches := await asyncio.to_thread(self.whole, numbers):
            return await self._read(whole_batches, wide=bool(earlier))
        parts = await asyncio.to_thread(self.parts, numbers)
        read = await gather_all(self._read(part, wide=True) for part in parts)
        verdicts: dict[int, Verdict] = {}
        disputed: dict[int, list[Verdict]] = {}
        for n in numbers:
            of_parts = [part.verdicts[n] for part in read if n in part.verdicts]
            telling = [verdict for verdict in of_parts if not self.silent(verdict)]
            # Verdicts without their places and wording.
            contents = (verdict.model_dump(exclude=_BESIDES).values() for verdict in telling)
            if len({words_key(" ".join(map(str, values))) for values in contents}) > 1:
                disputed[n] = telling
            elif telling:
                verdicts[n] = telling[0]
            elif len(of_parts) == len(parts):
                # Of silent verdicts the one that quotes the document counts, else one that cannot tell.
                silent = [*of_parts, *([earlier[n]] if n in earlier else [])]
                ranked = [*filter(self.objects, silent), *filter(self.unsure, silent), *silent]
                verdicts[n] = ranked[0]
        # Items on which parts disagree are asked about again, with all cited places in view.
        places = {n: [verdict.place for verdict in of_parts if verdict.place] for n, of_parts in disputed.items()}
        placed = {n: spans for n, spans in places.items() if spans}
        looks = await asyncio.to_thread(self.beside, placed) if placed else []
        if rest := [n for n in places if n not in placed]:
            looks += await asyncio.to_thread(self.closer, rest)
        reread = await self._read(looks, wide=True)
        reread = reread.decided(lambda verdict: not self.silent(verdict) or self.objects(verdict))
        whole = self.scope_of(EvidenceBatch((), (self.all,)))
        settled = {
            n: verdict.model_copy(update={"scope": whole}) for n, verdict in (verdicts | reread.verdicts).items()
        }
        return ItemResults(settled, joined(read).trouble or reread.trouble)

    async def _read(self, looks: Sequence[EvidenceBatch], *, wide: bool) -> ItemResults[Verdict]:
        looks = [look for look in looks if look.spans]
        of = {n: look for look in looks for n in look.numbers}
        # What all read in one place is the beginning of every prompt.
        same = bool(looks) and looks[0].spans == looks[-1].spans
        results = await ask_all(
            [look.numbers for look in looks if look.numbers],
            lambda numbers, attempt: self.ask(replace(of[numbers[0]], numbers=numbers, wide=wide), attempt),
            ahead=same,
        )
        updates = {n: {"scope": self.scope_of(of[n])} for n in results.verdicts}
        verdicts = {n: verdict.model_copy(update=updates[n]) for n, verdict in results.verdicts.items()}
        return ItemResults(verdicts, results.trouble)

    @property
    def all(self) -> Span:
        """Return the span of everything that can be read."""
        return self.within or Span(0, len(self.reader.document.text))

    @property
    def all_tokens(self) -> int:
        """Return the number of tokens of everything that can be read."""
        return self._tokens([self.within]) if self.within else self.reader.document_tokens

    def whole(self, numbers: Sequence[int]) -> list[EvidenceBatch]:
        """Return batches that read everything, as few and equal as possible; none if it does not fit. The document
        comes first in each prompt, so that a provider can cache it."""
        room = self.reader.window - _FRAME_TOKENS - _AROUND - self.all_tokens
        fits = self.all_tokens + BESIDE_DOCUMENT <= self.reader.window
        size = min(self.far, max(0, room) // max(map(self._cost, numbers), default=1)) if fits else 0
        return [EvidenceBatch(batch, (self.all,)) for batch in _equal(numbers, size)] if size else []

    def parts(self, numbers: Sequence[int]) -> list[list[EvidenceBatch]]:
        """Return, for each part of a document that does not fit, the batches that ask about all items."""
        room = self.reader.window - _FRAME_TOKENS - _AROUND
        most = max(0, int(_SHARE_OF_ITEMS * room)) // max(map(self._cost, numbers))
        size = max(1, min(self.far, len(numbers), most))
        batches = _equal(numbers, size)
        item_tokens = max(sum(map(self._cost, batch)) for batch in batches)
        spans = self.reader.passages.windows.parts(max(1, room - item_tokens), self.all)
        return [[EvidenceBatch(batch, (span,)) for batch in batches] for span in spans]

    def nearest(self, numbers: Sequence[int], count: int = NEAR, *, wide: bool = False) -> list[EvidenceBatch]:
        """Return batches that read so many windows nearest to each item; `wide` for those whose quotes do not
        suffice."""
        windows_of = {n: self.reader.wanted(self.items[n], count, wide=wide) for n in numbers}
        return self._filled(windows_of, self.far if wide else self.near)

    def glances(self, numbers: Sequence[int]) -> list[EvidenceBatch]:
        """Return `nearest` for the only new ones of some items, if that reads much less of a document that fits than
        reading it whole does; else none."""
        reader, distinct = self.reader, {item.text for item in self.items}
        if reader.reading != "auto" or self.within is not None or len(numbers) >= len(distinct):
            return []
        nearest = self.nearest(numbers)
        return nearest if sum(self.scope_of(look).tokens for look in nearest) < _SHARE_NEAR * self.all_tokens else []

    def closer(self, numbers: Sequence[int]) -> list[EvidenceBatch]:
        """Return batches that read the windows of items with doubted answers."""
        share = int(_SHARE_CLOSER * self.reader.document_tokens / (max(1, len(numbers)) * WINDOW))
        return self.nearest(numbers, max(_MIN_CLOSER_ITEMS, min(FAR, share)), wide=True)

    def beside(self, places: Mapping[int, Sequence[Span]]) -> list[EvidenceBatch]:
        """Return batches that read the windows around given places of each item together."""
        windows_of = {
            n: [window for span in spans for window in self.reader.passages.windows.around(span)]
            for n, spans in places.items()
        }
        return self._filled({n: list(dict.fromkeys(spans)) for n, spans in windows_of.items()}, self.far)

    def _filled(self, windows_of: Mapping[int, Sequence[Span]], limit: int) -> list[EvidenceBatch]:
        """Group the items by their best windows into batches, as many at once as fit; items of one window stay together
        if they can."""
        end = len(self.reader.document.text)
        best = {n: spans[0] if spans else Span(end, end) for n, spans in windows_of.items()}
        chosen: list[dict[int, Sequence[Span]]] = []
        for _, group in groupby(sorted(windows_of, key=lambda n: (best[n], n)), key=best.__getitem__):
            same_window = {n: self._fitting(n, windows_of[n]) for n in group}
            if chosen and self._fits(chosen[-1] | same_window, limit):
                chosen[-1] |= same_window
                continue
            for at, (n, spans) in enumerate(same_window.items()):
                if at and self._fits(chosen[-1] | {n: spans}, limit):
                    chosen[-1][n] = spans
                else:
                    chosen.append({n: spans})
        text, everything = self.reader.document.text, self.all
        batches: list[EvidenceBatch] = []
        for items in chosen:
            joined_spans, left_out = self.reader.joined(list(items.values())), text
            if len(joined_spans) == 1:
                left_out = text[everything.start : joined_spans[0].start] + text[joined_spans[0].end : everything.end]
            windows = len({span for item_spans in items.values() for span in item_spans}) if left_out.strip() else None
            places = (everything,) if windows is None else tuple(joined_spans)
            batches.append(EvidenceBatch(tuple(sorted(items)), places, windows))
        return batches

    def _fits(self, chosen: Mapping[int, Sequence[Span]], limit: int) -> bool:
        spans = self.reader.joined(list(chosen.values()))
        return len(chosen) <= limit and self._tokens(spans) <= self._room(list(chosen))

    def _fitting(self, n: int, spans: Sequence[Span]) -> list[Span]:
        """Return the places that fit, best first; always at least one, shortened if necessary."""
        room = self._room([n])
        sizes = [self._tokens(self.reader.joined([spans[: at + 1]])) for at in range(len(spans))]
        fitting = [span for at, span in enumerate(spans) if not at or sizes[at] <= room]
        if fitting and self._tokens(fitting[:1]) > room:
            fitting[0] = self.reader.passages.windows.parts(max(1, room - _AROUND), fitting[0])[0]
        return fitting

    def scope_of(self, batch: EvidenceBatch) -> Scope:
        """Return how much of the document a batch reads."""
        if batch.windows:
            return Scope(tokens=self._tokens(batch.spans), passages=batch.windows)
        return Scope(tokens=self.all_tokens, passages=1 if self.within else None)

    def _room(self, numbers: Sequence[int]) -> int:
        """Return the tokens of the document that fit next to some items and their reply."""
        return self.reader.window - _FRAME_TOKENS - sum(map(self._cost, numbers))

    def _cost(self, n: int) -> int:
        return self.each + _AROUND + self.reader.tokenizer.count(self.items[n].text)

    def _tokens(self, spans: Sequence[Span]) -> int:
        for span in spans:
            if span not in self._counted:
                self._counted[span] = self.reader.tokenizer.count(self.reader.text(span)) + _AROUND
        return sum(self._counted[span] for span in spans)


def _equal(numbers: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Return the numbers in as few, and as equal, batches of at most this size as possible."""
    count = ceil(len(numbers) / size) if numbers else 0
    bounds = [at * len(numbers) // count for at in range(count + 1)] if count else []
    return [tuple(numbers[start:end]) for start, end in pairwise(bounds)]
