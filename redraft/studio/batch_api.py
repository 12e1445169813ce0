"""The HTTP API on batches: how they stand, what came of their documents, and what is done with them."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from redraft.errors import RunError
from redraft.fields import checked
from redraft.store.batches import Status
from redraft.store.connection import off_loop
from redraft.studio import batches
from redraft.studio.context import house, read, work_of
from redraft.studio.contracts import BatchList, BatchOrder, BatchStatus, BatchTables, ItemList, WantedItems
from redraft.studio.endpoints import Endpoint, typed
from redraft.studio.feeds import EVENT_STREAM, STREAMED, sent

_DOES: Mapping[BatchOrder, Status] = {"pause": "paused", "cancel": "cancelled"}


def named(request: Request) -> str:
    """The batch that an address names."""
    return str(request.path_params["batch"])


def wanted_of(request: Request) -> WantedItems:
    """Which documents are meant. An empty field was not filled in."""
    return checked(WantedItems, {name: value for name, value in request.query_params.items() if value})


def at_work(request: Request) -> frozenset[str]:
    """The batches that this studio is working on."""
    work = house(request).work
    return work.batches() if work is not None else frozenset()


async def all_shown(request: Request) -> BatchList:
    """All batches."""
    return await read(request, batches.listed, at_work(request))


async def one_shown(request: Request) -> BatchStatus:
    """How a batch stands."""
    return await read(request, batches.status_of, named(request), at_work(request))


async def items_shown(request: Request) -> ItemList:
    """A page of the documents of a batch."""
    return await read(request, batches.items, named(request), wanted_of(request))


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


async def all_batches(request: Request) -> Response:
    """All batches."""
    return typed(await all_shown(request))


async def status(request: Request) -> Response:
    """How a batch stands."""
    return typed(await one_shown(request))


async def items(request: Request) -> Response:
    """A page of the documents of a batch."""
    return typed(await items_shown(request))


async def tables(request: Request) -> Response:
    """What came of a batch in tables."""
    return typed(await off_loop(house(request).tables.typed, named(request)))


async def events(request: Request) -> Response:
    """How a batch comes on, as server-sent events up to where nobody works on it any more."""
    place, name = house(request), named(request)
    await read(request, batches.known, name)
    shown = sent(place.closing, batches.told(place.reading, name))
    return StreamingResponse(shown, media_type=EVENT_STREAM, headers=STREAMED)


async def pause(request: Request) -> Response:
    """Begin no more documents of a batch."""
    return await _done(request, "pause")


async def cancel(request: Request) -> Response:
    """Stop a batch, and what is at work of it."""
    return await _done(request, "cancel")


async def resume(request: Request) -> Response:
    """Go on with a batch in this studio."""
    return await _done(request, "resume")


async def _done(request: Request, order: BatchOrder) -> Response:
    await ordered(request, order)
    return typed(await one_shown(request))


_BATCH = "/api/batches/{batch:path}"
BATCHES = (
    Endpoint("GET", "/api/batches", "List batches.", all_batches, BatchList),
    Endpoint("GET", f"{_BATCH}/items", "A page of its documents.", items, ItemList, query=WantedItems),
    Endpoint("GET", f"{_BATCH}/tables", "What came of it in tables.", tables, BatchTables),
    Endpoint("GET", f"{_BATCH}/events", "Follow a batch to its next stop.", events, kind=EVENT_STREAM),
    Endpoint("POST", f"{_BATCH}/pause", "Begin no more of its documents.", pause, BatchStatus),
    Endpoint("POST", f"{_BATCH}/cancel", "Stop it, and what is at work of it.", cancel, BatchStatus),
    Endpoint("POST", f"{_BATCH}/resume", "Go on with it in this studio.", resume, BatchStatus),
    # Whatever its name has in it: so this one is the last.
    Endpoint("GET", _BATCH, "How a batch stands.", status, BatchStatus),
)
"""What there is."""
