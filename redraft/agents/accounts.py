"""Asks about items in batches, concurrently, until each has a verdict or a reason."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from redraft.errors import RejectedRequest, ReplyError, UnreadableReply
from redraft.llm.base import Reply

ResultT = TypeVar("ResultT")


async def gather_all(tasks: Iterable[Coroutine[Any, Any, ResultT]]) -> list[ResultT]:
    """Return the results of all tasks in order; the first error is raised once every task has ended."""
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


VerdictT = TypeVar("VerdictT")


@dataclass(frozen=True, slots=True)
class Entries(Generic[VerdictT]):
    """The parsed entries of a reply: item numbers with their verdicts, None if an entry holds none."""

    found: Iterable[tuple[int, VerdictT | None]]
    repaired: bool = False
    """Whether the reply was already a repaired one, so that it is not repaired again."""
    broken_off: bool = False
    """Whether the reply was cut off, so that missing items had no room rather than being skipped."""

    @classmethod
    def of(cls, reply: Reply[Any], entries: Iterable[tuple[int, VerdictT | None]]) -> Entries[VerdictT]:
        """Return the entries of a reply."""
        return cls(list(entries), reply.repaired, reply.is_truncated)


@dataclass(frozen=True, slots=True)
class ItemResults(Generic[VerdictT]):
    """The verdicts by item number, and what went wrong if there are none."""

    verdicts: dict[int, VerdictT] = field(default_factory=dict)
    trouble: str = ""
    undecided: dict[int, VerdictT] = field(default_factory=dict)
    """The answers of a judge that cannot tell."""

    def open(self, numbers: Iterable[int]) -> list[int]:
        """Return the items that have no verdict."""
        return [number for number in numbers if number not in self.verdicts]

    def decided(self, is_verdict: Callable[[VerdictT], bool]) -> ItemResults[VerdictT]:
        """Return a copy without the verdicts of a judge that cannot tell."""
        decided = {n: verdict for n, verdict in self.verdicts.items() if is_verdict(verdict)}
        undecided = {n: verdict for n, verdict in self.verdicts.items() if n not in decided}
        return replace(self, verdicts=decided, undecided=undecided)


MAX_ROOM_FACTOR = 4
"""The largest multiple of the usual room that an entry may get."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """How a request is made: whether it is a repeat, its multiple of the usual reply room, and whether it is sampled
    `loosely` to escape a loop."""

    again: bool = False
    times: int = 1
    loosely: bool = False

    def with_more_room(self) -> Attempt | None:
        """Return the attempt with twice the room; None beyond `MAX_ROOM_FACTOR`."""
        return replace(self, times=2 * self.times) if 2 * self.times <= MAX_ROOM_FACTOR else None


FIRST_TRY = Attempt()
"""The first attempt at a request."""

Ask = Callable[[Sequence[int], Attempt], Awaitable[Entries[VerdictT]]]
"""Asks about some items."""


async def ask_all(
    batches: Sequence[Sequence[int]], ask: Ask[VerdictT], *, ahead: bool = False
) -> ItemResults[VerdictT]:
    """Ask about all batches concurrently, and again about the items that a reply leaves out. With `ahead`, for prompts
    that begin alike, the first goes before the others so that a provider can cache what they share."""
    first = 1 if ahead else 0
    results = await gather_all(_ask_batch(batch, ask, FIRST_TRY) for batch in batches[:first])
    return joined([*results, *await gather_all(_ask_batch(batch, ask, FIRST_TRY) for batch in batches[first:])])


def first_error(accounts: Iterable[ItemResults[Any]]) -> str:
    """Return the first error message of several accounts; empty if there is none."""
    return next((results.trouble for results in accounts if results.trouble), "")


def joined(accounts: Sequence[ItemResults[VerdictT]]) -> ItemResults[VerdictT]:
    """Return several accounts as one."""
    verdicts = {number: verdict for results in accounts for number, verdict in results.verdicts.items()}
    return ItemResults(verdicts, first_error(accounts))


async def _ask_batch(
    numbers: Sequence[int], ask: Ask[VerdictT], attempt: Attempt, strangers: int = 0
) -> ItemResults[VerdictT]:
    """Ask about some items, and as long as that may help, again about those without a verdict. `strangers` counts the
    entries so far that named no item."""
    try:
        entries = await ask(numbers, attempt)
    except (ReplyError, RejectedRequest) as error:
        if isinstance(error, UnreadableReply) and error.nameless and len(numbers) > 1:
            # A reply about a single item needs no item name.
            return joined(await gather_all(_ask_batch([number], ask, attempt) for number in numbers))
        following = _attempt_after(error, attempt, single=len(numbers) == 1)
        return await _ask_in_halves(numbers, ask, following) if following else ItemResults(trouble=str(error))
    verdicts, more_strangers = _settled(entries.found, numbers)
    strangers += more_strangers
    missing = [number for number in numbers if number not in verdicts]
    if not missing:
        return ItemResults(verdicts)
    if entries.broken_off:
        following = attempt.with_more_room() or (attempt if len(missing) > 1 else None)
        cut: ItemResults[VerdictT] = ItemResults(trouble="the reply was cut off at the token limit")
        more = await _ask_in_halves(missing, ask, following) if following else cut
    elif entries.repaired or (attempt.again and not verdicts):
        trouble = f"the judge skipped {len(missing)} of the items, twice"
        more = ItemResults(
            trouble=f"{trouble}; {strangers} of its entries named no existing item" if strangers else trouble
        )
    else:
        more = await _ask_batch(missing, ask, replace(attempt, again=True), strangers)
    return ItemResults(verdicts | more.verdicts, more.trouble)


async def _ask_in_halves(numbers: Sequence[int], ask: Ask[VerdictT], attempt: Attempt) -> ItemResults[VerdictT]:
    middle = len(numbers) // 2
    parts = [numbers[:middle], numbers[middle:]] if middle else [numbers]
    return joined(await gather_all(_ask_batch(part, ask, attempt) for part in parts))


def _attempt_after(error: ReplyError | RejectedRequest, attempt: Attempt, *, single: bool) -> Attempt | None:
    """Return how to retry half of the items, or a `single` one, after an error; None if a retry cannot help."""
    unchanged = None if single else attempt
    if isinstance(error, ReplyError) and error.loops and not attempt.loosely:
        return replace(attempt, loosely=True)
    if isinstance(error, ReplyError) and error.needs_fewer_items:
        return unchanged
    if isinstance(error, ReplyError) and error.needs_more_tokens:
        return attempt.with_more_room() or unchanged
    if isinstance(error, RejectedRequest) or (isinstance(error, UnreadableReply) and not error.text.strip()):
        # There was no reply at all: the request may have been too large, or failed by accident.
        return unchanged or (None if attempt.again else replace(attempt, again=True))
    return None


def _settled(
    reply_entries: Iterable[tuple[int, VerdictT | None]], numbers: Sequence[int]
) -> tuple[dict[int, VerdictT], int]:
    """Return the verdicts on the items, and the number of entries that name no item."""
    entries = list(reply_entries)
    verdicts: dict[int, VerdictT] = {}
    disputed: set[int] = set()
    for number, verdict in entries:
        if number in numbers and verdict is not None and verdicts.setdefault(number, verdict) != verdict:
            disputed.add(number)
    strangers = sum(number not in numbers for number, _ in entries)
    return {number: verdict for number, verdict in verdicts.items() if number not in disputed}, strangers
