"""One office for all runs of a process that ask the same model, so that the requests of all of them are one job."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from contextlib import AsyncExitStack
from weakref import WeakKeyDictionary

from redraft.models.jobs.office import Office

_offices: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, Office]] = WeakKeyDictionary()


def shared_office(
    which: Hashable, make: Callable[[], Office], note: Callable[[str], None], closing: AsyncExitStack
) -> Office:
    """The office of a model, made if nobody is there yet. Whoever leaves last, with `closing`, closes it.

    What there is to say goes to whoever has been there longest.
    """
    offices = _offices.setdefault(asyncio.get_running_loop(), {})
    if which not in offices:
        offices[which] = make()
    office = offices[which]
    office.notes.append(note)

    async def leave() -> None:
        office.notes.remove(note)
        if not office.notes:
            del offices[which]
            await office.aclose()

    closing.push_async_callback(leave)
    return office
