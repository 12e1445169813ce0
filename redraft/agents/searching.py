"""Holding items against the document: nothing is said to be missing from it before all of it was read.

A document that fits the judge's window beside the items is read whole, once for each batch of them, and its silence is
final. Of a longer one the windows nearest to each item are read first; the items on which they are silent are then held
against every part of the document, all of them together. Where parts say different things of one item, the places that
they rest on are put together, and the judge is asked once more; what it does not settle then is left undecided.

Where only what a search finds is to be read (`retrieved`), the items on which that is silent are left undecided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from redraft.agents.accounting import Account, Attempt, Entries, account
from redraft.agents.evidence import Placed, Scope
from redraft.agents.looking import Look, Looks
from redraft.agents.together import together
from redraft.domain import Span
from redraft.text.words import words_key

Verdict = TypeVar("Verdict", bound=Placed)

_LEFT_OPEN = "the passages that were read do not settle it, and no more was to be read"
# What two verdicts may differ in without saying different things.
_BESIDES = {"evidence", "start", "end", "scope", "reason"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What is asked about at once: the items, the places to read, how far was looked, and how it is asked."""

    numbers: Sequence[int]
    spans: Sequence[Span]
    wide: bool
    attempt: Attempt


def _never(_: Placed) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Search(Generic[Verdict]):
    """How verdicts come about."""

    looks: Looks
    ask: Callable[[Reading], Awaitable[Entries[Verdict]]]
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
        looks, retrieved = self.looks, self.looks.desk.reading == "retrieved"
        if looks.within is not None or not looks.desk.is_long:
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
        if self.looks.desk.reading == "whole" and (whole := await asyncio.to_thread(self.looks.whole, numbers)):
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

    async def _read(self, looks: Sequence[Look], *, wide: bool) -> Account[Verdict]:
        looks = [look for look in looks if look.spans]
        of = {n: look for look in looks for n in look.numbers}

        async def ask(some: Sequence[int], attempt: Attempt) -> Entries[Verdict]:
            return await self.ask(Reading(some, of[some[0]].spans, wide, attempt))

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

    def _scope(self, look: Look) -> Scope:
        return Scope(tokens=self.looks.tokens_of(look), passages=look.windows) if look.windows else self._all

    @property
    def _all(self) -> Scope:
        """All that there is to read; a part of the document is a passage of it."""
        return Scope(tokens=self.looks.all_tokens, passages=1 if self.looks.within else None)


def _says(verdict: Placed) -> str:
    """What a verdict says, however it is written and wherever it was found."""
    return words_key(" ".join(map(str, verdict.model_dump(exclude=_BESIDES).values())))
