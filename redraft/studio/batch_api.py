"""The HTTP API on batches: how they stand, what came of their documents, and what is done with them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from redraft.errors import RunError
from redraft.store.batches import Status
from redraft.store.connection import off_loop
from redraft.studio import batches
from redraft.studio.context import context_of, read, streamed, work_of
from redraft.studio.contracts import BatchList, BatchOrder, BatchStatus, BatchTables, ItemList, WantedItems
from redraft.studio.endpoints import Endpoint, query_of
from redraft.studio.feeds import EVENT_STREAM

_DOES: Mapping[BatchOrder, Status] = {"pause": "paused", "cancel": "cancelled"}
ORDERS: Mapping[BatchOrder, str] = {
    "pause": "Begin no more of its documents.",
    "cancel": "Stop it, and what is at work of it.",
    "resume": "Go on with it in this studio.",
}
"""The orders, and what each does."""


def named(request: Request) -> str:
    """The batch that an address names."""
    return str(request.path_params["batch"])


def at_work(request: Request) -> frozenset[str]:
    """The batches that this studio is working on."""
    work = context_of(request).work
    return work.batches() if work is not None else frozenset()


async def listed(request: Request) -> BatchList:
    """All batches."""
    return await read(request, batches.listed, at_work(request))


async def status(request: Request) -> BatchStatus:
    """The status of a batch."""
    return await read(request, batches.status_of, named(request), at_work(request))


async def items(request: Request) -> ItemList:
    """A page of the documents of a batch."""
    return await read(request, batches.items, named(request), query_of(request, WantedItems))


async def ordered(request: Request, order: BatchOrder) -> None:
    """Pause a batch, cancel it, or go on with it; what cannot be done with it now is refused."""
    name, work = named(request), work_of(request)
    standing = await read(request, batches.known, name)
    if order not in batches.orders(standing, at_work(request)):
        raise RunError(f"batch {name!r:.80} is {standing.stage}, and nothing is there to {order}", hint="look at it")
    if order == "resume":
        await work.resume_batch(name)
    else:
        await off_loop(work.session.store.batches.set_status, name, _DOES[order])


async def tables(request: Request) -> BatchTables:
    """The results of a batch in tables."""
    return await off_loop(context_of(request).tables.typed, named(request))


async def events(request: Request) -> Response:
    """The progress of a batch as server-sent events, until nobody works on it any more."""
    name = named(request)
    await read(request, batches.known, name)
    return streamed(request, batches.progress_of(context_of(request).reading, name))


async def order(request: Request, order: BatchOrder) -> BatchStatus:
    """Carry out an order, and return the status of the batch after it."""
    await ordered(request, order)
    return await status(request)


_BATCH = "/api/batches/{batch:path}"
BATCHES = (
    Endpoint("GET", "/api/batches", "List batches.", listed, BatchList),
    Endpoint("GET", f"{_BATCH}/items", "A page of its documents.", items, ItemList, query=WantedItems),
    Endpoint("GET", f"{_BATCH}/tables", "What came of it in tables.", tables, BatchTables),
    Endpoint("GET", f"{_BATCH}/events", "Follow a batch to its next stop.", events, kind=EVENT_STREAM),
    *(
        Endpoint("POST", f"{_BATCH}/{name}", says, partial(order, order=name), BatchStatus)
        for name, says in ORDERS.items()
    ),
    # Whatever its name has in it: so this one is the last.
    Endpoint("GET", _BATCH, "How a batch stands.", status, BatchStatus),
)
"""What there is."""
