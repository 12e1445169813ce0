"""The pages of batches: the list, and a batch with its progress, documents and tables."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from redraft.store.connection import off_loop
from redraft.studio import batch_api, batches
from redraft.studio.batches import SHOWN_AT_ONCE
from redraft.studio.context import context_of, read
from redraft.studio.contracts import BatchOrder, ItemFilter
from redraft.studio.endpoints import query_of
from redraft.studio.pages import ListPage, page


class _BatchLinks:
    """Links to a batch, and to other pages of its documents."""

    def __init__(self, name: str, wanted: ItemFilter) -> None:
        self.batch = f"/batches/{quote(name, safe='')}"
        self._said = wanted.model_dump(exclude_defaults=True)

    def page(self, number: int) -> str:
        """Return the link to another page of the documents."""
        return f"{self.batch}?{urlencode({**self._said, 'page': number})}#documents"


async def listed(request: Request) -> Response:
    """Show the list of batches."""
    found = (await batch_api.listed(request)).batches
    return page(request, "batches", "batches", batches=ListPage(request, found))


async def batch(request: Request) -> Response:
    """Show a batch: its progress, its documents, and its tables once it has stopped."""
    status, wanted = await batch_api.status(request), query_of(request, ItemFilter)
    moves = status.status in ("working", "idle") or bool(status.items.leased)
    ended = status.items.done + status.items.failed + status.items.aside
    at_once = ended and not moves and status.items.all <= SHOWN_AT_ONCE
    lines = await _lines(request, status.batch) if at_once else ()
    values: dict[str, Any] = {
        "wanted": wanted,
        "items": await batch_api.items(request),
        "to": _BatchLinks(status.batch, wanted),
        "failures": await read(request, batches.failures, status.batch),
    }
    return page(request, "batch", "batches", batch=status, ended=ended, lines=lines, moves=moves, **values)


async def tables(request: Request) -> Response:
    """Show the tables of a batch of any size."""
    status = await batch_api.status(request)
    lines, to = await _lines(request, status.batch), _BatchLinks(status.batch, ItemFilter())
    return page(request, "batch_tables", "batches", batch=status, lines=lines, to=to)


async def _lines(request: Request, name: str) -> object:
    return await off_loop(context_of(request).tables.drawn, name)


async def order(request: Request, order: BatchOrder) -> Response:
    """Carry out an order, and show the batch."""
    await batch_api.ordered(request, order)
    return RedirectResponse(f"/batches/{quote(batch_api.named(request), safe='')}", 303)


READING = (
    Route("/batches", listed),
    Route("/batches/{batch:path}/tables", tables),
    Route("/batches/{batch:path}", batch),
)
WORKING = tuple(
    Route(f"/batches/{{batch:path}}/{name}", partial(order, order=name), methods=["POST"]) for name in batch_api.ORDERS
)
