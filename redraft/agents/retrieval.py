"""What is read for which items: the whole document where it fits, else the nearest passages, then each part once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from math import ceil
from typing import Generic, NamedTuple, TypeVar

from redraft.agents.accounts import Account, Attempt, Entries, account, together
from redraft.agents.evidence import CitedPlace, EvidenceQuery, EvidenceReader, Scope, has_room
from redraft.domain import Span
from redraft.settings import EvidenceName
from redraft.text.retrieval import OVERLAP, WINDOW
from redraft.text.words import words_key

NEAR = 4
"""How many windows are read for each item at first."""
FAR = 12
"""And how many where those are silent, and no more of the document is to be read."""
# Where an answer is doubted at least so many are read for it, at most `FAR`; those of all items together come to no
# more than this share of the document, unless the least is more.
_LEAST_CLOSER = 2
_SHARE_CLOSER = 0.25
# Beside a part of the document the items and the reply about them take at most this share of the window.
_SHARE_OF_ITEMS = 0.4
# What a prompt says besides, with the schema of its reply, and around an item and a passage to number them.
_FRAME_TOKENS = 480
_AROUND = 16


@dataclass(frozen=True, slots=True)
class EvidenceBatch:
    """Items that are asked about at once, and the places of the document that are read for them, in its order."""

    numbers: tuple[int, ...]
    spans: tuple[Span, ...]
    windows: int | None = None
    """How many windows these are; None where they are all that there is to read."""


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """Decides what is read for some items, each of which takes `each` tokens of a reply.

    The order in which they are asked about windows is that of the document. What is read for several is read once.
    """

    reader: EvidenceReader
    items: Sequence[EvidenceQuery]
    each: int
    near: int
    """How many items are asked about at once, beside windows that were chosen for them."""
    far: int
    """And how many beside the whole document, a part of it, or a wider choice."""
    within: Span | None = None
    """The part of the document that there is to read, where that is not all of it."""
    _counted: dict[Span, int] = field(default_factory=dict)

    @property
    def all(self) -> Span:
        """All that there is to read."""
        return self.within or Span(0, len(self.reader.document.text))

    @property
    def all_tokens(self) -> int:
        """The tokens of that."""
        return self._tokens([self.within]) if self.within else self.reader.document_tokens

    def tokens_of(self, look: EvidenceBatch) -> int:
        """The tokens of what is read in a look."""
        return self.all_tokens if look.spans == (self.all,) else self._tokens(look.spans)

    def whole(self, numbers: Sequence[int]) -> list[EvidenceBatch]:
        """All that there is to read for every item, in as few and as equal batches as may be; none if it does not fit.

        It is the beginning of each prompt, so that a provider remembers it.
        """
        room = self.reader.window - _FRAME_TOKENS - _AROUND - self.all_tokens
        size = min(self.far, self._beside(numbers, room)) if has_room(self.reader.window, self.all_tokens) else 0
        return [EvidenceBatch(some, (self.all,)) for some in _equal(numbers, size)] if size else []

    def parts(self, numbers: Sequence[int]) -> list[list[EvidenceBatch]]:
        """The same where it does not fit: for each of its parts the batches in which all items are asked about."""
        room = self.reader.window - _FRAME_TOKENS - _AROUND
        size = max(1, min(self.far, len(numbers), self._beside(numbers, int(_SHARE_OF_ITEMS * room))))
        batches = _equal(numbers, size)
        taken = max(sum(map(self._cost, some)) for some in batches)
        spans = self.reader.windows.parts(max(1, room - taken), self.all)
        return [[EvidenceBatch(some, (span,)) for some in batches] for span in spans]

    def first(self, numbers: Sequence[int]) -> list[EvidenceBatch]:
        """The windows nearest to each item."""
        return self._filled({n: self.reader.wanted(self.items[n], NEAR) for n in numbers}, self.near)

    def wider(self, numbers: Sequence[int]) -> list[EvidenceBatch]:
        """More of them, for items on which those were silent."""
        return self._filled({n: self.reader.wanted(self.items[n], FAR, wide=True) for n in numbers}, self.far)

    def closer(self, numbers: Sequence[int]) -> list[EvidenceBatch]:
        """The windows for items whose answers are doubted, whatever was read for them before."""
        count = closer_windows(self.reader.document_tokens, len(numbers))
        return self._filled({n: self.reader.wanted(self.items[n], count, wide=True) for n in numbers}, self.far)

    def beside(self, places: Mapping[int, Sequence[Span]]) -> list[EvidenceBatch]:
        """The windows that hold certain places for each item, so that they are read together."""
        held = {
            n: [window for one in some for window in self.reader.windows.holding(one)] for n, some in places.items()
        }
        return self._filled({n: list(dict.fromkeys(some)) for n, some in held.items()}, self.far)

    def _beside(self, numbers: Sequence[int], room: int) -> int:
        """How many of the items there is room for."""
        return max(0, room) // max((self._cost(n) for n in numbers), default=1)

    def _filled(self, found: Mapping[int, Sequence[Span]], most: int) -> list[EvidenceBatch]:
        """The items in the order of their best windows, as many at once as may be and as fit with what is read.

        Those of one window are asked about together where they can be, so that it is read once.
        """
        order = sorted(found, key=lambda n: (self._place(found[n]), n))
        chosen: list[dict[int, Sequence[Span]]] = []
        for _, group in groupby(order, key=lambda n: self._place(found[n])):
            together = {n: self._fitting(n, found[n]) for n in group}
            if chosen and self._fits(chosen[-1] | together, most):
                chosen[-1] |= together
                continue
            for at, (n, spans) in enumerate(together.items()):
                if at and self._fits(chosen[-1] | {n: spans}, most):
                    chosen[-1][n] = spans
                else:
                    chosen.append({n: spans})
        return [self._look(one) for one in chosen]

    def _look(self, chosen: Mapping[int, Sequence[Span]]) -> EvidenceBatch:
        numbers, spans = tuple(sorted(chosen)), self.reader.joined(list(chosen.values()))
        if len(spans) == 1 and not self._left_out(spans[0]):
            return EvidenceBatch(numbers, (self.all,))
        return EvidenceBatch(numbers, tuple(spans), len({span for some in chosen.values() for span in some}))

    def _left_out(self, span: Span) -> str:
        text, everything = self.reader.document.text, self.all
        return (text[everything.start : span.start] + text[span.end : everything.end]).strip()

    def _place(self, spans: Sequence[Span]) -> Span:
        """The best place; whoever has none comes last."""
        end = len(self.reader.document.text)
        return spans[0] if spans else Span(end, end)

    def _fits(self, chosen: Mapping[int, Sequence[Span]], most: int) -> bool:
        spans = self.reader.joined(list(chosen.values()))
        return len(chosen) <= most and self._tokens(spans) <= self._room(list(chosen))

    def _fitting(self, n: int, spans: Sequence[Span]) -> list[Span]:
        """As many of the places, the best first, as there is room for; one in any case, as much of it as there is."""
        room = self._room([n])
        kept = [
            span
            for at, span in enumerate(spans)
            if not at or self._tokens(self.reader.joined([spans[: at + 1]])) <= room
        ]
        if kept and self._tokens(kept[:1]) > room:
            kept[0] = self.reader.windows.parts(max(1, room - _AROUND), kept[0])[0]
        return kept

    def _room(self, numbers: Sequence[int]) -> int:
        """The tokens of the document that there is room for beside some items and the reply about them."""
        return self.reader.window - _FRAME_TOKENS - sum(map(self._cost, numbers))

    def _cost(self, n: int) -> int:
        return self.each + _AROUND + self.reader.tokenizer.count(self.items[n].text)

    def _tokens(self, spans: Sequence[Span]) -> int:
        for span in spans:
            if span not in self._counted:
                self._counted[span] = self.reader.tokenizer.count(self.reader.text(span)) + _AROUND
        return sum(self._counted[span] for span in spans)


def closer_windows(document: int, items: int) -> int:
    """How many windows are read for each of so many items whose answers are doubted."""
    return max(_LEAST_CLOSER, min(FAR, int(_SHARE_CLOSER * document / (max(1, items) * WINDOW))))


def _equal(numbers: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """The numbers in as few batches of at most this size as may be, about as large as each other."""
    count = ceil(len(numbers) / size) if numbers else 0
    bounds = [at * len(numbers) // count for at in range(count + 1)] if count else []
    return [tuple(numbers[one:other]) for one, other in pairwise(bounds)]


class ReadingCost(NamedTuple):
    """The calls, the tokens of the document in them, and how often each item is asked about, at most."""

    calls: int
    tokens: int
    times: int

    def and_then(self, other: ReadingCost) -> ReadingCost:
        """These, and others after them."""
        return ReadingCost(self.calls + other.calls, self.tokens + other.tokens, self.times + other.times)


@dataclass(frozen=True, slots=True)
class ReadingBounds:
    """How much is read at most, before anything is known but how much there is to read, and how many items there are.

    An item counts as `each` tokens, with its share of the reply.
    """

    window: int
    document: int
    items: int
    each: int
    near: int
    far: int

    @property
    def _room(self) -> int:
        return max(WINDOW, self.window - _FRAME_TOKENS - _AROUND)

    def looks(self, reading: EvidenceName) -> ReadingCost:
        """When every item takes all that there is to read."""
        if reading == "retrieved":
            return self._found(NEAR, self.near).and_then(self._found(FAR, self.far))
        return self.whole() or self._found(NEAR, self.near).and_then(self.parts())

    def whole(self) -> ReadingCost | None:
        """When all is read at once; None where it does not fit."""
        size = min(self.far, max(0, self._room - self.document) // self.each)
        if not size or not has_room(self.window, self.document):
            return None
        calls = ceil(self.items / size)
        return ReadingCost(calls, calls * self.document, 1)

    def parts(self) -> ReadingCost:
        """When it is read part by part, each once for each batch, and places of two parts once more."""
        size = max(1, min(self.far, self.items, int(_SHARE_OF_ITEMS * self._room) // self.each))
        batches, part = ceil(self.items / size), self._room - size * self.each
        # Parts end between sentences, and so are not quite full.
        parts = ceil(self.document / max(1, part - 2 * OVERLAP, part // 2))
        read = self.document + parts * OVERLAP
        return ReadingCost(parts * batches + 1, batches * read + min(self._room, self.document), parts + 1)

    def closer(self) -> ReadingCost:
        """When windows are read for items whose answers are doubted."""
        return self._found(closer_windows(self.document, self.items), self.far)

    def _found(self, windows: int, at_once: int) -> ReadingCost:
        read = self.items * windows * WINDOW
        size = max(1, min(at_once, self._room // self.each))
        # Whoever has no room for one item more has read as much as there is room for, or asked as much.
        calls = min(self.items, ceil(self.items / size) + ceil(2 * (read + self.items * self.each) / self._room))
        return ReadingCost(calls, min(read, calls * min(self._room, self.document)), 1)


Verdict = TypeVar("Verdict", bound=CitedPlace)

_LEFT_OPEN = "the passages that were read do not settle it, and no more was to be read"
# What two verdicts may differ in without saying different things.
_BESIDES = {"evidence", "start", "end", "scope", "reason"}


@dataclass(frozen=True, slots=True)
class EvidenceReading:
    """What is asked about at once: the items, the places to read, how far was looked, and how it is asked."""

    numbers: Sequence[int]
    spans: Sequence[Span]
    wide: bool
    attempt: Attempt


def _never(_: CitedPlace) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class EvidenceSearch(Generic[Verdict]):
    """How verdicts come about."""

    looks: ReadingPlan
    ask: Callable[[EvidenceReading], Awaitable[Entries[Verdict]]]
    silent: Callable[[Verdict], bool]
    """Whether more is to be read before a verdict is believed."""
    objects: Callable[[Verdict], bool] = _never
    """Whether a silent one rests on words of the document all the same, and stands where nothing better is found."""
    unsure: Callable[[Verdict], bool] = _never
    """Whether a silent one says that the judge cannot tell."""

    async def verdicts(self, numbers: Sequence[int]) -> Account[Verdict]:
        """The verdicts on some of the items."""
        if not numbers:
            return Account()
        looks, retrieved = self.looks, self.looks.reader.reading == "retrieved"
        if looks.within is not None or not looks.reader.is_long:
            if whole := await asyncio.to_thread(looks.whole, numbers):
                return await self._read(whole, wide=False)
            return await self._in_parts(numbers, {})
        # The first search cuts and indexes the document, and nothing else should have to wait for that.
        first = await asyncio.to_thread(looks.first, numbers)
        near = await self._read(first, wide=False)
        whole_read = {n for look in first if look.windows is None for n in look.numbers}
        # What no window has to do with was not asked about.
        unread = set(numbers).difference(n for look in first for n in look.numbers if look.spans)
        silent = {n for n, one in near.verdicts.items() if self.silent(one) and n not in whole_read}
        open_ = sorted(unread | silent)
        if not open_:
            return near
        known = {n: one for n, one in near.verdicts.items() if n not in open_}
        seen = {n: near.verdicts[n] for n in open_ if n in near.verdicts}
        more = await (self._wider(open_, seen) if retrieved else self._in_parts(open_, seen))
        return Account(known | more.verdicts, near.trouble or more.trouble)

    async def closer(self, numbers: Sequence[int]) -> Account[Verdict]:
        """The verdicts on doubted items, from windows that are chosen anew, or from all where that is wanted."""
        if self.looks.reader.reading == "whole" and (whole := await asyncio.to_thread(self.looks.whole, numbers)):
            return await self._read(whole, wide=True)
        return await self._read(await asyncio.to_thread(self.looks.closer, numbers), wide=True)

    async def _wider(self, numbers: Sequence[int], seen: Mapping[int, Verdict]) -> Account[Verdict]:
        """The verdicts of a wider look; without those on what the passages alone are silent about."""
        far = await self._read(await asyncio.to_thread(self.looks.wider, numbers), wide=True)
        found: dict[int, Verdict] = {}
        for n in numbers:
            said = [one for one in (far.verdicts.get(n), seen.get(n)) if one is not None]
            if verdict := next((one for one in said if self._settles(one)), None):
                found[n] = verdict
        return Account(found, far.trouble or (_LEFT_OPEN if len(found) < len(numbers) else ""))

    def _settles(self, verdict: Verdict) -> bool:
        """Whether a verdict stands though not all of the document was read."""
        all_read = verdict.scope is not None and verdict.scope.passages is None
        return all_read or not self.silent(verdict) or self.objects(verdict)

    async def _in_parts(self, numbers: Sequence[int], seen: Mapping[int, Verdict]) -> Account[Verdict]:
        """The verdicts when each item is held against every part of what there is to read."""
        parts = await asyncio.to_thread(self.looks.parts, numbers)
        read = await together(self._read(part, wide=True) for part in parts)
        trouble = next((one.trouble for one in read if one.trouble), "")
        verdicts: dict[int, Verdict] = {}
        disputed: dict[int, list[Verdict]] = {}
        for n in numbers:
            said = [part.verdicts[n] for part in read if n in part.verdicts]
            telling = [one for one in said if not self.silent(one)]
            if len({_says(one) for one in telling}) > 1:
                disputed[n] = telling
            elif telling:
                verdicts[n] = telling[0]
            elif len(said) == len(parts):
                verdicts[n] = self._strongest([*said, *([seen[n]] if n in seen else [])])
        verdicts = {n: one.model_copy(update={"scope": self._all}) for n, one in verdicts.items()}
        again: Account[Verdict] = await self._settled(disputed) if disputed else Account()
        return Account(verdicts | again.verdicts, trouble or again.trouble)

    def _strongest(self, silent: Sequence[Verdict]) -> Verdict:
        """Of verdicts none of which settles an item the one with words of the document, then one that cannot tell."""
        objecting = next((one for one in silent if self.objects(one)), None)
        return objecting or next((one for one in silent if self.unsure(one)), silent[0])

    async def _settled(self, disputed: Mapping[int, Sequence[Verdict]]) -> Account[Verdict]:
        """The verdicts on items of which parts say different things, with all places that these rest on in view."""
        places = {n: [Span(*one.place) for one in said if one.place] for n, said in disputed.items()}
        placed = {n: some for n, some in places.items() if some}
        looks = await asyncio.to_thread(self.looks.beside, placed)
        if rest := [n for n in places if n not in placed]:
            looks += await asyncio.to_thread(self.looks.closer, rest)
        again = await self._read(looks, wide=True)
        found = {n: one for n, one in again.verdicts.items() if not self.silent(one) or self.objects(one)}
        return Account({n: one.model_copy(update={"scope": self._all}) for n, one in found.items()}, again.trouble)

    async def _read(self, looks: Sequence[EvidenceBatch], *, wide: bool) -> Account[Verdict]:
        looks = [look for look in looks if look.spans]
        of = {n: look for look in looks for n in look.numbers}

        async def ask(some: Sequence[int], attempt: Attempt) -> Entries[Verdict]:
            return await self.ask(EvidenceReading(some, of[some[0]].spans, wide, attempt))

        ahead_of, *others = [look.numbers for look in looks] or [()]
        if not others or looks[0].spans != looks[-1].spans:
            found = await account([one for one in (ahead_of, *others) if one], ask)
        else:
            # All of them begin with the same words: the first goes ahead, so that a provider remembers them.
            ahead, behind = await account([ahead_of], ask), await account(others, ask)
            found = Account(ahead.verdicts | behind.verdicts, ahead.trouble or behind.trouble)
        scopes = {n: self._scope(look) for look in looks for n in look.numbers}
        return Account(
            {n: one.model_copy(update={"scope": scopes[n]}) for n, one in found.verdicts.items()}, found.trouble
        )

    def _scope(self, look: EvidenceBatch) -> Scope:
        return Scope(tokens=self.looks.tokens_of(look), passages=look.windows) if look.windows else self._all

    @property
    def _all(self) -> Scope:
        """All that there is to read; a part of the document is a passage of it."""
        return Scope(tokens=self.looks.all_tokens, passages=1 if self.looks.within else None)


def _says(verdict: CitedPlace) -> str:
    """What a verdict says, however it is written and wherever it was found."""
    return words_key(" ".join(map(str, verdict.model_dump(exclude=_BESIDES).values())))
