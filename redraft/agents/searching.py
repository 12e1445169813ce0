"""Holding items against the document: against what is read for them at first, and against more of it where that is
silent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from redraft.agents.accounting import Account, Attempt, Entries, account
from redraft.agents.evidence import Placed, Scope
from redraft.agents.looking import Look, Looks
from redraft.domain import Span

Verdict = TypeVar("Verdict", bound=Placed)


@dataclass(frozen=True, slots=True)
class Reading:
    """What is asked about at once: the items, the places to read, how far was looked, and how it is asked."""

    numbers: Sequence[int]
    spans: Sequence[Span]
    wide: bool
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Search(Generic[Verdict]):
    """How verdicts come about. Nothing is believed to be missing from the document before more of it was read."""

    looks: Looks
    ask: Callable[[Reading], Awaitable[Entries[Verdict]]]
    silent: Callable[[Verdict], bool]
    within: Span | None = None
    """The part of the document that there is to read, where that is not all of it."""

    async def verdicts(self, numbers: Sequence[int]) -> Account[Verdict]:
        """The verdicts on some of the items."""
        if (within := self.within) is not None:
            # A part of the document is read whole at once: to look for places in it first costs more than it saves.
            return await self._read(await asyncio.to_thread(self.looks.part, numbers, within), wide=True)
        # The first search indexes the document, and nothing else should have to wait for that.
        first = await asyncio.to_thread(self.looks.first, numbers)
        near = await self._read(first, wide=False)
        silent = [n for n, verdict in near.verdicts.items() if self.silent(verdict)]
        if not silent:
            return near
        asked = {(*look.numbers, *look.spans) for look in first}
        second = await asyncio.to_thread(self.looks.second, silent)
        # What was asked of the same pages, all of it to no avail, would be the same request again.
        more = [look for look in second if (*look.numbers, *look.spans) not in asked]
        far = await self._read(more, wide=True)
        looked_for = {n for look in more for n in look.numbers}
        known = {n: verdict for n, verdict in near.verdicts.items() if n not in looked_for}
        return Account(known | far.verdicts, near.trouble or far.trouble)

    async def closer(self, numbers: Sequence[int]) -> Account[Verdict]:
        """The verdicts when more is read for each item, whatever was found before."""
        return await self._read(await asyncio.to_thread(self.looks.closer, numbers), wide=True)

    async def _read(self, looks: Sequence[Look], *, wide: bool) -> Account[Verdict]:
        read = {n: look.spans for look in looks for n in look.numbers}

        async def ask(some: Sequence[int], attempt: Attempt) -> Entries[Verdict]:
            return await self.ask(Reading(some, read[some[0]], wide, attempt))

        ahead_of, *others = [look.numbers for look in looks] or [()]
        if not others or looks[0].spans != looks[-1].spans:
            found = await account([one for one in (ahead_of, *others) if one], ask)
        else:
            # All of them begin with the same words: the first goes ahead, so that a provider remembers them.
            ahead, behind = await account([ahead_of], ask), await account(others, ask)
            found = Account(ahead.verdicts | behind.verdicts, ahead.trouble or behind.trouble)
        scopes = {n: self._scope(look) for look in looks for n in look.numbers}
        verdicts = {n: one.model_copy(update={"scope": scopes[n]}) for n, one in found.verdicts.items()}
        return Account(verdicts, found.trouble)

    def _scope(self, look: Look) -> Scope:
        desk = self.looks.desk
        whole = self.within or Span(0, len(desk.document.text))
        tokens = sum(desk.tokenizer.count(desk.text(span)) for span in look.spans)
        return Scope(tokens=tokens, passages=None if look.spans == (whole,) else len(look.spans))
