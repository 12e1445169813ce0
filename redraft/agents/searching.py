"""Holding items against the document: against the passages nearest to each, and against more of it where those are
silent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from redraft.agents.accounting import Account, Attempt, Entries, account
from redraft.agents.evidence import EvidenceDesk
from redraft.domain import Span

Verdict = TypeVar("Verdict")


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

    desk: EvidenceDesk
    items: Sequence[str]
    """What is looked for, in words."""
    ask: Callable[[Reading], Awaitable[Entries[Verdict]]]
    silent: Callable[[Verdict], bool]
    near: int
    """How many items are asked about at once, beside the passages nearest to them."""
    far: int
    """And how many beside the wider choice."""
    within: Span | None = None
    """The part of the document that there is to read, where that is not all of it."""

    async def verdicts(self, numbers: Sequence[int]) -> Account[Verdict]:
        """The verdicts on some of the items."""
        if self.within is not None:
            # A part of the document is read whole at once: to look for places in it first costs more than it saves.
            return await self._read(numbers, wide=True)
        near = await self._read(numbers, wide=False)
        silent = [n for n, verdict in near.verdicts.items() if self.silent(verdict)]
        if not silent:
            return near
        far = await self._read(silent, wide=True)
        spoken = {n: verdict for n, verdict in near.verdicts.items() if n not in silent}
        return Account(spoken | far.verdicts, near.trouble or far.trouble)

    async def _read(self, numbers: Sequence[int], *, wide: bool) -> Account[Verdict]:
        # The first search indexes the document, and nothing else should have to wait for that.
        found = await asyncio.to_thread(
            lambda: {n: self.desk.evidence(self.items[n], wide=wide, within=self.within) for n in numbers}
        )

        async def ask(some: Sequence[int], attempt: Attempt) -> Entries[Verdict]:
            return await self.ask(Reading(some, self.desk.joined([found[n] for n in some]), wide, attempt))

        return await account(self.desk.batches(found, self.far if wide else self.near), ask)
