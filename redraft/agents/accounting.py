"""Judging without holes: every item is accounted for by its number, or known to have no verdict.

A reply is a list of entries that name the items they speak of. Entries out of order are put in theirs; an entry for an
item that was not asked about is ignored, and counted; an item that two entries speak of differently has no verdict, and
neither has one that is passed over. Those are asked about again, once. What is still open then is left open, and
counted. What the provider rejects, or answers with nothing, is asked in halves, and about a single item once more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from redraft.agents.together import together
from redraft.errors import RejectedRequest, ReplyError, UnreadableReply

Verdict_ = TypeVar("Verdict_")


@dataclass(frozen=True, slots=True)
class Entries(Generic[Verdict_]):
    """What a reply says: an item's number and its verdict, None where the entry holds none."""

    found: Iterable[tuple[int, Verdict_ | None]]
    repaired: bool = False
    """Whether the reply was itself the second, so that there shall be no third."""


@dataclass(frozen=True, slots=True)
class Account(Generic[Verdict_]):
    """The verdicts by number, and what went wrong where there are none."""

    verdicts: dict[int, Verdict_] = field(default_factory=dict)
    trouble: str = ""

    def open(self, numbers: Iterable[int]) -> list[int]:
        """The items that have no verdict."""
        return [number for number in numbers if number not in self.verdicts]


Ask = Callable[[Sequence[int], bool], Awaitable[Entries[Verdict_]]]
"""Asks about some items; the flag says that it is for the second time."""


async def account(batches: Sequence[Sequence[int]], ask: Ask[Verdict_]) -> Account[Verdict_]:
    """Ask about all batches at once, and about what each of them leaves out once more."""
    return _joined(await together(_batch(batch, ask) for batch in batches))


async def _batch(
    numbers: Sequence[int], ask: Ask[Verdict_], again: bool = False, strangers: int = 0
) -> Account[Verdict_]:
    try:
        entries = await ask(numbers, again)
    except (ReplyError, RejectedRequest) as error:
        if len(numbers) > 1 and _was_too_much(error):
            middle = len(numbers) // 2
            return _joined(await together(_batch(part, ask, again) for part in (numbers[:middle], numbers[middle:])))
        if _may_be_an_accident(error) and not again:
            return await _batch(numbers, ask, again=True)
        return Account(trouble=str(error))
    verdicts, unknown = _settled(entries.found, numbers)
    missing = [number for number in numbers if number not in verdicts]
    strangers += unknown
    if not missing or entries.repaired or again:
        return Account(verdicts, _left_open(missing, strangers))
    more = await _batch(missing, ask, again=True, strangers=strangers)
    return Account(verdicts | more.verdicts, more.trouble)


def _joined(accounts: Sequence[Account[Verdict_]]) -> Account[Verdict_]:
    verdicts = {number: verdict for one in accounts for number, verdict in one.verdicts.items()}
    return Account(verdicts, next((one.trouble for one in accounts if one.trouble), ""))


def _was_too_much(error: ReplyError | RejectedRequest) -> bool:
    """Whether a half may fare better: the reply did not end within its room, or there was none to be had."""
    cut = isinstance(error, UnreadableReply) and error.finish_reason == "length"
    return cut or _may_be_an_accident(error)


def _may_be_an_accident(error: ReplyError | RejectedRequest) -> bool:
    """Whether nobody has answered: the provider rejects the request, or sends an empty reply."""
    return isinstance(error, RejectedRequest) or (isinstance(error, UnreadableReply) and not error.text.strip())


def _settled(found: Iterable[tuple[int, Verdict_ | None]], numbers: Sequence[int]) -> tuple[dict[int, Verdict_], int]:
    """The verdicts on the items, and how many entries speak of none of them."""
    wanted, strangers = set(numbers), 0
    verdicts: dict[int, Verdict_] = {}
    disputed: set[int] = set()
    for number, verdict in found:
        strangers += number not in wanted
        if number not in wanted or verdict is None:
            continue
        if number in verdicts and verdicts[number] != verdict:
            disputed.add(number)
        verdicts[number] = verdict
    return {number: verdict for number, verdict in verdicts.items() if number not in disputed}, strangers


def _left_open(missing: Sequence[int], strangers: int) -> str:
    if not missing:
        return ""
    said = f"the judge passed over {len(missing)} of the items, twice"
    return f"{said}; {strangers} of its entries named no item that there is" if strangers else said
